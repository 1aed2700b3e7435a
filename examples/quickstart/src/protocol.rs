//! What the demo and its workers say to each other: one JSON document a line.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::orders::NewOrder;
use crate::payments::Payment;

/// A client's request, as the demo sends it to a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Call {
    /// Who asks: with the user it says whose key it is.
    pub(crate) tenant: String,
    pub(crate) user: String,
    pub(crate) idempotency_key: String,
    pub(crate) body: Body,
    /// Stop for ever in the middle of the order.
    #[serde(default)]
    pub(crate) stall: bool,
}

/// What is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Body {
    CreateOrder(NewOrder),
    Pay(Payment),
}

/// A line of a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// It takes calls now.
    Ready,
    /// It stands still in the middle of an order.
    Stalled,
    /// What a call came to.
    Answer(Answer),
}

/// What a call came to.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Done(Done),
    /// Another attempt is at work.
    InProgress {
        retry_after: Duration,
    },
    /// The key was used for another request.
    Conflict,
    Failed {
        reason: String,
    },
}

/// The answer of a body, of this run or an earlier one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Done {
    pub(crate) value: serde_json::Value,
    pub(crate) task_id: Option<String>,
    pub(crate) replayed: bool,
    pub(crate) attempt: i64,
}

impl Done {
    /// Whether it is the same answer, whoever gave it.
    pub(crate) fn says_the_same_as(&self, other: &Self) -> bool {
        (&self.value, &self.task_id, self.attempt) == (&other.value, &other.task_id, other.attempt)
    }

    /// The beginning of each id, for people.
    pub(crate) fn ids(&self) -> String {
        let short = |id: &str| id.chars().take(8).collect::<String>();
        let id = short(self.value["id"].as_str().unwrap_or("without an id"));
        match &self.task_id {
            Some(task_id) => format!("{id}, task {}", short(task_id)),
            None => id,
        }
    }
}

/// Writes one line for the demo.
pub(crate) fn say(message: &Message) {
    match serde_json::to_string(message) {
        Ok(line) => println!("{line}"),
        Err(error) => eprintln!("quickstart: a message cannot be written: {error}"),
    }
}
