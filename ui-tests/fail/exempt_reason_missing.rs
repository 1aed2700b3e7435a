use idem_runtime::exempt;

#[exempt]
async fn login() {}

fn main() {}
