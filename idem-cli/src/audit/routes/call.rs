//! Calls of functions and methods, in this program and out of it.

use syn::spanned::Spanned;
use syn::{Expr, ExprCall, ExprMethodCall};

use crate::audit::finding::text_of;
use crate::audit::program::{FunctionId, Named};
use crate::audit::routes::value::Value;
use crate::audit::routes::{Frame, Surveyor, method_router, router};

/// What gives back what it gets, as far as routes are concerned.
const WRAPPERS: [&str; 9] = ["Ok", "Some", "Arc", "Box", "Rc", "Cow", "String", "LazyLock", "OnceLock"];

impl Surveyor<'_, '_> {
    pub(super) fn call(&mut self, frame: &mut Frame, call: &ExprCall) -> Value {
        let Expr::Path(callee) = &*call.func else {
            self.evaluate(frame, &call.func);
            self.arguments(frame, &call.args);
            return Value::Unknown;
        };
        if callee.path.get_ident().is_some_and(|name| frame.names.contains_key(&name.to_string())) {
            self.arguments(frame, &call.args);
            return Value::Unknown;
        }
        let named = self.resolve(frame, &callee.path);
        let function = named.iter().find_map(|named| match named {
            Named::Function(id) => Some(*id),
            _ => None,
        });
        if let Some(id) = function {
            let mut arguments = self.arguments(frame, &call.args);
            let takes_self = self.program.functions[id].signature.receiver().is_some();
            let receiver = (takes_self && !arguments.is_empty()).then(|| arguments.remove(0));
            return self.invoke(id, receiver.as_ref(), arguments);
        }
        let foreign = named.into_iter().find_map(|named| match named {
            Named::Foreign(path) => Some(path),
            _ => None,
        });
        match foreign {
            Some(path) => self.foreign_call(frame, &path, call),
            None => {
                self.arguments(frame, &call.args);
                Value::Unknown
            }
        }
    }

    fn foreign_call(&mut self, frame: &mut Frame, path: &[String], call: &ExprCall) -> Value {
        let name = path.last().map_or("", String::as_str);
        let of = path.len().checked_sub(2).map_or("", |index| path[index].as_str());
        let is_axum = router::is_axum(path);
        if (is_axum || path.len() == 1) && matches!(name, "exempt" | "read_only") {
            return self.wrapped(frame, name, call);
        }
        if of.ends_with("Router") && (is_axum || path.len() == 2) {
            if of == "MethodRouter" && matches!(name, "new" | "default") {
                return Value::Methods(Vec::new());
            }
            if matches!(name, "new" | "default" | "with_openapi") {
                self.arguments(frame, &call.args);
                return Value::router(path[0] == "idem_runtime");
            }
            // `Router::route(app, "/orders", post(create))` is a method call written as a function call.
            if let Some(receiver) = call.args.first() {
                let receiver = self.evaluate(frame, receiver);
                let arguments: Vec<&Expr> = call.args.iter().skip(1).collect();
                return self.method(frame, receiver, name, &arguments, call.func.span());
            }
        }
        // `axum::http::Request::post` begins a request of a client.
        let is_module = of.chars().all(|letter| !letter.is_uppercase());
        let routes = is_axum || path.len() == 1 || of.ends_with("routing");
        if routes && is_module && method_router::verb(name).is_some() {
            let arguments: Vec<&Expr> = call.args.iter().collect();
            return self.endpoint(frame, Vec::new(), name, &arguments, call.func.span(), is_axum);
        }
        let arguments = self.arguments(frame, &call.args);
        let is_wrapper = WRAPPERS.contains(&name) || WRAPPERS.contains(&of);
        match arguments.into_iter().next() {
            Some(only) if is_wrapper && call.args.len() == 1 => only,
            _ => Value::Foreign(format!("{}(..)", path.join("::"))),
        }
    }

    pub(super) fn method_call(&mut self, frame: &mut Frame, call: &ExprMethodCall) -> Value {
        let receiver = self.evaluate(frame, &call.receiver);
        let arguments: Vec<&Expr> = call.args.iter().collect();
        let of_self = matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self"));
        let name = call.method.to_string();
        if of_self
            && let Some(of) = frame.of
            && let Some(&Named::Function(id)) =
                self.program.member_of_type(of, std::slice::from_ref(&name)).first()
        {
            let arguments = arguments.iter().map(|argument| self.evaluate(frame, argument)).collect();
            return self.invoke(id, Some(&receiver), arguments);
        }
        self.method(frame, receiver, &name, &arguments, call.method.span())
    }

    pub(super) fn method(
        &mut self,
        frame: &mut Frame,
        receiver: Value,
        name: &str,
        arguments: &[&Expr],
        span: proc_macro2::Span,
    ) -> Value {
        match receiver {
            Value::Router(router) => self.router_method(frame, router, name, arguments, span),
            Value::Methods(methods) => self.method_router_method(frame, methods, name, arguments, span),
            Value::Handler(handler) => self.handler_method(frame, *handler, name, arguments),
            Value::Text(text) if TEXT_STAYS.contains(&name) => Value::Text(text),
            Value::Function(id) if self.builds(id) || !matches!(name, "layer" | "with_state") => {
                self.evaluated(frame, arguments);
                Value::Unknown
            }
            Value::Function(id) => Value::Handler(Box::new(self.handler_of(id))),
            receiver => self.other_method(frame, receiver, name, arguments, span),
        }
    }

    fn other_method(
        &mut self,
        frame: &mut Frame,
        receiver: Value,
        name: &str,
        arguments: &[&Expr],
        span: proc_macro2::Span,
    ) -> Value {
        if let Some(value) = self.own_method(frame, &receiver, name, arguments) {
            return value;
        }
        let is_ours = self.program.routes_in(frame.scope);
        let values = self.evaluated(frame, arguments);
        let mounts = match (name.strip_suffix("_unchecked").unwrap_or(name), values.as_slice()) {
            ("route", [_, Value::Methods(_)])
            | ("nest", [_, Value::Router(_)])
            | ("merge", [Value::Router(_)])
            | ("fallback" | "fallback_service", [Value::Function(_)]) => true,
            ("route" | "nest", [Value::Text(path), _]) => is_ours && path.starts_with('/'),
            ("route" | "route_service" | "nest_service", [_, _]) => is_ours,
            _ => false,
        };
        if mounts {
            return self.router_method(frame, router::unknown(), name, arguments, span);
        }
        match receiver {
            Value::Foreign(name) => Value::Foreign(name),
            _ => Value::Unknown,
        }
    }

    /// A method of this program, found by its name where the type of the receiver is not known.
    pub(super) fn own_method(
        &mut self,
        frame: &mut Frame,
        receiver: &Value,
        name: &str,
        arguments: &[&Expr],
    ) -> Option<Value> {
        let known = self.program.methods.get(name)?;
        let fits = known.iter().copied().filter(|&id| {
            let signature = self.program.functions[id].signature;
            signature.receiver().is_some() && signature.inputs.len() == arguments.len() + 1
        });
        let fits: Vec<FunctionId> = fits.filter(|&id| self.program.functions[id].body.is_some()).collect();
        let fits: Vec<FunctionId> = fits.into_iter().filter(|&id| self.builds(id)).collect();
        if fits.is_empty() {
            return None;
        }
        let values = self.evaluated(frame, arguments);
        let results: Vec<Value> =
            fits.into_iter().map(|id| self.invoke(id, Some(receiver), values.clone())).collect();
        Some(Value::one_of(results))
    }

    pub(super) fn arguments<'e>(
        &mut self,
        frame: &mut Frame,
        arguments: impl IntoIterator<Item = &'e Expr>,
    ) -> Vec<Value> {
        arguments.into_iter().map(|argument| self.evaluate(frame, argument)).collect()
    }

    pub(super) fn evaluated(&mut self, frame: &mut Frame, arguments: &[&Expr]) -> Vec<Value> {
        self.arguments(frame, arguments.iter().copied())
    }
}

const TEXT_STAYS: [&str; 8] =
    ["to_string", "to_owned", "into", "as_str", "clone", "as_ref", "into_boxed_str", "borrow"];

/// The words of an expression, for a message.
pub(super) fn shown(expr: &Expr) -> String {
    text_of(expr.span())
}
