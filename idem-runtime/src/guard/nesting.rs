//! Notices a guarded operation that begins inside another one of the same guard, where it would wait for
//! itself or commit apart from it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::guard::counted;
use crate::guard::engine::Ran;
use crate::guard::tally::Tally;
use crate::key::RecordKey;
use crate::policy::Mode;
use crate::record::Timestamp;

tokio::task_local! {
    static OPEN: Arc<Frame>;
}

/// One operation that is open in this task, and those around it.
pub(super) struct Frame {
    guard: u64,
    key: RecordKey,
    mode: Mode,
    outer: Option<Arc<Frame>>,
    tally: Arc<Tally>,
    /// Whether the operation that ended last inside this one was told to come again later.
    refused_inside: AtomicBool,
    /// What the operation is to the traces.
    pub(super) span: tracing::Span,
}

impl Frame {
    /// Whether a failure of this operation only hands on a refusal that may pass; that is no outcome to pin.
    pub(super) fn was_refused_inside(&self) -> bool {
        self.refused_inside.load(Ordering::Relaxed)
    }

    /// Tells the operation around this one how this one ended.
    pub(super) fn reported<T, E>(&self, ended: Result<Ran<T, E>, Error>) -> Result<Ran<T, E>, Error> {
        counted::request(&self.span, self.key.route(), &ended);
        self.tally.count(self.key.route(), &ended);
        match &self.outer {
            Some(outer) => {
                let refused = ended.as_ref().is_err_and(Error::is_retryable);
                outer.refused_inside.store(refused, Ordering::Relaxed);
            }
            // Outside of any watch nobody wants to know.
            None => {
                let _ = WATCH.try_with(|watch| watch.saw(&ended));
            }
        }
        ended
    }
}

/// The frame of a new operation, or why it may not begin here.
pub(super) fn enter(
    guard: u64,
    tally: &Arc<Tally>,
    key: &RecordKey,
    mode: Mode,
) -> Result<Arc<Frame>, Error> {
    let entered = frame(guard, tally, key, mode);
    if let Err(error) = &entered {
        counted::refused(key.route(), error);
    }
    entered
}

fn frame(guard: u64, tally: &Arc<Tally>, key: &RecordKey, mode: Mode) -> Result<Arc<Frame>, Error> {
    let outer = OPEN.try_with(Arc::clone).ok();
    let mut frame = outer.as_deref();
    while let Some(open) = frame {
        if open.guard == guard && open.mode == Mode::Transactional {
            return Err(Error::Nested {
                fix: "write through the mutation that is open, or begin the second one after the first",
            });
        }
        if open.guard == guard && open.key == *key {
            return Err(Error::Nested {
                fix: "give the second operation a key of its own, `idem.child(\"name\")`",
            });
        }
        frame = open.outer.as_deref();
    }
    let span = counted::span(key.route());
    let refused_inside = AtomicBool::new(false);
    let (key, tally) = (key.clone(), Arc::clone(tally));
    Ok(Arc::new(Frame { guard, key, mode, outer, tally, refused_inside, span }))
}

/// Runs `body` with `frame` open.
pub(super) async fn within<T>(frame: Arc<Frame>, body: impl Future<Output = T>) -> T {
    OPEN.scope(frame, body).await
}

tokio::task_local! {
    static WATCH: Arc<Watch>;
}

/// What the guarded operations of one delegating handler came to.
#[derive(Debug, Default)]
pub(crate) struct Watch(Mutex<Seen>);

/// The sum of it.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Seen {
    /// At least one operation ran or was replayed.
    pub(crate) claimed: bool,
    /// At least one ran just now.
    pub(crate) fresh: bool,
    /// When the first of their answers ends.
    pub(crate) expires_at: Option<Timestamp>,
}

impl Watch {
    fn saw<T, E>(&self, ended: &Result<Ran<T, E>, Error>) {
        let (fresh, expires_at) = match ended {
            Ok(Ran::First { expires_at, .. } | Ran::Failed { expires_at, .. }) => (true, *expires_at),
            Ok(Ran::Recorded(record)) => (false, Some(record.expires_at)),
            Err(_) => return,
        };
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.claimed = true;
        seen.fresh |= fresh;
        seen.expires_at = seen.expires_at.into_iter().chain(expires_at).min();
    }
}

/// Runs `work` and sums up the guarded operations in it.
#[cfg(feature = "axum")]
pub(crate) async fn watched<T>(work: impl Future<Output = T>) -> (T, Seen) {
    let watch = Arc::new(Watch::default());
    let done = WATCH.scope(Arc::clone(&watch), work).await;
    let seen = *watch.0.lock().unwrap_or_else(PoisonError::into_inner);
    (done, seen)
}
