//! What becomes of a message after one delivery.

use std::fmt::Display;
use std::time::Duration;

use crate::error::Error;
use crate::outbox::Pauses;

/// The pause after a refusal that says none.
const AGAIN: Duration = Duration::from_secs(1);

/// Why a body did not take a message.
///
/// Every error turns into one by `?`, and the message comes again. One that can never work is said to be so by
/// [`never`](Self::never).
///
/// ```
/// use idem_runtime::nats::Failure;
///
/// fn cents(text: &str) -> Result<u32, Failure> {
///     text.parse().map_err(Failure::never)
/// }
/// assert!(cents("many").is_err());
/// ```
#[derive(Debug)]
pub struct Failure {
    reason: String,
    forever: bool,
}

impl Failure {
    /// The message may work at a later delivery.
    #[must_use]
    pub fn again(reason: impl Display) -> Self {
        Self { reason: reason.to_string(), forever: false }
    }

    /// No delivery of this message can ever work: it becomes a dead letter at once.
    #[must_use]
    pub fn never(reason: impl Display) -> Self {
        Self { reason: reason.to_string(), forever: true }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::again(error)
    }
}

/// How one delivery ended without success.
#[derive(Debug)]
pub(super) enum End {
    /// The body, or what stands before it, said so.
    Failed(Failure),
    /// The guard refused.
    Guard(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Guard(error)
    }
}

/// What the broker is told.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// The effect is committed, now or earlier.
    Done,
    /// Deliver it again after this pause.
    Later(Duration, String),
    /// It is given up.
    Dead(String),
}

/// When a message is given up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub(super) max_deliveries: i64,
    pub(super) pauses: Pauses,
}

impl Patience {
    /// Whether a message has had all its tries, of which this is one.
    ///
    /// The broker counts deliveries that found another consumer at work, and the record counts attempts from before
    /// an operator sent a dead letter again; a try is what both have counted.
    fn tries(attempt: i64, deliveries: i64) -> i64 {
        if attempt == 0 { deliveries } else { attempt.min(deliveries) }
    }

    /// Refuses a message whose earlier tries ended without an outcome, as when the process is killed each time.
    pub(super) fn begin(self, attempt: i64, deliveries: i64) -> Result<(), End> {
        if Self::tries(attempt, deliveries) > self.max_deliveries {
            let stopped = "its attempts stopped without an outcome, as when the process is killed each time";
            return Err(End::Failed(Failure::never(stopped)));
        }
        Ok(())
    }

    /// Judges a delivery that ended so; `attempt` is zero if it did not come to one.
    pub(super) fn judge(self, end: End, attempt: i64, deliveries: i64) -> Verdict {
        let reason = match end {
            End::Failed(Failure { reason, forever: true }) => return Verdict::Dead(reason),
            End::Failed(Failure { reason, forever: false }) => reason,
            End::Guard(error) => match error {
                Error::Conflict { .. }
                | Error::OutcomeUnknown
                | Error::TransactionEnded
                | Error::UnknownFingerprint
                | Error::Failed => return Verdict::Dead(error.to_string()),
                // Nothing of it was tried, so it does not count.
                error if error.is_retryable() => {
                    return Verdict::Later(error.retry_after().unwrap_or(AGAIN), error.to_string());
                }
                error => error.to_string(),
            },
        };
        let tries = Self::tries(attempt, deliveries);
        if tries >= self.max_deliveries {
            return Verdict::Dead(reason);
        }
        Verdict::Later(self.pauses.after(tries), reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;
    const PATIENCE: Patience = Patience { max_deliveries: 3, pauses: Pauses { first: NOW, longest: NOW } };

    fn failed(attempt: i64, deliveries: i64) -> Verdict {
        PATIENCE.judge(End::Failed(Failure::again("no")), attempt, deliveries)
    }

    #[test]
    fn a_failure_counts_only_what_was_tried() {
        assert_eq!(failed(3, 3), Verdict::Dead("no".to_owned()));
        assert_eq!(failed(1, 90), Verdict::Later(NOW, "no".to_owned()), "others were at work");
        assert_eq!(failed(90, 1), Verdict::Later(NOW, "no".to_owned()), "an operator sent it again");
        assert_eq!(failed(0, 3), Verdict::Dead("no".to_owned()), "it never came to an attempt");
    }

    #[test]
    fn a_message_that_kills_its_process_is_not_tried_for_ever() {
        assert!(PATIENCE.begin(3, 3).is_ok());
        assert!(PATIENCE.begin(4, 90).is_err());
    }

    #[test]
    fn a_refusal_that_passes_never_gives_a_message_up() {
        let busy = Error::InProgress { retry_after: Duration::from_secs(2) };
        let verdict = PATIENCE.judge(busy.into(), 0, 1000);
        assert!(
            matches!(verdict, Verdict::Later(pause, _) if pause == Duration::from_secs(2)),
            "{verdict:?}"
        );
        let away = PATIENCE.judge(Error::StoreUnavailable(None).into(), 0, 1000);
        assert!(matches!(away, Verdict::Later(..)), "{away:?}");
    }

    #[test]
    fn a_refusal_that_cannot_change_is_final() {
        for error in [Error::Conflict { changed: Vec::new() }, Error::OutcomeUnknown] {
            assert!(matches!(PATIENCE.judge(error.into(), 0, 1), Verdict::Dead(_)));
        }
    }
}
