use idem_runtime::exempt;

#[exempt(reason = "a login may be repeated", until = 2027)]
async fn login() {}

fn main() {}
