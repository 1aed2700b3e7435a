use idem_runtime::service;

#[service]
mod orders {
    pub async fn place() {}

    pub struct Orders;

    impl Orders {
        pub async fn cancel(&self) {}
    }

    pub mod inner {
        pub async fn ship() {}
    }

    async fn helper() {}
}

fn main() {}
