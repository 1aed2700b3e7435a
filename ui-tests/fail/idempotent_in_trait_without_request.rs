use idem_runtime::{idempotent, service};

#[service]
trait Orders {
    #[idempotent]
    async fn place(&self, sku: &str);
}

fn main() {}
