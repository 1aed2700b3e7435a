use idem_runtime::exempt;

#[exempt(reason)]
async fn login() {}

fn main() {}
