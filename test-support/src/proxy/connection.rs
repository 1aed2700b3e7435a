//! One connection through the proxy: two pumps, and where the armed fault strikes.
//!
//! Messages are passed on whole and in order; no lock is held over an await.

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::wire::{self, Message, Opening};
use super::{Fault, Held, Shared, lock};

/// Passes a connection on until one side ends it or a fault cuts it.
pub(super) async fn run(mut client: TcpStream, mut server: TcpStream, shared: &Shared) {
    // A reply that waits for more data to share a packet would slow every test down.
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let session = Mutex::new(Session::default());
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let struck = tokio::select! {
        struck = pump_up(from_client, to_server, &session, shared) => struck,
        struck = pump_down(from_server, to_client, &session) => struck,
    };
    drop((client, server));
    if struck {
        shared.fired.send_replace(true);
    }
}

/// What both pumps know of the connection.
#[derive(Default)]
struct Session {
    /// How many answers of one byte, without framing, the server still owes.
    bare_answers: usize,
    /// How many `ReadyForQuery` the server still owes.
    ready_owed: usize,
    /// Set when a fault waits for its answer: how many `ReadyForQuery` belong to earlier requests.
    swallow_after: Option<usize>,
}

/// Client to server. Ends only when a fault cuts here, with whether it struck just now; the end of the connection
/// is for the other pump to see, which may still have something to pass on.
async fn pump_up(
    mut client: ReadHalf<'_>,
    mut server: WriteHalf<'_>,
    session: &Mutex<Session>,
    shared: &Shared,
) -> bool {
    let mut buffer = Vec::new();
    let mut opened = false;
    let mut statements = HashMap::new();
    while read_some(&mut client, &mut buffer).await {
        shared.linger().await;
        let mut passed = Vec::new();
        while !opened && let Some((opening, bytes)) = wire::take_opening(&mut buffer) {
            opened = opening == Opening::Session;
            let mut session = lock(session);
            session.ready_owed += usize::from(opened);
            session.bare_answers += usize::from(!opened);
            passed.extend_from_slice(&bytes);
        }
        while opened && let Some(message) = wire::take_message(&mut buffer) {
            if let Some((name, text)) = message.prepared() {
                statements.insert(name.to_vec(), text.to_vec());
            }
            match shared.take_fault(|fault| strikes(fault, &message, &statements)) {
                None | Some(Fault::Refuse) => {}
                Some(Fault::CutBeforeCommit) => {
                    let _ = server.write_all(&passed).await;
                    return true;
                }
                Some(Fault::CutAfterCommit | Fault::CutReplyTo(_)) => {
                    let mut session = lock(session);
                    session.swallow_after = Some(session.ready_owed);
                }
                Some(Fault::HoldCommit | Fault::HoldStatement(_)) => {
                    let _ = server.write_all(&passed).await;
                    passed.clear();
                    if shared.hold().await == Held::Cut {
                        return false;
                    }
                }
            }
            lock(session).ready_owed += usize::from(message.asks_for_ready());
            passed.extend_from_slice(message.bytes());
        }
        if server.write_all(&passed).await.is_err() {
            break;
        }
    }
    // A client that hung up must not take back what the server already got.
    let _ = server.shutdown().await;
    std::future::pending().await
}

/// Server to client. Ends when the server does, or with `true` when the answer that a fault waits for came.
async fn pump_down(mut server: ReadHalf<'_>, mut client: WriteHalf<'_>, session: &Mutex<Session>) -> bool {
    let mut buffer = Vec::new();
    // A client that is gone must not stop the server from finishing what it was asked.
    let mut client_gone = false;
    while read_some(&mut server, &mut buffer).await {
        let mut passed = Vec::new();
        let cut = take_passed(&mut buffer, &mut passed, &mut lock(session));
        client_gone = client_gone || client.write_all(&passed).await.is_err();
        if let Some(struck) = cut {
            return struck;
        }
    }
    lock(session).swallow_after.is_some()
}

/// Moves what the client may see from `buffer` to `passed`; `Some` when the connection is to be cut now.
fn take_passed(buffer: &mut Vec<u8>, passed: &mut Vec<u8>, session: &mut Session) -> Option<bool> {
    while session.bare_answers > 0 && !buffer.is_empty() {
        let answer = buffer.remove(0);
        session.bare_answers -= 1;
        if answer != b'N' {
            // Encrypted from here on: nothing could be found any more, and the test would prove nothing.
            return Some(false);
        }
        passed.push(answer);
    }
    while let Some(message) = wire::take_message(buffer) {
        let swallow = session.swallow_after == Some(0);
        if !swallow {
            passed.extend_from_slice(message.bytes());
        }
        if message.is_ready() {
            if swallow {
                return Some(true);
            }
            session.ready_owed = session.ready_owed.saturating_sub(1);
            session.swallow_after = session.swallow_after.map(|earlier| earlier.saturating_sub(1));
        }
    }
    None
}

/// Whether this message of the client is the one that the fault waits for.
fn strikes(fault: &Fault, message: &Message, statements: &HashMap<Vec<u8>, Vec<u8>>) -> bool {
    match fault {
        Fault::CutBeforeCommit | Fault::CutAfterCommit | Fault::HoldCommit => {
            message.query() == Some(b"COMMIT".as_slice())
        }
        Fault::CutReplyTo(part) | Fault::HoldStatement(part) => {
            let contains =
                |text: &[u8]| text.windows(part.len().max(1)).any(|window| window == part.as_bytes());
            let bound_text = message.bound().and_then(|name| statements.get(name));
            message.query().is_some_and(contains)
                || bound_text.is_some_and(|text| contains(text))
                || message.bound().is_some() && contains(message.bytes())
        }
        Fault::Refuse => false,
    }
}

/// Reads what is there; `false` at the end or after an error, which here is an end too.
pub(super) async fn read_some(from: &mut ReadHalf<'_>, buffer: &mut Vec<u8>) -> bool {
    let read: io::Result<usize> = from.read_buf(buffer).await;
    read.is_ok_and(|count| count > 0)
}
