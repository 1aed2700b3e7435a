//! Notices a guarded operation that begins inside another one of the same guard, where it would wait for
//! itself or commit apart from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use crate::key::RecordKey;
use crate::policy::Mode;

tokio::task_local! {
    static OPEN: Arc<Frame>;
}

/// One operation that is open in this task, and those around it.
pub(super) struct Frame {
    guard: u64,
    key: RecordKey,
    mode: Mode,
    outer: Option<Arc<Frame>>,
    /// Whether the operation that ended last inside this one was told to come again later.
    refused_inside: AtomicBool,
}

impl Frame {
    /// Whether a failure of this operation only hands on a refusal that may pass; that is no outcome to pin.
    pub(super) fn was_refused_inside(&self) -> bool {
        self.refused_inside.load(Ordering::Relaxed)
    }

    /// Tells the operation around this one how this one ended.
    pub(super) fn reported<T>(&self, ended: Result<T, Error>) -> Result<T, Error> {
        if let Some(outer) = &self.outer {
            let refused = ended.as_ref().is_err_and(Error::is_retryable);
            outer.refused_inside.store(refused, Ordering::Relaxed);
        }
        ended
    }
}

/// The frame of a new operation, or why it may not begin here.
pub(super) fn enter(guard: u64, key: &RecordKey, mode: Mode) -> Result<Arc<Frame>, Error> {
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
    Ok(Arc::new(Frame { guard, key: key.clone(), mode, outer, refused_inside: AtomicBool::new(false) }))
}

/// Runs `body` with `frame` open.
pub(super) async fn within<T>(frame: Arc<Frame>, body: impl Future<Output = T>) -> T {
    OPEN.scope(frame, body).await
}
