//! The service under test; the driver starts several of them on one database.

use clap::Parser;
use idem_faults::service::{self, Arguments};

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), service::StartError> {
    service::serve(&Arguments::parse()).await
}
