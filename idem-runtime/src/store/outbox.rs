//! The outbox of a store: events that commit with a body's transaction, and their way to the handlers.
//!
//! A dispatcher takes an event by a lease and a token of its own, as an attempt does with a record; each later
//! change of the event is fenced by that token, so that a frozen dispatcher cannot overwrite the next one.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use uuid::Uuid;

use super::{ConnectionOf, NewClaim, Store, StoreResult};
use crate::record::{Answer, Bindings, Timestamp};

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod row;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod select;

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(super) use row::{event, event_columns, event_group};
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(super) use select::select_events;

/// An event as a body publishes it; `Debug` shows neither payload nor headers.
#[derive(Clone)]
pub struct NewEvent {
    /// Its identity, the same at every delivery.
    pub id: Uuid,
    /// What happened: `order.created`.
    pub event_type: String,
    /// Which shape its payload has.
    pub version: u32,
    /// Whose it is.
    pub tenant: String,
    /// Who caused it.
    pub actor: String,
    /// Events with the same one are delivered in order.
    pub aggregate: Option<String>,
    /// JSON.
    pub payload: String,
    /// A JSON object of strings, such as the trace context.
    pub headers: String,
}

impl fmt::Debug for NewEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewEvent")
            .field("id", &self.id)
            .field("event_type", &self.event_type)
            .field("version", &self.version)
            .field("tenant", &self.tenant)
            .field("actor", &self.actor)
            .field("aggregate", &self.aggregate)
            .finish_non_exhaustive()
    }
}

/// What owns an event: its number, which delivery this is, and who took it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventToken {
    /// The event's number.
    pub sequence: i64,
    /// Grows by one each time that the event is taken.
    pub attempt: i64,
    /// Random for each taking.
    pub claim_id: Uuid,
}

/// How far an event has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventStatus {
    /// Not yet with all its handlers.
    Pending,
    /// All handlers have it.
    Delivered,
    /// Given up: an operator decides.
    Dead,
}

impl EventStatus {
    /// The word in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
        }
    }

    /// The status of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Pending, Self::Delivered, Self::Dead].into_iter().find(|status| status.as_str() == word)
    }
}

/// An event as the database holds it.
#[derive(Debug, Clone)]
pub struct StoredEvent {
    /// What was published.
    pub event: NewEvent,
    /// Its number: the order within its aggregate.
    pub sequence: i64,
    /// How far it has come.
    pub status: EventStatus,
    /// How often it was taken.
    pub attempt: i64,
    /// How many of these count: those that failed, or stopped without a word.
    pub deliveries: i64,
    /// Who holds it, or held it last.
    pub claim_id: Option<Uuid>,
    /// When it may be taken, if it is pending.
    pub due_at: Timestamp,
    /// The handlers that have it, each between two blanks.
    pub delivered_to: String,
    /// Why the last delivery failed.
    pub last_error: Option<String>,
    /// When it was published.
    pub created_at: Timestamp,
    /// When it was delivered or given up.
    pub completed_at: Option<Timestamp>,
    /// The database's time.
    pub now: Timestamp,
}

impl StoredEvent {
    /// What fences the holder's changes.
    #[must_use]
    pub fn token(&self) -> EventToken {
        let claim_id = self.claim_id.unwrap_or_default();
        EventToken { sequence: self.sequence, attempt: self.attempt, claim_id }
    }

    /// Whether this handler has it already.
    #[must_use]
    pub fn is_delivered_to(&self, handler_key: &str) -> bool {
        self.delivered_to.split(' ').any(|key| key == handler_key)
    }
}

/// That a handler has an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventMark {
    /// The handler, or nothing where all had it before.
    pub handler_key: String,
    /// Whether no other handler is left.
    pub complete: bool,
}

/// The end of a delivery whose event alone was held until now: the record is written only as it succeeds.
#[derive(Debug, Clone, Copy)]
pub struct Settlement<'a> {
    /// What owns the event, and so fences the delivery.
    pub event: EventToken,
    /// How the event is marked.
    pub mark: &'a EventMark,
    /// What the record's claim would have written.
    pub claim: &'a NewClaim,
    /// What a repetition gets.
    pub answer: &'a Answer,
    /// What the handler has bound.
    pub bindings: &'a Bindings,
}

/// What became of a [`Settlement`]; unless it is done, the transaction is to be rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Event and record are written; they hold once the transaction commits.
    Done,
    /// Somebody else holds the event.
    Lost,
    /// There is a record, which says what becomes of this delivery.
    Met,
    /// The transaction that the guard began is not the one that is open now.
    Ended,
}

/// A fenced change of an event that its holder makes.
#[derive(Debug, Clone)]
pub enum EventChange {
    /// The lease goes on for so long from now.
    Extend(Duration),
    /// This handler has it; with `complete`, all of them have.
    Deliver(EventMark),
    /// It may be taken at once by anybody, as if it had not been taken.
    GiveBack,
    /// It may be taken again after a pause.
    Postpone {
        /// The pause.
        pause: Duration,
        /// Why.
        error: String,
        /// Whether this delivery counts as one of those it may have.
        counts: bool,
    },
    /// It is given up.
    Bury {
        /// Why.
        error: String,
    },
}

/// Which events a list shows; what is `None` is not asked.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// This status alone.
    pub status: Option<EventStatus>,
    /// This type alone.
    pub event_type: Option<String>,
    /// This tenant alone.
    pub tenant: Option<String>,
    /// Only those behind this number.
    pub after: Option<i64>,
}

/// The events of one type and version with one status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventGroup {
    /// The type.
    pub event_type: String,
    /// The version.
    pub version: i64,
    /// The word of the status.
    pub status: String,
    /// How many there are.
    pub events: i64,
    /// When the oldest was published.
    pub oldest: Timestamp,
    /// The database's time.
    pub now: Timestamp,
}

/// A store with an outbox; sealed as [`Store`] is.
///
/// Every method but `publish`, `settle` and `change` runs on a connection without a transaction.
pub trait Outbox: Store {
    /// Whether the outbox's table with all its columns is there.
    fn has_outbox(conn: &mut ConnectionOf<Self>) -> impl Future<Output = StoreResult<bool>> + Send;

    /// Writes the event; inside the body's transaction, with which it commits or vanishes.
    fn publish(
        conn: &mut ConnectionOf<Self>,
        event: &NewEvent,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Takes at most `batch` due events in the order of their numbers; of any number of takers each gets others.
    ///
    /// An event is not taken while an earlier one of its aggregate is pending, whoever holds that.
    fn take(
        conn: &mut ConnectionOf<Self>,
        claim_id: Uuid,
        lease: Duration,
        batch: u32,
    ) -> impl Future<Output = StoreResult<Vec<StoredEvent>>> + Send;

    /// Takes the first pending events of one aggregate, at most `batch` and none behind one that is not due, in
    /// their order.
    fn take_next(
        conn: &mut ConnectionOf<Self>,
        claim_id: Uuid,
        lease: Duration,
        aggregate: (&str, &str),
        batch: u32,
    ) -> impl Future<Output = StoreResult<Vec<StoredEvent>>> + Send;

    /// Marks an event and writes the record of its delivery as succeeded, in the handler's transaction at its end.
    ///
    /// Closes the race with whoever took the event after this holder: it writes nothing unless token and status
    /// are still ours, and holds the event until the commit. Of any number of racers one inserts the record.
    fn settle(
        conn: &mut ConnectionOf<Self>,
        settlement: Settlement<'_>,
    ) -> impl Future<Output = StoreResult<Settled>> + Send;

    /// Changes a pending event that is held by this token; `false`: somebody else has it by now.
    ///
    /// Inside a transaction the change commits or vanishes with it, and holds the row until then.
    fn change(
        conn: &mut ConnectionOf<Self>,
        token: EventToken,
        change: &EventChange,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// Calls `heard` at each announcement, for ever; what it misses is found by looking.
    fn listen(pool: &sqlx::Pool<Self>, heard: impl Fn() + Send + Sync) -> impl Future<Output = ()> + Send;

    /// At most `limit` events in the order of their numbers.
    fn events(
        conn: &mut ConnectionOf<Self>,
        filter: &EventFilter,
        limit: u32,
    ) -> impl Future<Output = StoreResult<Vec<StoredEvent>>> + Send;

    /// One event.
    fn event(
        conn: &mut ConnectionOf<Self>,
        id: Uuid,
    ) -> impl Future<Output = StoreResult<Option<StoredEvent>>> + Send;

    /// All events by type and status; reads the whole table.
    fn event_stats(
        conn: &mut ConnectionOf<Self>,
    ) -> impl Future<Output = StoreResult<Vec<EventGroup>>> + Send;

    /// Makes an event that was given up due now, with all its deliveries before it; `false`: it is not dead.
    fn retry_event(conn: &mut ConnectionOf<Self>, id: Uuid)
    -> impl Future<Output = StoreResult<bool>> + Send;

    /// Makes an event that nobody holds count as given up; `false`: it is held, or not pending.
    fn bury_event(
        conn: &mut ConnectionOf<Self>,
        id: Uuid,
        error: &str,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// How many events [`purge_events`](Self::purge_events) would delete now.
    fn purgeable_events(
        conn: &mut ConnectionOf<Self>,
        older_than: Duration,
    ) -> impl Future<Output = StoreResult<u64>> + Send;

    /// Deletes at most `batch` events that were delivered at least `older_than` ago; never a dead one.
    fn purge_events(
        conn: &mut ConnectionOf<Self>,
        older_than: Duration,
        batch: u32,
    ) -> impl Future<Output = StoreResult<u64>> + Send;
}
