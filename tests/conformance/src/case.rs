//! The vocabulary of the cases, strictly: an unknown word is an error and never an expectation left out.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::message::Framing;

/// One case: what is sent, and what has to come back.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique.
    pub id: String,
    /// What it is about.
    pub group: String,
    /// Whether a server without the rarer features has to pass it.
    pub tier: Tier,
    /// What has to hold, as a sentence.
    pub title: String,
    /// Where the demand comes from.
    #[serde(default)]
    pub why: String,
    /// More about it.
    #[serde(default)]
    pub notes: String,
    /// What the driver must be able to do to the server.
    #[serde(default)]
    pub requires: Vec<Need>,
    /// How strict it is; plainly required unless said.
    pub policy: Option<Policy>,
    /// What happens, in order.
    pub(crate) steps: Vec<Step>,
}

/// Whether a case is for everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Every server.
    Core,
    /// Servers with all features.
    Extended,
}

/// What a case needs besides a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// The server can be killed and started again.
    ProcessControl,
    /// The database of the server can be taken away and given back.
    StoreControl,
    /// Records can be released and swept, as an operator would.
    Operator,
}

/// A case that leaves room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Several answers are safe.
    Either,
    /// Good to have.
    Recommended,
    /// For servers with a feature of their own.
    Extension,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Either => "either",
            Self::Recommended => "recommended",
            Self::Extension => "extension",
        })
    }
}

/// One step: a request, the end of one in the background, or something done to the server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) wait_ms: u64,
    pub(crate) request: Option<Request>,
    pub(crate) join: Option<String>,
    pub(crate) control: Option<ControlStep>,
    #[serde(default)]
    pub(crate) expect: Expect,
}

/// What is done to the server or its records; the value of `kill` says nothing more.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ControlStep {
    pub(crate) kill: Option<Value>,
    pub(crate) start: Option<Start>,
    pub(crate) store: Option<StoreState>,
    /// An operator gives the key of this request back.
    pub(crate) release: Option<Request>,
    /// Records past their life are expired, and purged.
    #[serde(default)]
    pub(crate) sweep: bool,
}

/// How the server is started: as ever, or with secrets, of which the first seals.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Start {
    AsEver(bool),
    With { secrets: Vec<String> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoreState {
    Down,
    Up,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, HeaderText>,
    pub(crate) body: Option<Body>,
    #[serde(default)]
    pub(crate) framing: Framing,
    pub(crate) concurrent: Option<usize>,
    #[serde(default)]
    pub(crate) background: bool,
    pub(crate) abort_after_ms: Option<u64>,
    /// The connection may fail, as the server may just be dying.
    #[serde(default)]
    pub(crate) may_fail: bool,
}

/// A header: one line, several, or a long one.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum HeaderText {
    Line(String),
    Lines(Vec<String>),
    Long(Repeated),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Body {
    Text(String),
    Long(Repeated),
    /// Hexadecimal: digits, or a range of byte values.
    Bytes {
        bytes: String,
    },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repeated {
    #[serde(default)]
    pub(crate) prefix: String,
    pub(crate) repeat: String,
    pub(crate) times: usize,
    #[serde(default)]
    pub(crate) suffix: String,
}

/// What an answer has to be; every member that is there must hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Expect {
    pub(crate) status: Option<OneOrMany<u16>>,
    /// `null` means: no code of the guard.
    pub(crate) code: Option<OneOrMany<Option<String>>>,
    pub(crate) headers: BTreeMap<String, Option<Wanted>>,
    pub(crate) json: BTreeMap<String, Value>,
    pub(crate) body_same_as: Option<String>,
    pub(crate) body_not_same_as: Option<String>,
    pub(crate) body_contains: Vec<String>,
    pub(crate) body_not_contains: Vec<String>,
    pub(crate) body_empty: Option<bool>,
    pub(crate) body_length: Option<usize>,
    pub(crate) executed_count: Option<u64>,
    pub(crate) effect_count: Option<u64>,
    pub(crate) min_elapsed_ms: Option<u64>,
    pub(crate) max_elapsed_ms: Option<u64>,
    /// One of them has to hold besides; the best comes first.
    pub(crate) any_of: Vec<Expect>,
    /// For several answers: each goes to the first that it fits.
    pub(crate) outcomes: Vec<OutcomeOf>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutcomeOf {
    pub(crate) name: Option<String>,
    pub(crate) count: usize,
    pub(crate) expect: Expect,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany<T> {
    Many(Vec<T>),
    One(T),
}

impl<T> OneOrMany<T> {
    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            Self::Many(values) => values,
            Self::One(value) => std::slice::from_ref(value),
        }
    }
}

/// What a header has to be; a text between slashes is a regular expression.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Wanted {
    Text(String),
    Lines(Vec<String>),
    SameAs {
        same_as: String,
    },
    /// Also met by an answer without the header.
    DiffersFrom {
        differs_from: String,
    },
    BodyLength {
        body_length: bool,
    },
}
