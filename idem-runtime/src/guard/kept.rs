//! What is stored of an answer: redacted, within the limit, sealed; and the way back.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::encryption::{Binding, OpenError};
use crate::guard::Inner;
use crate::key::Route;
use crate::record::{Answer, AnswerBody, Record, Status};
use crate::store::Store;

/// What an application takes out of answers before they are stored.
#[derive(Clone)]
pub(super) struct Redact(pub(super) Arc<Change>);

type Change = dyn Fn(&Route, &mut Answer) + Send + Sync;

impl fmt::Debug for Redact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redact")
    }
}

impl<S: Store> Inner<S> {
    /// Whether an answer may be stored with its body.
    pub(crate) fn fits(&self, answer: &Answer) -> bool {
        self.sealing().stored_bytes(answer) <= self.max_answer
    }

    /// The answer of the attempt that owns `record` as it is stored; `Err` says why it cannot be.
    pub(super) fn to_store(&self, record: &Record, status: Status, answer: Answer) -> Result<Answer, String> {
        let mut answer = match &self.redact {
            None => answer,
            Some(redact) => redacted(redact, record.key.route(), answer)?,
        };
        if !self.fits(&answer) {
            answer.body = AnswerBody::Omitted;
        }
        let binding = Binding::answer(record, status, answer.code);
        self.sealing().seal_answer(answer, &binding).map_err(|error| error.to_string())
    }

    /// The record with its answer as the body gave it.
    pub(super) fn opened(&self, mut record: Record) -> Result<Box<Record>, OpenError> {
        let opened = self.sealing().open_answer(&record);
        record.answer = opened.inspect_err(|error| {
            tracing::error!(%error, route = %record.key.route(), "a recorded answer cannot be opened");
        })?;
        Ok(Box::new(record))
    }
}

fn redacted(Redact(redact): &Redact, route: &Route, mut answer: Answer) -> Result<Answer, String> {
    let code = answer.code;
    // It is the application's code, and runs where a panic would leave a record behind.
    catch_unwind(AssertUnwindSafe(|| redact(route, &mut answer)))
        .map_err(|_| "its redaction panicked".to_owned())?;
    Ok(Answer { code, ..answer })
}
