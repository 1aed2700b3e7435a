use idem_runtime::exempt;

#[exempt(reason = "a login may be repeated")]
const fn login() {}

fn main() {}
