use idem_runtime::{exempt, service};

struct Orders;

#[service]
impl Orders {
    #[exempt(reason = "short")]
    pub async fn place(&self) {}
}

fn main() {}
