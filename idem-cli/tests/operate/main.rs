//! The commands on a database: the real program, on every database, with records in every state.
//!
//! The snapshots hold the shape of the JSON, and all databases are held to the same ones.

mod at;
mod diagnose;
mod doctor;
mod listing;
mod outbox;
mod pages;
mod release;
mod schema;
mod sealed;
mod secrets;
mod sweeps;
#[cfg(feature = "tls")]
mod tls;
mod watch;
