//! The grammar of `#[idempotent(...)]`: which options there are, and where each was written.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Ident, LitBool, LitInt, LitStr, Pat, PatIdent, Token};

use crate::diag::{Errors, nearest, suggestion};
use crate::duration::Duration;
use crate::options::{
    Named, each_option, equals, in_parentheses, list, separated, set, unknown_option, valued,
};
use crate::written::{Written, written};

const OPTIONS: [&str; 16] = [
    "route",
    "retry_failed",
    "bind",
    "ttl",
    "lease",
    "wait",
    "max_run",
    "on_lapse",
    "key",
    "fingerprint",
    "headers",
    "release_on",
    "status",
    "failure",
    "preset",
    "steps",
];

/// `bind = field`, or `bind(task_id = expr, ...)`.
pub(crate) enum Bind {
    Field(Ident),
    Exprs(Vec<(Ident, Expr)>),
}

/// `key = ...`.
pub(crate) enum Key {
    Required,
    Optional,
    Expr(Box<Expr>),
}

/// `on_lapse = ...`.
pub(crate) enum OnLapse {
    Rerun,
    Refuse,
    Recover(Box<Expr>),
}

/// `release_on(...)`, or `release_on = predicate`.
pub(crate) enum ReleaseOn {
    Patterns(Vec<Pat>),
    Predicate(Box<Expr>),
}

/// `fingerprint(...)`, or `fingerprint = expr`.
pub(crate) enum Fingerprint {
    Parts { ignore: Vec<LitStr>, skip: Vec<Ident> },
    Expr(Box<Expr>),
}

/// What was written between the parentheses.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) route: Option<Named<LitStr>>,
    pub(crate) retry_failed: Option<Named<LitBool>>,
    pub(crate) bind: Option<Named<Bind>>,
    pub(crate) ttl: Option<Named<Duration>>,
    pub(crate) lease: Option<Named<Duration>>,
    pub(crate) wait: Option<Named<Duration>>,
    pub(crate) max_run: Option<Named<Duration>>,
    pub(crate) on_lapse: Option<Named<OnLapse>>,
    pub(crate) key: Option<Named<Key>>,
    pub(crate) fingerprint: Option<Named<Fingerprint>>,
    pub(crate) headers: Option<Named<Vec<LitStr>>>,
    pub(crate) release_on: Option<Named<ReleaseOn>>,
    pub(crate) status: Option<Named<LitInt>>,
    pub(crate) failure: Option<Named<Ident>>,
    pub(crate) preset: Option<Named<Ident>>,
    pub(crate) steps: Option<Named<()>>,
    /// Everything as it was written, for the registry.
    pub(crate) written: Vec<Written>,
    /// Options whose value could not be read; they count as given.
    broken: Vec<String>,
}

impl Args {
    /// Reads as much as can be read; every mistake goes to `errors`.
    pub(crate) fn parse(tokens: &TokenStream, errors: &mut Errors) -> Self {
        let mut args = Self { written: written(tokens), ..Self::default() };
        let example = "`route = \"orders.create\"`";
        each_option(tokens.clone(), example, errors, |name, input, errors| {
            args.parse_option(name, input, errors).inspect_err(|_| args.broken.push(name.to_string()))
        });
        args
    }

    /// Whether an option was written, however badly.
    pub(crate) fn was_given(&self, name: &str) -> bool {
        self.broken.iter().any(|broken| broken == name)
    }

    fn parse_option(&mut self, name: &Ident, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
        match name.to_string().as_str() {
            "route" => set(&mut self.route, name, valued(name, input, "\"orders.create\"")?, errors),
            "retry_failed" => set(&mut self.retry_failed, name, valued(name, input, "false")?, errors),
            "bind" => set(&mut self.bind, name, bind(name, input)?, errors),
            "ttl" => set(&mut self.ttl, name, duration(name, input)?, errors),
            "lease" => set(&mut self.lease, name, duration(name, input)?, errors),
            "wait" => set(&mut self.wait, name, duration(name, input)?, errors),
            "max_run" => set(&mut self.max_run, name, duration(name, input)?, errors),
            "on_lapse" => set(&mut self.on_lapse, name, on_lapse(name, input)?, errors),
            "key" => set(&mut self.key, name, key(name, input)?, errors),
            "fingerprint" => set(&mut self.fingerprint, name, fingerprint(name, input)?, errors),
            "headers" => set(&mut self.headers, name, list(name, input, "(\"location\")")?, errors),
            "release_on" => set(&mut self.release_on, name, release_on(name, input)?, errors),
            "status" => set(&mut self.status, name, valued(name, input, "201")?, errors),
            "failure" => set(&mut self.failure, name, valued(name, input, "serde")?, errors),
            "steps" => set(&mut self.steps, name, alone(name, input)?, errors),
            "preset" => set(&mut self.preset, name, valued(name, input, "webhook")?, errors),
            unknown => {
                // What was meant counts as given, so that it is not said to be missing as well.
                self.broken.extend(nearest(unknown, &OPTIONS).map(str::to_owned));
                unknown_option(name, &OPTIONS, input, errors);
            }
        }
        Ok(())
    }
}

/// An option that is there or not.
fn alone(name: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(());
    }
    Err(syn::Error::new(input.span(), format!("`{name}` takes no value: write `{name}` alone")))
}

fn duration(name: &Ident, input: ParseStream<'_>) -> syn::Result<Duration> {
    let example = if *name == "ttl" { "\"24h\"" } else { "\"30s\"" };
    Duration::parse(&name.to_string(), valued(name, input, example)?)
}

fn bind(name: &Ident, input: ParseStream<'_>) -> syn::Result<Bind> {
    if !input.peek(syn::token::Paren) {
        return valued(name, input, "task_id").map(Bind::Field);
    }
    let pair = |input: ParseStream<'_>| {
        let target: Ident = input.parse()?;
        if target != "task_id" && target != "outbox_event_id" {
            let hint = suggestion(&target.to_string(), &["task_id", "outbox_event_id"]);
            return Err(syn::Error::new(target.span(), format!("`{target}` cannot be bound: {hint}")));
        }
        input.parse::<Token![=]>()?;
        Ok((target, input.parse()?))
    };
    Ok(Bind::Exprs(in_parentheses(input, |input| separated(input, pair))?))
}

fn on_lapse(name: &Ident, input: ParseStream<'_>) -> syn::Result<OnLapse> {
    let ahead = input.fork();
    if ahead.parse::<Token![=]>().is_ok() && ahead.parse::<Ident>().is_ok_and(|word| word == "recover") {
        input.parse::<Token![=]>()?;
        let word: Ident = input.parse()?;
        if !input.peek(syn::token::Paren) {
            let help = "`recover` needs what to ask: write `recover(app.bank.find(idem.downstream_key(\"charge\")))`";
            return Err(syn::Error::new(word.span(), help));
        }
        return Ok(OnLapse::Recover(Box::new(in_parentheses(input, Expr::parse)?)));
    }
    let value: LitStr = valued(name, input, "\"refuse\"")?;
    match value.value().as_str() {
        "rerun" => Ok(OnLapse::Rerun),
        "refuse" => Ok(OnLapse::Refuse),
        other => {
            let hint = suggestion(other, &["rerun", "refuse"]);
            Err(syn::Error::new(value.span(), format!("unknown `on_lapse` `{other}`: {hint}")))
        }
    }
}

fn key(name: &Ident, input: ParseStream<'_>) -> syn::Result<Key> {
    equals(name, input, "required")?;
    let value: Expr = input.parse()?;
    if let Expr::Path(path) = &value
        && let Some(word) = path.path.get_ident()
    {
        match word.to_string().as_str() {
            "required" => return Ok(Key::Required),
            "optional" => return Ok(Key::Optional),
            _ => {}
        }
    }
    Ok(Key::Expr(Box::new(value)))
}

fn fingerprint(name: &Ident, input: ParseStream<'_>) -> syn::Result<Fingerprint> {
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        return Ok(Fingerprint::Expr(Box::new(input.parse()?)));
    }
    if !input.peek(syn::token::Paren) {
        let help = "`fingerprint` needs a value: write `fingerprint(ignore(\"/meta/sent_at\"))`";
        return Err(syn::Error::new(name.span(), help));
    }
    in_parentheses(input, |content| {
        let (mut ignore, mut skip) = (Vec::new(), Vec::new());
        while !content.is_empty() {
            let part: Ident = content.parse()?;
            match part.to_string().as_str() {
                "ignore" => ignore.extend(list::<LitStr>(&part, content, "(\"/meta/sent_at\")")?),
                "skip" => skip.extend(list::<Ident>(&part, content, "(clock)")?),
                other => {
                    let hint = suggestion(other, &["ignore", "skip"]);
                    return Err(syn::Error::new(part.span(), format!("unknown part `{other}`: {hint}")));
                }
            }
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
        }
        Ok(Fingerprint::Parts { ignore, skip })
    })
}

fn release_on(name: &Ident, input: ParseStream<'_>) -> syn::Result<ReleaseOn> {
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        return Ok(ReleaseOn::Predicate(Box::new(input.parse()?)));
    }
    if !input.peek(syn::token::Paren) {
        let help = "`release_on` takes patterns of errors: write `release_on(AppError::Busy)`";
        return Err(syn::Error::new(name.span(), help));
    }
    let patterns = in_parentheses(input, |input| separated(input, Pat::parse_multi))?;
    for pattern in &patterns {
        if let Pat::Ident(PatIdent { ident, subpat: None, .. }) = pattern
            && ident.to_string().starts_with(|first: char| first.is_lowercase())
        {
            let message = format!(
                "`{ident}` is a new name here and matches every error: write `release_on = {ident}` to ask a function, \
                 or a pattern, `release_on(AppError::Busy)`"
            );
            return Err(syn::Error::new(ident.span(), message));
        }
    }
    Ok(ReleaseOn::Patterns(patterns))
}
