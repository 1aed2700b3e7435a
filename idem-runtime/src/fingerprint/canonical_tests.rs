//! Tests of what is accepted as JSON and how it is written.

use super::*;

fn write(text: impl AsRef<[u8]>, nulls: Nulls) -> String {
    let mut out = String::new();
    parse(text.as_ref()).unwrap().write(nulls, &mut out);
    out
}

fn canonical(text: impl AsRef<[u8]>) -> String {
    write(text, Nulls::Dropped)
}

fn refused(text: impl AsRef<[u8]>) -> FingerprintError {
    parse(text.as_ref()).unwrap_err()
}

#[test]
fn the_sample_of_rfc_8785_is_reproduced() {
    let text = r#"{ "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false] }"#;
    // The first number has 17 digits that a double would round to 333333333.3333333; here it is kept.
    let expected = concat!(
        r#"{"literals":[null,true,false],"numbers":[333333333.33333329,1e+30,4.5,0.002,1e-27],"#,
        r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#
    );
    assert_eq!(canonical(text), expected);
}

#[test]
fn members_are_sorted_by_utf_16_code_units() {
    let text = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
    let expected =
        "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}";
    assert_eq!(canonical(text), expected);
}

#[test]
fn escapes_are_the_shortest_ones() {
    assert_eq!(
        canonical(r#""\u0000\u0008\u0009\u000A\u000c\u000D\u001F\u007f\u2028\/""#),
        "\"\\u0000\\b\\t\\n\\f\\r\\u001f\u{7f}\u{2028}/\""
    );
    assert_eq!(canonical(r#""\ud83D\uDe00""#), "\"\u{1f600}\"");
}

#[test]
fn text_is_not_normalised() {
    assert_ne!(canonical("\"\u{e9}\""), canonical("\"e\u{301}\""));
}

#[test]
fn null_members_are_dropped_at_every_level_but_elements_are_kept() {
    let text = r#"{"a":null,"b":{"c":null},"d":[null,{"e":null}]}"#;
    assert_eq!(canonical(text), r#"{"b":{},"d":[null,{}]}"#);
    assert_eq!(write(text, Nulls::Kept), text);
    assert_eq!(canonical("null"), "null");
}

#[test]
fn duplicate_members_are_refused() {
    assert_eq!(refused(r#"{"a":1, "a":2}"#), FingerprintError::DuplicateMember { at: 8 });
    assert_eq!(refused(r#"{"a":1,"\u0061":1}"#), FingerprintError::DuplicateMember { at: 7 });
    assert_eq!(refused(r#"{"a":null,"a":1}"#), FingerprintError::DuplicateMember { at: 10 });
    assert_eq!(refused(r#"{"a":1,"b":2,"a":null}"#), FingerprintError::DuplicateMember { at: 13 });
    assert_eq!(refused(r#"[{"x":{"a":1,"b":0,"a":1}}]"#), FingerprintError::DuplicateMember { at: 19 });
    assert_eq!(canonical(r#"{"a":{"a":1},"A":1}"#), r#"{"A":1,"a":{"a":1}}"#);
}

/// Parted by white space.
const NOT_JSON: &str = r#"
[ ] { } {] [} [1 [1, [1,] [,1] [1,,2] {"a"} {"a":} {"a":1,} {,} {a:1} {'a':1} {1:1} {null:1} {[]:1} {"a":1
{"a":1,,"b":1} {"a"::1} {"a":1"b":2} {"a",1} 1, {}{} []x 1] null, nul nulll NULL True tru truefalse
[truefalse] NaN [NaN] -NaN Infinity -Infinity [-Infinity] undefined 01 -01 00 [00] 1. .5 -.5 - +1 1e 1e+
1.e1 1e1.5 0x10 1_000 1.5.2 --1 -e1 //x /**/1 1/**/ [1,/**/2] #1 1#x " "a 'a' "\" "\x41" "\a" "\0" "\'"
"\u12" "\u12G4" "\u+123" "\u" "\ "\U0041" "\ud800" "\udc00" "\ud800x" "\ud800\n" "\ud800\ud800"
"\udc00\ud800" "\ud800\u0041" "\ud800\udc0" "\ud83d,\ude00" {"\ud800":1} "\ud800abcdef" "\ud800\udbff"
"\ud800\u+c00" ["\ud800","\udc00"]
"#;

#[test]
fn what_rfc_8259_forbids_is_refused() {
    for text in NOT_JSON.split_whitespace() {
        assert!(matches!(refused(text), FingerprintError::Syntax { .. }), "{text:?}");
    }
    let spaced = ["", " ", "[1 2]", "1 2", "{\"a\" 1}", "// x\n1", "1 // x", "# x\n1", "1 000", "{} []"];
    let control = ["\"a\nb\"", "\"a\tb\"", "\"\0\"", "\"\u{1f}\"", "\u{c}1", "\u{b}1", "1\0", "\0"];
    let unicode = ["\u{2028}1", "1\u{a0}", "1\u{feff}", "[\u{feff}1]"];
    for text in spaced.into_iter().chain(control).chain(unicode) {
        assert!(matches!(refused(text), FingerprintError::Syntax { .. }), "{text:?}");
    }
}

#[test]
fn text_that_is_not_utf_8_is_refused() {
    for (text, at) in [
        (&b"\"\xff\""[..], 1),
        (b"\"ab\xc3\"", 3),
        (b"\"\xc0\xaf\"", 1),
        (b"\"\xed\xa0\x80\"", 1),
        (b"\"\xf4\x90\x80\x80\"", 1),
        (b"{\"\xe9\":1}", 2),
        (b"\xfe\xff\x00\"\x00a", 0),
        (b"\"a\\u0041\xff\"", 8),
        (b"1 \xff", 2),
    ] {
        assert_eq!(refused(text), FingerprintError::InvalidUtf8 { at });
    }
    assert_eq!(refused(b"\xEF\xBB\xBF{}"), FingerprintError::ByteOrderMark);
}

#[test]
fn white_space_of_rfc_8259_means_nothing() {
    assert_eq!(canonical(" \t\r\n[ 1\r,\n2\t]\r"), "[1,2]");
    assert_eq!(canonical("{ \"a\" \n:\r 1 }\n"), r#"{"a":1}"#);
}

#[test]
fn nesting_is_read_to_the_limit_and_no_further() {
    let nested = |open: &str, inner: &str, close: &str, depth| {
        [open.repeat(depth), inner.to_owned(), close.repeat(depth)].concat()
    };
    assert_eq!(canonical(nested("[", "", "]", 128)), nested("[", "", "]", 128));
    assert_eq!(refused(nested("[", "", "]", 129)), FingerprintError::TooDeep { at: 128 });
    assert_eq!(canonical(nested("{\"a\":", "1", "}", 128)), nested("{\"a\":", "1", "}", 128));
    assert_eq!(refused(nested("{\"a\": ", "1", "}", 129)), FingerprintError::TooDeep { at: 768 });
    assert_eq!(refused("[".repeat(1 << 20)), FingerprintError::TooDeep { at: 128 });
    assert_eq!(refused("{\"a\":".repeat(1 << 18)), FingerprintError::TooDeep { at: 640 });
}

#[test]
fn large_flat_input_is_read() {
    let members: Vec<_> = (0..100_000).rev().map(|index| format!("\"{index:06}\":{index}")).collect();
    let text = canonical(format!("{{{}}}", members.join(",")));
    assert!(text.starts_with(r#"{"000000":0,"000001":1,"#) && text.ends_with(r#""099999":99999}"#));
    let same = format!("{{{}}}", vec!["\"a\":1"; 100_000].join(","));
    assert_eq!(refused(same), FingerprintError::DuplicateMember { at: 7 });
    assert_eq!(canonical(format!("0.{}1", "0".repeat(1 << 20))), "1e-1048577");
}

#[test]
fn errors_say_where_and_never_what() {
    assert_eq!(refused(r#"{"secret": hunter2}"#), FingerprintError::Syntax { at: 11 });
    assert_eq!(refused("[1, 1e9999999999999999999]"), FingerprintError::ExponentOutOfRange { at: 4 });
    for text in [
        r#"{"hunter2":hunter2}"#,
        r#"{"hunter2":1,"hunter2":2}"#,
        "\"hunter2\\x\"",
        "[\"hunter2\" \"hunter2\"]",
    ] {
        let error = refused(text);
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}
