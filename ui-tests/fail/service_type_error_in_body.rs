use idem_runtime::{read_only, service};

struct Orders;

#[service]
impl Orders {
    #[read_only]
    pub async fn count(&self) -> u64 {
        "none"
    }
}

fn main() {}
