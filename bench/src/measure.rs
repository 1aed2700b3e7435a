//! Two things in turn: slot by slot, so that a machine that slows down slows both.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::Error;

/// One comparison.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) database: &'static str,
    pub(crate) measure: &'static str,
    pub(crate) mode: &'static str,
    pub(crate) connections: u32,
    pub(crate) ratio_to: &'static str,
    /// Throughput of ours divided by theirs: the median over the pairs of slots.
    pub(crate) ratio: f64,
    pub(crate) ratio_low: f64,
    pub(crate) ratio_high: f64,
    pub(crate) ours_per_second: f64,
    pub(crate) theirs_per_second: f64,
    pub(crate) pairs: usize,
}

/// How long and how often.
pub(crate) struct Slots {
    length: Duration,
    pairs: usize,
}

impl Slots {
    pub(crate) fn quick() -> Self {
        Self { length: Duration::from_millis(100), pairs: 3 }
    }

    pub(crate) fn full() -> Self {
        Self { length: Duration::from_millis(700), pairs: 9 }
    }

    /// Runs both in turn with as many callers as there are connections.
    pub(crate) async fn compare(
        &self,
        (database, measure, mode, connections, ratio_to): (
            &'static str,
            &'static str,
            &'static str,
            u32,
            &'static str,
        ),
        ours: &impl AsyncFn() -> Result<u64, Error>,
        theirs: &impl AsyncFn() -> Result<u64, Error>,
    ) -> Result<Figure, Error> {
        let warm_up = Self { length: self.length / 3, pairs: 1 };
        warm_up.slot(connections, ours).await?;
        warm_up.slot(connections, theirs).await?;
        let (mut ratios, mut our_rates, mut their_rates) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.pairs {
            let (our_rate, their_rate) =
                (self.slot(connections, ours).await?, self.slot(connections, theirs).await?);
            ratios.push(our_rate / their_rate);
            our_rates.push(our_rate);
            their_rates.push(their_rate);
        }
        Ok(Figure {
            database,
            measure,
            mode,
            connections,
            ratio_to,
            ratio: quantile(&mut ratios, 2),
            ratio_low: quantile(&mut ratios, 1),
            ratio_high: quantile(&mut ratios, 3),
            ours_per_second: quantile(&mut our_rates, 2),
            theirs_per_second: quantile(&mut their_rates, 2),
            pairs: self.pairs,
        })
    }

    /// Operations per second of one slot.
    async fn slot(
        &self,
        callers: u32,
        operation: &impl AsyncFn() -> Result<u64, Error>,
    ) -> Result<f64, Error> {
        let (begin, done) = (Instant::now(), AtomicU64::new(0));
        let caller = async || -> Result<(), Error> {
            while begin.elapsed() < self.length {
                done.fetch_add(operation().await?, Ordering::Relaxed);
            }
            Ok(())
        };
        let callers: Vec<_> = (0..callers).map(|_| Box::pin(caller())).collect();
        for outcome in futures_util::future::join_all(callers).await {
            outcome?;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of one slot")]
        Ok(done.load(Ordering::Relaxed) as f64 / begin.elapsed().as_secs_f64())
    }
}

/// The quarter `quarters` of sorted values.
fn quantile(values: &mut [f64], quarters: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) * quarters / 4]
}
