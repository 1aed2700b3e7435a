use idem_runtime::exempt;

#[exempt(reason = "a login may be repeated")]
#[exempt(reason = "it may be repeated")]
async fn login() {}

fn main() {}
