//! `idem diagnose`: what the next request with a key would get.

use std::fmt::Write as _;

use idem_runtime::store::Inspect;
use idem_runtime::{
    Comparison, Diagnosis, KeyError, Next, Reading, RecordKey, Verdict, compare_hashes, is_over,
};
use serde::Serialize;

use super::Error;
use super::database::{Database, Job, Target};
use super::json::{AnswerJson, RecordJson, document, wanted};
use super::span::{millis, rfc3339, words};
use super::words::{BAD, GOOD, address, body, facts, record, styled};
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem diagnose --tenant-id acme --user-id user-7 --route orders.create --idempotency-key k1
  idem diagnose ... --request-hash v1:-:9f86d081...  would this very request get it?
  idem diagnose ... --json | jq -r .verdict

The guard writes the hash of a request at the level `debug`. The body of a stored answer is printed with
--show-body; the JSON of a replayable record always has it.

Exit codes: 0 the next request runs or gets a recorded answer, 1 it is refused, 2 there is no answer.";

/// The four parts that make a record unique.
#[derive(Debug, clap::Args)]
pub(super) struct Address {
    /// The tenant.
    #[arg(long, value_name = "TENANT")]
    tenant_id: String,
    /// The user.
    #[arg(long, value_name = "USER")]
    user_id: String,
    /// The route, as its attribute names it.
    #[arg(long)]
    route: String,
    /// The idempotency key, without quotes.
    #[arg(long, value_name = "KEY")]
    idempotency_key: String,
}

impl Address {
    pub(super) fn key(&self) -> Result<RecordKey, Error> {
        RecordKey::stored(&self.tenant_id, &self.user_id, &self.route, &self.idempotency_key)
            .map_err(|error: KeyError| Error::Usage(error.to_string()))
    }
}

/// The arguments of `idem diagnose`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    address: Address,
    /// The stored hash of the request in question; without it, the request is taken to be the same.
    #[arg(long, value_name = "HASH")]
    request_hash: Option<String>,
    /// Print the body of the stored answer too.
    #[arg(long)]
    show_body: bool,
    #[command(flatten)]
    target: Target,
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let key = self.address.key()?;
        let mut connection = database.records().await?;
        let reading = database.ask(S::read(&mut connection, &key).await)?;
        let now = match &reading {
            Some(reading) => reading.now,
            None => database.ask(S::now(&mut connection).await)?,
        };
        let comparison = self.comparison(reading.as_ref())?;
        let record = reading.as_ref().map(|reading| &reading.record);
        let diagnosis = idem_runtime::diagnose(record, |_| comparison, now);
        let text = if wanted(self) {
            document("diagnose", Report::new(&diagnosis, reading.as_ref(), rfc3339(now)))?
        } else {
            self.text(&key, &diagnosis, reading.as_ref())
        };
        let refused = matches!(diagnosis.next, Next::Refused { .. });
        Ok(Answer { text, outcome: if refused { Outcome::Denied } else { Outcome::Clean } })
    }
}

impl Args {
    /// What the given hash says of a record that is not over; one that is over is compared with nothing.
    fn comparison(&self, reading: Option<&Reading>) -> Result<Comparison, Error> {
        let (Some(requested), Some(Reading { record, now })) = (&self.request_hash, reading) else {
            return Ok(Comparison::Same);
        };
        if is_over(record, *now) {
            return Ok(Comparison::Same);
        }
        compare_hashes(&record.request_hash, requested).ok_or_else(|| {
            Error::Usage(format!(
                "the record has the hash {}, and that of --request-hash is malformed or was made with another \
                 secret, so that they cannot be compared",
                record.request_hash
            ))
        })
    }

    fn text(&self, key: &RecordKey, diagnosis: &Diagnosis, reading: Option<&Reading>) -> String {
        let refused = matches!(diagnosis.next, Next::Refused { .. });
        let verdict = styled(if refused { BAD } else { GOOD }, diagnosis.verdict.as_str());
        let mut text = format!("{verdict}: {}\n", diagnosis.reason);
        let mut rows = vec![("key", address(key)), ("next request", next(diagnosis))];
        rows.extend(reading.map(record).unwrap_or_default());
        let _ = write!(text, "{}", facts(&rows));
        if let Some(reading) = reading.filter(|_| self.show_body) {
            text.push_str(&body(reading));
        }
        text
    }
}

/// What the next request would get, in one line.
fn next(diagnosis: &Diagnosis) -> String {
    let mut text = match diagnosis.next {
        Next::Runs { attempt } => format!("runs as attempt {attempt}"),
        Next::Asks { attempt } => format!("asks the provider, as attempt {attempt}"),
        Next::Replays { status } => format!("{status}, the recorded answer"),
        Next::Refused { status, code, retry_after: None } => format!("{status} {code}"),
        Next::Refused { status, code, retry_after: Some(seconds) } => {
            format!("{status} {code}, Retry-After: {seconds}")
        }
    };
    if !diagnosis.waits.is_zero() {
        let _ = write!(text, ", after it has waited {}", words(diagnosis.waits));
    }
    text
}

#[derive(Serialize)]
struct Report<'a> {
    verdict: &'a str,
    reason: &'a str,
    next: NextJson,
    now: String,
    record: Option<RecordJson<'a>>,
    /// Of a replayable record alone.
    answer: Option<AnswerJson<'a>>,
}

#[derive(Serialize)]
pub(super) struct NextJson {
    outcome: &'static str,
    attempt: Option<i64>,
    status: Option<u16>,
    code: Option<&'static str>,
    retry_after_s: Option<u64>,
    waits_ms: u64,
}

impl<'a> Report<'a> {
    fn new(diagnosis: &'a Diagnosis, reading: Option<&'a Reading>, now: String) -> Self {
        let replayable = reading.filter(|_| diagnosis.verdict == Verdict::Replayable);
        Self {
            verdict: diagnosis.verdict.as_str(),
            reason: diagnosis.reason,
            next: NextJson::from(diagnosis),
            now,
            record: reading.map(RecordJson::from),
            answer: replayable.and_then(|Reading { record, .. }| {
                record.answer.as_ref().map(|answer| AnswerJson::new(record, answer))
            }),
        }
    }
}

impl From<&Diagnosis> for NextJson {
    fn from(diagnosis: &Diagnosis) -> Self {
        let none = Self {
            outcome: "runs",
            attempt: None,
            status: None,
            code: None,
            retry_after_s: None,
            waits_ms: millis(diagnosis.waits),
        };
        match diagnosis.next {
            Next::Runs { attempt } => Self { attempt: Some(attempt), ..none },
            Next::Asks { attempt } => Self { outcome: "asks", attempt: Some(attempt), ..none },
            Next::Replays { status } => Self { outcome: "replays", status: Some(status), ..none },
            Next::Refused { status, code, retry_after } => Self {
                outcome: "refused",
                status: Some(status),
                code: Some(code),
                retry_after_s: retry_after,
                ..none
            },
        }
    }
}
