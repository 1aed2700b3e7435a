//! Tests of what counts as the same request.

use std::collections::{BTreeMap, HashMap};

use super::*;

fn http<'a>(content_type: &'a str, body: &'a [u8]) -> HttpRequest<'a> {
    HttpRequest::new("POST", "/orders").content_type(Some(content_type)).body(body)
}

fn taken(request: HttpRequest<'_>) -> Fingerprint {
    request.fingerprint().unwrap()
}

#[test]
fn member_order_does_not_matter() {
    let json = |body| taken(http("application/json", body));
    assert_eq!(json(br#"{"a":1,"b":[2,{"c":3,"d":4}]}"#), json(br#" {"b":[2,{"d":4,"c":3}],"a":1} "#));
}

#[test]
fn array_order_matters() {
    let json = |body| taken(http("application/json", body));
    assert_ne!(json(b"[1,2]"), json(b"[2,1]"));
}

#[test]
fn method_path_query_and_content_type_count() {
    let base = http("text/plain", b"x");
    let variants = [
        base,
        HttpRequest::new("PUT", "/orders").content_type(Some("text/plain")).body(b"x"),
        HttpRequest::new("post", "/orders").content_type(Some("text/plain")).body(b"x"),
        HttpRequest::new("POST", "/orders/").content_type(Some("text/plain")).body(b"x"),
        HttpRequest::new("POST", "/order").content_type(Some("text/plain")).body(b"x").query(Some("s")),
        base.query(Some("a=1")),
        base.query(Some("a=1&")),
        base.content_type(None),
        base.content_type(Some("text/plain;charset=utf-8")),
        base.content_type(Some("application/json")).body(b"1"),
        base.content_type(Some("application/merge-patch+json")).body(b"1"),
        base.body(b"y"),
        base.body(b""),
    ];
    for (index, one) in variants.iter().enumerate() {
        for other in &variants[index + 1..] {
            assert_ne!(taken(*one), taken(*other), "{one:?} {other:?}");
        }
    }
}

#[test]
fn parts_do_not_run_into_each_other() {
    let request = |path, query| taken(HttpRequest::new("POST", path).query(Some(query)));
    assert_ne!(request("/ab", "c"), request("/a", "bc"));
    assert_ne!(Fingerprint::bytes("a", b"b"), Fingerprint::bytes("ab", b""));
    assert_ne!(Fingerprint::bytes("application/json", b"1"), Fingerprint::json(b"1").unwrap());
}

#[test]
fn an_absent_query_and_an_empty_one_are_the_same() {
    let base = http("text/plain", b"x");
    assert_eq!(taken(base), taken(base.query(Some(""))));
    assert_eq!(taken(base), taken(base.query(None)));
}

#[test]
fn null_and_absent_differ_in_a_merge_patch_only() {
    for (content_type, same) in [
        ("application/json", true),
        ("application/vnd.api+json", true),
        ("application/merge-patch+json", false),
        ("Application/Merge-Patch+JSON; charset=utf-8", false),
    ] {
        let null = taken(http(content_type, br#"{"a":{"b":null}}"#));
        assert_eq!(null == taken(http(content_type, br#"{"a":{}}"#)), same, "{content_type}");
    }
}

#[test]
fn parameters_of_a_json_type_do_not_count() {
    for body in [&b"{}"[..], b""] {
        let plain = taken(http("application/json", body));
        assert_eq!(plain, taken(http("Application/JSON; charset=utf-8", body)));
    }
}

#[test]
fn an_empty_json_body_is_no_error_but_white_space_is() {
    assert!(http("application/json", b"").fingerprint().is_ok());
    assert_eq!(http("application/json", b" ").fingerprint(), Err(FingerprintError::Syntax { at: 1 }));
}

#[test]
fn an_ignored_member_is_as_if_it_had_not_been_sent() {
    let sent = http("application/json", br#"{"a":1,"meta":{"sent_at":5}}"#);
    let absent = http("application/json", br#"{"meta":{},"a":1}"#);
    assert_ne!(taken(sent), taken(absent));
    assert_eq!(taken(sent.ignore(&["/meta/sent_at", "/nothing"])), taken(absent));
    let top = taken(sent.ignore(&["/meta"]));
    assert_eq!(top.members.len(), 1);
    let patch = http("application/merge-patch+json", br#"{"a":null,"b":null}"#);
    let expected = http("application/merge-patch+json", br#"{"b":null}"#);
    assert_eq!(taken(patch.ignore(&["/a"])), taken(expected));
}

#[test]
fn a_malformed_pointer_is_an_error_for_every_body() {
    for request in [http("text/plain", b"x"), http("application/json", b""), http("application/json", b"{}")]
    {
        assert!(matches!(request.ignore(&["a"]).fingerprint(), Err(FingerprintError::InvalidPointer { .. })));
    }
}

#[test]
fn a_fresh_multipart_boundary_changes_nothing() {
    let form = |boundary: &str, header: &str, value: &str| {
        let body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{value}\r\n--{boundary}--\r\n"
        );
        Fingerprint::bytes(&format!("multipart/form-data; boundary={header}"), body.as_bytes())
    };
    assert_eq!(form("----x1", "----x1", "v"), form("----y22", "\"----y22\"", "v"));
    assert_ne!(form("----x1", "----x1", "v"), form("----x1", "----x1", "w"));
    // A boundary that does not occur is no boundary, and then it counts.
    assert_ne!(form("----x1", "other1", "v"), form("----x1", "other2", "v"));
    // Content that looks like the normal form of another body is still content.
    assert_ne!(form("b", "b", "v\r\n--b\r\n"), form("b", "b", "v\r\n--c\r\n"));
}

#[test]
fn the_kind_of_a_multipart_body_counts() {
    let body = b"--b\r\n\r\nv\r\n--b--\r\n";
    let of = |content_type| Fingerprint::bytes(content_type, body);
    assert_ne!(of("multipart/form-data; boundary=b"), of("multipart/mixed; boundary=b"));
    assert_ne!(of("multipart/related; boundary=b; start=x"), of("multipart/related; boundary=b; start=y"));
}

#[test]
fn maps_and_options_of_a_value_are_compared_by_meaning() {
    let unordered: HashMap<_, _> = (0..50).map(|index| (format!("k{index}"), Some(index))).collect();
    let mut ordered: BTreeMap<_, _> = unordered.clone().into_iter().collect();
    ordered.insert("absent".to_owned(), None);
    assert_eq!(Fingerprint::of(&unordered).unwrap(), Fingerprint::of(&ordered).unwrap());
    assert_eq!(Fingerprint::of("text").unwrap(), Fingerprint::json(br#""\u0074ext""#).unwrap());
    assert_eq!(Fingerprint::of(&2.0_f64).unwrap(), Fingerprint::of(&2_u8).unwrap());
    assert_ne!(Fingerprint::of(&u64::MAX).unwrap(), Fingerprint::of(&(u64::MAX - 1)).unwrap());
}

#[test]
fn a_value_that_cannot_be_serialised_is_refused_without_its_content() {
    struct Refuses;
    impl Serialize for Refuses {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("hunter2"))
        }
    }
    let error = Fingerprint::of(&Refuses).unwrap_err();
    assert_eq!(error, FingerprintError::Unserializable);
    assert!(std::error::Error::source(&error).is_none());
}

#[test]
fn members_are_bounded() {
    let names: Vec<_> = (0..200).map(|index| format!("\"m{index:03}\":1")).collect();
    let text = format!("{{\"{}\":1,\"{}\":1,{}}}", "a".repeat(64), "b".repeat(65), names.join(","));
    let members = Fingerprint::json(text.as_bytes()).unwrap().members;
    let names: Vec<_> = members.iter().map(|(name, _)| name.len()).collect();
    assert_eq!((names.len(), names[0], names[1]), (64, 64, 4));
    assert!(Fingerprint::json(b"[1]").unwrap().members.is_empty());
}

#[test]
fn debug_shows_the_digest_and_nothing_of_the_payload() {
    let request = http("application/json", br#"{"hunter2":"hunter2"}"#).query(Some("hunter2"));
    let text = format!("{request:?} {:?}", taken(request));
    assert!(!text.contains("hunter2") && text.contains("Fingerprint("), "{text}");
}
