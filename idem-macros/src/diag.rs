//! Collects every mistake, so that one compilation shows them all, each at its own token.

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Adds a mistake at `at`; `message` says what is wrong and then what to write.
    pub(crate) fn at(&mut self, at: impl ToTokens, message: impl std::fmt::Display) {
        self.add(syn::Error::new_spanned(at, message));
    }

    /// Adds a mistake that has its place already.
    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The mistakes as code, or `None` when there are none.
    pub(crate) fn into_tokens(self) -> Option<TokenStream> {
        self.0.map(syn::Error::into_compile_error)
    }
}

/// The one of `known` that `word` was probably meant to be.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(3) / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

/// `did you mean ...?` when one of `known` is near, else the list of all.
pub(crate) fn suggestion(word: &str, known: &[&str]) -> String {
    if let Some(candidate) = nearest(word, known) {
        return format!("did you mean `{candidate}`?");
    }
    let list: Vec<String> = known.iter().map(|candidate| format!("`{candidate}`")).collect();
    format!("expected one of {}", list.join(", "))
}
