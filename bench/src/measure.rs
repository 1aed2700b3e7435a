//! Two things in turn: slot by slot, so that a machine that slows down slows both.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::Error;

/// What is compared with what.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Name {
    pub(crate) database: &'static str,
    pub(crate) measure: &'static str,
    pub(crate) mode: &'static str,
    pub(crate) connections: u32,
    pub(crate) ratio_to: &'static str,
}

/// One comparison.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    #[serde(flatten)]
    pub(crate) name: Name,
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

    /// Runs both in turn with as many callers as there are connections, each in a task of its own.
    pub(crate) async fn compare<O, T>(
        &self,
        name: &Name,
        ours: impl Fn() -> O + Clone + Send + 'static,
        theirs: impl Fn() -> T + Clone + Send + 'static,
    ) -> Result<Figure, Error>
    where
        O: Future<Output = Result<u64, Error>> + Send,
        T: Future<Output = Result<u64, Error>> + Send,
    {
        let warm_up = Self { length: self.length / 3, pairs: 1 };
        warm_up.slot(name.connections, &ours).await?;
        warm_up.slot(name.connections, &theirs).await?;
        let (mut ratios, mut our_rates, mut their_rates) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.pairs {
            let (our_rate, their_rate) =
                (self.slot(name.connections, &ours).await?, self.slot(name.connections, &theirs).await?);
            ratios.push(our_rate / their_rate);
            our_rates.push(our_rate);
            their_rates.push(their_rate);
        }
        Ok(Figure {
            name: *name,
            ratio: quantile(&mut ratios, 2),
            ratio_low: quantile(&mut ratios, 1),
            ratio_high: quantile(&mut ratios, 3),
            ours_per_second: quantile(&mut our_rates, 2),
            theirs_per_second: quantile(&mut their_rates, 2),
            pairs: self.pairs,
        })
    }

    /// The same slots, longer or shorter.
    pub(crate) fn of(length: Duration, pairs: usize) -> Self {
        Self { length, pairs }
    }

    /// Runs all `operations` in turn; the rates of each, slot by slot.
    pub(crate) async fn in_turn<F>(
        &self,
        callers: u32,
        operations: &[impl Fn() -> F + Clone + Send + 'static],
    ) -> Result<Vec<Vec<f64>>, Error>
    where
        F: Future<Output = Result<u64, Error>> + Send,
    {
        let mut rates = vec![Vec::new(); operations.len()];
        for _ in 0..self.pairs {
            for (operation, rates) in operations.iter().zip(&mut rates) {
                rates.push(self.slot(callers, operation).await?);
            }
        }
        Ok(rates)
    }

    /// Operations per second of one slot.
    pub(crate) async fn slot<F>(
        &self,
        callers: u32,
        operation: &(impl Fn() -> F + Clone + Send + 'static),
    ) -> Result<f64, Error>
    where
        F: Future<Output = Result<u64, Error>> + Send,
    {
        let (begin, length) = (Instant::now(), self.length);
        let callers: Vec<_> = (0..callers)
            .map(|_| {
                let operation = operation.clone();
                tokio::spawn(async move {
                    let mut done = 0;
                    while begin.elapsed() < length {
                        done += operation().await?;
                    }
                    Ok::<u64, Error>(done)
                })
            })
            .collect();
        let mut done = 0;
        for caller in callers {
            done += caller.await??;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of one slot")]
        Ok(done as f64 / begin.elapsed().as_secs_f64())
    }
}

/// The quarter `quarters` of sorted values.
pub(crate) fn quantile(values: &mut [f64], quarters: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) * quarters / 4]
}
