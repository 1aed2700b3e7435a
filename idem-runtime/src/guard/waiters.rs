//! Duplicates that wait for their twin: no connection is held, and one of them looks for all.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::key::RecordKey;
use crate::record::Reading;
use crate::store::StoreResult;

/// All keys on which somebody in this process waits.
#[derive(Debug)]
pub(super) struct Waiters {
    rooms: Mutex<Rooms>,
    most: usize,
    most_on_one_key: usize,
}

#[derive(Debug, Default)]
struct Rooms {
    by_key: HashMap<RecordKey, Weak<Room>>,
    /// How many wait in all rooms.
    seats: usize,
}

/// As many wait as may: one more does not.
#[derive(Debug)]
pub(super) struct Crowded;

/// Where the duplicates of one key wait.
#[derive(Debug)]
struct Room {
    /// The twin in this process has finished.
    finished: Notify,
    /// How many wait here; changed under the lock of all rooms.
    seats: AtomicUsize,
    /// Held by the one who looks.
    lookout: tokio::sync::Mutex<()>,
    /// What the lookout saw last.
    seen: watch::Sender<Option<Arc<Reading>>>,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            finished: Notify::new(),
            seats: AtomicUsize::new(0),
            lookout: tokio::sync::Mutex::new(()),
            seen: watch::Sender::new(None),
        }
    }
}

/// The shortest and longest pause between two looks at a record whose owner is in another process.
const FIRST_PAUSE: Duration = Duration::from_millis(15);
const LAST_PAUSE: Duration = Duration::from_millis(250);

impl Waiters {
    pub(super) fn new(most: usize, most_on_one_key: usize) -> Self {
        Self { rooms: Mutex::default(), most, most_on_one_key }
    }

    /// Wakes those who wait for `key`; called by whoever settles it in this process.
    pub(super) fn finished(&self, key: &RecordKey) {
        let rooms = self.rooms();
        if let Some(room) = rooms.by_key.get(key).and_then(Weak::upgrade) {
            // `notify_one` keeps its permit for a lookout that is just between two looks.
            room.finished.notify_one();
        }
    }

    /// Waits until `done` says so of a reading, and gives it; `None` at the deadline or when the row is gone.
    ///
    /// `look` reads the record once; only one of all waiters calls it at a time.
    pub(super) async fn wait<'a>(
        &self,
        key: &RecordKey,
        deadline: Instant,
        look: impl Fn() -> BoxFuture<'a, StoreResult<Option<Reading>>>,
        done: impl Fn(&Reading) -> bool,
    ) -> Result<Option<Arc<Reading>>, Crowded> {
        let seat = Seat { waiters: self, key, room: self.enter(key)? };
        let room = &seat.room;
        let mut seen = room.seen.subscribe();
        let watching = async {
            loop {
                if seen.changed().await.is_err() {
                    return None;
                }
                let reading = seen.borrow_and_update().clone();
                match reading {
                    Some(reading) if !done(&reading) => {}
                    settled => return settled,
                }
            }
        };
        let looking = async {
            let _lookout = room.lookout.lock().await;
            let mut pause = FIRST_PAUSE;
            loop {
                tokio::select! {
                    () = room.finished.notified() => {}
                    () = tokio::time::sleep(pause.mul_f64(0.75 + fastrand::f64() / 2.0)) => {}
                }
                pause = (pause * 3 / 2).min(LAST_PAUSE);
                // A store that does not answer is asked again; the deadline ends it.
                let Ok(reading) = look().await else { continue };
                let reading = reading.map(Arc::new);
                room.seen.send_replace(reading.clone());
                match reading {
                    Some(reading) if !done(&reading) => {}
                    settled => return settled,
                }
            }
        };
        Ok(tokio::select! {
            settled = watching => settled,
            settled = looking => settled,
            () = tokio::time::sleep_until(deadline) => None,
        })
    }

    fn enter(&self, key: &RecordKey) -> Result<Arc<Room>, Crowded> {
        let mut rooms = self.rooms();
        let room = rooms.by_key.get(key).and_then(Weak::upgrade);
        let here = room.as_ref().map_or(0, |room| room.seats.load(Ordering::Relaxed));
        if rooms.seats >= self.most || here >= self.most_on_one_key {
            return Err(Crowded);
        }
        let room = room.unwrap_or_else(|| {
            let room = Arc::new(Room::default());
            rooms.by_key.insert(key.clone(), Arc::downgrade(&room));
            room
        });
        room.seats.store(here + 1, Ordering::Relaxed);
        rooms.seats += 1;
        Ok(room)
    }

    fn rooms(&self) -> std::sync::MutexGuard<'_, Rooms> {
        // The map stays whole whoever panics while holding it.
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One waiter's place; the last to leave closes the room.
struct Seat<'a> {
    waiters: &'a Waiters,
    key: &'a RecordKey,
    room: Arc<Room>,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut rooms = self.waiters.rooms();
        rooms.seats -= 1;
        if self.room.seats.fetch_sub(1, Ordering::Relaxed) == 1 {
            rooms.by_key.remove(self.key);
        }
    }
}
