//! What a function of this program gives for what it is given.

use syn::visit::Visit;
use syn::{ExprMethodCall, FnArg};

use crate::audit::program::FunctionId;
use crate::audit::routes::value::Value;
use crate::audit::routes::{Frame, Surveyor, macros};

/// A call within so many others is not followed.
const DEEPEST: usize = 64;
/// After so many calls, their arguments are left out of account.
const MOST_CALLS: usize = 50_000;
impl Surveyor<'_, '_> {
    /// What a function gives for these arguments; those that say nothing are left to their types.
    pub(super) fn invoke(
        &mut self,
        id: FunctionId,
        receiver: Option<&Value>,
        arguments: Vec<Value>,
    ) -> Value {
        let function = &self.program.functions[id];
        let Some(body) = function.body else { return Value::Unknown };
        let few = self.results.len() < MOST_CALLS;
        let tells = few && self.builds(id) && arguments.iter().chain(receiver).any(Value::matters);
        let key = (id, if tells { format!("{receiver:?}{arguments:?}") } else { String::new() });
        if let Some(value) = self.results.get(&key) {
            return value.clone();
        }
        if self.active.contains(&id) || self.active.len() >= DEEPEST {
            return Value::Unknown;
        }
        self.active.push(id);
        self.called.insert(id);
        let mut frame = Frame::new(function.scope, function.of, function.name.clone());
        let mut arguments = arguments.into_iter();
        for input in &function.signature.inputs {
            match input {
                FnArg::Receiver(_) => {
                    let given = receiver.filter(|_| tells).cloned().unwrap_or(Value::Unknown);
                    frame.names.insert("self".to_owned(), given);
                }
                FnArg::Typed(input) => {
                    let given = arguments.next().filter(|given| tells && given.matters());
                    let given = given.unwrap_or_else(|| self.typed(function.module, &input.ty));
                    self.bind(&mut frame, &input.pat, given);
                }
            }
        }
        let value = self.block(&mut frame, body);
        let returned = frame.returned.into_iter().filter(Value::matters);
        let value = returned.fold(value, Value::or);
        self.active.pop();
        self.results.insert(key, value.clone());
        value
    }

    /// Whether a function takes, makes or changes routers; only then do its arguments matter.
    pub(super) fn builds(&mut self, id: FunctionId) -> bool {
        if let Some(&known) = self.builds.get(&id) {
            return known;
        }
        let function = &self.program.functions[id];
        let mut seen = Builds(false);
        seen.visit_signature(function.signature);
        if let Some(body) = function.body {
            seen.visit_block(body);
        }
        self.builds.insert(id, seen.0);
        seen.0
    }
}

struct Builds(bool);

impl Visit<'_> for Builds {
    fn visit_ident(&mut self, ident: &proc_macro2::Ident) {
        self.0 |= ident.to_string().ends_with("Router");
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        self.0 |= macros::MOUNTING.contains(&call.method.to_string().as_str());
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, mac: &syn::Macro) {
        self.0 |= macros::adds_routes(&mac.tokens);
    }
}
