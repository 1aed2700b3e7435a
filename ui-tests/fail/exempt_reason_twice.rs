use idem_runtime::exempt;

#[exempt(reason = "a login may be repeated", reason = "a login may be repeated")]
async fn login() {}

fn main() {}
