//! What an expression stands for.

use proc_macro2::Span;
use syn::visit::Visit;
use syn::{BinOp, Expr, Lit, Member, Pat};

use crate::audit::finding::Site;
use crate::audit::program::{ConstantId, Named};
use crate::audit::routes::value::Value;
use crate::audit::routes::{Frame, Surveyor};

impl Surveyor<'_, '_> {
    pub(super) fn evaluate(&mut self, frame: &mut Frame, expr: &Expr) -> Value {
        match expr {
            Expr::Lit(expr) => match &expr.lit {
                Lit::Str(text) => Value::Text(text.value()),
                _ => Value::Unknown,
            },
            Expr::Path(expr) => self.path(frame, &expr.path),
            Expr::Call(call) => self.call(frame, call),
            Expr::MethodCall(call) => self.method_call(frame, call),
            Expr::Macro(expr) => self.macro_call(frame, &expr.mac),
            Expr::Closure(closure) => self.closure(frame, closure),
            Expr::Block(expr) => self.block(frame, &expr.block),
            Expr::Unsafe(expr) => self.block(frame, &expr.block),
            Expr::Const(expr) => self.block(frame, &expr.block),
            Expr::Async(expr) => self.block(frame, &expr.block),
            Expr::Await(expr) => self.evaluate(frame, &expr.base),
            Expr::Try(expr) => self.evaluate(frame, &expr.expr),
            Expr::Reference(expr) => self.evaluate(frame, &expr.expr),
            Expr::Paren(expr) => self.evaluate(frame, &expr.expr),
            Expr::Group(expr) => self.evaluate(frame, &expr.expr),
            Expr::Cast(expr) => self.evaluate(frame, &expr.expr),
            Expr::Unary(expr) => self.evaluate(frame, &expr.expr),
            Expr::Tuple(expr) => {
                Value::Tuple(expr.elems.iter().map(|element| self.evaluate(frame, element)).collect())
            }
            Expr::Array(expr) => {
                let elements: Vec<Value> =
                    expr.elems.iter().map(|element| self.evaluate(frame, element)).collect();
                Value::one_of(elements)
            }
            Expr::Field(expr) => self.field(frame, &expr.base, &expr.member),
            Expr::Binary(expr) => self.binary(frame, expr),
            Expr::Assign(expr) => self.assign(frame, expr),
            Expr::If(expr) => {
                self.evaluate(frame, &expr.cond);
                let then = self.block(frame, &expr.then_branch);
                match &expr.else_branch {
                    Some((_, other)) => then.or(self.evaluate(frame, other)),
                    None => then,
                }
            }
            Expr::Let(expr) => {
                let value = self.evaluate(frame, &expr.expr);
                self.bind(frame, &expr.pat, value);
                Value::Unknown
            }
            Expr::Match(expr) => {
                let subject = self.evaluate(frame, &expr.expr);
                let mut arms = Vec::new();
                for arm in &expr.arms {
                    self.bind(frame, &arm.pat, subject.clone());
                    arms.push(self.evaluate(frame, &arm.body));
                }
                // An arm that leaves gives nothing; the others decide.
                Value::one_of(arms.into_iter().filter(Value::matters))
            }
            Expr::Return(expr) => {
                let value = expr.expr.as_ref().map(|expr| self.evaluate(frame, expr));
                frame.returned.extend(value);
                Value::Unknown
            }
            Expr::ForLoop(expr) => {
                self.evaluate(frame, &expr.expr);
                self.bind(frame, &expr.pat, Value::Unknown);
                self.block(frame, &expr.body);
                Value::Unknown
            }
            _ => {
                let mut parts = Parts(Vec::new());
                syn::visit::visit_expr(&mut parts, expr);
                for part in parts.0 {
                    self.evaluate(frame, part);
                }
                Value::Unknown
            }
        }
    }

    fn path(&mut self, frame: &Frame, path: &syn::Path) -> Value {
        if let Some(value) = path.get_ident().and_then(|name| frame.names.get(&name.to_string())) {
            return value.clone();
        }
        let mut value = Value::Unknown;
        for named in self.resolve(frame, path) {
            match named {
                Named::Function(id) => return Value::Function(id),
                Named::Constant(id) => return self.constant(id),
                Named::Foreign(path) => value = Value::Foreign(path.join("::")),
                Named::Module(_) | Named::Type(_) => {}
            }
        }
        value
    }

    /// What a path names here; `Self` is the type around the function.
    pub(super) fn resolve(&self, frame: &Frame, path: &syn::Path) -> Vec<Named> {
        self.program.resolve_in(frame.scope, frame.of, path)
    }

    pub(super) fn constant(&mut self, id: ConstantId) -> Value {
        if let Some(value) = self.constants.get(&id) {
            return value.clone();
        }
        // Stands while its own value is looked for, so that a circle ends.
        self.constants.insert(id, Value::Unknown);
        let constant = &self.program.constants[id];
        let mut frame = Frame::new(constant.module, None, self.program.modules[constant.module].name.clone());
        let value = self.evaluate(&mut frame, constant.value);
        self.constants.insert(id, value.clone());
        value
    }

    fn field(&mut self, frame: &mut Frame, base: &Expr, member: &Member) -> Value {
        let is_self = matches!(base, Expr::Path(base) if base.path.is_ident("self"));
        match (self.evaluate(frame, base), member) {
            (Value::Tuple(mut values), Member::Unnamed(index)) if (index.index as usize) < values.len() => {
                values.swap_remove(index.index as usize)
            }
            (_, Member::Named(name)) if is_self => {
                let fields = frame.of.map(|of| &self.program.types[of]);
                let field = fields.and_then(|of| {
                    let named = of.fields.iter().find(|field| field.ident.as_ref() == Some(name))?;
                    Some(self.typed(of.module, &named.ty))
                });
                field.unwrap_or(Value::Unknown)
            }
            _ => Value::Unknown,
        }
    }

    fn binary(&mut self, frame: &mut Frame, expr: &syn::ExprBinary) -> Value {
        let left = self.evaluate(frame, &expr.left);
        let right = self.evaluate(frame, &expr.right);
        match (left, right, &expr.op) {
            (Value::Text(left), Value::Text(right), BinOp::Add(_)) => Value::Text(left + &right),
            _ => Value::Unknown,
        }
    }

    /// A branch may not be taken, so what was there before counts too.
    fn assign(&mut self, frame: &mut Frame, expr: &syn::ExprAssign) -> Value {
        let value = self.evaluate(frame, &expr.right);
        if let Expr::Path(left) = &*expr.left
            && let Some(name) = left.path.get_ident()
        {
            let before = frame.names.remove(&name.to_string()).map(|before| self.still_open(before));
            let value = before
                .map_or(value.clone(), |before| if before.matters() { value.or(before) } else { value });
            frame.names.insert(name.to_string(), value);
        }
        Value::Unknown
    }

    fn closure(&mut self, frame: &mut Frame, closure: &syn::ExprClosure) -> Value {
        let handler = self.closure_handler(frame, closure);
        let mut inner = Frame {
            scope: frame.scope,
            of: frame.of,
            function: frame.function.clone(),
            names: frame.names.clone(),
            returned: Vec::new(),
        };
        for input in &closure.inputs {
            let value = match input {
                Pat::Type(input) => self.typed(frame.scope, &input.ty),
                _ => Value::Unknown,
            };
            self.bind(&mut inner, input, value);
        }
        self.evaluate(&mut inner, &closure.body);
        Value::Handler(Box::new(handler))
    }

    pub(super) fn site(&self, frame: &Frame, span: Span) -> Site {
        Site::new(self.program.file(frame.scope), span)
    }
}

/// The expressions directly inside one.
struct Parts<'e>(Vec<&'e Expr>);

impl<'e> Visit<'e> for Parts<'e> {
    fn visit_expr(&mut self, expr: &'e Expr) {
        self.0.push(expr);
    }
}
