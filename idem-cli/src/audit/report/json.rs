//! The report for machines. Its shape is described in docs/audit.md, and `VERSION` changes with it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::audit::Error;
use crate::audit::baseline::Entry;
use crate::audit::finding::Site;
use crate::audit::report::{Report, status};
use crate::audit::routes::Kind;
use crate::audit::stance::{Reason, Stance};

const VERSION: u32 = 1;

#[derive(Serialize)]
struct Output<'a> {
    version: u32,
    summary: Summary,
    routes: Vec<Route<'a>>,
    findings: Vec<Finding<'a>>,
    vanished: &'a [Entry],
}

#[derive(Serialize)]
struct Summary {
    files: usize,
    routes: usize,
    stances: BTreeMap<&'static str, usize>,
    findings: usize,
    denied: usize,
}

#[derive(Serialize)]
struct Route<'a> {
    method: &'a str,
    path: &'a str,
    handler: &'a str,
    /// Of the handler; `unresolved` says whether the route is known too.
    stance: &'static str,
    status: &'static str,
    reason: Option<&'a str>,
    until: Option<&'a str>,
    unresolved: Option<&'a str>,
    #[serde(flatten)]
    place: Place<'a>,
}

#[derive(Serialize)]
struct Finding<'a> {
    rule: &'static str,
    name: &'static str,
    method: &'a str,
    path: &'a str,
    handler: &'a str,
    message: &'a str,
    help: &'a str,
    known: bool,
    denied: bool,
    #[serde(flatten)]
    place: Place<'a>,
}

#[derive(Serialize)]
struct Place<'a> {
    file: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Place<'a> {
    fn of(site: &'a Site) -> Self {
        Self { file: &site.file, line: site.line, column: site.column }
    }
}

impl Report<'_> {
    pub(in crate::audit) fn json(&self) -> Result<String, Error> {
        let routes = self.routes.iter().map(|route| {
            let (reason, until) = match &route.handler.stance {
                Stance::Exempt(exemption) => {
                    let reason = match &exemption.reason {
                        Reason::Missing => None,
                        Reason::Given(reason) | Reason::Computed(reason) => Some(reason.as_str()),
                    };
                    (reason, exemption.until.as_deref())
                }
                _ => (None, None),
            };
            let unresolved = match &route.kind {
                Kind::Unresolved(reason) => Some(reason.as_str()),
                _ => None,
            };
            Route {
                method: route.method,
                path: &route.path,
                handler: &route.handler.name,
                stance: route.handler.stance.name(),
                status: status(route),
                reason,
                until,
                unresolved,
                place: Place::of(&route.site),
            }
        });
        let findings = self.findings.iter().map(|(finding, denied)| Finding {
            rule: finding.rule.number(),
            name: finding.rule.name(),
            method: &finding.method,
            path: &finding.path,
            handler: &finding.handler,
            message: &finding.message,
            help: &finding.help,
            known: finding.known,
            denied: *denied,
            place: Place::of(&finding.site),
        });
        let output = Output {
            version: VERSION,
            summary: Summary {
                files: self.files,
                routes: self.routes.len(),
                stances: self.counts(),
                findings: self.findings.len(),
                denied: self.findings.iter().filter(|(_, denied)| *denied).count(),
            },
            routes: routes.collect(),
            findings: findings.collect(),
            vanished: &self.vanished,
        };
        let text = serde_json::to_string_pretty(&output).map_err(|error| Error::Broken(error.to_string()))?;
        Ok(text + "\n")
    }
}
