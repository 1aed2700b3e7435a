use idem_runtime::exempt;

#[exempt(reason = true)]
async fn login() {}

fn main() {}
