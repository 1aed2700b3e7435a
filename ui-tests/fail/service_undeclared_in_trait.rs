use idem_runtime::service;

#[service]
trait Orders {
    async fn place(&self);

    async fn cancel(&self) {}
}

fn main() {}
