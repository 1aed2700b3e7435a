use idem_runtime::read_only;

#[read_only(reason = "it only reads")]
async fn find() {}

fn main() {}
