//! The framing of PostgreSQL messages: where one ends, and the few that the proxy looks into.

/// One whole message, its length and type included.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    kind: u8,
    bytes: Vec<u8>,
}

/// What the first message of a client asks for; these have no type byte.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// TLS or GSS encryption, answered by one byte without framing; another opening follows.
    Encryption,
    /// A session, or the cancelling of a query.
    Session,
}

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;

/// Takes the opening from the front of what was read, when it is there in full.
pub(super) fn take_opening(buffer: &mut Vec<u8>) -> Option<(Opening, Vec<u8>)> {
    let code = number_at(buffer, 4)?;
    let bytes = take(buffer, 0)?;
    let opening =
        if matches!(code, SSL_REQUEST | GSS_REQUEST) { Opening::Encryption } else { Opening::Session };
    Some((opening, bytes))
}

/// Takes the next message from the front of what was read, when it is there in full.
pub(super) fn take_message(buffer: &mut Vec<u8>) -> Option<Message> {
    let kind = *buffer.first()?;
    take(buffer, 1).map(|bytes| Message { kind, bytes })
}

/// Takes one length-prefixed piece; the length counts itself, but not the type byte in front of it.
fn take(buffer: &mut Vec<u8>, before_length: usize) -> Option<Vec<u8>> {
    let length = usize::try_from(number_at(buffer, before_length)?).ok()?;
    let end = before_length + length.max(4);
    (buffer.len() >= end).then(|| buffer.drain(..end).collect())
}

fn number_at(buffer: &[u8], start: usize) -> Option<u32> {
    let bytes = buffer.get(start..start + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

impl Message {
    /// The message as it goes over the wire.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The text of a simple query.
    pub(super) fn query(&self) -> Option<&[u8]> {
        Some(split_text(self.body_of(b'Q')?)?.0)
    }

    /// The name and the text of a statement that is prepared.
    pub(super) fn prepared(&self) -> Option<(&[u8], &[u8])> {
        let (name, rest) = split_text(self.body_of(b'P')?)?;
        Some((name, split_text(rest)?.0))
    }

    /// The name of the prepared statement that is about to run.
    pub(super) fn bound(&self) -> Option<&[u8]> {
        let (_portal, rest) = split_text(self.body_of(b'B')?)?;
        Some(split_text(rest)?.0)
    }

    /// Whether the server answers it with one `ReadyForQuery`: a simple query, a Sync, a function call.
    pub(super) fn asks_for_ready(&self) -> bool {
        matches!(self.kind, b'Q' | b'S' | b'F')
    }

    /// Whether it is the `ReadyForQuery` of a server, which closes an answer.
    pub(super) fn is_ready(&self) -> bool {
        self.kind == b'Z'
    }

    fn body_of(&self, kind: u8) -> Option<&[u8]> {
        (self.kind == kind).then(|| &self.bytes[5..])
    }
}

/// Splits at the zero byte that ends a text.
fn split_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[kind][..], &length.to_be_bytes(), body].concat()
    }

    #[test]
    fn a_message_that_comes_byte_by_byte_is_taken_when_it_is_whole() {
        let whole = framed(b'Q', b"COMMIT\0");
        let mut buffer = Vec::new();
        for (read, byte) in whole.iter().enumerate() {
            assert_eq!(take_message(&mut buffer), None, "after {read} bytes");
            buffer.push(*byte);
        }
        let message = take_message(&mut buffer).unwrap();
        assert_eq!(message.query(), Some(&b"COMMIT"[..]));
        assert_eq!(message.bytes(), whole);
        assert!(buffer.is_empty());
    }

    #[test]
    fn messages_that_share_a_read_are_taken_one_by_one() {
        let mut buffer =
            [framed(b'P', b"s1\0SELECT 1\0\0\0"), framed(b'B', b"\0s1\0"), framed(b'S', b"")].concat();
        let parse = take_message(&mut buffer).unwrap();
        assert_eq!(parse.prepared(), Some((&b"s1"[..], &b"SELECT 1"[..])));
        assert!(!parse.asks_for_ready());
        assert_eq!(take_message(&mut buffer).unwrap().bound(), Some(&b"s1"[..]));
        assert!(take_message(&mut buffer).unwrap().asks_for_ready());
        assert_eq!(take_message(&mut buffer), None);
    }

    #[test]
    fn an_opening_has_no_type_byte() {
        let mut buffer =
            [&8_u32.to_be_bytes()[..], &SSL_REQUEST.to_be_bytes(), &9_u32.to_be_bytes()].concat();
        assert_eq!(take_opening(&mut buffer).unwrap().0, Opening::Encryption);
        assert_eq!(take_opening(&mut buffer), None);
        buffer.extend([0, 3, 0, 0, 0]);
        assert_eq!(take_opening(&mut buffer).unwrap(), (Opening::Session, vec![0, 0, 0, 9, 0, 3, 0, 0, 0]));
        assert!(buffer.is_empty());
    }
}
