//! IDEM001, IDEM002 and IDEM008: what the routes themselves show.

use crate::audit::finding::Finding;
use crate::audit::routes::{Kind, Route, Survey};
use crate::audit::rules::Rule;
use crate::audit::stance::Stance;

pub(super) fn check(survey: &Survey) -> Vec<Finding> {
    let mut findings = Vec::new();
    for route in &survey.routes {
        match &route.kind {
            Kind::Unresolved(reason) => findings.push(finding(
                route,
                Rule::UnresolvedRoute,
                reason.clone(),
                "write the route where it can be read, or keep this in a baseline and check it by hand",
            )),
            Kind::Escape(name) => findings.push(finding(
                route,
                Rule::WayAround,
                format!("`{name}` mounts what the compiler does not check"),
                "mount it through a checked method, or wrap it: `exempt(\"reason\", ..)`, `read_only(..)`",
            )),
            Kind::Write => {}
        }
        if route.handler.stance == Stance::Undeclared && !matches!(route.kind, Kind::Escape(_)) {
            findings.push(finding(
                route,
                Rule::UndeclaredRoute,
                format!("a retry of this request runs `{}` again", route.handler.name),
                "annotate it with `#[idempotent(route = \"...\")]`, or wrap it where it is routed: \
                 `exempt(\"reason\", ..)`, `read_only(..)`",
            ));
        }
    }
    findings
}

pub(super) fn finding(route: &Route, rule: Rule, message: String, help: &str) -> Finding {
    Finding {
        rule,
        method: route.method.to_owned(),
        path: route.path.clone(),
        handler: route.handler.name.clone(),
        message,
        help: help.to_owned(),
        site: route.site.clone(),
        known: false,
    }
}
