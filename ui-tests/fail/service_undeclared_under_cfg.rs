use idem_runtime::service;

struct Orders;

#[service]
impl Orders {
    #[cfg(not(any()))]
    pub async fn place(&self) {}

    #[cfg(any())]
    pub async fn left_out(&self) {}

    #[cfg_attr(any(), idem_runtime::read_only)]
    pub async fn find(&self) {}

    #[cfg_attr(not(any()), idem_runtime::read_only)]
    pub async fn declared(&self) {}
}

fn main() {}
