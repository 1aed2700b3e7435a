//! Each error that a single server can be made to give is what docs/database-errors.md says.

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;

use idem_runtime::store::{Fault, Store};

/// `error` has this code, or is the end of its connection, and means `fault`.
pub(crate) fn is<S: Store>(error: &sqlx::Error, code: &str, fault: Fault) {
    let said = error.as_database_error().map(|error| format!("{:?} {error}", error.code()));
    assert!(said.is_none_or(|said| said.contains(code)), "{code}: {error}");
    assert_eq!(S::classify(error), fault, "{error}");
}
