//! The proxy between a client and a server that the test plays itself, byte by byte: what no driver does on demand.

use idem_test_support::proxy::{Fault, Proxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
const STARTUP: [u8; 9] = [0, 0, 0, 9, 0, 3, 0, 0, 0];
const READY: [u8; 6] = [b'Z', 0, 0, 0, 5, b'I'];

struct Ends {
    proxy: Proxy,
    client: TcpStream,
    server: TcpStream,
}

/// A connection through the proxy that has said nothing yet.
async fn connected() -> Ends {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port is free");
    let proxy = Proxy::start(listener.local_addr().expect("a listener has an address"));
    let client = TcpStream::connect(proxy.addr()).await.expect("the proxy listens");
    let (server, _) = listener.accept().await.expect("the proxy connects");
    Ends { proxy, client, server }
}

/// A connection that is open for queries.
async fn opened() -> Ends {
    let mut ends = connected().await;
    pass(&mut ends.client, &mut ends.server, &STARTUP).await;
    pass(&mut ends.server, &mut ends.client, &READY).await;
    ends
}

fn query(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len() + 5).expect("a query of a test is short");
    [b"Q", &length.to_be_bytes()[..], text.as_bytes(), b"\0"].concat()
}

fn answer(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len() + 5).expect("an answer of a test is short");
    [b"C", &length.to_be_bytes()[..], text.as_bytes(), b"\0", &READY].concat()
}

async fn send(to: &mut TcpStream, bytes: &[u8]) {
    to.write_all(bytes).await.expect("the proxy reads");
}

async fn expect(from: &mut TcpStream, bytes: &[u8]) {
    let mut got = vec![0; bytes.len()];
    from.read_exact(&mut got).await.expect("the proxy passes on");
    assert_eq!(got, bytes);
}

async fn pass(from: &mut TcpStream, to: &mut TcpStream, bytes: &[u8]) {
    send(from, bytes).await;
    expect(to, bytes).await;
}

/// Everything up to the end of the connection.
async fn rest(from: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    from.read_to_end(&mut rest).await.expect("the proxy closes with nothing unread");
    rest
}

#[tokio::test]
async fn the_answer_to_an_earlier_query_arrives_before_the_cut() {
    let Ends { proxy, mut client, mut server } = opened().await;
    proxy.arm(Fault::CutAfterCommit);
    pass(&mut client, &mut server, &[query("INSERT"), query("COMMIT"), query("SELECT")].concat()).await;
    send(&mut server, &[answer("INSERT"), answer("COMMIT"), answer("SELECT")].concat()).await;
    proxy.fired().await;
    assert_eq!(rest(&mut client).await, answer("INSERT"));
}

#[tokio::test]
async fn what_comes_before_a_commit_in_the_same_packet_reaches_the_server() {
    let Ends { proxy, mut client, mut server } = opened().await;
    proxy.arm(Fault::CutBeforeCommit);
    send(&mut client, &[query("INSERT"), query("COMMIT")].concat()).await;
    proxy.fired().await;
    assert_eq!(rest(&mut server).await, query("INSERT"));

    let Ends { proxy, mut client, mut server } = opened().await;
    proxy.arm(Fault::HoldCommit);
    send(&mut client, &[query("INSERT"), query("COMMIT"), query("SELECT")].concat()).await;
    proxy.fired().await;
    expect(&mut server, &query("INSERT")).await;
    pass(&mut server, &mut client, &answer("INSERT")).await;
    proxy.release();
    expect(&mut server, &[query("COMMIT"), query("SELECT")].concat()).await;
}

#[tokio::test]
async fn a_client_that_hangs_up_takes_nothing_back() {
    let Ends { proxy, mut client, mut server } = opened().await;
    proxy.arm(Fault::CutAfterCommit);
    send(&mut client, &query("COMMIT")).await;
    drop(client);
    assert_eq!(rest(&mut server).await, query("COMMIT"));
    send(&mut server, &answer("COMMIT")).await;
    proxy.fired().await;
}

#[tokio::test]
async fn a_message_in_pieces_is_found() {
    let Ends { proxy, mut client, mut server } = opened().await;
    proxy.arm(Fault::CutBeforeCommit);
    client.set_nodelay(true).unwrap();
    for byte in [query("SELECT"), query("COMMIT")].concat() {
        send(&mut client, &[byte]).await;
        tokio::task::yield_now().await;
    }
    proxy.fired().await;
    assert_eq!(rest(&mut server).await, query("SELECT"));
}

#[tokio::test]
async fn a_refused_encryption_is_passed_on_and_an_accepted_one_is_cut() {
    let Ends { proxy, mut client, mut server } = connected().await;
    pass(&mut client, &mut server, &SSL_REQUEST).await;
    pass(&mut server, &mut client, b"N").await;
    pass(&mut client, &mut server, &STARTUP).await;
    pass(&mut server, &mut client, &READY).await;
    proxy.arm(Fault::CutBeforeCommit);
    send(&mut client, &query("COMMIT")).await;
    proxy.fired().await;

    let Ends { mut client, mut server, proxy: _proxy } = connected().await;
    pass(&mut client, &mut server, &SSL_REQUEST).await;
    send(&mut server, b"S").await;
    assert!(rest(&mut client).await.is_empty());
}
