#![allow(unused_variables)]

use idem_runtime::sqlite::Idempotency;
use idem_runtime::{Error, idempotent};

#[idempotent(route = "trips.book", steps = true)]
async fn book(idem: &Idempotency) -> Result<(), Error> {
    Ok(())
}

fn main() {}
