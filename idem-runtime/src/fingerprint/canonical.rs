//! Canonical JSON: RFC 8785 with numbers kept exact, read from the text so that no feature of `serde_json`
//! matters.
//!
//! Nothing here recurses deeper than [`MAX_DEPTH`], whatever the input is.

use std::borrow::Cow;
use std::cmp::Ordering;

use json_event_parser::{JsonEvent, LowLevelJsonParser};

use super::error::FingerprintError;
use super::number;

/// Deepest nesting that is read.
const MAX_DEPTH: usize = 128;

/// A parsed value; objects are sorted and free of duplicates.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Null,
    Boolean(bool),
    /// In normal form.
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    Array(Vec<Node<'a>>),
    Object(Vec<Member<'a>>),
    /// Taken out by a pointer; its place is kept so that later pointers still count array elements as sent.
    Removed,
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) value: Node<'a>,
    /// Where the bytes that hold the name begin, white space and comma before it included.
    from: usize,
}

/// What becomes of object members whose value is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    /// Absent and null are the same.
    Dropped,
    /// Absent and null differ, as in a merge patch.
    Kept,
}

/// Orders names as RFC 8785 does: by UTF-16 code units, which differs from the order of Rust strings.
pub(super) fn compare_names(left: &str, right: &str) -> Ordering {
    left.encode_utf16().cmp(right.encode_utf16())
}

/// Parses one JSON text strictly as RFC 8259 defines it, without duplicate members.
pub(super) fn parse(text: &[u8]) -> Result<Node<'_>, FingerprintError> {
    // The parser below would skip a byte order mark, which RFC 8259 forbids senders to add.
    if text.starts_with(b"\xEF\xBB\xBF") {
        return Err(FingerprintError::ByteOrderMark);
    }
    std::str::from_utf8(text).map_err(|error| FingerprintError::InvalidUtf8 { at: error.valid_up_to() })?;

    let mut parser = LowLevelJsonParser::new();
    let mut open: Vec<Node<'_>> = Vec::new();
    let mut root = None;
    let mut position = 0;
    loop {
        let from = position;
        let step = parser.parse_next(&text[from..], true);
        position += step.consumed_bytes;
        let event = match step.event {
            Some(Ok(event)) => event,
            Some(Err(error)) => {
                let at = usize::try_from(error.location().start.offset).unwrap_or(position);
                return Err(FingerprintError::Syntax { at });
            }
            None => return Err(FingerprintError::Syntax { at: position }),
        };
        let node = match event {
            JsonEvent::Eof => return root.ok_or(FingerprintError::Syntax { at: position }),
            JsonEvent::StartArray | JsonEvent::StartObject if open.len() == MAX_DEPTH => {
                return Err(FingerprintError::TooDeep { at: token_start(text, from) });
            }
            JsonEvent::StartArray => {
                open.push(Node::Array(Vec::new()));
                continue;
            }
            JsonEvent::StartObject => {
                open.push(Node::Object(Vec::new()));
                continue;
            }
            JsonEvent::ObjectKey(name) => {
                if let Some(Node::Object(members)) = open.last_mut() {
                    members.push(Member { name, value: Node::Null, from });
                }
                continue;
            }
            JsonEvent::EndArray | JsonEvent::EndObject => {
                let closed = open.pop().ok_or(FingerprintError::Syntax { at: from })?;
                sorted(closed, text)?
            }
            JsonEvent::String(value) => Node::Text(value),
            JsonEvent::Number(value) => number_node(value)
                .ok_or_else(|| FingerprintError::ExponentOutOfRange { at: token_start(text, from) })?,
            JsonEvent::Boolean(value) => Node::Boolean(value),
            JsonEvent::Null => Node::Null,
        };
        match open.last_mut() {
            None => root = Some(node),
            Some(Node::Array(items)) => items.push(node),
            Some(Node::Object(members)) => {
                if let Some(member) = members.last_mut() {
                    member.value = node;
                }
            }
            Some(_) => return Err(FingerprintError::Syntax { at: from }),
        }
    }
}

fn number_node(value: Cow<'_, str>) -> Option<Node<'_>> {
    Some(Node::Number(match value {
        Cow::Borrowed(text) => number::normalise(text)?,
        Cow::Owned(text) => Cow::Owned(number::normalise(&text)?.into_owned()),
    }))
}

fn sorted<'a>(mut node: Node<'a>, text: &[u8]) -> Result<Node<'a>, FingerprintError> {
    if let Node::Object(members) = &mut node {
        members.sort_by(|left, right| compare_names(&left.name, &right.name));
        if let Some(pair) = members.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(FingerprintError::DuplicateMember { at: token_start(text, pair[1].from) });
        }
    }
    Ok(node)
}

/// Offset of the first byte at or after `from` that belongs to a token with a value.
fn token_start(text: &[u8], from: usize) -> usize {
    let skipped = text[from..].iter().take_while(|byte| b" \t\r\n,:".contains(byte)).count();
    from + skipped
}

impl Node<'_> {
    /// Writes the canonical text of this value.
    pub(super) fn write(&self, nulls: Nulls, out: &mut String) {
        self.write_with(nulls, out, |_, _| {});
    }

    /// Writes the canonical text of this value, and shows name and canonical value of each top-level member.
    pub(super) fn write_with(&self, nulls: Nulls, out: &mut String, mut seen: impl FnMut(&str, &str)) {
        match self {
            Node::Null => out.push_str("null"),
            Node::Boolean(true) => out.push_str("true"),
            Node::Boolean(false) => out.push_str("false"),
            Node::Number(text) => out.push_str(text),
            Node::Text(text) => write_text(text, out),
            Node::Array(items) => {
                out.push('[');
                let kept = items.iter().filter(|item| !matches!(item, Node::Removed));
                for (index, item) in kept.enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(nulls, out);
                }
                out.push(']');
            }
            Node::Object(members) => {
                out.push('{');
                let kept = members.iter().filter(|member| member.is_kept(nulls));
                for (index, member) in kept.enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_text(&member.name, out);
                    out.push(':');
                    let start = out.len();
                    member.value.write(nulls, out);
                    seen(&member.name, &out[start..]);
                }
                out.push('}');
            }
            Node::Removed => {}
        }
    }
}

impl Member<'_> {
    fn is_kept(&self, nulls: Nulls) -> bool {
        match self.value {
            Node::Removed => false,
            Node::Null => nulls == Nulls::Kept,
            _ => true,
        }
    }
}

/// Writes a string with the escapes of RFC 8785: only those that JSON demands, the short ones where there are
/// any.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(index) = rest.bytes().position(|byte| matches!(byte, 0..=0x1F | b'"' | b'\\')) {
        out.push_str(&rest[..index]);
        match rest.as_bytes()[index] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            0x0C => out.push_str("\\f"),
            b'\r' => out.push_str("\\r"),
            control => {
                out.push_str("\\u00");
                out.push(if control < 0x10 { '0' } else { '1' });
                out.push(char::from(b"0123456789abcdef"[usize::from(control & 0x0F)]));
            }
        }
        rest = &rest[index + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
