//! What the example services share, so that each shows only what is its own.
//!
//! [`run`] is their `main`: a service, or with `--demo` a demo that starts the service as a child process. [`Client`]
//! plays a client that repeats itself, compares the answers and counts them. An application writes none of this.

#![forbid(unsafe_code)]

mod client;
mod database;
mod error;
mod flags;
mod process;
mod service;
mod stall;
mod user;

pub use client::{Answer, Call, Client, Summary, show};
pub use database::open;
pub use error::DemoError;
pub use flags::{Flags, run};
pub use process::Service;
pub use service::{say, serve};
pub use stall::Stall;
pub use user::User;
