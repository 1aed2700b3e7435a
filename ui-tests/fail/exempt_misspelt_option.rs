use idem_runtime::exempt;

#[exempt(raeson = "a login may be repeated")]
async fn login() {}

fn main() {}
