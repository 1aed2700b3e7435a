//! The rules, their numbers and pages, and what the user may deny.

mod events;
mod exemptions;
mod functions;
mod outbox_handlers;
mod reach;
mod routes;

use std::fmt;
use std::str::FromStr;

use time::Date;

use crate::audit::finding::Finding;
use crate::audit::program::Program;
use crate::audit::routes::Survey;

macro_rules! rules {
    ($($rule:ident $number:literal $name:literal),+ $(,)?) => {
        /// A rule; its number never means another one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub(super) enum Rule {
            $($rule),+
        }

        impl Rule {
            pub(super) const ALL: &'static [Self] = &[$(Self::$rule),+];

            /// `IDEM001`.
            pub(super) fn number(self) -> &'static str {
                match self {
                    $(Self::$rule => $number),+
                }
            }

            /// What the rule finds, in a few words.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Self::$rule => $name),+
                }
            }

            /// The page that explains the rule.
            pub(super) fn page(self) -> &'static str {
                match self {
                    $(Self::$rule => include_str!(concat!("../../../docs/rules/", $number, ".md"))),+
                }
            }
        }
    };
}

rules! {
    UndeclaredRoute "IDEM001" "undeclared write route",
    UnresolvedRoute "IDEM002" "unresolved route",
    ExpiredExemption "IDEM003" "expired exemption",
    WeakReason "IDEM004" "exemption without a telling reason",
    InertAnnotation "IDEM005" "annotation that cannot protect",
    LapseUnsaid "IDEM006" "external function without on_lapse",
    DuplicateName "IDEM007" "duplicate route name",
    WayAround "IDEM008" "way around the check",
    UndeclaredService "IDEM009" "undeclared service function",
    LostEvent "IDEM010" "event without a handler",
    HandlerLapseUnsaid "IDEM011" "external outbox handler without on_lapse",
    DuplicateHandler "IDEM012" "duplicate outbox handler",
}

impl Rule {
    /// Whether it fails the audit without being denied, and no baseline tolerates it.
    pub(super) fn fails_always(self) -> bool {
        self == Self::ExpiredExemption
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.number())
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|rule| rule.number().eq_ignore_ascii_case(text));
        found.copied().ok_or_else(|| {
            let last = Self::ALL.last().map_or("", |rule| rule.number());
            format!("there is no rule `{text}`; they are IDEM001 to {last}")
        })
    }
}

/// What `--deny` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denied {
    All,
    Undeclared,
    Rule(Rule),
}

impl Denied {
    pub(super) fn covers(self, rule: Rule) -> bool {
        match self {
            Self::All => true,
            Self::Undeclared => matches!(rule, Rule::UndeclaredRoute | Rule::UndeclaredService),
            Self::Rule(denied) => denied == rule,
        }
    }
}

impl FromStr for Denied {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "all" => Ok(Self::All),
            "undeclared" => Ok(Self::Undeclared),
            "unresolved" => Ok(Self::Rule(Rule::UnresolvedRoute)),
            "expired" => Ok(Self::Rule(Rule::ExpiredExemption)),
            rule => rule
                .parse()
                .map(Self::Rule)
                .map_err(|error: String| format!("{error}; or write undeclared, unresolved, expired, all")),
        }
    }
}

/// Everything that the rules find, by place.
pub(super) fn check(program: &Program<'_>, survey: &Survey, today: Date) -> Vec<Finding> {
    let mut findings = routes::check(survey);
    findings.extend(exemptions::check(program, survey, today));
    findings.extend(reach::check(program, survey));
    findings.extend(functions::check(program));
    findings.extend(events::check(program));
    findings.extend(outbox_handlers::check(program));
    findings
        .sort_by(|a, b| (&a.site, a.rule, &a.method, &a.path).cmp(&(&b.site, b.rule, &b.method, &b.path)));
    findings
}
