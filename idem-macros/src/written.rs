//! Options as text, for the registry: the same on every toolchain, which the compiler's own printing is not.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// One option: its name and its value.
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// The options between the parentheses by name, so that their order is no change.
pub(crate) fn written(tokens: &TokenStream) -> Vec<Written> {
    let mut options = Vec::new();
    let mut rest = tokens.clone().into_iter().peekable();
    while let Some(name) = rest.next() {
        let value: TokenStream = std::iter::from_fn(|| rest.next_if(|token| !is(token, ','))).collect();
        rest.next();
        let value = text(value);
        options.push(Written {
            name: name.to_string(),
            value: value.strip_prefix(" = ").unwrap_or(&value).to_owned(),
        });
    }
    options.sort_by(|one, other| one.name.cmp(&other.name));
    options
}

fn is(token: &TokenTree, punctuation: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == punctuation)
}

fn text(tokens: TokenStream) -> String {
    let mut text = String::new();
    // Whether the next sign belongs to the one before, as in `::` and `==`.
    let mut joint = false;
    for token in tokens {
        let alone = !joint;
        joint = false;
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                text.extend([open, &self::text(group.stream()), close]);
            }
            TokenTree::Punct(punct) => {
                joint = punct.spacing() == Spacing::Joint;
                match punct.as_char() {
                    ',' => text.push_str(", "),
                    sign @ ('=' | '|') if alone && !joint => text.extend([' ', sign, ' ']),
                    sign => text.push(sign),
                }
            }
            word => {
                if text.ends_with(|last: char| last.is_alphanumeric() || "_\"')]}".contains(last)) {
                    text.push(' ');
                }
                text.push_str(&word.to_string());
            }
        }
    }
    text
}
