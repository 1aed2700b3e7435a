//! Content types, reduced to what tells two requests apart; the boundary of a multipart body does not.

/// A content type, taken apart; malformed ones are kept as they are, as judging them is the handler's task.
#[derive(Debug)]
pub(super) struct MediaType<'a> {
    /// Type and subtype in lower case.
    pub(super) essence: String,
    /// Names in lower case, values as sent.
    parameters: Vec<(String, &'a str)>,
}

impl<'a> MediaType<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let mut pieces = split_parameters(text).into_iter();
        let essence = pieces.next().unwrap_or("").to_ascii_lowercase();
        let parameters = pieces
            .filter(|piece| !piece.is_empty())
            .map(|piece| {
                let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
                (name.trim().to_ascii_lowercase(), value.trim())
            })
            .collect();
        Self { essence, parameters }
    }

    pub(super) fn is_json(&self) -> bool {
        let subtype = self.essence.strip_prefix("application/");
        subtype.is_some_and(|subtype| subtype == "json" || subtype.ends_with("+json"))
    }

    pub(super) fn is_merge_patch(&self) -> bool {
        self.essence == "application/merge-patch+json"
    }

    /// The boundary, if this is a multipart type with exactly one that RFC 2046 allows.
    pub(super) fn boundary(&self) -> Option<&'a str> {
        let mut found = self.parameters.iter().filter(|(name, _)| name == "boundary");
        let (_, value) = found.next()?;
        if found.next().is_some() || !self.essence.starts_with("multipart/") {
            return None;
        }
        let unquoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let boundary = unquoted.unwrap_or(value);
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte);
        let well_formed = boundary.bytes().all(allowed) && !boundary.ends_with(' ');
        (well_formed && (1..=70).contains(&boundary.len())).then_some(boundary)
    }

    /// The normal form: `essence;name=value;...`, in the order sent.
    pub(super) fn normal(&self) -> String {
        self.normal_where(|_| true)
    }

    /// The normal form without the boundary.
    pub(super) fn normal_without_boundary(&self) -> String {
        self.normal_where(|name| name != "boundary")
    }

    fn normal_where(&self, kept: impl Fn(&str) -> bool) -> String {
        let mut text = self.essence.clone();
        for (name, value) in self.parameters.iter().filter(|(name, _)| kept(name)) {
            text.push(';');
            text.push_str(name);
            text.push('=');
            text.push_str(value);
        }
        text
    }
}

/// Splits at the semicolons outside quoted strings and trims each piece.
fn split_parameters(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut quoted, mut escaped) = (0, false, false);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b';' if !quoted => {
                pieces.push(text[start..index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    pieces.push(text[start..].trim());
    pieces
}

/// The pieces of a multipart body between the occurrences of `--boundary`.
///
/// Joined by any other boundary they give that body again, so equal pieces mean bodies that differ in nothing
/// else.
pub(super) fn split_at_boundary<'b>(body: &'b [u8], boundary: &str) -> Vec<&'b [u8]> {
    let delimiter = ["--", boundary].concat().into_bytes();
    let mut pieces = Vec::new();
    let mut rest = body;
    while let Some(index) = rest.windows(delimiter.len()).position(|window| window == delimiter) {
        pieces.push(&rest[..index]);
        rest = &rest[index + delimiter.len()..];
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_types_are_recognised_whatever_their_case_and_parameters() {
        for text in [
            "application/json",
            "Application/JSON ; charset=utf-8",
            "application/problem+json",
            "application/vnd.a.b+JSON",
        ] {
            assert!(MediaType::parse(text).is_json(), "{text}");
        }
        for text in [
            "",
            "text/json",
            "application/jsonl",
            "application/json-seq",
            "image/x+json",
            "application/xml",
            "json",
        ] {
            assert!(!MediaType::parse(text).is_json(), "{text}");
        }
        assert!(MediaType::parse("APPLICATION/merge-patch+json;x=1").is_merge_patch());
    }

    #[test]
    fn only_case_and_white_space_that_mean_nothing_are_removed() {
        let normal = |text| MediaType::parse(text).normal();
        assert_eq!(normal(" Text/Plain ; Charset=UTF-8 ;"), "text/plain;charset=UTF-8");
        assert_eq!(normal(r#"a/b; n="x; Y\"; z" ;m=2"#), r#"a/b;n="x; Y\"; z";m=2"#);
        assert_eq!(normal(""), "");
        // A backslash escapes inside quotes alone.
        assert_eq!(normal(r"a/b\; N=1"), r"a/b\;n=1");
    }

    #[test]
    fn a_boundary_is_taken_only_when_there_is_no_doubt() {
        let boundary = |text| MediaType::parse(text).boundary().map(str::to_owned);
        assert_eq!(boundary("multipart/form-data; boundary=abc"), Some("abc".to_owned()));
        assert_eq!(boundary(r#"Multipart/Mixed; Boundary="a b:c""#), Some("a b:c".to_owned()));
        for text in [
            "multipart/form-data",
            "multipart/form-data; boundary=",
            "multipart/form-data; boundary=a; boundary=b",
            r#"multipart/form-data; boundary="a\"b""#,
            "text/plain; boundary=abc",
            r#"multipart/form-data; boundary="a ""#,
        ] {
            assert_eq!(boundary(text), None, "{text}");
        }
        assert_eq!(boundary(&format!("multipart/form-data; boundary={}", "a".repeat(71))), None);
    }

    #[test]
    fn without_its_boundary_a_type_keeps_everything_else() {
        let type_of = MediaType::parse("Multipart/Related; start=a; Boundary=b; type=c");
        assert_eq!(type_of.normal_without_boundary(), "multipart/related;start=a;type=c");
    }

    #[test]
    fn a_body_is_split_at_each_boundary() {
        let pieces = split_at_boundary(b"--b\r\nx\r\n--b\r\ny\r\n--b--\r\n", "b");
        assert_eq!(pieces, [&b""[..], b"\r\nx\r\n", b"\r\ny\r\n", b"--\r\n"]);
        assert_eq!(split_at_boundary(b"none", "b"), [&b"none"[..]]);
        assert_eq!(split_at_boundary(b"", "b"), [&b""[..]]);
    }
}
