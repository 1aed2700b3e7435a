//! JSON pointers (RFC 6901) to the members that a fingerprint leaves out.

use super::canonical::{Node, compare_names};
use super::error::FingerprintError;

/// A parsed pointer below the root.
#[derive(Debug)]
pub(super) struct Pointer(Vec<String>);

impl Pointer {
    /// Parses a pointer; the empty one is refused, as it would leave nothing of the body.
    pub(super) fn parse(text: &str) -> Result<Self, FingerprintError> {
        let refused = || FingerprintError::InvalidPointer { pointer: text.to_owned() };
        let tokens = text.strip_prefix('/').ok_or_else(refused)?;
        tokens.split('/').map(unescape).collect::<Option<_>>().map(Self).ok_or_else(refused)
    }

    /// Marks what this points to as removed; a pointer that matches nothing changes nothing.
    pub(super) fn remove(&self, root: &mut Node<'_>) {
        let mut node = root;
        for token in &self.0 {
            let child = match node {
                Node::Object(members) => members
                    .binary_search_by(|member| compare_names(&member.name, token))
                    .ok()
                    .map(|index| &mut members[index].value),
                Node::Array(items) => array_index(token).and_then(|index| items.get_mut(index)),
                _ => None,
            };
            match child {
                Some(child) => node = child,
                None => return,
            }
        }
        *node = Node::Removed;
    }
}

fn unescape(token: &str) -> Option<String> {
    let mut pieces = token.split('~');
    let mut name = pieces.next()?.to_owned();
    for piece in pieces {
        let (character, rest) = match piece.as_bytes().first()? {
            b'0' => ('~', &piece[1..]),
            b'1' => ('/', &piece[1..]),
            _ => return None,
        };
        name.push(character);
        name.push_str(rest);
    }
    Some(name)
}

/// An index has no leading zero and no sign, both of which `parse` would take.
fn array_index(token: &str) -> Option<usize> {
    let well_formed =
        token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    if well_formed { token.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::canonical::{Nulls, parse};

    fn without(text: &str, pointers: &[&str]) -> String {
        let mut node = parse(text.as_bytes()).unwrap();
        for pointer in pointers {
            Pointer::parse(pointer).unwrap().remove(&mut node);
        }
        let mut out = String::new();
        node.write(Nulls::Dropped, &mut out);
        out
    }

    #[test]
    fn what_is_pointed_to_is_left_out() {
        assert_eq!(without(r#"{"a":1,"b":{"c":2,"d":3}}"#, &["/b/c"]), r#"{"a":1,"b":{"d":3}}"#);
        assert_eq!(without(r#"{"a":1,"b":{"c":2}}"#, &["/b"]), r#"{"a":1}"#);
        assert_eq!(without(r#"{"":1,"x":2}"#, &["/"]), r#"{"x":2}"#);
        assert_eq!(without(r#"{"a/b":1,"m~n":2,"~1":3}"#, &["/a~1b", "/m~0n", "/~01"]), "{}");
        assert_eq!(
            without("{\"\u{E000}\":1,\"\u{1F600}\":2,\"z\":3}", &["/\u{1F600}"]),
            "{\"z\":3,\"\u{E000}\":1}"
        );
    }

    #[test]
    fn array_elements_are_counted_as_they_were_sent() {
        for pointers in [["/0", "/1"], ["/1", "/0"]] {
            assert_eq!(without("[1,2,3]", &pointers), "[3]");
        }
        assert_eq!(without(r#"[{"t":1,"v":2}]"#, &["/0/t"]), r#"[{"v":2}]"#);
    }

    #[test]
    fn a_pointer_that_matches_nothing_changes_nothing() {
        let pointers =
            ["/x", "/a/0", "/b/2", "/b/00", "/b/-", "/b/+1", "/b/0/x", "/b/99999999999999999999999"];
        assert_eq!(without(r#"{"a":1,"b":[1,2]}"#, &pointers), r#"{"a":1,"b":[1,2]}"#);
        assert_eq!(without("7", &["/x"]), "7");
        assert_eq!(without(r#"{"a":{"b":1}}"#, &["/a", "/a/b"]), "{}");
    }

    #[test]
    fn a_malformed_pointer_is_refused() {
        for pointer in ["", "a", "a/b", "/~", "/a~2", "/a/b~", "#/a"] {
            let refused = FingerprintError::InvalidPointer { pointer: pointer.to_owned() };
            assert_eq!(Pointer::parse(pointer).unwrap_err(), refused);
        }
    }
}
