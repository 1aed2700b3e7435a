use idem_runtime::service;

trait Orders {
    async fn place(&self);
}

struct Shop;

#[service]
impl Orders for Shop {
    async fn place(&self) {}
}

fn main() {}
