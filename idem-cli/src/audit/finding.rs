//! A place in the source, and what a rule has to say about it.

use proc_macro2::Span;

use crate::audit::rules::Rule;

/// A place in the source; lines and columns count from one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Site {
    /// The file, as the user would name it.
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Site {
    pub(super) fn new(file: &str, span: Span) -> Self {
        let start = span.start();
        Self { file: file.to_owned(), line: start.line, column: start.column + 1 }
    }
}

/// One thing that a rule found.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) rule: Rule,
    /// Empty where the finding is about a function, not about a route.
    pub(super) method: String,
    pub(super) path: String,
    /// The handler or function.
    pub(super) handler: String,
    pub(super) message: String,
    /// What to do about it.
    pub(super) help: String,
    pub(super) site: Site,
    /// Whether the baseline tolerates it.
    pub(super) known: bool,
}

/// A span as the user wrote it, on one line and not too long.
pub(super) fn text_of(span: Span) -> String {
    const LONGEST: usize = 60;
    let text = span.source_text().unwrap_or_else(|| "..".to_owned());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" .", ".");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}
