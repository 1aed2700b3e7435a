//! Spans of time and moments, as people and programs write them.

use std::time::{Duration, UNIX_EPOCH};

use idem_runtime::Timestamp;

/// Reads `7d`, `90m` or `1h 30m`.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}: write 7d, 12h or 90m"))
}

/// A span for people: whole seconds from one second on, and two units at most.
pub(super) fn words(span: Duration) -> String {
    let whole = if span >= Duration::from_secs(1) {
        Duration::from_secs(span.as_secs())
    } else {
        Duration::from_millis(u64::from(span.subsec_millis()))
    };
    let text = humantime::format_duration(whole).to_string();
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// How far `moment` is from `now`, for people.
pub(super) fn relative(now: Timestamp, moment: Timestamp) -> String {
    if moment > now {
        format!("in {}", words(now.until(moment)))
    } else {
        format!("{} ago", words(moment.until(now)))
    }
}

/// A moment in RFC 3339, in UTC.
pub(super) fn rfc3339(moment: Timestamp) -> String {
    let since = Duration::from_micros(u64::try_from(moment.as_micros()).unwrap_or(0));
    humantime::format_rfc3339_micros(UNIX_EPOCH + since).to_string()
}

/// Milliseconds from `now` to `moment`; negative when it has passed.
pub(super) fn millis_to(now: Timestamp, moment: Timestamp) -> i64 {
    (moment.as_micros() - now.as_micros()) / 1000
}

/// The milliseconds of a span.
pub(super) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short_and_moments_are_exact() {
        assert_eq!(parse("7d"), Ok(Duration::from_hours(7 * 24)));
        assert!(parse("soon").is_err());
        assert_eq!(words(Duration::from_millis(90_061_500)), "1day 1h");
        assert_eq!(words(Duration::from_millis(250)), "250ms");
        assert_eq!(rfc3339(Timestamp::from_micros(1_700_000_000_000_001)), "2023-11-14T22:13:20.000001Z");
        assert_eq!(millis_to(Timestamp::from_micros(5_000), Timestamp::from_micros(2_000)), -3);
    }
}
