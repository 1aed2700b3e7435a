//! IDEM003 and IDEM004: exemptions that have ended, and reasons that say nothing.

use std::collections::HashSet;

use time::Date;

use crate::audit::args::date;
use crate::audit::finding::{Finding, Site};
use crate::audit::program::Program;
use crate::audit::routes::{Kind, Survey};
use crate::audit::rules::Rule;
use crate::audit::stance::{Declaration, Exemption, Reason, Stance};

const SHORTEST_REASON: usize = 10;

pub(super) fn check(program: &Program<'_>, survey: &Survey, today: Date) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut on_routes: HashSet<&Site> = HashSet::new();
    for route in &survey.routes {
        let Stance::Exempt(exemption) = &route.handler.stance else { continue };
        if matches!(route.kind, Kind::Escape(_)) {
            continue;
        }
        on_routes.insert(&route.handler.site);
        let about = About { method: route.method, path: &route.path, handler: &route.handler.name };
        findings.extend(mistakes(exemption, today, &route.handler.site, about));
    }
    let wrapped = survey.exemptions.iter().map(|(exemption, handler, site)| (exemption, handler, site));
    let annotated = program.functions.iter().filter_map(|function| match &function.declaration {
        Some(Declaration::Exempt(exemption)) => Some((exemption, &function.name, &function.site)),
        _ => None,
    });
    for (exemption, handler, site) in wrapped.chain(annotated) {
        if !on_routes.contains(site) {
            findings.extend(mistakes(exemption, today, site, About { method: "", path: "", handler }));
        }
    }
    findings
}

#[derive(Clone, Copy)]
struct About<'a> {
    method: &'a str,
    path: &'a str,
    handler: &'a str,
}

fn mistakes(exemption: &Exemption, today: Date, site: &Site, about: About<'_>) -> Vec<Finding> {
    let finding = |rule, message, help: &str| Finding {
        rule,
        method: about.method.to_owned(),
        path: about.path.to_owned(),
        handler: about.handler.to_owned(),
        message,
        help: help.to_owned(),
        site: site.clone(),
        known: false,
    };
    let mut findings = Vec::new();
    match exemption.until.as_deref().map(|until| (until, date(until))) {
        Some((until, Ok(day))) if day < today => findings.push(finding(
            Rule::ExpiredExemption,
            format!("the exemption ended on {until}"),
            "make the write idempotent now, or give the exemption a new date and a reason for it",
        )),
        Some((until, Err(_))) => findings.push(finding(
            Rule::ExpiredExemption,
            format!("`{until}` is no day written as 2027-01-31, so the exemption counts as ended"),
            "write the date as a literal: `until = \"2027-01-31\"`",
        )),
        _ => {}
    }
    let weak = match &exemption.reason {
        Reason::Missing => Some("the exemption has no reason".to_owned()),
        Reason::Given(reason) if reason.trim().chars().count() < SHORTEST_REASON => {
            Some(format!("the reason \"{reason}\" has fewer than {SHORTEST_REASON} characters"))
        }
        Reason::Given(_) | Reason::Computed(_) => None,
    };
    findings.extend(weak.map(|message| {
        finding(Rule::WeakReason, message, "say why a retry may run it again: \"a login may be repeated\"")
    }));
    findings
}
