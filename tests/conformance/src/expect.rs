//! Holds an answer against what a case expects, and says every difference.

use std::collections::HashMap;
use std::time::Duration;

use regex_lite::Regex;
use serde_json::Value;

use crate::answer::{Answer, shortened};
use crate::case::{Expect, OneOrMany, OutcomeOf, Wanted};
use crate::fill::Values;

/// What the expectations of a case can refer to.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) values: Values,
    pub(crate) named: HashMap<String, Answer>,
}

/// What was counted for the route of a step; `None` where the server cannot say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    pub(crate) executed: Option<u64>,
    pub(crate) effects: Option<u64>,
}

impl Context {
    /// The answers under a name that an earlier step gave.
    fn named(&self, name: &str) -> Result<&Answer, String> {
        self.named.get(name).ok_or_else(|| format!("there is no answer with the name `{name}`"))
    }

    /// Everything in which `answer` differs; else the number of the alternative that it took, if there were any.
    pub(crate) fn check(
        &self,
        expect: &Expect,
        answer: &Answer,
        counted: Counted,
    ) -> Result<Option<usize>, Vec<String>> {
        let mut differences = counts(expect, counted);
        differences.extend(elapsed(expect, answer.elapsed));
        differences.extend(head(expect, answer));
        for (name, wanted) in &expect.headers {
            differences.extend(self.header(name, wanted.as_ref(), answer));
        }
        for (name, wanted) in &expect.json {
            differences.extend(self.member(name, wanted, answer));
        }
        differences.extend(self.body(expect, answer));
        if !differences.is_empty() {
            return Err(differences);
        }
        let mut best = None;
        for (number, alternative) in expect.any_of.iter().enumerate() {
            match self.check(alternative, answer, counted) {
                Ok(_) => return Ok(Some(number + 1)),
                Err(differences) => {
                    best.get_or_insert(differences);
                }
            }
        }
        best.map_or(Ok(None), |differences| Err(vec![format!("no alternative: {}", differences.join("; "))]))
    }

    /// Gives each answer to the first outcome that it fits; an outcome takes exactly as many as it says.
    pub(crate) fn sort(
        &mut self,
        outcomes: &[OutcomeOf],
        mut answers: Vec<Answer>,
        counted: Counted,
    ) -> Vec<String> {
        let mut differences = Vec::new();
        for (number, outcome) in outcomes.iter().enumerate() {
            let (fitting, rest): (Vec<_>, Vec<_>) =
                answers.into_iter().partition(|answer| self.check(&outcome.expect, answer, counted).is_ok());
            answers = rest;
            if fitting.len() != outcome.count {
                let (number, wanted, got) = (number + 1, outcome.count, fitting.len());
                differences.push(format!("outcome {number}: expected {wanted} answers, got {got}"));
            }
            if let (Some(name), Some(first)) = (&outcome.name, fitting.into_iter().next()) {
                self.named.insert(name.clone(), first);
            }
        }
        for answer in &answers {
            differences.push(format!("an answer that fits no outcome:\n{answer}"));
        }
        differences
    }

    fn header(&self, name: &str, wanted: Option<&Wanted>, answer: &Answer) -> Option<String> {
        let lines = answer.header(name);
        let fits = match wanted {
            None => lines.is_empty(),
            Some(Wanted::Text(text)) => match lines.as_slice() {
                [line] => self.fits(text, line),
                _ => false,
            },
            Some(Wanted::Lines(wanted)) => {
                wanted.len() == lines.len()
                    && wanted.iter().zip(&lines).all(|(text, line)| self.fits(text, line))
            }
            Some(Wanted::SameAs { same_as }) => match self.named(same_as) {
                Ok(other) => !lines.is_empty() && other.header(name) == lines,
                Err(error) => return Some(error),
            },
            Some(Wanted::DiffersFrom { differs_from }) => match self.named(differs_from) {
                Ok(other) => lines.is_empty() || other.header(name) != lines,
                Err(error) => return Some(error),
            },
            Some(Wanted::BodyLength { body_length }) => {
                (lines == [answer.body.len().to_string()]) == *body_length
            }
        };
        let wanted = wanted.map_or_else(|| "none".to_owned(), |wanted| format!("{wanted:?}"));
        (!fits).then(|| format!("header {name}: expected {wanted}, got {lines:?}"))
    }

    fn member(&self, name: &str, wanted: &Value, answer: &Answer) -> Option<String> {
        let value = answer.json().get(name).cloned().unwrap_or_default();
        let fits = match wanted {
            Value::String(text) => match &value {
                Value::String(value) => self.fits(text, value),
                _ => false,
            },
            Value::Object(reference) => match reference.iter().next() {
                Some((how, Value::String(step))) if how == "same_as" || how == "differs_from" => {
                    match self.named(step) {
                        Ok(other) => {
                            let other = other.json().get(name).cloned().unwrap_or_default();
                            (other == value) == (how == "same_as")
                        }
                        Err(error) => return Some(error),
                    }
                }
                _ => *wanted == value,
            },
            _ => *wanted == value,
        };
        (!fits).then(|| format!("member {name}: expected {wanted}, got {value}"))
    }

    fn body(&self, expect: &Expect, answer: &Answer) -> Vec<String> {
        let mut differences = Vec::new();
        let shown = || shortened(&answer.body);
        for (name, same) in [(&expect.body_same_as, true), (&expect.body_not_same_as, false)] {
            let Some(name) = name else { continue };
            match self.named(name) {
                Ok(other) if (other.body == answer.body) == same => {}
                Ok(other) => {
                    let word = if same { "the body of" } else { "another body than" };
                    let other = shortened(&other.body);
                    differences.push(format!("body: expected {word} `{name}`, {other}, got {}", shown()));
                }
                Err(error) => differences.push(error),
            }
        }
        for (parts, there) in [(&expect.body_contains, true), (&expect.body_not_contains, false)] {
            for part in parts.iter().map(|part| self.values.fill(part)) {
                let found = answer.body.windows(part.len().max(1)).any(|window| window == part.as_bytes());
                if found != there {
                    let word = if there { "with" } else { "without" };
                    differences.push(format!("body: expected one {word} `{part}`, got {}", shown()));
                }
            }
        }
        if let Some(empty) = expect.body_empty
            && answer.body.is_empty() != empty
        {
            differences.push(format!(
                "body: expected {}, got {}",
                if empty { "none" } else { "one" },
                shown()
            ));
        }
        if let Some(length) = expect.body_length
            && answer.body.len() != length
        {
            differences.push(format!("body: expected {length} bytes, got {}", answer.body.len()));
        }
        differences
    }

    /// Whether a text is what was wanted; one between slashes is a regular expression.
    fn fits(&self, wanted: &str, text: &str) -> bool {
        let wanted = self.values.fill(wanted);
        let pattern = wanted.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        match pattern.filter(|pattern| !pattern.is_empty()) {
            Some(pattern) => Regex::new(&pattern.replace("\\/", "/")).is_ok_and(|regex| regex.is_match(text)),
            None => wanted == text,
        }
    }
}

fn head(expect: &Expect, answer: &Answer) -> Vec<String> {
    let mut differences = Vec::new();
    if let Some(statuses) = expect.status.as_ref().map(OneOrMany::as_slice)
        && !statuses.contains(&answer.status)
    {
        differences.push(format!("status: expected {statuses:?}, got {}", answer.status));
    }
    if let Some(codes) = expect.code.as_ref().map(OneOrMany::as_slice) {
        let code = answer.code();
        let is_ours = code.as_deref().is_some_and(|code| code.starts_with("IDEMPOTENCY_"));
        let fits = codes.iter().any(|wanted| if wanted.is_none() { !is_ours } else { *wanted == code });
        if !fits {
            differences.push(format!("code: expected {codes:?}, got {code:?}"));
        }
    }
    differences
}

/// Differences of the counters.
pub(crate) fn counts(expect: &Expect, counted: Counted) -> Vec<String> {
    let both = [
        ("executed_count", expect.executed_count, counted.executed),
        ("effect_count", expect.effect_count, counted.effects),
    ];
    let differing = both.into_iter().filter(|(_, wanted, got)| wanted.is_some() && wanted != got);
    let shown = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    differing
        .map(|(name, wanted, got)| format!("{name}: expected {}, got {}", shown(wanted), shown(got)))
        .collect()
}

/// Differences of the time that it took.
pub(crate) fn elapsed(expect: &Expect, elapsed: Duration) -> Vec<String> {
    let mut differences = Vec::new();
    let took = elapsed.as_millis();
    if let Some(least) = expect.min_elapsed_ms
        && took < u128::from(least)
    {
        differences.push(format!("expected at least {least} ms, took {took}"));
    }
    if let Some(most) = expect.max_elapsed_ms
        && took > u128::from(most)
    {
        differences.push(format!("expected at most {most} ms, took {took}"));
    }
    differences
}
