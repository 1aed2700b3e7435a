//! The client of a demo: sends requests, compares and counts their answers.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Method, StatusCode};

use crate::error::DemoError;

/// The pause before something is asked for again.
const PAUSE: Duration = Duration::from_millis(100);
/// How often a request is sent again: a minute's worth, which no step takes.
const TRIES: u32 = 600;

/// One request of a demo; sent again it is the same.
#[derive(Debug, Clone)]
pub struct Call {
    method: Method,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
}

impl Call {
    /// A POST of a JSON document by the user of the demo.
    #[must_use]
    pub fn json(path: impl Into<String>, json: &serde_json::Value) -> Self {
        Self::new(Method::POST, path, json.to_string()).header("content-type", "application/json").by_user()
    }

    /// A request without any header.
    #[must_use]
    pub fn new(method: Method, path: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: body.into() }
    }

    /// The same from the user of the demo.
    #[must_use]
    pub fn by_user(self) -> Self {
        self.header("x-tenant", "acme").header("x-user", "ada")
    }

    /// The same with the header `Idempotency-Key`.
    #[must_use]
    pub fn key(self, key: impl Into<String>) -> Self {
        self.header("idempotency-key", key)
    }

    /// The same with a further header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// What stays the same however often it is sent; a signature for one does not.
    fn identity(&self) -> String {
        let key = self.headers.iter().find(|(name, _)| *name == "idempotency-key");
        format!("{} {} {key:?} {:?}", self.method, self.path, self.body)
    }
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// Whether it is the recorded answer of an earlier attempt.
    pub replayed: bool,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// A member of the JSON body, empty when it has none of that name.
    #[must_use]
    pub fn member(&self, name: &str) -> String {
        let json: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        json[name].as_str().unwrap_or_default().to_owned()
    }

    /// Whether it is this refusal by the guard.
    #[must_use]
    pub fn is(&self, code: &str) -> bool {
        self.member("code") == code
    }
}

/// Sends requests, and counts what came back.
#[derive(Debug)]
pub struct Client {
    authority: String,
    http: reqwest::Client,
    /// The first successful answer of each request.
    seen: Mutex<HashMap<String, Bytes>>,
    counts: Mutex<Summary>,
}

impl Client {
    /// A client of the service at this host and port.
    pub fn new(authority: &str) -> Result<Self, DemoError> {
        // A proxy of the machine would not know the way to a port of its own.
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { authority: authority.to_owned(), http, seen: Mutex::default(), counts: Mutex::default() })
    }

    /// Sends a request; a successful answer must be the first one of this request, byte for byte.
    pub async fn send(&self, call: &Call) -> Result<Answer, DemoError> {
        lock(&self.counts).requests += 1;
        let mut request =
            self.http.request(call.method.clone(), format!("http://{}{}", self.authority, call.path));
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        let response = request.body(call.body.clone()).send().await?;
        let replayed = response.headers().contains_key("idempotent-replayed");
        let answer = Answer { status: response.status(), replayed, body: response.bytes().await? };
        let mut counts = lock(&self.counts);
        counts.replayed += u64::from(answer.replayed);
        counts.in_progress += u64::from(answer.is("IDEMPOTENCY_IN_PROGRESS"));
        counts.conflicts += u64::from(answer.is("IDEMPOTENCY_KEY_CONFLICT"));
        if answer.status.is_success() {
            let mut seen = lock(&self.seen);
            let first = seen.entry(call.identity()).or_insert_with(|| answer.body.clone());
            DemoError::unless(*first == answer.body, "an answer unlike the first one", &answer)?;
        }
        Ok(answer)
    }

    /// Sends it again, as a patient client does: after a broken connection, a 503, and while it is in progress.
    pub async fn send_until_answered(&self, call: &Call) -> Result<Answer, DemoError> {
        for _ in 0..TRIES {
            match self.send(call).await {
                Err(DemoError::Http(_)) => {}
                Ok(answer) if answer.status == StatusCode::SERVICE_UNAVAILABLE => {}
                Ok(answer) if answer.is("IDEMPOTENCY_IN_PROGRESS") => {}
                other => return other,
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(DemoError::unexpected("a request that was sent again for a minute", call))
    }

    /// What was counted, with what the demo found: the effects there are, and those that are there twice.
    #[must_use]
    pub fn summary(&self, executed: u64, double_effects: u64) -> Summary {
        Summary { executed, double_effects, ..lock(&self.counts).clone() }
    }
}

/// What is locked here stays whole whoever panics while holding it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One line of a demo: the number of the step, what was sent and what came back.
pub fn show(step: &str, sent: &str, came: &str) {
    println!("{step:<3}{sent:<44}{came}");
}

/// The last line of a demo.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    requests: u64,
    executed: u64,
    replayed: u64,
    in_progress: u64,
    conflicts: u64,
    double_effects: u64,
}

impl Summary {
    /// An error when something is there twice.
    pub fn verdict(&self) -> Result<(), DemoError> {
        if self.double_effects == 0 { Ok(()) } else { Err(DemoError::DoubleEffects) }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, executed, replayed, in_progress, conflicts, double_effects } = self;
        write!(
            f,
            "demo: requests={requests} executed={executed} replayed={replayed} \
             in_progress={in_progress} conflicts={conflicts} double_effects={double_effects}"
        )
    }
}
