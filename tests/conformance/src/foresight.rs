//! What an operator is told that a request will get, and whether it then gets that.

use crate::answer::Answer;

/// What was said about a request before it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forecast {
    /// Where its key stands, in the word for programs.
    pub verdict: &'static str,
    /// What it gets.
    pub next: Foreseen,
    /// It may first wait for another attempt, and then get that one's answer instead.
    pub waits: bool,
}

/// What a request gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreseen {
    /// An answer of its own.
    Runs {
        /// The number of its attempt.
        attempt: i64,
    },
    /// An answer of its own, or a recorded one, as a partner says who is asked.
    Asks {
        /// The number of its attempt.
        attempt: i64,
    },
    /// The recorded answer.
    Replays {
        /// Its status.
        status: u16,
    },
    /// A problem of the guard.
    Refused {
        /// Its status.
        status: u16,
        /// Its code.
        code: &'static str,
        /// The seconds in its `Retry-After`.
        retry_after: Option<u64>,
    },
}

impl Forecast {
    /// Whether `answer` is what was said, or `None` when the request never came to its key.
    ///
    /// `attempt` is that of the record afterwards.
    pub(crate) fn holds(&self, answer: &Answer, attempt: Option<i64>) -> Option<bool> {
        let replayed = !answer.header("idempotent-replayed").is_empty();
        let code = answer.code().filter(|code| code.starts_with("IDEMPOTENCY_"));
        let refused_early = !replayed
            && matches!(answer.status, 400 | 401 | 404 | 405 | 413 | 415 | 422)
            && !matches!(code.as_deref(), Some("IDEMPOTENCY_KEY_CONFLICT"));
        match self.next {
            Foreseen::Runs { attempt: next } if attempt == Some(next) => {
                let own = answer.json().get("attempt").and_then(serde_json::Value::as_i64);
                Some(!replayed && own.is_none_or(|own| own == next))
            }
            // What is wrong with the head or the body is said before anybody looks at the key.
            _ if refused_early => None,
            Foreseen::Runs { .. } => Some(false),
            Foreseen::Asks { attempt: next } => Some(attempt == Some(next)),
            Foreseen::Replays { status } => Some(replayed && answer.status == status),
            Foreseen::Refused { status, code: wanted, retry_after } => {
                let seconds = answer.header("retry-after").first().and_then(|text| text.parse::<u64>().ok());
                // A second may pass in between.
                let near = match (seconds, retry_after) {
                    (Some(one), Some(other)) => one.abs_diff(other) <= 1,
                    (one, other) => one == other,
                };
                let holds = !replayed && answer.status == status && code.as_deref() == Some(wanted) && near;
                if self.waits && !holds { None } else { Some(holds) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        Answer { status, headers: headers.collect(), body: body.into(), elapsed: Duration::ZERO }
    }

    fn holds(next: Foreseen, answer: &Answer, attempt: i64) -> Option<bool> {
        Forecast { verdict: "v", next, waits: false }.holds(answer, Some(attempt))
    }

    #[test]
    fn a_run_is_a_claim_of_that_attempt_and_no_replay() {
        let runs = Foreseen::Runs { attempt: 2 };
        assert_eq!(holds(runs, &answer(201, &[], r#"{"attempt":2}"#), 2), Some(true));
        assert_eq!(holds(runs, &answer(201, &[], r#"{"attempt":1}"#), 2), Some(false));
        assert_eq!(holds(runs, &answer(201, &[("idempotent-replayed", "true")], ""), 2), Some(false));
        assert_eq!(holds(runs, &answer(409, &[], ""), 1), Some(false));
        assert_eq!(holds(runs, &answer(415, &[], ""), 1), None, "refused before the claim");
    }

    #[test]
    fn a_replay_and_a_refusal_are_held_to_status_code_and_patience() {
        let replays = Foreseen::Replays { status: 201 };
        assert_eq!(holds(replays, &answer(201, &[("idempotent-replayed", "true")], ""), 1), Some(true));
        assert_eq!(holds(replays, &answer(201, &[], ""), 1), Some(false));
        let code = "IDEMPOTENCY_IN_PROGRESS";
        let refused = Foreseen::Refused { status: 409, code, retry_after: Some(3) };
        let problem = format!(r#"{{"code":"{code}"}}"#);
        assert_eq!(holds(refused, &answer(409, &[("retry-after", "2")], &problem), 1), Some(true));
        assert_eq!(holds(refused, &answer(409, &[], &problem), 1), Some(false));
        assert_eq!(holds(refused, &answer(503, &[("retry-after", "3")], &problem), 1), Some(false));
    }
}
