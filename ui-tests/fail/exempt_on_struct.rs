use idem_runtime::exempt;

#[exempt(reason = "a login may be repeated")]
struct Login;

fn main() {}
