//! The body's transaction: the only handle of ours that writes.
//!
//! It keeps one connection from the claim to the commit, never gives a connection back to the pool inside a
//! transaction, and closes one whose state is not known.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use sqlx::pool::PoolConnection;
use sqlx_core::transaction::TransactionManager;

use crate::encryption::Sealing;
use crate::key::RecordKey;
use crate::record::{Bindings, Record};
use crate::store::{ConnectionOf, Store, StoreResult};

/// The transaction in which a guarded body writes; `&mut **mutation` is the sqlx connection.
///
/// Whatever the body writes through it commits together with the record, or not at all. Savepoints are
/// allowed (`mutation.begin()` of sqlx on the connection); ending the transaction is not, and is noticed.
pub struct Mutation<S: Store> {
    connection: Option<PoolConnection<S>>,
    record: Box<Record>,
    bindings: Bindings,
    publishing: Publishing,
    published: Vec<String>,
    ended: bool,
}

/// What becomes of each event before it is written.
#[derive(Debug, Clone)]
pub(crate) struct Publishing {
    pub(crate) headers: Option<EventHeaders>,
    pub(crate) sealing: Sealing,
}

/// What adds headers to each event, such as the context of a trace.
#[derive(Clone)]
pub(crate) struct EventHeaders(pub(crate) Arc<AddHeaders>);

type AddHeaders = dyn Fn(&mut BTreeMap<String, String>) + Send + Sync;

impl fmt::Debug for EventHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventHeaders")
    }
}

impl<S: Store> Mutation<S> {
    /// Begins the transaction of one attempt on the connection that made its claim.
    ///
    /// Must run in a task of its own: a BEGIN that is dropped half-way would leave the pool a connection
    /// inside a transaction.
    pub(crate) async fn begin(
        mut connection: PoolConnection<S>,
        record: Box<Record>,
        publishing: Publishing,
    ) -> StoreResult<Self> {
        if let Err(error) = S::begin(&mut connection, record.token, &record.terms).await {
            // BEGIN may have been carried out although its reply is an error.
            connection.close_on_drop();
            return Err(error);
        }
        Ok(Self {
            connection: Some(connection),
            record,
            bindings: Bindings::default(),
            publishing,
            published: Vec::new(),
            ended: false,
        })
    }

    /// Which attempt this is; one unless an earlier one failed or stopped.
    #[must_use]
    pub fn attempt(&self) -> i64 {
        self.record.token.attempt
    }

    /// The record that this transaction will complete.
    #[must_use]
    pub fn record_key(&self) -> &RecordKey {
        &self.record.key
    }

    /// Binds the task that the body queues; written with the record at the end.
    pub fn bind_task(&mut self, task_id: impl Into<String>) {
        self.bindings.task_id = Some(task_id.into());
    }

    /// Binds the outbox event that the body writes; written with the record at the end.
    pub fn bind_outbox_event(&mut self, outbox_event_id: impl Into<String>) {
        self.bindings.outbox_event_id = Some(outbox_event_id.into());
    }

    /// What becomes of the events of this transaction before they are written.
    pub(crate) fn publishing(&self) -> &Publishing {
        &self.publishing
    }

    /// Notes that an event of this type was written; the first is bound.
    pub(crate) fn note_published(&mut self, id: uuid::Uuid, event_type: String) {
        self.bindings.outbox_event_id.get_or_insert_with(|| id.to_string());
        self.published.push(event_type);
    }

    /// The types of the events that dispatchers have to learn of after the commit.
    pub(crate) fn take_published(&mut self) -> Vec<String> {
        std::mem::take(&mut self.published)
    }

    /// The record as it was claimed.
    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// What the body has bound so far.
    pub(crate) fn bindings(&self) -> &Bindings {
        &self.bindings
    }

    /// Whether exactly the transaction that `begin` began is open, as far as sqlx knows.
    pub(crate) fn is_open(&self) -> bool {
        S::TransactionManager::get_transaction_depth(self) == 1
    }

    /// Commits. Anything but success leaves the connection in doubt, and it will be closed.
    pub(crate) async fn commit(&mut self) -> StoreResult<()> {
        S::TransactionManager::commit(self).await?;
        self.ended = true;
        Ok(())
    }

    /// Rolls back, whatever savepoints are open. On an error the connection will be closed, which rolls back.
    pub(crate) async fn rollback(&mut self) -> StoreResult<()> {
        while S::TransactionManager::get_transaction_depth(self) > 0 {
            S::TransactionManager::rollback(self).await?;
        }
        self.ended = true;
        Ok(())
    }

    /// The connection, if its transaction has ended for certain.
    pub(crate) fn into_connection(mut self) -> Option<PoolConnection<S>> {
        if self.ended { self.connection.take() } else { None }
    }
}

impl<S: Store> Deref for Mutation<S> {
    type Target = ConnectionOf<S>;

    fn deref(&self) -> &ConnectionOf<S> {
        self.connection.as_ref().expect("only `into_connection` takes it, and consumes the mutation")
    }
}

impl<S: Store> DerefMut for Mutation<S> {
    fn deref_mut(&mut self) -> &mut ConnectionOf<S> {
        self.connection.as_mut().expect("only `into_connection` takes it, and consumes the mutation")
    }
}

impl<S: Store> Drop for Mutation<S> {
    /// A mutation that did not end for certain closes its connection: the database rolls back.
    fn drop(&mut self) {
        if let Some(connection) = &mut self.connection
            && !self.ended
        {
            connection.close_on_drop();
        }
    }
}

impl<S: Store> fmt::Debug for Mutation<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutation").field("attempt", &self.record.token.attempt).finish_non_exhaustive()
    }
}
