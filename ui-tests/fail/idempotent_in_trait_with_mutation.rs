use idem_runtime::sqlite::{Idempotency, Mutation};
use idem_runtime::{Error, idempotent};

trait Orders {
    #[idempotent]
    async fn place(&self, idem: &Idempotency, mutation: &mut Mutation) -> Result<(), Error>;
}

fn main() {}
