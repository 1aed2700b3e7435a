//! Whether a value is an `Err`, asked of any type: a `Result` answers by its own method, the rest by default.

/// A value that is asked.
#[derive(Debug)]
pub struct Probe<'a, T>(pub &'a T);

/// The answer of a `Result`.
pub trait IsErr {
    /// Whether it is an `Err`.
    fn is_err(&self) -> bool;
}

/// The answer of everything else, found one reference later.
pub trait IsNotErr {
    /// Always `false`.
    fn is_err(&self) -> bool;
}

impl<T, E> IsErr for Probe<'_, Result<T, E>> {
    fn is_err(&self) -> bool {
        self.0.is_err()
    }
}

impl<T> IsNotErr for &Probe<'_, T> {
    fn is_err(&self) -> bool {
        false
    }
}

/// Whether the predicate of `release_on` names the error that a handler returned.
pub fn is_released<T, E>(returned: &Result<T, E>, predicate: impl FnOnce(&E) -> bool) -> bool {
    returned.as_ref().is_err_and(predicate)
}

/// Whether what a reference points to is an `Err`, under whatever alias its type was written.
#[doc(hidden)]
#[macro_export]
macro_rules! __is_err {
    ($value:expr) => {{
        use $crate::__private::{IsErr as _, IsNotErr as _};
        (&$crate::__private::Probe($value)).is_err()
    }};
}
