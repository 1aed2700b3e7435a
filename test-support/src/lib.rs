//! Databases, faults and processes for the tests of this workspace; no program may depend on it.
//!
//! It knows nothing of the runtime crate, so that a test sees only what a user would see.

#![forbid(unsafe_code)]

#[cfg(feature = "mysql")]
pub mod galera;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(feature = "postgres")]
pub mod patroni;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod process;
pub mod proxy;
#[cfg(feature = "postgres")]
pub mod restartable;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod server;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "postgres")]
pub mod standbys;
