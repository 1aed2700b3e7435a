//! The options of `#[exempt(...)]`: why a retry may run the function again, and until when that holds.

use proc_macro2::{Span, TokenStream};
use syn::LitStr;
use syn::parse::ParseStream;

use crate::diag::{Errors, nearest};
use crate::options::{Named, each_option, set, unknown_option, valued};

const OPTIONS: [&str; 2] = ["reason", "until"];
const SHORTEST_REASON: usize = 10;
const REASON: &str = "\"a login may be repeated\"";

/// Checks the options.
pub(crate) fn check(tokens: &TokenStream, errors: &mut Errors) {
    if let Ok(reason) = syn::parse2::<LitStr>(tokens.clone()) {
        errors.at(&reason, format_args!("the reason has a name: write `#[exempt(reason = {REASON})]`"));
        return;
    }
    let (mut reason, mut until) = (None, None);
    let mut given = false;
    each_option(tokens.clone(), &format!("`reason = {REASON}`"), errors, |name, input, errors| {
        let word = name.to_string();
        given |= word == "reason" || nearest(&word, &OPTIONS) == Some("reason");
        match word.as_str() {
            "reason" => set(&mut reason, name, valued(name, input, REASON)?, errors),
            "until" => set(&mut until, name, date(name, input)?, errors),
            _ => unknown_option(name, &OPTIONS, input, errors),
        }
        Ok(())
    });
    match reason {
        Some(Named { value, .. }) => check_reason(&value, errors),
        None if given => {}
        None => errors.add(syn::Error::new(
            Span::call_site(),
            format!("`reason` is missing: write `#[exempt(reason = {REASON})]`"),
        )),
    }
}

fn check_reason(reason: &LitStr, errors: &mut Errors) {
    if reason.value().trim().chars().count() < SHORTEST_REASON {
        errors.at(
            reason,
            format_args!(
                "say in at least {SHORTEST_REASON} characters why a retry may run this again: \
                 write `reason = {REASON}`"
            ),
        );
    }
}

fn date(name: &syn::Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    let literal: LitStr = valued(name, input, "\"2027-12-31\"")?;
    if is_date(&literal.value()) {
        return Ok(literal);
    }
    let message =
        format!("`{}` is no date of the form YYYY-MM-DD: write `until = \"2027-12-31\"`", literal.value());
    Err(syn::Error::new(literal.span(), message))
}

/// Whether the text is a day of the calendar, written in full.
fn is_date(text: &str) -> bool {
    let form = text.len() == 10
        && text.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let number = |range| text.get(range).and_then(|digits: &str| digits.parse::<u32>().ok()).unwrap_or(0);
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    form && (1..=days).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::is_date;

    #[test]
    fn only_a_day_of_the_calendar_is_a_date() {
        for date in ["2027-12-31", "2028-02-29", "2000-02-29"] {
            assert!(is_date(date), "{date}");
        }
        for text in [
            "2027-02-29",
            "1900-02-29",
            "2027-13-01",
            "2027-04-31",
            "2027-1-1",
            "31.12.2027",
            "2027-12-00",
            "",
            "2027-12-3é",
        ] {
            assert!(!is_date(text), "{text}");
        }
    }
}
