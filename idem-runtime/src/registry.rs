//! Every stance of the finished program, as its attributes declared them.
//!
//! Each [`idempotent`](crate::idempotent), [`exempt`](macro@crate::exempt) and
//! [`read_only`](macro@crate::read_only) registers its function when the program is linked, whether or not the
//! function is ever called. A crate that the program names nowhere is not linked, and its stances are not here: a
//! test in `tests/` that uses nothing of its package writes `use shop as _;`.
//!
//! A wrapper at a route, such as `post(exempt("...", login))`, is a value of the running program and no part of
//! this list; `idem audit` finds it in the source.
//!
//! ```
//! #[idem_runtime::exempt(reason = "a login may be repeated", until = "2027-12-31")]
//! async fn login() {}
//!
//! let login = idem_runtime::registry::stances().into_iter().find(|stance| stance.name() == "login").unwrap();
//! assert_eq!(login.options()[1], ("until", "\"2027-12-31\""));
//! ```

use std::fmt;

mod snapshot;
mod unique;

pub use snapshot::assert_stances;
pub use unique::{DuplicateRoute, assert_unique_routes, unique_routes};

/// Which of the three stances a function has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It takes effect once: `#[idempotent]`.
    Idempotent,
    /// A retry may run it again: `#[exempt]`.
    Exempt,
    /// It does not write: `#[read_only]`.
    ReadOnly,
}

impl Kind {
    /// The attribute's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idempotent => "idempotent",
            Self::Exempt => "exempt",
            Self::ReadOnly => "read_only",
        }
    }
}

/// The stance of one function, as its attribute declared it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stance {
    kind: Kind,
    route: Option<&'static str>,
    module: &'static str,
    name: &'static str,
    options: &'static [(&'static str, &'static str)],
    file: &'static str,
    line: u32,
}

inventory::collect!(Stance);

impl Stance {
    /// What an attribute submits.
    #[doc(hidden)]
    #[must_use]
    pub const fn declared(
        kind: Kind,
        route: Option<&'static str>,
        (module, name): (&'static str, &'static str),
        options: &'static [(&'static str, &'static str)],
        (file, line): (&'static str, u32),
    ) -> Self {
        Self { kind, route, module, name, options, file, line }
    }

    /// Which stance it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The route of a guarded function.
    #[must_use]
    pub const fn route(&self) -> Option<&'static str> {
        self.route
    }

    /// The path of the module, which begins with the crate: `shop::orders`.
    #[must_use]
    pub const fn module(&self) -> &'static str {
        self.module
    }

    /// The function's name. A method has the name of its module, not of its type.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The options as they were written, by name; without the route.
    #[must_use]
    pub const fn options(&self) -> &'static [(&'static str, &'static str)] {
        self.options
    }

    /// The source file, as the compiler was told it.
    #[must_use]
    pub const fn file(&self) -> &'static str {
        self.file
    }

    /// The line of the attribute, from 1.
    #[must_use]
    pub const fn line(&self) -> u32 {
        self.line
    }
}

/// One line without file and line number: `shop::orders::create #[idempotent(route = "orders.create")]`.
impl fmt::Display for Stance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{} #[{}", self.module, self.name, self.kind.as_str())?;
        let route = self.route.map(|route| format!("route = {route:?}"));
        // `bind(task_id = ...)` has no `=` before its value.
        let options = self.options.iter().map(|(name, value)| {
            if value.starts_with('(') { format!("{name}{value}") } else { format!("{name} = {value}") }
        });
        let options: Vec<String> = route.into_iter().chain(options).collect();
        if !options.is_empty() {
            write!(f, "({})", options.join(", "))?;
        }
        f.write_str("]")
    }
}

/// All stances of the program, by module and name.
#[must_use]
pub fn stances() -> Vec<&'static Stance> {
    let mut stances: Vec<&Stance> = inventory::iter::<Stance>().collect();
    stances.sort_by_key(|stance| (stance.module, stance.name, stance.kind, stance.route, stance.line));
    stances
}

/// Registers a function; an item, so that it may stand in the function's own body.
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    ($kind:ident, $route:expr, $function:expr, $options:expr) => {
        $crate::__private::inventory::submit! {
            $crate::registry::Stance::declared(
                $crate::registry::Kind::$kind,
                $route,
                (::core::module_path!(), $function),
                &$options,
                (::core::file!(), ::core::line!()),
            )
        }
    };
}
