//! How long a failed delivery waits for the next one.

use std::time::Duration;

/// A pause that doubles with each failure, up to a limit, and differs by chance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pauses {
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

impl Pauses {
    /// The pause after so many failures, the first of which is number one: between a half and the whole of it, so
    /// that events that failed together do not come back together.
    pub(crate) fn after(self, failures: i64) -> Duration {
        let doublings = u32::try_from(failures.clamp(1, 31) - 1).unwrap_or(0);
        let whole = self.first.saturating_mul(1 << doublings).min(self.longest);
        whole.mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pauses = Pauses { first: Duration::from_secs(1), longest: Duration::from_mins(1) };
        for (failures, whole) in [(0, 1), (1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (i64::MAX, 60)] {
            for _ in 0..100 {
                let pause = pauses.after(failures);
                let whole = Duration::from_secs(whole);
                assert!(pause >= whole / 2 && pause <= whole, "{failures}: {pause:?}");
            }
        }
    }
}
