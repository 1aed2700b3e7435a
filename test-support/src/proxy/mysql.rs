//! One connection to MySQL or MariaDB through the proxy. Client and server take turns, so the first packet of the
//! server after a command is its answer, and whatever the command did is done by then.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::connection::read_some;
use super::{Fault, Held, Shared, lock};

const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
/// The first byte of an answer that is no error and no result set.
const OK: u8 = 0x00;

/// Passes a connection on until one side ends it or a fault cuts it.
pub(super) async fn run(mut client: TcpStream, mut server: TcpStream, shared: &Shared) {
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
    /// Whether the client has been let in, and sends commands.
    opened: bool,
    /// The statement whose number the server will answer.
    preparing: Option<Vec<u8>>,
    statements: HashMap<[u8; 4], Vec<u8>>,
    /// Whether the next answer is lost.
    cut: bool,
}

/// One packet: three bytes of length, its number within the exchange, and what it carries.
struct Packet(Vec<u8>);

impl Packet {
    /// Takes the next packet from the front of what was read, when it is there in full.
    fn take(buffer: &mut Vec<u8>) -> Option<Self> {
        let length = u32::from_le_bytes([*buffer.first()?, *buffer.get(1)?, *buffer.get(2)?, 0]);
        let end = 4 + usize::try_from(length).ok()?;
        (buffer.len() >= end).then(|| Self(buffer.drain(..end).collect()))
    }

    /// The kind of a command or an answer, and what follows it.
    fn parts(&self) -> Option<(u8, &[u8])> {
        self.0[4..].split_first().map(|(kind, rest)| (*kind, rest))
    }

    /// The same of a packet that begins an exchange.
    fn command(&self) -> Option<(u8, &[u8])> {
        self.parts().filter(|_| self.0[3] == 0)
    }
}

/// Client to server. Ends only when a fault cuts here, with whether it struck just now.
async fn pump_up(
    mut client: ReadHalf<'_>,
    mut server: WriteHalf<'_>,
    session: &Mutex<Session>,
    shared: &Shared,
) -> bool {
    let mut buffer = Vec::new();
    while read_some(&mut client, &mut buffer).await {
        shared.linger().await;
        while let Some(packet) = Packet::take(&mut buffer) {
            let met = meets(&packet, &mut lock(session), shared);
            match met {
                None | Some(Fault::Refuse) => {}
                Some(Fault::CutBeforeCommit) => return true,
                Some(Fault::CutAfterCommit | Fault::CutReplyTo(_)) => lock(session).cut = true,
                Some(Fault::HoldCommit | Fault::HoldStatement(_)) => {
                    if shared.hold().await == Held::Cut {
                        return false;
                    }
                }
            }
            if server.write_all(&packet.0).await.is_err() {
                break;
            }
        }
    }
    // A client that hung up must not take back what the server already got.
    let _ = server.shutdown().await;
    std::future::pending().await
}

/// Notes what a command prepares, and gives the fault that it meets.
fn meets(packet: &Packet, session: &mut Session, shared: &Shared) -> Option<Fault> {
    let (kind, rest) = packet.command().filter(|_| session.opened)?;
    if kind == PREPARE {
        session.preparing = Some(rest.to_vec());
    }
    let prepared = (kind == EXECUTE).then(|| session.statements.get(rest.get(..4)?)).flatten();
    shared.take_fault(|fault| match fault {
        Fault::CutBeforeCommit | Fault::CutAfterCommit | Fault::HoldCommit => {
            kind == QUERY && rest == b"COMMIT"
        }
        Fault::CutReplyTo(part) | Fault::HoldStatement(part) => {
            let contains =
                |text: &[u8]| text.windows(part.len().max(1)).any(|window| window == part.as_bytes());
            matches!(kind, QUERY | EXECUTE) && contains(rest) || prepared.is_some_and(|text| contains(text))
        }
        Fault::Refuse => false,
    })
}

/// Server to client. Ends when the server does, or with `true` when the answer that a fault waits for came.
async fn pump_down(mut server: ReadHalf<'_>, mut client: WriteHalf<'_>, session: &Mutex<Session>) -> bool {
    let mut buffer = Vec::new();
    // A client that is gone must not stop the server from finishing what it was asked.
    let mut client_gone = false;
    while read_some(&mut server, &mut buffer).await {
        let mut passed = Vec::new();
        while let Some(packet) = Packet::take(&mut buffer) {
            let mut session = lock(session);
            if session.cut {
                return true;
            }
            session.hears(&packet);
            passed.extend_from_slice(&packet.0);
        }
        client_gone = client_gone || client.write_all(&passed).await.is_err();
    }
    lock(session).cut
}

impl Session {
    fn hears(&mut self, answer: &Packet) {
        let Some((kind, rest)) = answer.parts() else { return };
        if kind == OK {
            self.opened = true;
            if let (Some(text), Some(number)) = (self.preparing.take(), rest.first_chunk()) {
                self.statements.insert(*number, text);
            }
        }
    }
}
