//! All cases on PostgreSQL; the store is away while a proxy in front of it refuses connections.

use idem_test_support::postgres::PostgresDatabase;
use idem_test_support::proxy::Proxy;
use sqlx::ConnectOptions;

use crate::app::ReferenceApp;
use crate::{CONNECTIONS, run_all};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_holds_on_postgres() {
    let database = PostgresDatabase::create().await;
    let proxy = Proxy::start(database.address().await);
    let url = database.options_through(proxy.addr()).to_url_lossy().to_string();
    // The counters are not behind the proxy: they are read while the store is away.
    let counts_url = database.url();
    let arguments = ["--database-url", &url, "--counts-url", &counts_url, "--statement-timeout-ms", "3000"];
    let app = ReferenceApp::start(&arguments, proxy, database.pool(CONNECTIONS).await).await;
    run_all("postgres", &app.server(), &app).await;
}
