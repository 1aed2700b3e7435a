//! Durations as they are written in an attribute: a whole number and a unit.

use syn::LitStr;

/// A checked duration and where it was written.
#[derive(Clone)]
pub(crate) struct Duration {
    pub(crate) literal: LitStr,
    pub(crate) millis: u64,
}

const FORM: &str = "write a whole number and one of `ms`, `s`, `m`, `h`, `d`, for example";
const TEN_YEARS_MS: u64 = 10 * 366 * 24 * 3_600_000;

impl Duration {
    /// Reads a duration of the option `name`.
    pub(crate) fn parse(name: &str, literal: LitStr) -> syn::Result<Self> {
        let example = match name {
            "ttl" => "`ttl = \"24h\"`",
            "lease" => "`lease = \"30s\"`",
            "wait" => "`wait = \"2s\"`",
            _ => "`max_run = \"15m\"`",
        };
        let text = literal.value();
        let error = |what: String| syn::Error::new(literal.span(), what);
        let digits = text.chars().take_while(char::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let factor = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 24 * 3_600_000,
            _ => return Err(error(format!("`{text}` is not a duration: {FORM} {example}"))),
        };
        if number.is_empty() {
            return Err(error(format!("`{text}` is not a duration: {FORM} {example}")));
        }
        let millis = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
        match millis {
            Some(0) if name != "wait" => {
                Err(error(format!("`{name}` must be longer than zero: write {example}")))
            }
            Some(millis) if millis <= TEN_YEARS_MS => Ok(Self { literal, millis }),
            _ => Err(error(format!("`{text}` is longer than ten years: write {example}"))),
        }
    }
}
