//! IDEM006, IDEM007 and IDEM009: what the annotations of functions leave unsaid.

use std::collections::{BTreeMap, BTreeSet};

use crate::audit::finding::Finding;
use crate::audit::program::{Function, Program};
use crate::audit::rules::Rule;
use crate::audit::stance::Declaration;

pub(super) fn check(program: &Program<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut names: BTreeMap<&str, Vec<&Function<'_>>> = BTreeMap::new();
    for function in &program.functions {
        if function.is_served && function.declaration.is_none() {
            findings.push(finding(
                function,
                Rule::UndeclaredService,
                "a public function of a service does not say what happens when it is called again".to_owned(),
                "write `#[idempotent(route = \"...\")]`, `#[exempt(reason = \"...\")]` or `#[read_only]` above it",
            ));
        }
        let Some(Declaration::Idempotent(idempotent)) = &function.declaration else { continue };
        if let Some(route) = &idempotent.route {
            names.entry(route).or_default().push(function);
        }
        if function.body.is_some() && !idempotent.is_transactional && !idempotent.says_on_lapse {
            findings.push(finding(
                function,
                Rule::LapseUnsaid,
                "after a crash a retry runs it again, which nobody has said in writing".to_owned(),
                "say it: `on_lapse = \"rerun\"`, or `\"refuse\"` where the provider does not recognise a repeated call",
            ));
        }
    }
    for (name, functions) in names {
        for (index, function) in functions.iter().enumerate() {
            let Some(first) = functions[..index].iter().find(|first| clash(program, first, function)) else {
                continue;
            };
            findings.push(finding(
                function,
                Rule::DuplicateName,
                format!(
                    "`{name}` is the name of `{}` already ({}:{})",
                    first.name, first.site.file, first.site.line
                ),
                "two functions under one name answer each other's retries: choose another name",
            ));
        }
    }
    findings
}

/// Whether both can be in one program: in one crate, or one in a library that the other's package can use.
pub(super) fn clash(program: &Program<'_>, one: &Function<'_>, other: &Function<'_>) -> bool {
    // Under `cfg`, the two may be alternatives; the registry of the built program knows.
    let conditional = |function: &Function<'_>| {
        function.attributes.iter().any(|attribute| attribute.path().is_ident("cfg"))
    };
    if one.site == other.site || (conditional(one) && conditional(other)) {
        return false;
    }
    let (one, other) = (&program.modules[one.module], &program.modules[other.module]);
    one.root == other.root
        || (other.is_library && depends(program, one.package, other.package))
        || (one.is_library && depends(program, other.package, one.package))
}

fn depends(program: &Program<'_>, from: usize, on: usize) -> bool {
    let mut open = vec![from];
    let mut seen = BTreeSet::from([from]);
    while let Some(package) = open.pop() {
        if package == on {
            return true;
        }
        let names: Vec<&String> = program.packages[package].dependencies.values().collect();
        let next = program.packages.iter().enumerate().filter(|(_, package)| names.contains(&&package.name));
        open.extend(next.map(|(index, _)| index).filter(|&index| seen.insert(index)));
    }
    false
}

pub(super) fn finding(function: &Function<'_>, rule: Rule, message: String, help: &str) -> Finding {
    Finding {
        rule,
        method: String::new(),
        path: String::new(),
        handler: function.name.clone(),
        message,
        help: help.to_owned(),
        site: function.site.clone(),
        known: false,
    }
}
