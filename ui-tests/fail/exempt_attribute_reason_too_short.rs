use idem_runtime::exempt;

#[exempt(reason = "login")]
async fn login() {}

fn main() {}
