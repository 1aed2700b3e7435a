//! Deliveries under way, and those that are about to be.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::metrics::{counter, histogram};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::deliver::{Deliverer, Fate};
use super::queue::Taken;
use super::running::Delivered;
use crate::store::{Outbox, StoreResult};
use crate::telemetry::{OUTBOX_DELIVERIES, OUTBOX_LAG_SECONDS};

/// Events are taken ahead for so much time of work: a take then costs little, and nobody waits long for what we hold.
const AHEAD: Duration = Duration::from_millis(50);
/// The most that are taken of one aggregate at a time, where its deliveries are short.
const MOST_OF_AN_AGGREGATE: u32 = 32;

pub(super) struct Work<'a, S: Outbox> {
    deliverer: &'a Arc<Deliverer<S>>,
    places: usize,
    stop: CancellationToken,
    deliveries: JoinSet<Delivered>,
    /// Taken, and waiting for a place.
    ready: VecDeque<Taken>,
    pace: Pace,
    done: Delivered,
}

impl<'a, S: Outbox> Work<'a, S> {
    pub(super) fn new(deliverer: &'a Arc<Deliverer<S>>, places: usize, stop: CancellationToken) -> Self {
        let (deliveries, ready, pace) = (JoinSet::new(), VecDeque::new(), Pace::new());
        Self { deliverer, places, stop, deliveries, ready, pace, done: Delivered::default() }
    }

    /// What has been done so far.
    pub(super) fn done(&self) -> Delivered {
        self.done
    }

    /// Whether all places are taken.
    pub(super) fn is_full(&self) -> bool {
        self.deliveries.len() >= self.places
    }

    /// Fills the places, and takes events for them and ahead of them; how many it took.
    pub(super) async fn fill(&mut self) -> StoreResult<usize> {
        // All that ended meanwhile, so that one statement takes for many places under load.
        while let Some(ended) = self.deliveries.try_join_next() {
            self.note(ended.unwrap_or_default());
        }
        self.begin();
        // Never so many that those behind them would wait for longer than the places at work twice over.
        let ahead = self.pace.events_ahead(Instant::now()).min(4 * self.places);
        let free = self.places.saturating_sub(self.deliveries.len());
        if free == 0 && (ahead == 0 || self.ready.len() > ahead / 2) {
            return Ok(0);
        }
        let batch = u32::try_from(free + ahead - self.ready.len().min(ahead)).unwrap_or(u32::MAX);
        let taken = self.deliverer.queue.take(batch).await?;
        let count = taken.len();
        self.ready.extend(taken);
        self.begin();
        Ok(count)
    }

    /// Begins with what is ready, as far as there are places.
    fn begin(&mut self) {
        while !self.is_full()
            && let Some(taken) = self.ready.pop_front()
        {
            self.deliveries.spawn(deliver_in_order(Arc::clone(self.deliverer), taken, self.stop.clone()));
        }
    }

    /// Waits until one delivery has ended; `false` when there is none.
    pub(super) async fn one_ended(&mut self) -> bool {
        let Some(ended) = self.deliveries.join_next().await else { return false };
        // A delivery does not panic; should one be lost, its event's lease ends.
        self.note(ended.unwrap_or_default());
        true
    }

    fn note(&mut self, ended: Delivered) {
        self.done += ended;
        self.pace.ended(Instant::now());
    }

    /// Lets others have what waits for a place.
    pub(super) async fn give_back(&mut self) {
        self.deliverer.queue.give_back(std::mem::take(&mut self.ready)).await;
    }
}

/// How fast places become free.
struct Pace {
    since: Instant,
    ended: u32,
    ahead: usize,
}

impl Pace {
    fn new() -> Self {
        Self { since: Instant::now(), ended: 0, ahead: 0 }
    }

    fn ended(&mut self, now: Instant) {
        self.ended += 1;
        self.measure(now);
    }

    fn measure(&mut self, now: Instant) {
        let span = now.duration_since(self.since);
        if span >= AHEAD {
            let ended = u128::from(self.ended) * AHEAD.as_micros() / span.as_micros();
            self.ahead = usize::try_from(ended).unwrap_or(usize::MAX);
            (self.since, self.ended) = (now, 0);
        }
    }

    /// How many places will become free in the time for which events are taken ahead, going by the last such time.
    fn events_ahead(&mut self, now: Instant) -> usize {
        self.measure(now);
        self.ahead
    }
}

/// Delivers an event and, as long as all goes well, those behind it in its aggregate.
async fn deliver_in_order<S: Outbox>(
    deliverer: Arc<Deliverer<S>>,
    first: Taken,
    stop: CancellationToken,
) -> Delivered {
    let mut done = Delivered::default();
    let (mut run, mut most) = (VecDeque::from([first]), 1);
    let mut begin = Instant::now();
    while let Some(taken) = run.pop_front() {
        let fate = if deliverer.queue.still_holds(&taken).await {
            deliverer.deliver(&taken.event).await
        } else {
            Fate::Lost
        };
        done.count(fate);
        counted(&taken, fate);
        if !matches!(fate, Fate::Delivered | Fate::Dead) || stop.is_cancelled() {
            break;
        }
        if run.is_empty() {
            most = if begin.elapsed() < AHEAD { (most * 2).min(MOST_OF_AN_AGGREGATE) } else { 1 };
            begin = Instant::now();
            match deliverer.queue.take_behind(&taken.event, most).await {
                Ok(behind) => run.extend(behind),
                Err(error) => tracing::debug!(%error, "the next events of an aggregate could not be taken"),
            }
        }
    }
    deliverer.queue.give_back(run).await;
    done
}

/// Counts one event that was handed out.
fn counted(Taken { event, since }: &Taken, fate: Fate) {
    let event_type = &event.event.event_type;
    let word = match fate {
        Fate::Delivered => "delivered",
        Fate::Failed => "failed",
        Fate::PutOff => "put_off",
        Fate::Dead => "dead",
        Fate::Lost => "lost",
    };
    counter!(OUTBOX_DELIVERIES, "event" => event_type.clone(), "fate" => word).increment(1);
    if fate == Fate::Delivered {
        // By the database's clock until it was taken, by ours since then: no two clocks are compared.
        let lag = event.created_at.until(event.now) + since.elapsed();
        histogram!(OUTBOX_LAG_SECONDS, "event" => event_type.clone()).record(lag);
    }
}
