use idem_runtime::exempt;

#[exempt(reason = "a login may be repeated", until = "next year")]
async fn login() {}

fn main() {}
