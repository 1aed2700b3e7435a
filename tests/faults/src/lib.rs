//! Fault runs: a service under load by many clients while faults strike it, and a checker over what came of it.
//!
//! `service` is the program under test and uses the public API alone; `driver` starts its processes, sends the
//! load and strikes; `plan` says by a seed what strikes; `checker` judges the `log` and the tables.

#![forbid(unsafe_code)]

pub mod checker;
pub mod driver;
pub mod log;
pub mod plan;
pub mod routes;
pub mod service;
pub mod story;
