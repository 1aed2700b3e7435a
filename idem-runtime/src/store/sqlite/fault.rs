//! What the errors of SQLite say about the statement that met them.

use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteError;

use crate::store::Fault;

const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const NO_MEMORY: i32 = 7;
const READ_ONLY: i32 = 8;
const INTERRUPTED: i32 = 9;
const IO: i32 = 10;
const FULL: i32 = 13;
const CANNOT_OPEN: i32 = 14;

/// The low byte of the code; what is above it only refines it.
fn kind(error: &dyn DatabaseError) -> i32 {
    error.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(0) & 0xff
}

/// Whether SQLite may have rolled back the whole transaction together with the statement that failed so.
pub(super) fn rolls_back(error: &SqliteError) -> bool {
    matches!(kind(error), NO_MEMORY | INTERRUPTED | IO | FULL)
}

pub(super) fn classify(error: &sqlx::Error) -> Fault {
    match error {
        sqlx::Error::Database(error) => match kind(&**error) {
            BUSY | LOCKED | NO_MEMORY | READ_ONLY | CANNOT_OPEN => Fault::Again,
            IO | FULL => Fault::Unknown,
            _ => Fault::Refused,
        },
        sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed => Fault::Unknown,
        _ => Fault::Refused,
    }
}
