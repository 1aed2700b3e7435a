//! A request as it is sent, and in which pieces.

use serde::Deserialize;

/// A request as it goes over the wire.
#[derive(Debug, Clone)]
pub struct Message {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// One for each line; each letter is one Latin-1 byte.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
    /// How the body is sent.
    pub framing: Framing,
}

impl Message {
    /// The lines of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Vec<&str> {
        let lines = self.headers.iter().filter(|(line, _)| line.eq_ignore_ascii_case(name));
        lines.map(|(_, value)| value.as_str()).collect()
    }
}

/// How the bytes of a body are sent, unless at once and with their length.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Framing {
    /// In chunks, without a length.
    pub chunked: bool,
    /// In pieces of so many bytes; each is a chunk where there are chunks.
    pub pieces: Option<usize>,
    /// With so many milliseconds before each piece.
    pub pause_ms: u64,
    /// The connection is closed after so many bytes, although more were announced.
    pub cut_after: Option<usize>,
}
