//! Writes down the functions of modules, `impl` blocks and traits.

use syn::visit::Visit;
use syn::{Attribute, Block, ImplItem, Item, Signature, Stmt, Type, Visibility};

use crate::audit::program::collect::Collector;
use crate::audit::program::{Function, Module, ModuleId, TypeId};
use crate::audit::source::only_in_tests;
use crate::audit::stance::{self, Declaration, is_service};

/// Around a function: whose it is, and whether it must have a stance.
#[derive(Clone, Copy)]
pub(super) struct Around {
    pub(super) of: Option<TypeId>,
    pub(super) is_service: bool,
    /// A trait, or its implementation: there all functions are public.
    pub(super) all_public: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn implementations(&mut self) {
        // Bodies may hold further blocks, so the list can grow.
        while let Some((module, block)) = self.blocks.pop() {
            let of = match &*block.self_ty {
                Type::Path(ty) => self.program.type_named(module, &ty.path),
                _ => None,
            };
            let is_service = is_service(&block.attrs) || self.program.modules[module].is_service;
            let around = Around { of, is_service, all_public: block.trait_.is_some() };
            for item in &block.items {
                if let ImplItem::Fn(item) = item {
                    self.member(module, around, &item.attrs, &item.vis, &item.sig, Some(&item.block));
                }
            }
        }
    }

    /// What each function declares, once every import is known.
    pub(super) fn declarations(&mut self) {
        for id in 0..self.program.functions.len() {
            let function = &self.program.functions[id];
            let ours = |path: &syn::Path| self.program.own_name(function.module, path);
            self.program.functions[id].declaration =
                Declaration::of(function.attributes, function.signature, ours);
        }
    }

    pub(super) fn member(
        &mut self,
        module: ModuleId,
        around: Around,
        attributes: &'a [Attribute],
        visibility: &Visibility,
        signature: &'a Signature,
        body: Option<&'a Block>,
    ) {
        if only_in_tests(attributes) {
            return;
        }
        let id = self.function(module, around, attributes, visibility, signature, body);
        let name = signature.ident.to_string();
        if let Some(of) = around.of {
            self.program.types[of].functions.entry(name.clone()).or_default().push(id);
        }
        self.program.methods.entry(name).or_default().push(id);
    }

    pub(super) fn function(
        &mut self,
        module: ModuleId,
        around: Around,
        attributes: &'a [Attribute],
        visibility: &Visibility,
        signature: &'a Signature,
        body: Option<&'a Block>,
    ) -> usize {
        let name = match around.of {
            Some(of) => format!("{}::{}", self.program.type_name(of), signature.ident),
            None => format!("{}::{}", self.program.modules[module].name, signature.ident),
        };
        let scope = body.map_or(module, |body| self.body(module, &name, body));
        let public = around.all_public || !matches!(visibility, Visibility::Inherited);
        let id = self.program.functions.len();
        self.program.functions.push(Function {
            name,
            module,
            scope,
            of: around.of,
            attributes,
            signature,
            body,
            declaration: None,
            is_served: around.is_service && public && stance::is_awaited(signature),
            site: self.site(module, signature.ident.span()),
        });
        id
    }

    /// A scope for the items inside a body; the module itself where there are none.
    fn body(&mut self, module: ModuleId, function: &str, body: &'a Block) -> ModuleId {
        let mut inner = InnerItems(Vec::new());
        inner.visit_block(body);
        if inner.0.is_empty() {
            return module;
        }
        let Module { package, file, .. } = self.program.modules[module];
        let scope = self.module(package, file, function.to_owned(), Some(module));
        self.program.modules[scope].is_body = true;
        for item in inner.0 {
            self.item(scope, item);
        }
        scope
    }
}

/// The items of a body, not those of the items in it.
struct InnerItems<'a>(Vec<&'a Item>);

impl<'a> Visit<'a> for InnerItems<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Item(item) => self.0.push(item),
            _ => syn::visit::visit_stmt(self, statement),
        }
    }
}
