//! How options are read between parentheses: a name, a value, a comma; one mistake does not hide the next.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Ident, Token, parenthesized};

use crate::diag::{Errors, suggestion};

/// An option with the word that named it.
pub(crate) struct Named<T> {
    pub(crate) name: Ident,
    pub(crate) value: T,
}

/// Calls `option` at each name, and goes on behind the next comma where it fails.
pub(crate) fn each_option(
    tokens: TokenStream,
    example: &str,
    errors: &mut Errors,
    mut option: impl FnMut(&Ident, ParseStream<'_>, &mut Errors) -> syn::Result<()>,
) {
    let read = |input: ParseStream<'_>| {
        while !input.is_empty() {
            let Ok(name) = input.parse::<Ident>() else {
                errors.add(input.error(format_args!("expected an option, for example {example}")));
                skip_to_comma(input);
                continue;
            };
            if let Err(error) = option(&name, input, errors) {
                errors.add(placed(error, &name));
                skip_to_comma(input);
                continue;
            }
            if !input.is_empty() && !input.peek(Token![,]) {
                errors.add(input.error("expected `,` between two options"));
            }
            skip_to_comma(input);
        }
        Ok(())
    };
    if let Err(error) = read.parse2(tokens) {
        errors.add(error);
    }
}

/// Where the tokens of a value run out, the parser knows no place: the option that they belong to is one.
fn placed(error: syn::Error, name: &Ident) -> syn::Error {
    match error.to_string().strip_prefix("unexpected end of input, ") {
        Some(expected) => syn::Error::new(name.span(), format!("`{name}` ends too early: {expected}")),
        None => error,
    }
}

/// Says that an option does not exist, and steps over its value.
pub(crate) fn unknown_option(name: &Ident, known: &[&str], input: ParseStream<'_>, errors: &mut Errors) {
    errors.at(name, format_args!("unknown option `{name}`: {}", suggestion(&name.to_string(), known)));
    skip_to_comma_keeping_it(input);
}

pub(crate) fn set<T>(slot: &mut Option<Named<T>>, name: &Ident, value: T, errors: &mut Errors) {
    if slot.is_some() {
        errors.at(name, format_args!("`{name}` is given twice: remove one of the two"));
        return;
    }
    *slot = Some(Named { name: name.clone(), value });
}

pub(crate) fn equals(name: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<()> {
    if input.parse::<Token![=]>().is_err() {
        return Err(syn::Error::new(
            name.span(),
            format!("`{name}` needs a value: write `{name} = {example}`"),
        ));
    }
    Ok(())
}

pub(crate) fn valued<T: Parse>(name: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<T> {
    equals(name, input, example)?;
    let span = if input.is_empty() { name.span() } else { input.span() };
    input.parse().map_err(|_| {
        syn::Error::new(span, format!("`{name}` takes another kind of value: write `{name} = {example}`"))
    })
}

pub(crate) fn list<T: Parse>(name: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<Vec<T>> {
    if !input.peek(syn::token::Paren) {
        let help = format!("`{name}` takes a list: write `{name}{example}`");
        return Err(syn::Error::new(name.span(), help));
    }
    in_parentheses(input, |input| separated(input, T::parse))
}

/// Parses what stands between parentheses; taken out whole first, so that a mistake inside is one mistake.
pub(crate) fn in_parentheses<T>(
    input: ParseStream<'_>,
    parse: impl FnOnce(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<T> {
    let content;
    parenthesized!(content in input);
    let tokens: TokenStream = content.parse()?;
    let mut problem = None;
    let parsed = (|input: ParseStream<'_>| {
        let parsed = parse(input).map_err(|error| problem = Some(error)).ok();
        if parsed.is_none() {
            input.parse::<TokenStream>()?;
        }
        Ok(parsed)
    })
    .parse2(tokens)?;
    match (parsed, problem) {
        (Some(parsed), _) => Ok(parsed),
        (None, Some(problem)) => Err(problem),
        (None, None) => Err(input.error("expected a value")),
    }
}

pub(crate) fn separated<T>(
    input: ParseStream<'_>,
    parse: fn(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<Vec<T>> {
    Ok(Punctuated::<T, Token![,]>::parse_terminated_with(input, parse)?.into_iter().collect())
}

fn skip_to_comma_keeping_it(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        let _ = input.parse::<proc_macro2::TokenTree>();
    }
}

fn skip_to_comma(input: ParseStream<'_>) {
    skip_to_comma_keeping_it(input);
    let _ = input.parse::<Option<Token![,]>>();
}
