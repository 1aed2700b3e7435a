#![allow(unused_variables)]

use idem_runtime::sqlite::{Idempotency, Mutation};
use idem_runtime::{Error, idempotent};

#[idempotent(route = "trips.book", steps)]
async fn book(idem: &Idempotency, mutation: &mut Mutation) -> Result<(), Error> {
    Ok(())
}

fn main() {}
