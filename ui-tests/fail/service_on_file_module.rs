use idem_runtime::service;

#[service]
mod orders;

fn main() {}
