//! The report for people: a table of routes, then the findings as a compiler would put them.

use std::collections::HashSet;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::audit::finding::Finding;
use crate::audit::report::{Report, status};
use crate::audit::routes::Route;
use crate::audit::stance::{Exemption, Reason, Stance};

const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const OPEN: Style = AnsiColor::Yellow.on_default().bold();
const FAINT: Style = Style::new().dimmed();

impl Report<'_> {
    pub(in crate::audit) fn text(&self) -> String {
        let mut text = self.table();
        let known = self.findings.iter().filter(|(finding, _)| finding.known).count();
        let mut helped = HashSet::new();
        for (finding, denied) in self.findings.iter().filter(|(finding, _)| !finding.known) {
            describe(&mut text, finding, *denied);
            if helped.insert((finding.rule, &finding.help)) {
                let _ = writeln!(text, "   {FAINT}= help:{FAINT:#} {}", finding.help);
            }
        }
        if !self.vanished.is_empty() {
            let file = self.baseline.as_deref().unwrap_or("the baseline");
            let _ = writeln!(text, "\nfound no more; write {file} anew with --write-baseline:");
            for entry in &self.vanished {
                let about = [&entry.rule, &entry.method, &entry.path, &entry.handler];
                let about: Vec<&str> =
                    about.into_iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
                let _ = writeln!(text, "  {}", about.join(" "));
            }
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&self.summary(known));
        text
    }

    fn table(&self) -> String {
        let header = ["METHOD", "PATH", "HANDLER", "WHERE"].map(str::to_owned);
        let rows: Vec<[String; 4]> = self.routes.iter().map(|route| cells(route)).collect();
        let all = || std::iter::once(&header).chain(&rows);
        let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2), width(3)];
        let mut text = String::new();
        if rows.is_empty() {
            return text;
        }
        let line = |row: &[String; 4]| {
            let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}  "));
            padded.collect::<String>()
        };
        let _ = writeln!(text, "{BOLD}{}STANCE{BOLD:#}", line(&header));
        for (route, row) in self.routes.iter().zip(&rows) {
            let _ = writeln!(text, "{}{}", line(row), stance(route));
        }
        text
    }

    fn summary(&self, known: usize) -> String {
        let mut text =
            format!("{} in {}", plural(self.routes.len(), "write route"), plural(self.files, "file"));
        let counts = self.counts();
        let counts: Vec<String> = counts.iter().map(|(stance, count)| format!("{count} {stance}")).collect();
        if !counts.is_empty() {
            let _ = write!(text, ": {}", counts.join(", "));
        }
        text.push('\n');
        let new = self.findings.len() - known;
        let denied = self.findings.iter().filter(|(_, denied)| *denied).count();
        let _ = write!(text, "{}", plural(new, "finding"));
        if known > 0 {
            let _ = write!(text, ", {known} more in the baseline");
        }
        if denied > 0 {
            let _ = write!(text, "; {BAD}{denied} denied{BAD:#}");
        }
        if let Some((first, _)) = self.findings.iter().find(|(finding, _)| !finding.known) {
            let _ = write!(text, "; {FAINT}idem audit --explain {} tells more{FAINT:#}", first.rule);
        }
        text.push('\n');
        text
    }
}

fn cells(route: &Route) -> [String; 4] {
    let place = format!("{}:{}", route.site.file, route.site.line);
    [route.method.to_owned(), route.path.clone(), route.handler.name.clone(), place]
}

fn stance(route: &Route) -> String {
    let status = status(route);
    let style = match status {
        "undeclared" => BAD,
        "unresolved" => OPEN,
        _ => GOOD,
    };
    let mut text = format!("{style}{status}{style:#}");
    if status == "unresolved" && route.handler.stance != Stance::Unresolved {
        let _ = write!(text, " ({})", route.handler.stance.name());
    }
    if let Stance::Exempt(Exemption { reason, until }) = &route.handler.stance {
        if let Reason::Given(reason) | Reason::Computed(reason) = reason {
            let _ = write!(text, ": {reason}");
        }
        if let Some(until) = until {
            let _ = write!(text, " (until {until})");
        }
    }
    text
}

fn describe(text: &mut String, finding: &Finding, denied: bool) {
    let Finding { rule, method, path, handler, message, site, .. } = finding;
    let (style, weight) = if denied { (BAD, "error") } else { (OPEN, "warning") };
    let _ = writeln!(text, "\n{style}{weight}[{rule}]{style:#}{BOLD}: {}: {message}{BOLD:#}", rule.name());
    let _ = writeln!(text, "  {FAINT}-->{FAINT:#} {}:{}:{}", site.file, site.line, site.column);
    if method.is_empty() {
        let _ = writeln!(text, "   {FAINT}={FAINT:#} {handler}");
    } else {
        let _ = writeln!(text, "   {FAINT}={FAINT:#} {method} {path} -> {handler}");
    }
}

fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
