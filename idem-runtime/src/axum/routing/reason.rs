//! What an exemption says: a reason that tells a reviewer something, and a day.

/// A reason for [`exempt`](crate::axum::exempt), checked by the compiler.
///
/// ```
/// use idem_runtime::axum::{Router, exempt, post, reason};
///
/// async fn login() -> &'static str { "welcome" }
///
/// let login = exempt(reason!("a login may be repeated"), login);
/// let app: Router = Router::new().route("/login", post(login));
/// ```
///
/// ```compile_fail
/// let reason = idem_runtime::axum::reason!("login");
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __reason {
    ($reason:literal) => {{
        const _: () = $crate::__private::check_reason($reason);
        $reason
    }};
}

/// An error of the compiler, unless the reason says something.
///
/// # Panics
///
/// When it has fewer than 10 characters.
#[track_caller]
pub const fn check_reason(reason: &str) {
    assert!(
        is_reason(reason),
        "say in at least 10 characters why a retry may run this handler again: \
         `reason!(\"a login may be repeated\")`"
    );
}

/// Whether there are at least 10 characters, blanks around them not counted.
pub(super) const fn is_reason(reason: &str) -> bool {
    let bytes = reason.trim_ascii().as_bytes();
    let (mut index, mut characters) = (0, 0);
    while index < bytes.len() {
        // Every byte but the later ones of a character.
        if bytes[index] & 0b1100_0000 != 0b1000_0000 {
            characters += 1;
        }
        index += 1;
    }
    characters >= 10
}

/// Whether `date` is a day of the calendar, written as `2027-01-31`.
pub(super) fn is_date(date: &str) -> bool {
    let number = |from: usize, to: usize| {
        let digits = date.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u16>().ok())?
    };
    let Some((year, month, day)) =
        number(0, 4).zip(number(5, 7)).zip(number(8, 10)).map(|((year, month), day)| (year, month, day))
    else {
        return false;
    };
    let (Ok(month), Ok(day)) = (u8::try_from(month), u8::try_from(day)) else { return false };
    let month = time::Month::try_from(month);
    let dashes = date.len() == 10 && date.get(4..5) == Some("-") && date.get(7..8) == Some("-");
    dashes && month.is_ok_and(|month| time::Date::from_calendar_date(year.into(), month, day).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_counted_in_characters_and_without_the_blanks_around_it() {
        for reason in ["ten chars!", "über zehn Zeichen", "  ten chars!  "] {
            assert!(is_reason(reason), "{reason}");
        }
        for reason in ["", "nine char", "          ", " nine char ", "äöüäöüäöü"] {
            assert!(!is_reason(reason), "{reason}");
        }
    }

    #[test]
    fn a_date_is_a_day_of_the_calendar() {
        for date in ["2027-01-31", "2028-02-29", "0001-12-01"] {
            assert!(is_date(date), "{date}");
        }
        let wrong = [
            "",
            "2027-1-31",
            "2027-02-29",
            "2027-13-01",
            "31.01.2027",
            "2027-01-31 ",
            "2027/01/31",
            "+027-01-01",
        ];
        for date in wrong {
            assert!(!is_date(date), "{date}");
        }
    }
}
