//! Normal form of a JSON number: the exact decimal in the layout of ECMAScript, without any float arithmetic.

use std::borrow::Cow;

/// Most digits that ECMAScript writes before it takes an exponent.
const PLAIN_DIGITS: i64 = 21;

/// Most digits of an exponent that are read, so that every sum with a length stays within `i64`.
const EXPONENT_DIGITS: usize = 18;

/// Brings a number that fits the grammar of RFC 8259 into normal form; `None` if its exponent is out of
/// range.
///
/// Numbers of equal value give equal text, numbers of different value different text.
pub(super) fn normalise(text: &str) -> Option<Cow<'_, str>> {
    let (negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() == unsigned.len() && whole.len() <= 21 && text != "-0" {
        return Some(Cow::Borrowed(text));
    }
    let all = [whole, fraction].concat();
    let significant = all.trim_start_matches('0');
    let leading_zeros = all.len() - significant.len();
    let digits = significant.trim_end_matches('0');
    if digits.is_empty() {
        // Zero has one form, whatever its sign and exponent: RFC 8785 writes -0 as 0.
        return Some(Cow::Borrowed("0"));
    }
    let point = i64::try_from(whole.len()).ok()? - i64::try_from(leading_zeros).ok()?;
    let point = point.checked_add(read_exponent(exponent)?)?;
    Some(Cow::Owned(layout(negative, digits, point)))
}

fn read_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.trim_start_matches('0');
    if digits.len() > EXPONENT_DIGITS {
        return None;
    }
    let value = if digits.is_empty() { 0 } else { digits.parse::<i64>().ok()? };
    Some(if negative { -value } else { value })
}

/// Writes 0.`digits` × 10^`point` as `Number::toString` of ECMAScript lays it out.
fn layout(negative: bool, digits: &str, point: i64) -> String {
    let mut out = String::with_capacity(digits.len() + 26);
    if negative {
        out.push('-');
    }
    if (1..=PLAIN_DIGITS).contains(&point) {
        let before = usize::try_from(point).unwrap_or(0);
        match digits.get(before..) {
            None | Some("") => {
                out.push_str(digits);
                out.extend(std::iter::repeat_n('0', before - digits.len()));
            }
            Some(after) => {
                out.push_str(&digits[..before]);
                out.push('.');
                out.push_str(after);
            }
        }
    } else if (-5..=0).contains(&point) {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', usize::try_from(-point).unwrap_or(0)));
        out.push_str(digits);
    } else {
        let (first, rest) = digits.split_at(1);
        out.push_str(first);
        if !rest.is_empty() {
            out.push('.');
            out.push_str(rest);
        }
        let exponent = point - 1;
        out.push_str(if exponent < 0 { "e-" } else { "e+" });
        out.push_str(&exponent.unsigned_abs().to_string());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        normalise(text).unwrap_or_else(|| panic!("out of range: {text}")).into_owned()
    }

    #[test]
    fn shortest_forms_are_written_as_rfc_8785_writes_them() {
        // The finite samples of RFC 8785, appendix B, and the edges of each layout.
        for text in [
            "0",
            "5e-324",
            "-5e-324",
            "1.7976931348623157e+308",
            "9007199254740992",
            "-9007199254740992",
            "295147905179352830000",
            "9.999999999999997e+22",
            "1e+23",
            "1.0000000000000001e+23",
            "999999999999999700000",
            "999999999999999900000",
            "1e+21",
            "9.999999999999997e-7",
            "0.000001",
            "333333333.3333332",
            "333333333.33333325",
            "-0.0000033333333333333333",
            "1424953923781206.2",
            "1e-7",
            "1.5e-7",
            "0.1",
            "100000000000000000000",
            "123456789012345680000",
            "-1.5",
            "10",
            "1e+100",
        ] {
            assert_eq!(normal(text), text);
        }
    }

    #[test]
    fn one_value_has_one_form() {
        for (text, expected) in [
            ("2.0", "2"),
            ("2e0", "2"),
            ("0.2E+1", "2"),
            ("20e-1", "2"),
            ("200.00e-02", "2"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("0e5", "0"),
            ("-0.000e-999999999999999999999999", "0"),
            ("1E21", "1e+21"),
            ("1000000000000000000000", "1e+21"),
            ("0.0000001", "1e-7"),
            ("100e18", "100000000000000000000"),
            ("1.5e20", "150000000000000000000"),
            ("1e+0000000000000000000000002", "100"),
            ("12.340", "12.34"),
            ("-0.00100", "-0.001"),
            ("1e-00", "1"),
        ] {
            assert_eq!(normal(text), expected, "{text}");
        }
    }

    #[test]
    fn nothing_is_rounded() {
        for text in [
            "9007199254740993",
            "18446744073709551617",
            "0.1000000000000000055511151231257827",
            "1e+400",
            "2e+400",
            "1e-400",
            "1.234567890123456789012345678901e+30",
            "1e+999999999999999999",
            "3.0000000000000000000000000000001",
        ] {
            assert_eq!(normal(text), text);
        }
    }

    #[test]
    fn an_exponent_out_of_range_is_refused() {
        assert_eq!(normalise("1e1000000000000000000"), None);
        assert_eq!(normalise("1e-1000000000000000000"), None);
        assert_eq!(normal("10e999999999999999999"), "1e+1000000000000000000");
    }
}
