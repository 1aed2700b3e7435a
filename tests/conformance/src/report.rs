//! What became of the cases, for people.

use std::fmt;

use crate::case::Case;

/// What became of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Everything held; with remarks on what it left open.
    Passed(Vec<String>),
    /// A step differed; how, and what the server answered.
    Failed(String),
    /// It could not be run here, and why.
    LeftOut(String),
}

/// The verdict on one case.
#[derive(Debug, Clone)]
pub struct Report {
    /// The id of the case.
    pub id: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The words of the forecasts that were compared with what requests then got.
    pub foreseen: Vec<&'static str>,
    heading: String,
}

impl Report {
    pub(crate) fn new(case: &Case, verdict: Verdict, foreseen: Vec<&'static str>) -> Self {
        let policy = case.policy.map(|policy| format!(" [{policy}]")).unwrap_or_default();
        let heading = format!("{} {}{policy}", case.id, case.title);
        let heading =
            if case.why.is_empty() { heading } else { format!("{heading}\n  because: {}", case.why) };
        Self { id: case.id.clone(), verdict, foreseen, heading }
    }

    /// Whether a step differed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        matches!(self.verdict, Verdict::Failed(_))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verdict {
            Verdict::Passed(remarks) if remarks.is_empty() => write!(f, "ok {}", self.id),
            Verdict::Passed(remarks) => write!(f, "ok {} ({})", self.id, remarks.join(", ")),
            Verdict::LeftOut(reason) => write!(f, "LEFT OUT {}: {reason}", self.id),
            Verdict::Failed(reason) => {
                write!(f, "FAILED {}\n  {}", self.heading, reason.replace('\n', "\n  "))
            }
        }
    }
}
