//! Asks for restarts of the server where `cargo xtask faults` listens for that.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::Result;
use crate::plan::Fault;

/// Restarts the server and returns when it is ready again.
pub(super) async fn restart(control: SocketAddr, how: Fault) -> Result<()> {
    let mut stream = BufReader::new(TcpStream::connect(control).await?);
    let word: &[u8] = if how == Fault::RestartFast { b"fast\n" } else { b"immediate\n" };
    stream.write_all(word).await?;
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    if line.trim() == "ready" { Ok(()) } else { Err(format!("the server did not restart: {line}").into()) }
}
