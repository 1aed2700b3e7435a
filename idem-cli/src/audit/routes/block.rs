//! Statements and the names that they bind.

use syn::{Block, Pat, Stmt, Type};

use crate::audit::program::ModuleId;
use crate::audit::routes::value::{Router, Value};
use crate::audit::routes::{Frame, Mounted, Surveyor, router};

impl Surveyor<'_, '_> {
    /// The value of a block; what `let` hides in it is seen again after it.
    pub(super) fn block(&mut self, frame: &mut Frame, block: &Block) -> Value {
        let mut hidden = Vec::new();
        let mut value = Value::Unknown;
        for statement in &block.stmts {
            value = Value::Unknown;
            match statement {
                Stmt::Local(local) => {
                    let mut given = Value::Unknown;
                    if let Some(init) = &local.init {
                        given = self.evaluate(frame, &init.expr);
                        if let Some((_, otherwise)) = &init.diverge {
                            self.evaluate(frame, otherwise);
                        }
                    }
                    for name in names(&local.pat) {
                        hidden.push((name.clone(), frame.names.get(&name).cloned()));
                    }
                    self.bind(frame, &local.pat, given);
                }
                Stmt::Expr(expr, semicolon) => {
                    let result = self.evaluate(frame, expr);
                    if semicolon.is_none() {
                        value = result;
                    }
                }
                Stmt::Macro(statement) => {
                    let result = self.macro_call(frame, &statement.mac);
                    if statement.semi_token.is_none() {
                        value = result;
                    }
                }
                // Items have their names already, and are looked at on their own.
                Stmt::Item(_) => {}
            }
        }
        for (name, before) in hidden.into_iter().rev() {
            match before {
                Some(before) => frame.names.insert(name, before),
                None => frame.names.remove(&name),
            };
        }
        value
    }

    /// Gives the names of a pattern their values.
    pub(super) fn bind(&mut self, frame: &mut Frame, pattern: &Pat, value: Value) {
        match (pattern, value) {
            (Pat::Ident(pattern), value) => {
                frame.names.insert(pattern.ident.to_string(), value);
            }
            (Pat::Type(pattern), value) => {
                let value =
                    if value.matters() { value } else { self.typed(frame.scope, &pattern.ty).or(value) };
                self.bind(frame, &pattern.pat, value);
            }
            (Pat::Tuple(pattern), Value::Tuple(values)) if pattern.elems.len() == values.len() => {
                for (pattern, value) in pattern.elems.iter().zip(values) {
                    self.bind(frame, pattern, value);
                }
            }
            (Pat::Reference(pattern), value) => self.bind(frame, &pattern.pat, value),
            (Pat::Paren(pattern), value) => self.bind(frame, &pattern.pat, value),
            // `Some(router)`, `Ok(router)`: the wrapper was seen through when the value was made.
            (Pat::TupleStruct(pattern), value) if pattern.elems.len() == 1 => {
                self.bind(frame, &pattern.elems[0], value);
            }
            (pattern, _) => {
                for name in names(pattern) {
                    frame.names.insert(name, Value::Unknown);
                }
            }
        }
    }

    /// What is known of a value by its type alone: that it is a router, to which others have given routes.
    pub(super) fn typed(&self, module: ModuleId, ty: &Type) -> Value {
        match self.program.foreign_type(module, ty) {
            Some(path) if router::is_router(&path) => Value::router(path[0] == "idem_runtime"),
            _ => Value::Unknown,
        }
    }

    /// A router without what has gone into a larger one.
    pub(super) fn still_open(&self, value: Value) -> Value {
        match value {
            Value::Router(Router { mut routes, is_checked }) => {
                routes.retain(|&id| self.routes[id].1 == Mounted::No);
                Value::Router(Router { routes, is_checked })
            }
            other => other,
        }
    }
}

/// The names that a pattern binds.
fn names(pattern: &Pat) -> Vec<String> {
    struct Names(Vec<String>);
    impl syn::visit::Visit<'_> for Names {
        fn visit_pat_ident(&mut self, pattern: &syn::PatIdent) {
            self.0.push(pattern.ident.to_string());
            syn::visit::visit_pat_ident(self, pattern);
        }
    }
    let mut names = Names(Vec::new());
    syn::visit::Visit::visit_pat(&mut names, pattern);
    names.0
}
