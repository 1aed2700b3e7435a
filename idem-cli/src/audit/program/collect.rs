//! Walks the items of each crate and writes down what it names.

use std::collections::HashMap;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Attribute, Item, ItemImpl, TraitItem, Type, UseTree, Visibility};

use crate::audit::finding::{Site, text_of};
use crate::audit::packages::Package;
use crate::audit::program::functions::Around;
use crate::audit::program::{Constant, Definition, Entry, Module, ModuleId, Named, Program, TypeId, Unseen};
use crate::audit::routes::macros;
use crate::audit::source::{ModuleFile, Sources, only_in_tests};
use crate::audit::stance::is_service;

pub(super) fn collect<'a>(packages: &'a [Package], sources: &'a Sources) -> Program<'a> {
    let program = Program {
        packages,
        sources,
        modules: Vec::new(),
        functions: Vec::new(),
        constants: Vec::new(),
        types: Vec::new(),
        methods: HashMap::new(),
        unseen: Vec::new(),
        libraries: HashMap::new(),
    };
    let mut collector = Collector { program, blocks: Vec::new(), files: Vec::new() };
    let targets = packages.iter().enumerate();
    let targets =
        targets.flat_map(|(index, package)| package.targets.iter().map(move |target| (index, target)));
    for ((package, target), &file) in targets.zip(&sources.roots) {
        let root = collector.module(package, file, target.name.clone(), None);
        collector.program.modules[root].is_library = target.is_library;
        if target.is_library && !KNOWN_BY_NAME.contains(&target.name.as_str()) {
            collector.program.libraries.entry(target.name.clone()).or_insert(root);
        }
        collector.files.push(file);
        collector.items(root, &sources.files[file].syntax.items);
        collector.files.pop();
    }
    collector.implementations();
    collector.declarations();
    collector.program
}

/// The audit knows what these mean, and would not find it in their macros.
const KNOWN_BY_NAME: [&str; 4] = ["axum", "axum_extra", "idem_runtime", "idem_macros"];

pub(super) struct Collector<'a> {
    pub(super) program: Program<'a>,
    /// `impl` blocks wait until all types are known.
    pub(super) blocks: Vec<(ModuleId, &'a ItemImpl)>,
    /// The files that are being walked: a file that declares itself must not be walked for ever.
    files: Vec<usize>,
}

impl<'a> Collector<'a> {
    pub(super) fn module(
        &mut self,
        package: usize,
        file: usize,
        name: String,
        parent: Option<ModuleId>,
    ) -> ModuleId {
        let id = self.program.modules.len();
        let root = parent.map_or(id, |parent| self.program.modules[parent].root);
        let is_library = parent.is_some_and(|parent| self.program.modules[parent].is_library);
        self.program.modules.push(Module {
            package,
            is_library,
            file,
            name,
            parent,
            root,
            is_body: false,
            names: HashMap::new(),
            globs: Vec::new(),
            is_service: false,
        });
        id
    }

    fn name(&mut self, module: ModuleId, name: String, entry: Entry) {
        self.program.modules[module].names.entry(name).or_default().push(entry);
    }

    pub(super) fn site(&self, module: ModuleId, span: Span) -> Site {
        Site::new(self.program.file(module), span)
    }

    fn items(&mut self, module: ModuleId, items: &'a [Item]) {
        for item in items {
            self.item(module, item);
        }
    }

    pub(super) fn item(&mut self, module: ModuleId, item: &'a Item) {
        match item {
            Item::Fn(item) if !only_in_tests(&item.attrs) => {
                let is_service = self.program.modules[module].is_service;
                let around = Around { of: None, is_service, all_public: false };
                let id = self.function(module, around, &item.attrs, &item.vis, &item.sig, Some(&item.block));
                self.name(module, item.sig.ident.to_string(), Entry::Named(Named::Function(id)));
            }
            Item::Mod(item) if !only_in_tests(&item.attrs) => self.submodule(module, item),
            Item::Impl(item) if !only_in_tests(&item.attrs) => self.blocks.push((module, item)),
            Item::Trait(item) => {
                let id = self.define(module, item.ident.to_string(), &item.attrs, Vec::new(), None);
                let is_service = is_service(&item.attrs) || self.program.modules[module].is_service;
                let around = Around { of: Some(id), is_service, all_public: true };
                for item in &item.items {
                    if let TraitItem::Fn(item) = item {
                        let public = &Visibility::Inherited;
                        self.member(module, around, &item.attrs, public, &item.sig, item.default.as_ref());
                    }
                }
            }
            Item::Struct(item) => {
                let fields = item.fields.iter().collect();
                self.define(module, item.ident.to_string(), &item.attrs, fields, None);
            }
            Item::Enum(item) => {
                self.define(module, item.ident.to_string(), &item.attrs, Vec::new(), None);
            }
            Item::Type(item) => {
                self.define(module, item.ident.to_string(), &item.attrs, Vec::new(), Some(&item.ty));
            }
            Item::Const(item) => self.constant(module, item.ident.to_string(), &item.expr),
            Item::Static(item) => self.constant(module, item.ident.to_string(), &item.expr),
            Item::Use(item) => self.import(module, Vec::new(), item.leading_colon.is_some(), &item.tree),
            Item::ExternCrate(item) => {
                if let Some((_, name)) = &item.rename {
                    let path = vec![String::new(), item.ident.to_string()];
                    self.name(module, name.to_string(), Entry::Import(path));
                }
            }
            Item::Macro(item) => self.item_macro(module, item),
            _ => {}
        }
    }

    fn submodule(&mut self, module: ModuleId, item: &'a syn::ItemMod) {
        let ident = item.ident.to_string();
        let Module { package, file, ref name, is_service: around, .. } = self.program.modules[module];
        let name = format!("{name}::{ident}");
        if let Some((_, items)) = &item.content {
            let id = self.module(package, file, name, Some(module));
            self.program.modules[id].is_service = around || is_service(&item.attrs);
            self.name(module, ident, Entry::Named(Named::Module(id)));
            self.items(id, items);
            return;
        }
        let sources = self.program.sources;
        for found in sources.files[file].modules.get(&item.ident.span().start()).into_iter().flatten() {
            match found {
                ModuleFile::Found(file) if !self.files.contains(file) => {
                    let id = self.module(package, *file, name.clone(), Some(module));
                    self.program.modules[id].is_service = is_service(&item.attrs);
                    self.name(module, ident.clone(), Entry::Named(Named::Module(id)));
                    self.files.push(*file);
                    self.items(id, &sources.files[*file].syntax.items);
                    self.files.pop();
                }
                // It declares itself.
                ModuleFile::Found(_) => {}
                ModuleFile::Missing(reason) => {
                    self.unseen(module, item.ident.span(), format!("mod {name}"), reason.clone());
                }
            }
        }
    }

    fn item_macro(&mut self, module: ModuleId, item: &'a syn::ItemMacro) {
        let name = item.mac.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let defines = name == "macro_rules";
        if macros::adds_routes(&item.mac.tokens) {
            let reason = "it is a macro, and what it expands to is not in the source";
            let what = item.ident.as_ref().map_or_else(|| format!("{name}!"), |ident| format!("{ident}!"));
            self.unseen(module, item.mac.path.span(), what, reason.to_owned());
        } else if name == "include" && !defines && self.program.routes_in(module) {
            let what = text_of(item.mac.span());
            let reason = "the included file is not read".to_owned();
            self.unseen(module, item.mac.path.span(), what, reason);
        }
    }

    fn unseen(&mut self, module: ModuleId, span: Span, what: String, reason: String) {
        let site = self.site(module, span);
        self.program.unseen.push(Unseen { what, reason, site });
    }

    fn define(
        &mut self,
        module: ModuleId,
        name: String,
        attributes: &'a [Attribute],
        fields: Vec<&'a syn::Field>,
        alias: Option<&'a Type>,
    ) -> TypeId {
        let id = self.program.types.len();
        self.program.types.push(Definition { module, attributes, fields, alias, functions: HashMap::new() });
        self.name(module, name, Entry::Named(Named::Type(id)));
        id
    }

    fn constant(&mut self, module: ModuleId, name: String, value: &'a syn::Expr) {
        let id = self.program.constants.len();
        self.program.constants.push(Constant { module, value });
        self.name(module, name, Entry::Named(Named::Constant(id)));
    }

    fn import(&mut self, module: ModuleId, mut path: Vec<String>, absolute: bool, tree: &'a UseTree) {
        if absolute {
            path.push(String::new());
        }
        match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.import(module, path, false, &tree.tree);
            }
            UseTree::Name(tree) if tree.ident == "self" => {
                if let Some(name) = path.last().cloned() {
                    self.name(module, name, Entry::Import(path));
                }
            }
            UseTree::Name(tree) => {
                path.push(tree.ident.to_string());
                self.name(module, tree.ident.to_string(), Entry::Import(path));
            }
            UseTree::Rename(tree) => {
                if tree.ident != "self" {
                    path.push(tree.ident.to_string());
                }
                self.name(module, tree.rename.to_string(), Entry::Import(path));
            }
            UseTree::Glob(_) => self.program.modules[module].globs.push(path),
            UseTree::Group(tree) => {
                for tree in &tree.items {
                    self.import(module, path.clone(), false, tree);
                }
            }
        }
    }
}
