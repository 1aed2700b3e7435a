//! Method routers: `post(create)`, `get(list).post(create)`, `on(MethodFilter::PUT, replace)`.

use proc_macro2::Span;
use syn::visit::Visit;
use syn::{Expr, ExprPath};

use crate::audit::routes::value::{Endpoint, Value};
use crate::audit::routes::{EndpointId, Frame, Surveyor};
use crate::audit::stance::Stance;

/// Which requests a function of a method router takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Reads,
    Writes(&'static str),
    /// What its first argument says.
    Filtered,
}

impl Verb {
    /// The method, when it writes.
    pub(super) fn writes(self) -> Option<&'static str> {
        match self {
            Self::Writes(method) => Some(method),
            Self::Reads | Self::Filtered => None,
        }
    }
}

/// What a function or method of this name takes; `post`, `post_service`, and aide's `post_with` alike.
pub(super) fn verb(name: &str) -> Option<Verb> {
    let name = name.strip_suffix("_unchecked").unwrap_or(name);
    let name = name.strip_suffix("_service").or_else(|| name.strip_suffix("_with")).unwrap_or(name);
    Some(match name {
        "get" | "head" | "options" | "trace" | "connect" => Verb::Reads,
        "post" => Verb::Writes("POST"),
        "put" => Verb::Writes("PUT"),
        "patch" => Verb::Writes("PATCH"),
        "delete" => Verb::Writes("DELETE"),
        "any" => Verb::Writes("ANY"),
        "on" => Verb::Filtered,
        _ => return None,
    })
}

impl Surveyor<'_, '_> {
    pub(super) fn method_router_method(
        &mut self,
        frame: &mut Frame,
        mut methods: Vec<EndpointId>,
        name: &str,
        arguments: &[&Expr],
        span: Span,
    ) -> Value {
        let plain = name.strip_suffix("_unchecked").unwrap_or(name);
        match (plain, arguments) {
            ("merge", [other]) => {
                if let Value::Methods(others) = self.evaluate(frame, other) {
                    if plain != name {
                        for &id in &others {
                            self.endpoints[id].0.escape = Some(name.to_owned());
                        }
                    }
                    methods.extend(others);
                } else {
                    // Some handlers, for some methods: nothing is known of them.
                    let unseen = self.handler_from(frame, other, &Value::Unknown);
                    methods.push(self.add_endpoint(frame, "ANY", unseen, span, false, name));
                }
                Value::Methods(methods)
            }
            ("fallback", [handler]) => {
                let handler = self.handler(frame, handler);
                methods.push(self.add_endpoint(frame, "ANY", handler, span, false, name));
                Value::Methods(methods)
            }
            ("fallback_service", [service]) => {
                let given = self.evaluate(frame, service);
                let handler = self.service_handler(frame, service, given);
                methods.push(self.add_endpoint(frame, "ANY", handler, span, false, name));
                Value::Methods(methods)
            }
            _ if verb(name).is_some() => self.endpoint(frame, methods, name, arguments, span, true),
            _ => {
                self.evaluated(frame, arguments);
                Value::Methods(methods)
            }
        }
    }

    /// Adds what `post(handler)` and its like take.
    pub(super) fn endpoint(
        &mut self,
        frame: &mut Frame,
        mut methods: Vec<EndpointId>,
        name: &str,
        arguments: &[&Expr],
        span: Span,
        is_axum: bool,
    ) -> Value {
        let (taken, handler) = match (verb(name), arguments) {
            (Some(Verb::Filtered), [filter, handler, ..]) => (filtered(filter), handler),
            (Some(Verb::Writes(method)), [handler, ..]) => (vec![method], handler),
            _ => {
                self.evaluated(frame, arguments);
                return Value::Methods(methods);
            }
        };
        let is_service = name.contains("_service");
        let given = self.evaluate(frame, handler);
        let handler = if is_service {
            self.service_handler(frame, handler, given)
        } else {
            self.handler_from(frame, handler, &given)
        };
        for method in taken {
            methods.push(self.add_endpoint(frame, method, handler.clone(), span, is_axum, name));
        }
        Value::Methods(methods)
    }

    fn add_endpoint(
        &mut self,
        frame: &Frame,
        method: &'static str,
        handler: crate::audit::routes::Handler,
        span: Span,
        is_axum: bool,
        name: &str,
    ) -> EndpointId {
        let goes_around = name.ends_with("_unchecked") && handler.stance == Stance::Undeclared;
        let escape = goes_around.then(|| name.to_owned());
        let site = self.site(frame, span);
        let endpoint = Endpoint { method, handler, site, is_axum, escape };
        self.endpoints.push((endpoint, crate::audit::routes::Mounted::No));
        self.endpoints.len() - 1
    }
}

/// The writing methods of a filter; all, where it is not written out.
fn filtered(filter: &Expr) -> Vec<&'static str> {
    struct Names(Vec<String>);
    impl Visit<'_> for Names {
        fn visit_expr_path(&mut self, path: &ExprPath) {
            self.0.extend(path.path.segments.last().map(|segment| segment.ident.to_string()));
        }
    }
    let mut names = Names(Vec::new());
    names.visit_expr(filter);
    let reads = ["GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"];
    let writes = ["POST", "PUT", "PATCH", "DELETE"];
    let known = |name: &String| reads.contains(&name.as_str()) || writes.contains(&name.as_str());
    if names.0.is_empty() || !names.0.iter().all(known) {
        return vec!["ANY"];
    }
    writes.into_iter().filter(|write| names.0.iter().any(|name| name == write)).collect()
}
