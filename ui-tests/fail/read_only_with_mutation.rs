use idem_runtime::read_only;
use idem_runtime::sqlite::Mutation;

#[read_only]
async fn find(mutation: &mut Mutation) -> i64 {
    mutation.attempt()
}

fn main() {}
