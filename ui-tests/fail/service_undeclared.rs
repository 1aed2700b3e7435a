use idem_runtime::service;

struct Orders;

#[service]
impl Orders {
    pub async fn place_order(&self) {}

    async fn helper(&self) {}
}

fn main() {}
