//! Notices a guarded operation that begins inside another one of the same guard, where it would wait for
//! itself or commit apart from it.

use std::sync::Arc;

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
    Ok(Arc::new(Frame { guard, key: key.clone(), mode, outer }))
}

/// Runs `body` with `frame` open.
pub(super) async fn within<T>(frame: Arc<Frame>, body: impl Future<Output = T>) -> T {
    OPEN.scope(frame, body).await
}
