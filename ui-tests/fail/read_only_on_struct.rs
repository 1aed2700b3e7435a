use idem_runtime::read_only;

#[read_only]
struct Find;

fn main() {}
