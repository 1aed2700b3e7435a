//! An answer as it came over the wire.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

/// Status, headers line by line, and the bytes of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Names in lower case, in the order of the wire.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Without its framing.
    pub body: Vec<u8>,
    /// From before the first byte of the request to the last of the answer.
    pub elapsed: Duration,
}

impl Answer {
    /// All lines of a header, each byte as the Latin-1 letter that it is.
    #[must_use]
    pub fn header(&self, name: &str) -> Vec<String> {
        let lines = self.headers.iter().filter(|(line, _)| line.eq_ignore_ascii_case(name));
        lines.map(|(_, value)| latin1(value)).collect()
    }

    /// The body as JSON, or null.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The `code` of a problem document.
    #[must_use]
    pub fn code(&self) -> Option<String> {
        self.json().get("code").and_then(Value::as_str).map(str::to_owned)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {} ms", self.status, self.elapsed.as_millis())?;
        for (name, value) in &self.headers {
            write!(f, "\n{name}: {}", latin1(value))?;
        }
        write!(f, "\n\n{}", shortened(&self.body))
    }
}

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// A body as a report shows it.
pub(crate) fn shortened(body: &[u8]) -> String {
    const SHOWN: usize = 400;
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]).into_owned();
    if body.len() > SHOWN { format!("{text}... ({} bytes)", body.len()) } else { text }
}
