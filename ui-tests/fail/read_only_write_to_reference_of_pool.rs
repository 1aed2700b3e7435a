use idem_runtime::read_only;
use idem_runtime::sqlite::ReadPool;

#[read_only]
async fn remove(reads: &ReadPool) {
    let _ = sqlx::query("DELETE FROM orders").execute(reads).await;
}

fn main() {}
