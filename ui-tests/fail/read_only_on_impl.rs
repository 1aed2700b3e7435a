use idem_runtime::read_only;

struct Orders;

#[read_only]
impl Orders {}

fn main() {}
