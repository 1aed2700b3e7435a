use idem_runtime::service;

#[service]
async fn place() {}

fn main() {}
