//! Macros: the few whose meaning is known, and the others, whose tokens are searched for routes.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, Macro, Token};

use crate::audit::finding::text_of;
use crate::audit::program::FunctionId;
use crate::audit::routes::value::{Handler, Router, Value};
use crate::audit::routes::{Frame, Kind, Route, Surveyor, method_router};

/// Methods that mount something on a router.
pub(super) const MOUNTING: [&str; 9] = [
    "route",
    "nest",
    "merge",
    "fallback",
    "route_service",
    "nest_service",
    "fallback_service",
    "api_route",
    "method_not_allowed_fallback",
];

/// Whether these tokens hold the call of a method that mounts a route: `.route(`.
pub(in crate::audit) fn adds_routes(tokens: &TokenStream) -> bool {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let calls = tokens.windows(3).any(|three| match three {
        [TokenTree::Punct(dot), TokenTree::Ident(name), TokenTree::Group(arguments)] => {
            let name = name.to_string();
            // `merge` and `fallback` are words of other libraries too; a macro is not searched for them alone.
            let mounts = MOUNTING.contains(&name.as_str()) && name != "merge" && name != "fallback";
            dot.as_char() == '.' && mounts && !arguments.stream().is_empty()
        }
        _ => false,
    });
    calls
        || tokens.iter().any(|token| matches!(token, TokenTree::Group(group) if adds_routes(&group.stream())))
}

impl Surveyor<'_, '_> {
    pub(super) fn macro_call(&mut self, frame: &mut Frame, mac: &Macro) -> Value {
        let name = mac.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let arguments = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(mac.tokens.clone());
        let arguments: Vec<Expr> = match arguments {
            Ok(arguments) => arguments.into_iter().collect(),
            Err(_) => {
                if let Ok(block) = (|input: syn::parse::ParseStream<'_>| syn::Block::parse_within(input))
                    .parse2(mac.tokens.clone())
                {
                    let block = syn::Block { brace_token: syn::token::Brace::default(), stmts: block };
                    return self.block(frame, &block);
                }
                return self.unread(frame, mac);
            }
        };
        match name.as_str() {
            "routes" if !arguments.is_empty() => self.documented_routes(frame, &arguments),
            "format" => self.format(frame, &arguments),
            "concat" => {
                let parts: Vec<Value> = arguments.iter().map(|part| self.evaluate(frame, part)).collect();
                let texts = parts.into_iter().map(|part| match part {
                    Value::Text(text) => Some(text),
                    _ => None,
                });
                texts.collect::<Option<String>>().map_or(Value::Unknown, Value::Text)
            }
            _ => {
                let values: Vec<Value> =
                    arguments.iter().map(|argument| self.evaluate(frame, argument)).collect();
                match (name.as_str(), values.as_slice()) {
                    ("reason", [Value::Text(text)]) => Value::Text(text.clone()),
                    ("vec", _) => Value::one_of(values),
                    _ => Value::Unknown,
                }
            }
        }
    }

    /// Tokens that are no expressions: if routes are in them, they are beyond this audit.
    fn unread(&mut self, frame: &Frame, mac: &Macro) -> Value {
        if !adds_routes(&mac.tokens) {
            return Value::Unknown;
        }
        let mut router = Router::default();
        let site = self.site(frame, mac.span());
        let handler = Handler::unseen(text_of(mac.path.span()) + "!", site.clone());
        let reason = "it is a macro, and what it expands to is not in the source".to_owned();
        let kind = Kind::Unresolved(reason);
        self.add(&mut router, Route { method: "ANY", path: "*".to_owned(), handler, site, kind });
        Value::Router(router)
    }

    /// `format!("{BASE}/orders/{}", x)`, when all its parts are known.
    fn format(&mut self, frame: &mut Frame, arguments: &[Expr]) -> Value {
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.evaluate(frame, argument));
        }
        let Some((Value::Text(template), given)) = values.split_first() else { return Value::Unknown };
        let mut given = given.iter().cloned();
        // `{{` is a brace, as axum's paths want it.
        let template = template.replace("{{", "\u{1}").replace("}}", "\u{2}");
        let mut text = String::new();
        let mut rest = template.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let Some((hole, after)) = after.split_once('}') else { return Value::Unknown };
            let value = if hole.is_empty() {
                given.next()
            } else {
                syn::parse_str::<Expr>(hole).ok().map(|hole| self.evaluate(frame, &hole))
            };
            let Some(Value::Text(value)) = value else { return Value::Unknown };
            text.push_str(before);
            text.push_str(&value);
            rest = after;
        }
        text.push_str(rest);
        Value::Text(text.replace('\u{1}', "{").replace('\u{2}', "}"))
    }

    /// utoipa's `routes!(a, b)`: each handler says its method and path in `#[utoipa::path(...)]`.
    fn documented_routes(&mut self, frame: &mut Frame, arguments: &[Expr]) -> Value {
        let mut router = Router::default();
        for argument in arguments {
            let handler = self.handler(frame, argument);
            let site = self.site(frame, argument.span());
            let documented = handler.works_by.first().and_then(|&id| self.documented(id));
            let route = |method, path, kind| Route {
                method,
                path,
                handler: handler.clone(),
                site: site.clone(),
                kind,
            };
            let Some((methods, path)) = documented else {
                let reason = "it has no `#[utoipa::path(...)]` that names its method and path".to_owned();
                self.add(&mut router, route("ANY", "*".to_owned(), Kind::Unresolved(reason)));
                continue;
            };
            for method in methods {
                self.add(&mut router, route(method, path.clone(), Kind::Write));
            }
        }
        Value::Router(router)
    }

    /// The writing methods and the path of `#[utoipa::path(post, path = "/orders")]`.
    fn documented(&self, id: FunctionId) -> Option<(Vec<&'static str>, String)> {
        let attributes = self.program.functions[id].attributes.iter();
        let mut paths = attributes.filter(|attribute| {
            attribute.path().segments.last().is_some_and(|segment| segment.ident == "path")
        });
        let tokens: Vec<TokenTree> =
            paths.next()?.meta.require_list().ok()?.tokens.clone().into_iter().collect();
        let path = tokens.windows(3).find_map(|three| match three {
            [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Literal(text)] if name == "path" => {
                syn::parse_str::<syn::LitStr>(&text.to_string()).ok()
            }
            _ => None,
        })?;
        let words = tokens.iter().flat_map(|token| match token {
            TokenTree::Ident(ident) => vec![ident.to_string()],
            // `method(get, post)`
            TokenTree::Group(group) => group.stream().into_iter().map(|token| token.to_string()).collect(),
            _ => Vec::new(),
        });
        let methods = words.filter_map(|word| method_router::verb(&word)?.writes());
        Some((methods.collect(), path.value()))
    }
}
