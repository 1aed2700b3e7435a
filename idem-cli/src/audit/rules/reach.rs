//! IDEM005: an annotated function behind a route that says nothing of it.

use std::collections::{HashMap, HashSet, VecDeque};

use syn::visit::Visit;

use crate::audit::finding::Finding;
use crate::audit::program::{FunctionId, Program};
use crate::audit::routes::{Calls, Handler, Kind, Survey};
use crate::audit::rules::{Rule, routes};
use crate::audit::stance::{Declaration, Stance};

pub(super) fn check(program: &Program<'_>, survey: &Survey) -> Vec<Finding> {
    let mut callees = HashMap::new();
    let mut findings = Vec::new();
    for route in survey.routes.iter().filter(|route| !matches!(route.kind, Kind::Escape(_))) {
        let stance = &route.handler.stance;
        if !matches!(stance, Stance::Undeclared | Stance::Exempt(_) | Stance::ReadOnly) {
            continue;
        }
        for id in annotated_behind(program, &route.handler, &mut callees) {
            let function = &program.functions[id].name;
            let message = format!(
                "`{function}` is idempotent, but it is reached through a route that is {}",
                stance.name().replace('_', "-")
            );
            let help = "let the handler take `idem: Delegated` and pass `&idem` on, and route it unwrapped";
            findings.push(routes::finding(route, Rule::InertAnnotation, message, help));
        }
    }
    findings
}

/// The annotated functions that a handler is or calls, also through others.
fn annotated_behind(
    program: &Program<'_>,
    handler: &Handler,
    callees: &mut HashMap<FunctionId, Vec<FunctionId>>,
) -> Vec<FunctionId> {
    let mut open: VecDeque<FunctionId> = handler.works_by.iter().copied().collect();
    let mut seen: HashSet<FunctionId> = open.iter().copied().collect();
    let mut found = Vec::new();
    while let Some(id) = open.pop_front() {
        if matches!(program.functions[id].declaration, Some(Declaration::Idempotent(_))) {
            // What it calls in turn is within its own claim.
            found.push(id);
            continue;
        }
        let next = callees.entry(id).or_insert_with(|| calls(program, id));
        open.extend(next.iter().copied().filter(|&id| seen.insert(id)));
    }
    found
}

fn calls(program: &Program<'_>, id: FunctionId) -> Vec<FunctionId> {
    let function = &program.functions[id];
    let mut calls = Calls { program, scope: function.scope, of: function.of, found: Vec::new() };
    if let Some(body) = function.body {
        calls.visit_block(body);
    }
    calls.found
}
