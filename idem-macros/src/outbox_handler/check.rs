//! The rules across options and signature; what passes them is a model.

use proc_macro2::Span;
use syn::{LitInt, LitStr};

use super::args::Args;
use super::signature::{Effect, Signature};
use crate::diag::{Errors, suggestion};
use crate::written::Written;

/// A checked attribute on a checked function.
pub(super) struct Model {
    pub(super) signature: Signature,
    pub(super) event: LitStr,
    pub(super) version: LitInt,
    pub(super) handler_key: LitStr,
    pub(super) retry_failed: bool,
    pub(super) refuse: bool,
    pub(super) ttl: Option<u64>,
    pub(super) lease: Option<u64>,
    pub(super) max_run: Option<u64>,
    /// The options besides event, version and key, as they were written.
    pub(super) written: Vec<Written>,
}

/// Checks everything and gives the model, if nothing of it is missing.
pub(super) fn check(args: Args, signature: Option<Signature>, errors: &mut Errors) -> Option<Model> {
    check_missing(&args, signature.as_ref(), errors);
    if let Some(event) = &args.event {
        check_name("an event type", &event.value, 120, errors);
    }
    if let Some(key) = &args.handler_key {
        check_name("a handler key", &key.value, 110, errors);
    }
    if let Some(version) = &args.version
        && version.value.base10_parse::<u32>().is_err()
    {
        errors.at(&version.value, "a version is a number without a sign, below 2^32: write `version = 1`");
    }
    check_durations(&args, errors);
    let refuse = check_on_lapse(&args, signature.as_ref(), errors);
    Some(Model {
        signature: signature?,
        event: args.event?.value,
        version: args.version?.value,
        handler_key: args.handler_key?.value,
        retry_failed: args.retry_failed.is_none_or(|named| named.value.value()),
        refuse,
        ttl: args.ttl.map(|named| named.value.millis),
        lease: args.lease.map(|named| named.value.millis),
        max_run: args.max_run.map(|named| named.value.millis),
        written: args
            .written
            .into_iter()
            .filter(|option| !["event", "version", "handler_key"].contains(&option.name.as_str()))
            .collect(),
    })
}

/// One message names all that is missing, with the line that has it.
fn check_missing(args: &Args, signature: Option<&Signature>, errors: &mut Errors) {
    let missing: Vec<&str> = [
        ("event", args.event.is_some()),
        ("version", args.version.is_some()),
        ("handler_key", args.handler_key.is_some()),
    ]
    .into_iter()
    .filter(|(name, given)| !given && !args.was_given(name))
    .map(|(name, _)| name)
    .collect();
    if missing.is_empty() {
        return;
    }
    let names = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
    let event = args.event.as_ref().map_or_else(|| "order.created".to_owned(), |event| event.value.value());
    let version = args.version.as_ref().map_or_else(|| "1".to_owned(), |version| version.value.to_string());
    let key = match (&args.handler_key, signature) {
        (Some(key), _) => key.value.value(),
        (None, Some(signature)) => signature.name.to_string().trim_matches('_').replace('_', "-"),
        (None, None) => "send-mail".to_owned(),
    };
    errors.add(syn::Error::new(
        Span::call_site(),
        format!(
            "{names} {} missing: write `#[outbox_handler(event = \"{event}\", version = {version}, \
             handler_key = \"{key}\")]`",
            if missing.len() == 1 { "is" } else { "are" }
        ),
    ));
}

fn check_name(what: &str, literal: &LitStr, longest: usize, errors: &mut Errors) {
    let name = literal.value();
    let allowed = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '.' | '_' | '-');
    if name.is_empty() {
        errors.at(literal, format_args!("{what} has a name: write `\"order.created\"`"));
    } else if name.len() > longest {
        errors.at(literal, format_args!("{what} has at most {longest} characters: shorten it"));
    } else if let Some(wrong) = name.chars().find(|c| !allowed(*c)) {
        let better: String = name.to_lowercase().chars().map(|c| if allowed(c) { c } else { '.' }).collect();
        errors.at(
            literal,
            format_args!(
                "`{wrong}` cannot stand in {what}, only a-z, 0-9, `.`, `_` and `-`: write `\"{better}\"`"
            ),
        );
    }
}

fn check_durations(args: &Args, errors: &mut Errors) {
    let Some(lease) = &args.lease else { return };
    let (written, millis) = (lease.value.literal.value(), lease.value.millis);
    if let Some(ttl) = &args.ttl
        && ttl.value.millis <= millis
    {
        errors.at(
            &ttl.value.literal,
            format_args!("`ttl` must be longer than `lease` (\"{written}\"): raise `ttl` or shorten `lease`"),
        );
    }
    if let Some(max_run) = &args.max_run
        && max_run.value.millis < millis
    {
        let message = format_args!("`max_run` must be at least `lease` (\"{written}\"): raise it");
        errors.at(&max_run.value.literal, message);
    }
}

fn check_on_lapse(args: &Args, signature: Option<&Signature>, errors: &mut Errors) -> bool {
    let Some(on_lapse) = &args.on_lapse else { return false };
    let word = on_lapse.value.value();
    if !matches!(word.as_str(), "rerun" | "refuse") {
        let hint = suggestion(&word, &["rerun", "refuse"]);
        errors.at(&on_lapse.value, format_args!("unknown `on_lapse` `{word}`: {hint}"));
    } else if let Some(Signature { effect: Effect::InTransaction, .. }) = signature {
        errors.at(
            &on_lapse.name,
            "a transaction leaves nothing behind when it stops: remove `on_lapse`, which is for handlers with \
             `claim: &Claim`",
        );
    }
    word == "refuse"
}
