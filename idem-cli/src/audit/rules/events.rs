//! IDEM010: event types that are published and that no handler takes.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;
use syn::{Expr, ExprCall, ExprLit, Item, Lit, Macro};

use crate::audit::finding::{Finding, Site};
use crate::audit::program::{Function, Named, Program};
use crate::audit::rules::Rule;
use crate::audit::rules::functions::finding;
use crate::audit::stance::Declaration;

pub(super) fn check(program: &Program<'_>) -> Vec<Finding> {
    let mut published: BTreeMap<(String, u32), (Site, &Function<'_>)> = BTreeMap::new();
    for function in &program.functions {
        let mut events = Events { program, function, found: Vec::new() };
        if let Some(body) = function.body {
            events.visit_block(body);
        }
        for (event, site) in events.found {
            let first = published.entry(event).or_insert_with(|| (site.clone(), function));
            if site < first.0 {
                *first = (site, function);
            }
        }
    }
    let handled: BTreeSet<&(String, u32)> = program
        .functions
        .iter()
        .filter_map(|function| match &function.declaration {
            Some(Declaration::OutboxHandler(handler)) => handler.event.as_ref(),
            _ => None,
        })
        .collect();
    let lost = published.into_iter().filter(|(event, _)| !handled.contains(event));
    lost.map(|((event_type, version), (site, function))| {
        let others: Vec<String> = handled
            .iter()
            .filter(|(handled, _)| *handled == event_type)
            .map(|(_, version)| version.to_string())
            .collect();
        let others = match others.as_slice() {
            [] => String::new(),
            versions => format!(", only version {}", versions.join(" and ")),
        };
        let finding = finding(
            function,
            Rule::LostEvent,
            format!("no handler takes `{event_type}` version {version}{others}: the event ends dead"),
            &format!(
                "write `#[outbox_handler(event = \"{event_type}\", version = {version}, handler_key = \"...\")]`, \
                 or audit the crate that has it together with this one"
            ),
        );
        Finding { site, ..finding }
    })
    .collect()
}

/// The calls of `Event::new` in a body, with their type and version.
struct Events<'p, 'a> {
    program: &'p Program<'a>,
    function: &'p Function<'a>,
    found: Vec<((String, u32), Site)>,
}

impl Events<'_, '_> {
    /// Whether it is the runtime's; a type of the same name elsewhere is another matter.
    fn is_new_event(&self, callee: &Expr) -> bool {
        let Expr::Path(callee) = callee else { return false };
        let named = self.program.resolve_in(self.function.scope, self.function.of, &callee.path);
        named.iter().any(|named| match named {
            Named::Foreign(path) => {
                path[0].starts_with("idem") && path.ends_with(&["Event".to_owned(), "new".to_owned()])
            }
            _ => false,
        })
    }

    /// The literal that an argument is, or that a constant holds.
    fn literal<'e>(&'e self, argument: &'e Expr) -> Option<&'e Lit> {
        match argument {
            Expr::Lit(ExprLit { lit, .. }) => Some(lit),
            Expr::Path(path) => {
                let named = self.program.resolve_in(self.function.scope, self.function.of, &path.path);
                named.iter().find_map(|named| match named {
                    Named::Constant(id) => match self.program.constants[*id].value {
                        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
                        _ => None,
                    },
                    _ => None,
                })
            }
            _ => None,
        }
    }
}

impl Visit<'_> for Events<'_, '_> {
    fn visit_expr_call(&mut self, call: &ExprCall) {
        let mut arguments = call.args.iter();
        if let (Some(event_type), Some(version)) = (arguments.next(), arguments.next())
            && self.is_new_event(&call.func)
            && let (Some(Lit::Str(name)), Some(Lit::Int(number))) =
                (self.literal(event_type), self.literal(version))
            && let Ok(number) = number.base10_parse()
        {
            let file = self.program.file(self.function.module);
            let site = Site::new(file, syn::spanned::Spanned::span(event_type));
            self.found.push(((name.value(), number), site));
        }
        syn::visit::visit_expr_call(self, call);
    }

    /// `select! { .. }` and their like, as far as they hold expressions or statements.
    fn visit_macro(&mut self, mac: &Macro) {
        use syn::parse::Parser as _;
        use syn::punctuated::Punctuated;
        let arguments = Punctuated::<Expr, syn::Token![,]>::parse_terminated.parse2(mac.tokens.clone());
        match arguments {
            Ok(arguments) => arguments.iter().for_each(|argument| self.visit_expr(argument)),
            Err(_) => {
                let statements = syn::Block::parse_within.parse2(mac.tokens.clone());
                statements.into_iter().flatten().for_each(|statement| self.visit_stmt(&statement));
            }
        }
    }

    /// A function inside a body is one of its own.
    fn visit_item(&mut self, _: &Item) {}
}
