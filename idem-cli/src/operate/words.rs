//! Text for people: aligned rows, and nothing from the database that could steer a terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use idem_runtime::{AnswerBody, Reading, RecordKey};

use super::span::{relative, words};

/// What is well.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// What needs somebody.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
/// What to know.
pub(super) const FAINT: Style = Style::new().dimmed();

/// `text` in `style`.
pub(super) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// `text` without the characters that a terminal obeys; lines and tabs stay.
pub(super) fn harmless(text: &str) -> String {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    text.chars().map(|c| if obeyed(c) { '\u{fffd}' } else { c }).collect()
}

/// Names on the left, values on the right.
pub(super) fn facts(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "  {FAINT}{name:width$}{FAINT:#}  {}", harmless(value));
        text
    })
}

/// A table with a header; nothing when there are no rows.
pub(super) fn table<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let header = header.map(str::to_owned);
    let lines: Vec<[String; N]> =
        std::iter::once(&header).chain(rows).map(|row| row.each_ref().map(|cell| harmless(cell))).collect();
    let width = |column: usize| lines.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    lines.iter().fold(String::new(), |mut text, row| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
        text
    })
}

/// The four parts of a key in one line.
pub(super) fn address(key: &RecordKey) -> String {
    let scope = key.scope();
    format!("{} {} {} {}", scope.tenant(), scope.user(), key.route().as_str(), key.key().as_str())
}

/// What is known of a record, without the body of its answer.
pub(super) fn record(reading: &Reading) -> Vec<(&'static str, String)> {
    let Reading { record, now } = reading;
    let terms = &record.terms;
    let mut rows = vec![("record", format!("{}, attempt {}", record.status, record.token.attempt))];
    if record.outcome_unknown {
        rows.push(("outcome", "unknown".to_owned()));
    }
    rows.push(("began", relative(*now, record.created_at)));
    rows.push(("last change", relative(*now, record.updated_at)));
    let moments = [
        ("ended", record.completed_at),
        ("released", record.released_at),
        ("lease ends", record.locked_until),
    ];
    for (name, moment) in moments {
        if let Some(moment) = moment {
            rows.push((name, relative(*now, moment)));
        }
    }
    rows.push(("life ends", relative(*now, record.expires_at)));
    if let Some(answer) = &record.answer {
        let kind = answer.content_type.as_deref().unwrap_or("no content type");
        let what = match &answer.body {
            AnswerBody::Kept(bytes) => format!("{kind}, {} bytes", bytes.len()),
            AnswerBody::Omitted => format!("{kind}, without its body"),
            AnswerBody::Sealed(sealed) => format!("sealed with the key {}", sealed.key_id()),
        };
        rows.push(("answer", format!("{}, {what}", answer.code)));
    }
    let bound = [("task", &record.bindings.task_id), ("outbox event", &record.bindings.outbox_event_id)];
    for (name, id) in bound {
        if let Some(id) = id {
            rows.push((name, id.clone()));
        }
    }
    rows.push((
        "terms",
        format!(
            "{}, on_lapse {}, retry_failed {}, ttl {}, lease {}",
            terms.mode.as_str(),
            terms.on_lapse.as_str(),
            terms.retry_failed,
            words(terms.ttl),
            words(terms.lease)
        ),
    ));
    rows
}

/// The stored body, as far as it is text.
pub(super) fn body(reading: &Reading) -> String {
    match reading.record.answer.as_ref().map(|answer| &answer.body) {
        None => String::new(),
        Some(AnswerBody::Omitted) => "\n(the body was over the storage limit)\n".to_owned(),
        Some(AnswerBody::Sealed(sealed)) => format!(
            "\n(the answer is sealed with the key {}: only a guard that has it can give it)\n",
            sealed.key_id()
        ),
        Some(AnswerBody::Kept(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => format!("\n{}\n", harmless(text)),
            Err(_) => format!("\n({} bytes that are no text; --json gives them in base64)\n", bytes.len()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stored_can_steer_a_terminal() {
        assert_eq!(harmless("a\u{1b}[2Jb\u{9b}\n\tc"), "a\u{fffd}[2Jb\u{fffd}\n\tc");
        assert!(!table(["A"], &[["\u{7}".to_owned()]]).contains('\u{7}'));
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["x".to_owned(), "1".to_owned()], ["long".to_owned(), "2".to_owned()]];
        assert_eq!(table(["N", "V"], &rows), "N     V\nx     1\nlong  2\n");
        assert_eq!(table(["N", "V"], &[]), "");
    }
}
