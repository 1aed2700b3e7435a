use idem_runtime::service;

struct Orders;

#[service(strict)]
impl Orders {}

fn main() {}
