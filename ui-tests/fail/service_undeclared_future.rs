use idem_runtime::service;

use std::future::Future;
use std::pin::Pin;

struct Orders;

#[service]
impl Orders {
    pub fn place(&self) -> impl Future<Output = ()> {
        async {}
    }

    pub fn cancel(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async {})
    }
}

fn main() {}
