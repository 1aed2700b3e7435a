//! IDEM011 and IDEM012: what outbox handlers leave unsaid, and handlers that take each other's place.

use std::collections::BTreeMap;

use crate::audit::finding::Finding;
use crate::audit::program::{Function, Program};
use crate::audit::rules::Rule;
use crate::audit::rules::functions::{clash, finding};
use crate::audit::stance::Declaration;

pub(super) fn check(program: &Program<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut handlers: BTreeMap<(&str, u32, &str), Vec<&Function<'_>>> = BTreeMap::new();
    for function in &program.functions {
        let Some(Declaration::OutboxHandler(handler)) = &function.declaration else { continue };
        if !handler.is_transactional && !handler.says_on_lapse {
            findings.push(finding(
                function,
                Rule::HandlerLapseUnsaid,
                "after a crash the event is delivered to it again, which nobody has said in writing".to_owned(),
                "say it: `on_lapse = \"rerun\"`, or `\"refuse\"` where the other side does not recognise a repeated call",
            ));
        }
        if let (Some((event_type, version)), Some(key)) = (&handler.event, &handler.handler_key) {
            handlers.entry((event_type, *version, key)).or_default().push(function);
        }
    }
    for ((event_type, version, key), functions) in handlers {
        for (index, function) in functions.iter().enumerate() {
            let Some(first) = functions[..index].iter().find(|first| clash(program, first, function)) else {
                continue;
            };
            findings.push(finding(
                function,
                Rule::DuplicateHandler,
                format!(
                    "`{key}` of `{event_type}` version {version} is `{}` already ({}:{})",
                    first.name, first.site.file, first.site.line
                ),
                "each of the two would take the other's events for delivered: choose another handler_key",
            ));
        }
    }
    findings
}
