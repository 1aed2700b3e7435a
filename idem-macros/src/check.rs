//! The rules across options and signature; what passes them is a model.

use syn::{Pat, ReturnType, Type};

use crate::args::{Args, Fingerprint, Key, OnLapse};
use crate::diag::{Errors, suggestion};
use crate::duration::Duration;
use crate::function::{Function, Kind};
use crate::model::{Model, millis};
use crate::options::Named;

/// Headers that belong to one connection or one visitor and are never replayed.
const NEVER_REPLAYED: [&str; 9] = [
    "connection",
    "date",
    "keep-alive",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
];

/// Checks everything and gives the model, if a route was named.
pub(crate) fn check(args: Args, function: Function, errors: &mut Errors) -> Option<Model> {
    check_durations(&args, errors);
    check_kind(&args, &function, errors);
    check_mode(&args, &function, errors);
    check_steps(&args, &function, errors);
    check_parts(&args, &function, errors);
    let route = match &args.route {
        Some(route) => {
            check_route(&route.value, errors);
            Some(route.value.clone())
        }
        None => {
            if !args.was_given("route") {
                errors.add(syn::Error::new(
                    proc_macro2::Span::call_site(),
                    format!(
                        "`route` is missing: write `#[idempotent(route = \"{}\")]`",
                        route_for(&function.sig.ident.to_string())
                    ),
                ));
            }
            None
        }
    };
    let webhook = args.preset.is_some();
    let (mut ignore, mut skip, mut fingerprint) = (Vec::new(), Vec::new(), None);
    match args.fingerprint.map(|named| named.value) {
        None => {}
        Some(Fingerprint::Expr(expr)) => fingerprint = Some(*expr),
        Some(Fingerprint::Parts { ignore: pointers, skip: arguments }) => {
            (ignore, skip) = (pointers, arguments);
        }
    }
    Some(Model {
        route: route?,
        retry_failed: args.retry_failed.map_or(webhook, |named| named.value.value()),
        on_lapse: args.on_lapse.map_or(OnLapse::Rerun, |named| named.value),
        ttl: given(args.ttl.as_ref()).or(webhook.then_some(4 * 24 * 3_600_000)),
        lease: given(args.lease.as_ref()),
        wait: given(args.wait.as_ref()).or(webhook.then_some(2_000)),
        max_run: given(args.max_run.as_ref()),
        key: args.key.map_or(Key::Required, |named| named.value),
        bind: args.bind.map(|named| named.value),
        ignore,
        skip,
        fingerprint,
        headers: args.headers.map_or_else(Vec::new, |named| named.value),
        release_on: args.release_on.map(|named| named.value),
        status: args.status.map(|named| named.value),
        record_failures: args.failure.is_some(),
        steps: args.steps.is_some(),
        written: args.written.into_iter().filter(|option| option.name != "route").collect(),
        function,
    })
}

fn given(option: Option<&Named<Duration>>) -> Option<u64> {
    millis(option.map(|named| &named.value))
}

/// A name to suggest: `create_order` becomes `create.order`.
pub(crate) fn route_for(function: &str) -> String {
    function.trim_matches('_').to_lowercase().replace('_', ".")
}

fn check_route(route: &syn::LitStr, errors: &mut Errors) {
    let name = route.value();
    let allowed = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '.' | '_' | '-');
    if name.is_empty() {
        errors.at(route, "a route has a name: write `route = \"orders.create\"`");
    } else if name.len() > 255 {
        errors.at(route, "a route has at most 255 characters: shorten it");
    } else if let Some(wrong) = name.chars().find(|c| !allowed(*c)) {
        let better: String =
            name.to_lowercase().trim_matches('/').chars().map(|c| if allowed(c) { c } else { '.' }).collect();
        errors.at(
            route,
            format_args!(
                "`{wrong}` cannot stand in a route, only a-z, 0-9, `.`, `_` and `-`: write `\"{better}\"`"
            ),
        );
    }
}

fn check_durations(args: &Args, errors: &mut Errors) {
    if let (Some(ttl), Some(lease)) = (&args.ttl, &args.lease)
        && ttl.value.millis <= lease.value.millis
    {
        let (ttl, lease) = (&ttl.value.literal, lease.value.literal.value());
        errors.at(
            ttl,
            format_args!("`ttl` must be longer than `lease` (\"{lease}\"): raise `ttl` or shorten `lease`"),
        );
    }
    if let (Some(max_run), Some(lease)) = (&args.max_run, &args.lease)
        && max_run.value.millis < lease.value.millis
    {
        let (max_run, lease) = (&max_run.value.literal, lease.value.literal.value());
        errors.at(max_run, format_args!("`max_run` must be at least `lease` (\"{lease}\"): raise it"));
    }
    if let (Some(wait), Some(max_run)) = (&args.wait, &args.max_run)
        && wait.value.millis > max_run.value.millis
    {
        let (wait, max_run) = (&wait.value.literal, max_run.value.literal.value());
        errors.at(
            wait,
            format_args!("no attempt holds its lease longer than `max_run` (\"{max_run}\"): write `wait = \"{max_run}\"` at most"),
        );
    }
}

fn check_kind(args: &Args, function: &Function, errors: &mut Errors) {
    match function.kind {
        Kind::Handler => {
            if let Some(receiver) = &function.receiver {
                errors.at(
                    receiver,
                    "axum calls a handler without `self`: take the state by `State(app): State<App>`",
                );
            }
            // Beside the request; the transaction is not axum's.
            if let Some(surplus) = function.arguments.get(15) {
                errors.at(
                    &surplus.ty,
                    "axum gives a handler at most 16 arguments: take several as one tuple, \
                     `(State(app), Path(id)): (State<App>, Path<i64>)`",
                );
            }
            if let Some(status) = &args.status {
                errors.at(
                    &status.name,
                    "a handler sets its status itself: return `(StatusCode::CREATED, ...)`",
                );
            }
            if let Some(failure) = &args.failure {
                errors.at(
                    &failure.name,
                    "a handler's failures are recorded as they are answered: remove `failure`",
                );
            }
        }
        Kind::Service => {
            if let Some(headers) = &args.headers {
                errors.at(&headers.name, "a service function has no headers: move `headers` to the handler");
            }
            if let Some(key) = &args.key
                && !matches!(key.value, Key::Required)
            {
                errors.at(&key.name, "a service function is given its key with `idem`: remove `key`");
            }
            match &function.sig.output {
                ReturnType::Default => errors.at(
                    &function.sig.ident,
                    "a service function returns a `Result`: write `-> Result<T, E>` with `E: From<idem_runtime::Error>`",
                ),
                ReturnType::Type(_, ty) if matches!(**ty, Type::ImplTrait(_)) => errors.at(
                    ty,
                    "the recorded value is read back as a named type: write `-> Result<T, E>` instead of `impl Trait`",
                ),
                ReturnType::Type(..) => {}
            }
        }
    }
}

fn check_mode(args: &Args, function: &Function, errors: &mut Errors) {
    if let (Some(on_lapse), Some(_)) = (&args.on_lapse, &function.mutation) {
        errors.at(
            &on_lapse.name,
            "`on_lapse` is for functions without `mutation`: a transaction that stops has no effects, remove it",
        );
    }
}

fn check_steps(args: &Args, function: &Function, errors: &mut Errors) {
    let Some(steps) = &args.steps else { return };
    if function.mutation.is_some() {
        errors.at(
            &steps.name,
            "`steps` is for functions without `mutation`: one transaction has nothing to continue behind, remove it",
        );
    } else if let Some(Named { name, value: OnLapse::Recover(_) }) = &args.on_lapse {
        errors.at(name, "each step is repeated with its own key: remove `on_lapse`, or `steps`");
    }
}

fn check_parts(args: &Args, function: &Function, errors: &mut Errors) {
    for header in args.headers.iter().flat_map(|named| &named.value) {
        let name = header.value().to_lowercase();
        if NEVER_REPLAYED.contains(&name.as_str()) {
            errors.at(header, format_args!("`{name}` is never replayed: remove it from `headers`"));
        }
    }
    if let Some(preset) = &args.preset
        && preset.value != "webhook"
    {
        let hint = suggestion(&preset.value.to_string(), &["webhook"]);
        errors.at(&preset.value, format_args!("unknown preset `{}`: {hint}", preset.value));
    }
    if let Some(failure) = &args.failure
        && failure.value != "serde"
    {
        errors.at(
            &failure.value,
            "write `failure = serde`, with an error that is `Serialize + DeserializeOwned`",
        );
    }
    if let Some(status) = &args.status
        && !status.value.base10_parse::<u16>().is_ok_and(|code| (200..400).contains(&code))
    {
        errors.at(&status.value, "a success has a status from 200 to 399: write `status = 201`");
    }
    let Some(Named { value: Fingerprint::Parts { ignore, skip }, .. }) = &args.fingerprint else { return };
    for pointer in ignore {
        if !pointer.value().starts_with('/') {
            errors.at(pointer, "a JSON pointer starts with `/`: write `ignore(\"/meta/sent_at\")`");
        }
    }
    match function.kind {
        Kind::Handler => {
            for argument in skip {
                errors.at(
                    argument,
                    "a handler's fingerprint is of the received body: write `ignore(\"/member\")`",
                );
            }
        }
        Kind::Service => {
            for pointer in ignore {
                errors.at(
                    pointer,
                    "a service function's fingerprint is of its arguments: write `skip(argument)`",
                );
            }
            let names: Vec<String> = function.arguments.iter().filter_map(|a| name_of(&a.pat)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            for argument in skip {
                if !names.iter().any(|name| argument == name) {
                    let hint = suggestion(&argument.to_string(), &names);
                    errors
                        .add(syn::Error::new(argument.span(), format!("no parameter `{argument}`: {hint}")));
                }
            }
        }
    }
}

/// The name of a parameter that is a plain name.
pub(crate) fn name_of(pat: &Pat) -> Option<String> {
    match pat {
        Pat::Ident(ident) => Some(ident.ident.to_string()),
        _ => None,
    }
}
