//! A route names one function: two that share one would answer each other's requests.

use super::{Stance, stances};

/// A route that two functions declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the route {:?} is declared twice, by {} and by {}: rename one of the two",
    .first.route().unwrap_or_default(),
    Place(.first),
    Place(.second)
)]
pub struct DuplicateRoute {
    /// The one.
    pub first: &'static Stance,
    /// The other.
    pub second: &'static Stance,
}

/// A function and where it stands.
struct Place<'a>(&'a Stance);

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(stance) = self;
        write!(f, "{}::{} ({}:{})", stance.module(), stance.name(), stance.file(), stance.line())
    }
}

/// Whether each route of the program is declared once; a guard asks this when it is built.
///
/// Routes of policies that were made by hand are not known here.
pub fn unique_routes() -> Result<(), DuplicateRoute> {
    first_duplicate(stances())
}

fn first_duplicate(mut stances: Vec<&'static Stance>) -> Result<(), DuplicateRoute> {
    // rustdoc links all examples of a crate into one program, although each is a program of its own.
    stances.retain(|stance| stance.route().is_some() && !stance.module().starts_with("doctest_bundle_"));
    stances.sort_by_key(|stance| (stance.route(), stance.file(), stance.line()));
    let twins = stances.windows(2).find(|pair| pair[0].route() == pair[1].route());
    twins.map_or(Ok(()), |pair| Err(DuplicateRoute { first: pair[0], second: pair[1] }))
}

/// For a test of the application: no route is declared twice.
///
/// ```
/// idem_runtime::registry::assert_unique_routes();
/// ```
///
/// # Panics
///
/// When one is; the message names both places.
#[track_caller]
pub fn assert_unique_routes() {
    if let Err(error) = unique_routes() {
        panic!("{error}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    static ONE: Stance = Stance::declared(
        Kind::Idempotent,
        Some("orders.create"),
        ("shop::orders", "create"),
        &[],
        ("src/orders.rs", 7),
    );
    static OTHER: Stance = Stance::declared(
        Kind::Idempotent,
        Some("orders.create"),
        ("shop::carts", "order"),
        &[],
        ("src/carts.rs", 9),
    );
    static EXEMPT: Stance = Stance::declared(Kind::Exempt, None, ("shop", "login"), &[], ("src/lib.rs", 3));
    static IN_AN_EXAMPLE: Stance = Stance::declared(
        Kind::Idempotent,
        Some("orders.create"),
        ("doctest_bundle_2024::__doctest_1", "create"),
        &[],
        ("src/lib.rs", 3),
    );

    #[test]
    fn a_route_that_is_declared_twice_is_refused_with_both_places() {
        let error = first_duplicate(vec![&ONE, &EXEMPT, &OTHER]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the route \"orders.create\" is declared twice, by shop::carts::order (src/carts.rs:9) and by \
             shop::orders::create (src/orders.rs:7): rename one of the two"
        );
    }

    #[test]
    fn functions_without_a_route_and_examples_of_the_documentation_are_no_duplicates() {
        assert_eq!(first_duplicate(vec![&ONE, &EXEMPT, &EXEMPT, &IN_AN_EXAMPLE]), Ok(()));
    }
}
