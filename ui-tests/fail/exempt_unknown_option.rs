use idem_runtime::exempt;

#[exempt(reason = "a login may be repeated", owner = "ada")]
async fn login() {}

fn main() {}
