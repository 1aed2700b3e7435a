//! RFC 8785 for the second implementation: members in order, shortest escapes, numbers as ECMAScript lays them out.

use super::naive::{Decimal, Value};

/// The value without the members that are null.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, value)| **value != Value::Null);
            Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        other => other.clone(),
    }
}

/// The canonical text.
pub(super) fn write(value: &Value, nulls: bool) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Boolean(value) => value.to_string(),
        Value::Number(number) => decimal(number),
        Value::Text(value) => text(value),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| write(item, nulls)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, value)| nulls || **value != Value::Null);
            let member = |(name, value): (&Vec<u16>, &Value)| {
                format!("{}:{}", text(&String::from_utf16_lossy(name)), write(value, nulls))
            };
            format!("{{{}}}", kept.map(member).collect::<Vec<_>>().join(","))
        }
    }
}

fn text(value: &str) -> String {
    let mut written = String::from("\"");
    for letter in value.chars() {
        match letter {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\u{8}' => written.push_str("\\b"),
            '\t' => written.push_str("\\t"),
            '\n' => written.push_str("\\n"),
            '\u{c}' => written.push_str("\\f"),
            '\r' => written.push_str("\\r"),
            control if control < ' ' => written.extend(format!("\\u{:04x}", u32::from(control)).chars()),
            letter => written.push(letter),
        }
    }
    written + "\""
}

/// Section 6.1.6.1.20 of ECMAScript, where n is `point` and k the number of digits.
fn decimal(Decimal { negative, digits, point }: &Decimal) -> String {
    if digits.is_empty() {
        return "0".to_owned();
    }
    let sign = if *negative { "-" } else { "" };
    let length = i128::try_from(digits.len()).expect("a length");
    let zeros = |count: i128| "0".repeat(usize::try_from(count).expect("it is at most 21"));
    let split = |at: i128| digits.split_at(usize::try_from(at).expect("it is within the digits"));
    let number = if (length..=21).contains(point) {
        format!("{digits}{}", zeros(point - length))
    } else if (1..=21).contains(point) {
        let (whole, fraction) = split(*point);
        format!("{whole}.{fraction}")
    } else if (-5..=0).contains(point) {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = split(1);
        let rest = if rest.is_empty() { String::new() } else { format!(".{rest}") };
        format!("{first}{rest}e{:+}", point - 1)
    };
    format!("{sign}{number}")
}
