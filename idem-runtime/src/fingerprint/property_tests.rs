//! Properties that hold for any JSON, however it is written.

use data_encoding::HEXLOWER;
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::canonical::{self, Nulls};
use super::{Fingerprint, HttpRequest};

/// Numbers of few enough digits that every parser reads them exactly.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i32>().prop_map(|value| Value::from(f64::from(value) / 16.0)),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        any::<String>().prop_map(Value::from),
        "[\u{0}-\u{20}\"\\\\/a\u{7f}\u{ffff}\u{10000}]{0,6}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 6, |inner| {
        let name = prop_oneof!["[a-c\u{e000}-\u{e002}\u{1f600}-\u{1f602}]{0,3}", any::<String>()];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(name, inner, 0..6).prop_map(Value::from_iter),
        ]
    })
}

/// Writes a value in one of its many forms, chosen by a seed.
struct Scribe(u64);

impl Scribe {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn space(&mut self) -> &'static str {
        ["", "", " ", "\n", "\t\r\n", "  "][self.below(6)]
    }

    fn text(&mut self, text: &str, out: &mut String) {
        out.push('"');
        for character in text.chars() {
            let must = matches!(character, '\u{0}'..='\u{1f}' | '"' | '\\');
            match self.below(3) {
                0 if character == '/' => out.push_str("\\/"),
                0 if character == '\n' => out.push_str("\\n"),
                1 | 2 if !must => out.push(character),
                _ => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        let digits = HEXLOWER.encode(&unit.to_be_bytes());
                        out.push_str("\\u");
                        out.push_str(&if self.below(2) == 0 { digits } else { digits.to_uppercase() });
                    }
                }
            }
        }
        out.push('"');
    }

    fn number(&mut self, text: &str, out: &mut String) {
        out.push_str(text);
        if !text.contains(['.', 'e', 'E']) {
            out.push_str(["", ".0", "e0", "E+00", "0e-1", ".000e-0"][self.below(6)]);
        }
    }

    fn write(&mut self, value: &Value, out: &mut String) {
        out.push_str(self.space());
        match value {
            Value::String(text) => self.text(text, out),
            Value::Number(number) => self.number(&number.to_string(), out),
            Value::Array(items) => self.list("[]", items, out, Self::write),
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                for index in (1..members.len()).rev() {
                    members.swap(index, self.below(index + 1));
                }
                self.list("{}", &members, out, |scribe, (name, value), out| {
                    scribe.text(name, out);
                    out.push_str(scribe.space());
                    out.push(':');
                    scribe.write(value, out);
                });
            }
            Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
        }
        out.push_str(self.space());
    }

    fn list<T>(
        &mut self,
        brackets: &str,
        items: &[T],
        out: &mut String,
        write: impl Fn(&mut Self, &T, &mut String),
    ) {
        out.push_str(&brackets[..1]);
        for (index, item) in items.iter().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            out.push_str(self.space());
            write(self, item, out);
        }
        out.push_str(self.space());
        out.push_str(&brackets[1..]);
    }
}

/// Text that is often JSON and often nearly so.
const JSON_LIKE: &str =
    r#"([\[\]{},:"\\ \r\n-]|"a":|"[ab]?"|\\u|\\ud83d\\ude00|d800|[0-9.eE+-]{1,4}|true|null|é){0,24}"#;

fn rewritten(value: &Value, seed: u64) -> String {
    let mut out = String::new();
    Scribe(seed).write(value, &mut out);
    out
}

fn canonical_text(text: &[u8]) -> String {
    let mut out = String::new();
    canonical::parse(text).unwrap().write(Nulls::Kept, &mut out);
    out
}

/// The same value with each number as the nearest double, by which two texts of one value are compared.
fn as_doubles(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64().unwrap()),
        Value::Array(items) => items.iter().map(as_doubles).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), as_doubles(value))).collect()
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_way_a_value_is_written_does_not_matter(value in value(), seed: u64) {
        let text = rewritten(&value, seed);
        let expected = Fingerprint::of(&value).unwrap();
        prop_assert_eq!(&Fingerprint::json(text.as_bytes()).unwrap(), &expected, "{}", text);
        let base = HttpRequest::new("POST", "/").content_type(Some("application/json"));
        let http = |body| base.body(body).fingerprint();
        prop_assert_eq!(http(text.as_bytes()), http(value.to_string().as_bytes()));
    }

    #[test]
    fn different_scalars_have_different_fingerprints(one in scalar(), other in scalar()) {
        let print = |value: &Value| Fingerprint::of(value).unwrap();
        let text = |value: &Value| canonical_text(value.to_string().as_bytes());
        let equal = one == other || (one.is_number() && other.is_number() && text(&one) == text(&other));
        prop_assert_eq!(print(&one) == print(&other), equal);
        prop_assert_eq!(print(&Value::from(vec![one])) == print(&Value::from(vec![other])), equal);
    }

    #[test]
    fn different_integers_have_different_fingerprints(one: u64, distance in 1_u64..4) {
        let other = one.wrapping_add(distance);
        prop_assert_ne!(Fingerprint::of(&one).unwrap(), Fingerprint::of(&other).unwrap());
    }

    #[test]
    fn one_decimal_has_one_form(
        digits in "[1-9][0-9]{0,30}", exponent in -400_i64..400, zeros in 0_usize..5, split in 0_usize..32,
    ) {
        let canonical = |text: String| canonical_text(text.as_bytes());
        let first = canonical(format!("{digits}e{exponent}"));
        prop_assert_eq!(&canonical(first.clone()), &first);

        let zeros_text = "0".repeat(zeros);
        let lower = exponent - i64::try_from(zeros).unwrap();
        prop_assert_eq!(&canonical(format!("{digits}{zeros_text}E{lower}")), &first);

        let (whole, fraction) = digits.split_at(split.min(digits.len()));
        let higher = exponent + i64::try_from(fraction.len()).unwrap();
        let whole = if whole.is_empty() { "0" } else { whole };
        prop_assert_eq!(&canonical(format!("{whole}.{fraction}{zeros_text}0e{higher:+}")), &first);

        prop_assert_ne!(canonical(format!("{digits}1e{}", exponent - 1)), first);
    }

    #[test]
    fn the_canonical_text_has_the_same_value(value in value(), seed: u64) {
        let text = canonical_text(rewritten(&value, seed).as_bytes());
        prop_assert_eq!(as_doubles(&serde_json::from_str(&text).unwrap()), as_doubles(&value));
        prop_assert_eq!(canonical_text(text.as_bytes()), text);
    }

    #[test]
    fn no_bytes_make_it_panic(body: Vec<u8>, content_type: String, pointer: String) {
        let _ = Fingerprint::json(&body);
        let _ = Fingerprint::bytes(&content_type, &body);
        let _ = Fingerprint::bytes(&format!("multipart/form-data; boundary={pointer}"), &body);
        let pointers = [pointer.as_str()];
        let request = HttpRequest::new("", &pointer).content_type(Some(&content_type));
        let _ = request.body(&body).ignore(&pointers).fingerprint();
    }

    #[test]
    fn what_is_accepted_is_json(text in JSON_LIKE) {
        if canonical::parse(text.as_bytes()).is_ok() {
            prop_assert!(serde_json::from_str::<IgnoredAny>(&text).is_ok(), "{}", text);
        } else if let Ok(value) = serde_json::from_str::<Value>(&text) {
            // Only duplicate members are refused here and taken there.
            prop_assert!(text.matches(':').count() > 1, "{}", value);
        }
    }
}
