use idem_runtime::service;

#[service]
struct Orders;

fn main() {}
