use idem_runtime::read_only;

#[read_only]
async fn find(sku: &str, mutation: Option<&mut idem_runtime::Mutation<sqlx::Sqlite>>) -> bool {
    sku.is_empty() && mutation.is_some()
}

fn main() {}
