//! What the methods of a router do to its routes.

use proc_macro2::Span;
use syn::Expr;

use crate::audit::finding::text_of;
use crate::audit::routes::call::shown;
use crate::audit::routes::mount::below;
use crate::audit::routes::value::{Handler, Router, Value};
use crate::audit::routes::{Frame, Kind, Route, Surveyor, method_router};

/// Crates whose routers and method routers are axum's, or built as they are.
const AXUM: [&str; 6] = ["axum", "axum_core", "axum_extra", "idem_runtime", "aide", "utoipa_axum"];

/// What leaves the routes of a router as they are.
const LEAVES_ROUTES: [&str; 37] = [
    "layer",
    "route_layer",
    "with_state",
    "reset_fallback",
    "has_routes",
    "into_axum",
    "as_service",
    "into_service",
    "into_make_service",
    "into_make_service_with_connect_info",
    "without_v07_checks",
    "with_graceful_shutdown",
    "clone",
    "into",
    "boxed",
    "unwrap",
    "expect",
    "map_err",
    "ok",
    "as_ref",
    "as_mut",
    "borrow",
    "borrow_mut",
    "ready",
    "poll_ready",
    "tap",
    "to_owned",
    "into_router",
    "into_openapi",
    "to_openapi",
    "get_openapi",
    "get_openapi_mut",
    "finish_api",
    "finish_api_with",
    "path_items",
    "context",
    "with_context",
];

/// Whether a path begins in a crate that speaks of axum's routers.
pub(super) fn is_axum(path: &[String]) -> bool {
    path.len() > 1 && AXUM.contains(&path[0].as_str())
}

/// Whether a type is a router by its full path.
pub(super) fn is_router(path: &[String]) -> bool {
    path.last().is_some_and(|name| matches!(name.as_str(), "Router" | "OpenApiRouter" | "ApiRouter"))
        && (is_axum(path) || path.len() == 1)
}

/// A router of which only that is known.
pub(super) fn unknown() -> Router {
    Router::default()
}

impl Surveyor<'_, '_> {
    pub(super) fn router_method(
        &mut self,
        frame: &mut Frame,
        mut router: Router,
        name: &str,
        arguments: &[&Expr],
        span: Span,
    ) -> Value {
        let plain = name.strip_suffix("_unchecked").unwrap_or(name);
        if LEAVES_ROUTES.contains(&plain) {
            self.evaluated(frame, arguments);
            return Value::Router(router);
        }
        match (plain, arguments) {
            ("route" | "api_route" | "route_with_tsr", [path, methods, ..]) => {
                self.route(frame, &mut router, path, methods);
            }
            ("nest" | "nest_api_service" | "nest_service", [path, nested]) => {
                let given = self.evaluate(frame, nested);
                let prefix = self.path_text(frame, path);
                match given {
                    Value::Router(nested) => self.nest(&mut router, &nested, &prefix),
                    given if plain == "nest_service" => {
                        let path = prefix.map(|path| below(&path)).map_err(|words| below(&words));
                        self.service(frame, &mut router, path, nested, given, name);
                    }
                    given => {
                        let path = below(prefix.as_ref().unwrap_or_else(|text| text));
                        self.unseen(frame, &mut router, path, nested, &given);
                    }
                }
            }
            ("route_service", [path, service]) => {
                let given = self.evaluate(frame, service);
                let path = self.path_text(frame, path);
                self.service(frame, &mut router, path, service, given, name);
            }
            ("merge" | "routes", [other]) => match self.evaluate(frame, other) {
                Value::Router(other) => router = Self::merged(router, other),
                given => self.unseen(frame, &mut router, "*".to_owned(), other, &given),
            },
            ("fallback_service", [service]) => match self.evaluate(frame, service) {
                Value::Router(other) => router = Self::merged(router, other),
                given => self.service(frame, &mut router, Ok("*".to_owned()), service, given, name),
            },
            ("fallback" | "method_not_allowed_fallback", [handler]) => match self.evaluate(frame, handler) {
                Value::Methods(endpoints) => self.mount_all(&mut router, &Ok("*".to_owned()), endpoints),
                given => {
                    let handler = self.handler_from(frame, handler, &given);
                    self.mount(&mut router, "ANY", Ok("*".to_owned()), handler, self.site(frame, span));
                }
            },
            // A request goes in, and what comes out is a response.
            ("oneshot" | "call" | "into_response", _) => {
                self.evaluated(frame, arguments);
                return Value::Unknown;
            }
            ("split_for_parts", []) => return Value::Tuple(vec![Value::Router(router), Value::Unknown]),
            (typed, [handler]) if typed.starts_with("typed_") => {
                self.typed_route(frame, &mut router, typed, handler, span);
            }
            _ => return self.unusual(frame, router, name, arguments, span),
        }
        if name != plain {
            let about = arguments.first().map(|argument| shown(argument)).unwrap_or_default();
            self.escape(frame, &mut router, name, &about, span);
        }
        Value::Router(router)
    }

    fn route(&mut self, frame: &mut Frame, router: &mut Router, path: &Expr, methods: &Expr) {
        let given = self.evaluate(frame, methods);
        let path = self.path_text(frame, path);
        match given {
            Value::Methods(endpoints) => self.mount_all(router, &path, endpoints),
            given => {
                let path = path.unwrap_or_else(|text| text);
                self.unseen(frame, router, path, methods, &given);
            }
        }
    }

    fn typed_route(&mut self, frame: &mut Frame, router: &mut Router, name: &str, expr: &Expr, span: Span) {
        let Some(verb) = name.strip_prefix("typed_").and_then(method_router::verb) else { return };
        let handler = self.handler(frame, expr);
        let Some(method) = verb.writes() else { return };
        let path = handler.works_by.first().and_then(|&id| self.program.typed_path(id));
        let path = path.ok_or_else(|| format!("<{}>", shown(expr)));
        self.mount(router, method, path, handler, self.site(frame, span));
    }

    /// A method that axum does not have: one of this program, or one that may do anything.
    fn unusual(
        &mut self,
        frame: &mut Frame,
        mut router: Router,
        name: &str,
        arguments: &[&Expr],
        span: Span,
    ) -> Value {
        if let Some(value) = self.own_method(frame, &Value::Router(router.clone()), name, arguments) {
            return value;
        }
        self.evaluated(frame, arguments);
        let site = self.site(frame, span);
        let handler = Handler::unseen(format!(".{}(..)", text_of(span)), site.clone());
        let kind = Kind::Unresolved(format!("the method `{name}` is not axum's, and may add routes"));
        self.add(&mut router, Route { method: "ANY", path: "*".to_owned(), handler, site, kind });
        Value::Router(router)
    }

    fn merged(router: Router, other: Router) -> Router {
        let is_checked = router.is_checked;
        match Value::Router(router).or(Value::Router(other)) {
            Value::Router(merged) => Router { is_checked, ..merged },
            _ => unknown(),
        }
    }

    /// A path as text, or the words of its expression.
    fn path_text(&mut self, frame: &mut Frame, path: &Expr) -> Result<String, String> {
        match self.evaluate(frame, path) {
            Value::Text(text) => Ok(text),
            _ => Err(format!("<{}>", shown(path))),
        }
    }
}
