//! A proxy in front of PostgreSQL, MySQL or MariaDB that fails at the point that a test names.
//!
//! It reads the messages of the protocol, so a fault strikes at a statement and not at some byte; it looks at no
//! clock unless it was told to be slow, and every wait ends by a signal.

mod connection;
mod mysql;
mod wire;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

/// What goes wrong; each strikes once, at the first connection that gets there, except [`Fault::Refuse`].
///
/// A commit is a simple query whose text is exactly `COMMIT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The commit does not reach the server; both sides see the connection closed.
    CutBeforeCommit,
    /// The server commits; its answer is lost and both sides see the connection closed.
    CutAfterCommit,
    /// The commit stays on its way until [`Proxy::release`] or [`Proxy::cut`].
    HoldCommit,
    /// A statement stays on its way likewise; it is found as that of [`Fault::CutReplyTo`] is.
    HoldStatement(String),
    /// The statement is executed; its answer is lost and both sides see the connection closed.
    ///
    /// It is found by a part of its text, be it a simple query or a prepared statement, or by a part of its
    /// parameters as they go over the wire. Preparing alone does not count, as it has no effect to lose.
    CutReplyTo(String),
    /// All connections are closed and new ones too, until [`Proxy::heal`].
    ///
    /// [`Proxy::fired`] resolves when those that were open are closed; wait for it before the next step.
    Refuse,
}

/// A running proxy; its connections end when the value is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    armed: Mutex<Option<Fault>>,
    fired: watch::Sender<bool>,
    held: Mutex<Vec<oneshot::Sender<Held>>>,
    latency: Mutex<Duration>,
    refusing: watch::Sender<bool>,
    upstream: Mutex<SocketAddr>,
}

/// How the wait of a held commit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    Released,
    Cut,
}

/// The protocol that the proxy reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaks {
    Postgres,
    Mysql,
    Anything,
}

impl Proxy {
    /// Listens on a free port of the loopback address and passes everything on to `upstream`.
    ///
    /// A connection that turns to TLS is closed, as no fault could be found in it.
    ///
    /// # Panics
    /// Outside a tokio runtime, or when no port is free.
    #[must_use]
    pub fn start(upstream: SocketAddr) -> Self {
        Self::listen(upstream, Speaks::Postgres)
    }

    /// The same in front of MySQL or MariaDB; the client must not ask for TLS.
    ///
    /// # Panics
    /// Outside a tokio runtime, or when no port is free.
    #[must_use]
    pub fn start_mysql(upstream: SocketAddr) -> Self {
        Self::listen(upstream, Speaks::Mysql)
    }

    /// The same in front of any server: the bytes are not looked into, and [`Fault::Refuse`] alone can strike.
    ///
    /// # Panics
    /// Outside a tokio runtime, or when no port is free.
    #[must_use]
    pub fn start_blind(upstream: SocketAddr) -> Self {
        Self::listen(upstream, Speaks::Anything)
    }

    fn listen(upstream: SocketAddr, speaks: Speaks) -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port is free");
        listener.set_nonblocking(true).expect("a listener can be non-blocking");
        let address = listener.local_addr().expect("a listener has an address");
        let listener = TcpListener::from_std(listener).expect("a tokio runtime is running");
        let shared = Arc::new(Shared {
            armed: Mutex::new(None),
            fired: watch::Sender::new(false),
            held: Mutex::default(),
            latency: Mutex::default(),
            refusing: watch::Sender::new(false),
            upstream: Mutex::new(upstream),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared), speaks));
        Self { address, shared, accepting }
    }

    /// Where clients connect.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// Passes new connections on to another server, as whoever watches over a cluster does after a fail-over.
    pub fn lead_to(&self, upstream: SocketAddr) {
        *lock(&self.shared.upstream) = upstream;
    }

    /// Makes the next fitting message fail; takes the place of a fault that has not struck yet.
    pub fn arm(&self, fault: Fault) {
        self.shared.fired.send_replace(false);
        let refuse = fault == Fault::Refuse;
        *lock(&self.shared.armed) = Some(fault);
        if refuse {
            self.shared.refusing.send_replace(true);
        }
    }

    /// Waits until the fault that was armed last has struck.
    ///
    /// The connection is closed by then, or the message held, and after [`Fault::CutAfterCommit`] the server has
    /// committed. Where the commit did not reach it, the server rolls back on its own a moment later.
    ///
    /// # Panics
    /// Never, as the sender lives in `self`.
    pub async fn fired(&self) {
        let mut fired = self.shared.fired.subscribe();
        fired.wait_for(|fired| *fired).await.expect("the sender is alive");
    }

    /// Lets a held commit or statement go on to the server.
    pub fn release(&self) {
        self.shared.end_holding(Held::Released);
    }

    /// Closes the connection of a held commit or statement; the server never sees it.
    pub fn cut(&self) {
        self.shared.end_holding(Held::Cut);
    }

    /// Lets everything that a client sends wait this long from now on, as a slow network would.
    ///
    /// A proxy made by [`Proxy::start_blind`] is not slowed down.
    pub fn slow_down(&self, latency: Duration) {
        *lock(&self.shared.latency) = latency;
    }

    /// Ends [`Fault::Refuse`] and takes back a fault that has not struck yet.
    pub fn heal(&self) {
        *lock(&self.shared.armed) = None;
        self.shared.refusing.send_replace(false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    /// Takes the fault if it strikes, so that it does so once.
    fn take_fault(&self, strikes: impl Fn(&Fault) -> bool) -> Option<Fault> {
        lock(&self.armed).take_if(|fault| strikes(fault))
    }

    /// Says that a commit is held, and waits until the test decides.
    async fn hold(&self) -> Held {
        let (decide, decided) = oneshot::channel();
        // Before the signal: the test may decide as soon as it sees it.
        lock(&self.held).push(decide);
        self.fired.send_replace(true);
        decided.await.unwrap_or(Held::Cut)
    }

    async fn linger(&self) {
        let latency = *lock(&self.latency);
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
    }

    fn end_holding(&self, how: Held) {
        for decide in lock(&self.held).drain(..) {
            // The connection may have ended meanwhile.
            let _ = decide.send(how);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, speaks: Speaks) {
    let mut refusing = shared.refusing.subscribe();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { continue };
                // While refusing, the client is accepted and dropped: giving up the port could lose it.
                if !*refusing.borrow() {
                    let shared = Arc::clone(&shared);
                    let upstream = *lock(&shared.upstream);
                    connections.spawn(async move {
                        let Ok(mut server) = TcpStream::connect(upstream).await else { return };
                        match speaks {
                            Speaks::Postgres => connection::run(client, server, &shared).await,
                            Speaks::Mysql => mysql::run(client, server, &shared).await,
                            Speaks::Anything => {
                                let mut client = client;
                                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                            }
                        }
                    });
                }
            }
            _ = refusing.changed() => {
                if *refusing.borrow_and_update() {
                    connections.shutdown().await;
                    shared.fired.send_replace(true);
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
