//! What answers a request, and what it says about a retry.

use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Expr, ExprCall, ExprClosure, ExprMethodCall};

use crate::audit::program::{FunctionId, ModuleId, Named, Program, TypeId};
use crate::audit::routes::call::shown;
use crate::audit::routes::value::{Handler, Value};
use crate::audit::routes::{Frame, Surveyor};
use crate::audit::stance::{Exemption, Reason, Stance, first_parameter};

impl Surveyor<'_, '_> {
    pub(super) fn handler(&mut self, frame: &mut Frame, expr: &Expr) -> Handler {
        let value = self.evaluate(frame, expr);
        self.handler_from(frame, expr, &value)
    }

    pub(super) fn handler_from(&mut self, frame: &Frame, expr: &Expr, value: &Value) -> Handler {
        let site = self.site(frame, expr.span());
        let unresolved = match value {
            Value::Handler(handler) => return (**handler).clone(),
            Value::Function(id) => return self.handler_of(*id),
            // A value that is its own answer.
            Value::Text(_) | Value::Tuple(_) => {
                return Handler { stance: Stance::Undeclared, ..Handler::unseen(shown(expr), site) };
            }
            Value::Foreign(name) => format!("the handler `{name}` is not in the source that was given"),
            _ => format!("the source does not say which handler `{}` is", shown(expr)),
        };
        Handler { unresolved: Some(unresolved), ..Handler::unseen(shown(expr), site) }
    }

    /// A tower service: it can say nothing itself, so it is undeclared unless it is wrapped.
    pub(super) fn service_handler(&mut self, frame: &Frame, expr: &Expr, value: Value) -> Handler {
        match value {
            Value::Handler(handler) => *handler,
            _ => {
                let unseen = Handler::unseen(shown(expr), self.site(frame, expr.span()));
                Handler { stance: Stance::Undeclared, ..unseen }
            }
        }
    }

    pub(super) fn handler_of(&self, id: FunctionId) -> Handler {
        let function = &self.program.functions[id];
        let stance = match &function.declaration {
            Some(declaration) => declaration.stance(),
            None if first_parameter(function.signature).as_deref() == Some("Delegated") => Stance::Delegated,
            None => Stance::Undeclared,
        };
        Handler {
            name: function.name.clone(),
            stance,
            works_by: vec![id],
            site: function.site.clone(),
            unresolved: None,
        }
    }

    pub(super) fn closure_handler(&mut self, frame: &Frame, closure: &ExprClosure) -> Handler {
        let mut calls = Calls { program: self.program, scope: frame.scope, of: frame.of, found: Vec::new() };
        calls.visit_expr(&closure.body);
        // A closure whose first argument is `Delegated` has said what it is.
        let first = closure.inputs.first().and_then(|input| match input {
            syn::Pat::Type(input) => match &*input.ty {
                syn::Type::Path(ty) => ty.path.segments.last().map(|segment| segment.ident.to_string()),
                _ => None,
            },
            _ => None,
        });
        let stance =
            if first.as_deref() == Some("Delegated") { Stance::Delegated } else { Stance::Undeclared };
        Handler {
            name: format!("closure in {}", frame.function),
            stance,
            works_by: calls.found,
            site: self.site(frame, closure.inputs_begin.span),
            unresolved: None,
        }
    }

    /// `exempt("reason", handler)` and `read_only(handler)`.
    pub(super) fn wrapped(&mut self, frame: &mut Frame, name: &str, call: &ExprCall) -> Value {
        let arguments: Vec<&Expr> = call.args.iter().collect();
        let (stance, inner) = match (name, arguments.as_slice()) {
            ("exempt", [reason, inner]) => {
                let reason = match self.evaluate(frame, reason) {
                    Value::Text(text) => Reason::Given(text),
                    _ => Reason::Computed(shown(reason)),
                };
                (Stance::Exempt(Exemption { reason, until: None }), inner)
            }
            ("read_only", [inner]) => (Stance::ReadOnly, inner),
            _ => {
                self.evaluated(frame, &arguments);
                return Value::Unknown;
            }
        };
        let given = self.evaluate(frame, inner);
        let wrapped = self.handler_from(frame, inner, &given);
        let site = self.site(frame, call.func.span());
        if let Stance::Exempt(exemption) = &stance {
            self.exemptions.push((exemption.clone(), wrapped.name.clone(), site.clone()));
        }
        Value::Handler(Box::new(Handler { stance, site, unresolved: None, ..wrapped }))
    }

    /// Methods of a handler; only `until` changes what it says.
    pub(super) fn handler_method(
        &mut self,
        frame: &mut Frame,
        mut handler: Handler,
        name: &str,
        arguments: &[&Expr],
    ) -> Value {
        let values = self.evaluated(frame, arguments);
        if let (Stance::Exempt(exemption), "until", [value]) = (&mut handler.stance, name, values.as_slice())
        {
            exemption.until = Some(match value {
                Value::Text(date) => date.clone(),
                _ => shown(arguments[0]),
            });
            // The same `exempt(...)`, now with its date.
            let exemption = exemption.clone();
            self.exemptions.retain(|(_, _, site)| *site != handler.site);
            self.exemptions.push((exemption, handler.name.clone(), handler.site.clone()));
        }
        Value::Handler(Box::new(handler))
    }
}

/// The functions of this program that some code calls.
pub(in crate::audit) struct Calls<'p, 'a> {
    pub(in crate::audit) program: &'p Program<'a>,
    pub(in crate::audit) scope: ModuleId,
    pub(in crate::audit) of: Option<TypeId>,
    pub(in crate::audit) found: Vec<FunctionId>,
}

impl Visit<'_> for Calls<'_, '_> {
    fn visit_expr_call(&mut self, call: &ExprCall) {
        if let Expr::Path(callee) = &*call.func {
            let named = self.program.resolve_in(self.scope, self.of, &callee.path);
            self.found.extend(named.iter().find_map(|named| match named {
                Named::Function(id) => Some(*id),
                _ => None,
            }));
        }
        syn::visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        let named = self.program.methods.get(&call.method.to_string());
        // Types are not known here; a name that several share could be any of them.
        if let Some([only]) = named.map(Vec::as_slice) {
            self.found.push(*only);
        }
        syn::visit::visit_expr_method_call(self, call);
    }
}
