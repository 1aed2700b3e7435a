use idem_runtime::{read_only, service};

pub struct Orders;

#[service]
impl Orders {
    pub async fn place_order(&self) {}

    #[read_only]
    pub async fn find_order(&self) {}

    pub(crate) async fn cancel_order(&self) {}

    pub fn count(&self) -> usize {
        0
    }

    pub async fn ship_order(&self) {}
}

fn main() {}
