//! Runs one message to its end, and tells the broker what became of it.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_nats::jetstream::{self, AckKind};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::verdict::{End, Patience, Verdict};
use super::{DeadLetters, Failure, Message, MissingId};
use crate::guard::Claim;
use crate::inbox::Inbox;
use crate::key::Scope;
use crate::mutation::Mutation;
use crate::store::Store;

pub(super) type ScopeOf = dyn Fn(&Message) -> Result<Scope, Failure> + Send + Sync;

/// What every delivery needs.
pub(super) struct Settings<S: Store> {
    pub(super) inbox: Inbox<S>,
    pub(super) dead_letters: DeadLetters,
    pub(super) scope: Box<ScopeOf>,
    pub(super) missing_id: MissingId,
    pub(super) patience: Patience,
    pub(super) ack_wait: Duration,
}

pub(super) type InTransaction<S> =
    dyn for<'a> Fn(&'a Message, &'a mut Mutation<S>) -> BoxFuture<'a, Result<(), Failure>> + Send + Sync;
pub(super) type Outside<S> =
    dyn for<'a> Fn(&'a Message, &'a Claim<S>) -> BoxFuture<'a, Result<(), Failure>> + Send + Sync;

/// What runs for each message.
pub(super) enum Body<S: Store> {
    InTransaction(Box<InTransaction<S>>),
    Outside(Box<Outside<S>>),
}

impl<S: Store> Settings<S> {
    /// Runs one delivery to its end; the broker waits as long as it lasts.
    pub(super) async fn deliver(&self, raw: jetstream::Message, body: &Body<S>) {
        let Some(message) = Message::read(raw, self.missing_id) else {
            tracing::error!("a message that comes from no stream was dropped");
            return;
        };
        let mut settling = std::pin::pin!(async {
            let verdict = self.judge(&message, body).await;
            self.settle(&message, verdict).await;
        });
        loop {
            tokio::select! {
                () = &mut settling => return,
                () = tokio::time::sleep(self.ack_wait / 3) => say(&message.raw, AckKind::Progress).await,
            }
        }
    }

    async fn judge(&self, message: &Message, body: &Body<S>) -> Verdict {
        let attempt = AtomicI64::new(0);
        let run = AssertUnwindSafe(self.run(message, body, &attempt)).catch_unwind().await;
        let ended = run.unwrap_or_else(|_| Err(End::Failed(Failure::again("it panicked"))));
        let Err(end) = ended else { return Verdict::Done };
        self.patience.judge(end, attempt.into_inner(), message.deliveries())
    }

    /// Runs the body through the inbox, and notes which attempt that is.
    async fn run(&self, message: &Message, body: &Body<S>, attempt: &AtomicI64) -> Result<(), End> {
        let id = message.id().ok_or_else(|| {
            End::Failed(Failure::never("it has no Nats-Msg-Id, so that nobody knows whether it came before"))
        })?;
        let scope = (self.scope)(message).map_err(End::Failed)?;
        let begin = |number: i64| {
            attempt.store(number, Ordering::Relaxed);
            self.patience.begin(number, message.deliveries())
        };
        let (inbox, digest) = (&self.inbox, message.digest());
        match body {
            Body::InTransaction(body) => {
                let body = async |mutation: &mut Mutation<S>| {
                    begin(mutation.attempt())?;
                    body(message, mutation).await.map_err(End::Failed)
                };
                inbox.receive(scope, id, &digest, body).await?;
            }
            Body::Outside(body) => {
                let body = async |claim: &Claim<S>| {
                    begin(claim.attempt())?;
                    body(message, claim).await.map_err(End::Failed)
                };
                inbox.receive_external(scope, id, &digest, body).await?;
            }
        }
        Ok(())
    }

    async fn settle(&self, message: &Message, verdict: Verdict) {
        let (stream, sequence) = (message.stream(), message.sequence());
        match verdict {
            Verdict::Done => confirm(message, AckKind::Ack).await,
            Verdict::Later(pause, reason) => {
                tracing::warn!(stream, sequence, reason, ?pause, "a message is put back");
                say(&message.raw, AckKind::Nak(Some(pause))).await;
            }
            Verdict::Dead(reason) => match self.dead_letters.keep(message, &reason).await {
                Ok(()) => {
                    tracing::error!(stream, sequence, reason, "a message is given up: a dead letter");
                    confirm(message, AckKind::Term).await;
                }
                Err(error) => {
                    tracing::error!(stream, sequence, reason, %error, "a dead letter could not be kept");
                    say(&message.raw, AckKind::Nak(Some(self.patience.pauses.longest))).await;
                }
            },
        }
    }
}

/// Says it and waits until the broker has heard. If it has not, the message comes again and is found done.
async fn confirm(message: &Message, kind: AckKind) {
    if let Err(error) = message.raw.double_ack_with(kind).await {
        tracing::debug!(%error, "an acknowledgement may be lost; the broker delivers again");
    }
}

/// Says it; the broker delivers again if it does not hear.
pub(super) async fn say(message: &jetstream::Message, kind: AckKind) {
    if let Err(error) = message.ack_with(kind).await {
        tracing::debug!(%error, "the broker could not be told");
    }
}
