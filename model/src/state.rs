//! One state of everything: the row, the open completion, where each client stands, and what has happened.

use idem_runtime::Timestamp;

use crate::history::History;
use crate::row::{Claim, Row, Token};
use crate::setup::{Budget, CLIENTS};

/// What an attempt knows of its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Own {
    /// Its token.
    pub token: Token,
    /// When the life began, by the record that it claimed.
    pub created: Claim,
    /// An earlier attempt may have reached the provider: it is asked first.
    pub recovery: bool,
    /// The life that it claimed in.
    pub life: u8,
    /// The truth about `recovery`.
    pub in_doubt: bool,
}

/// Whether an attempt may call the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// It may.
    None,
    /// It must ask first.
    Asks,
    /// It asked, and an earlier attempt was carried out.
    Done,
    /// It asked, and nobody can say.
    Unknown,
}

/// A change of the record outside the body's transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// External success.
    Complete,
    /// The body failed.
    Fail,
    /// The caller left before anything can have happened: release.
    Abandon,
    /// Nothing was committed: release, and say so.
    GiveBack,
    /// The caller left while an external body ran.
    EndLease,
    /// Nobody can say.
    MarkUnknown,
    /// Only of a broken variant: the claim is not for this request.
    Refuse,
}

/// Where the server stands with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum At {
    /// No request under way.
    Idle,
    /// The reply to its claim was lost, or the row had changed: it claims again.
    Claiming {
        /// Whether a reply was lost.
        lost: bool,
    },
    /// Only of a broken variant: it saw no record.
    SawNone,
    /// It may take over the very row that it judged.
    Judged {
        /// Whose that row is.
        token: Token,
        /// The revision that was judged.
        revision: u8,
        /// When the life of that row began.
        created_at: Timestamp,
        /// Begins a new life.
        anew: bool,
        /// Asks the provider first.
        recovery: bool,
    },
    /// The record is its own; the body has not begun.
    Held(Own),
    /// The body runs.
    Running {
        /// The claim.
        own: Own,
        /// Whether it may call.
        doubt: Doubt,
        /// Whether it has called the provider.
        called: bool,
    },
    /// Completed in its transaction; the COMMIT is not sent.
    Committing(Own),
    /// The reply to its COMMIT was lost.
    ReadingBack(Own),
    /// Writes a change.
    Ending {
        /// The claim.
        own: Own,
        /// What it writes.
        change: Change,
        /// Whether an earlier reply was lost.
        lost: bool,
    },
    /// The claim was lost: it reads what the record says now.
    Superseded,
}

/// A client with the attempt that works for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Client {
    /// How many requests it has sent.
    pub sent: u8,
    /// Where the last of them stands.
    pub at: At,
}

/// A completion that is not committed yet: it holds the lock of the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Open {
    /// Whose.
    pub client: usize,
    /// Its claim.
    pub own: Own,
    /// The COMMIT was sent and its reply lost: the database decides alone.
    pub in_flight: bool,
}

/// One state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// The row as committed.
    pub row: Option<Row>,
    /// At most one transaction can have changed the row and be open.
    pub open: Option<Open>,
    /// The clients.
    pub clients: [Client; CLIENTS],
    /// What may still go wrong.
    pub left: Budget,
    /// What has happened.
    pub past: History,
}

impl State {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new(budget: Budget) -> Self {
        let clients = [Client { sent: 0, at: At::Idle }; CLIENTS];
        Self { row: None, open: None, clients, left: budget, past: History::default() }
    }

    /// The claim of the request that `client` sent last.
    #[must_use]
    pub fn claim(&self, client: usize) -> Claim {
        Claim::of(client, self.clients[client].sent)
    }
}
