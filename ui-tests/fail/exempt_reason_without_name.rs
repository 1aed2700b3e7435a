use idem_runtime::exempt;

#[exempt("a login may be repeated")]
async fn login() {}

fn main() {}
