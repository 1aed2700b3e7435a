//! What the files say, by name: modules, functions, constants, types and imports of all crates.

mod collect;
mod functions;
mod resolve;
mod search;

use std::collections::HashMap;

use syn::{Attribute, Block, Expr, Field, Signature, Type};

use crate::audit::finding::Site;
use crate::audit::packages::Package;
use crate::audit::source::Sources;
use crate::audit::stance::Declaration;

pub(super) use resolve::Named;

pub(super) type ModuleId = usize;
pub(super) type FunctionId = usize;
pub(super) type ConstantId = usize;
pub(super) type TypeId = usize;

/// Everything that was read.
pub(super) struct Program<'a> {
    pub(super) packages: &'a [Package],
    pub(super) sources: &'a Sources,
    pub(super) modules: Vec<Module>,
    pub(super) functions: Vec<Function<'a>>,
    pub(super) constants: Vec<Constant<'a>>,
    pub(super) types: Vec<Definition<'a>>,
    /// Functions in `impl` blocks and traits, by their name.
    pub(super) methods: HashMap<String, Vec<FunctionId>>,
    /// Modules, macros and included files whose text is not here or not Rust yet, and why.
    pub(super) unseen: Vec<Unseen>,
    /// The root module of each library, by its name in the source.
    libraries: HashMap<String, ModuleId>,
}

/// A module, or the body of a function that holds items.
pub(super) struct Module {
    pub(super) package: usize,
    /// Whether it is of the package's library; else of one of its programs.
    pub(super) is_library: bool,
    pub(super) file: usize,
    /// Its full name, `shop::orders`.
    pub(super) name: String,
    parent: Option<ModuleId>,
    pub(super) root: ModuleId,
    /// A body: names that it lacks are looked up around it, and `self` is not it.
    is_body: bool,
    names: HashMap<String, Vec<Entry>>,
    globs: Vec<Vec<String>>,
    /// The attribute `#[service]`, on the module.
    pub(super) is_service: bool,
}

#[derive(Debug, Clone)]
enum Entry {
    Named(Named),
    Import(Vec<String>),
}

/// A function, free or not.
pub(super) struct Function<'a> {
    /// Its full name, `shop::orders::create`.
    pub(super) name: String,
    /// The module in which it stands.
    pub(super) module: ModuleId,
    /// Where names of its body are looked up.
    pub(super) scope: ModuleId,
    /// The type or trait of which it is.
    pub(super) of: Option<TypeId>,
    pub(super) attributes: &'a [Attribute],
    pub(super) signature: &'a Signature,
    pub(super) body: Option<&'a Block>,
    pub(super) declaration: Option<Declaration>,
    /// Whether it is public, and inside a `#[service]`.
    pub(super) is_served: bool,
    pub(super) site: Site,
}

/// A constant or static.
pub(super) struct Constant<'a> {
    pub(super) module: ModuleId,
    pub(super) value: &'a Expr,
}

/// A type, its attributes and fields, and what an alias stands for.
pub(super) struct Definition<'a> {
    pub(super) module: ModuleId,
    pub(super) attributes: &'a [Attribute],
    pub(super) fields: Vec<&'a Field>,
    alias: Option<&'a Type>,
    functions: HashMap<String, Vec<FunctionId>>,
}

/// Source that the audit cannot look into, and that may hold routes.
#[derive(Debug)]
pub(super) struct Unseen {
    pub(super) what: String,
    pub(super) reason: String,
    pub(super) site: Site,
}

impl<'a> Program<'a> {
    pub(super) fn new(packages: &'a [Package], sources: &'a Sources) -> Self {
        collect::collect(packages, sources)
    }

    /// The file of a module, as the user would name it.
    pub(super) fn file(&self, module: ModuleId) -> &str {
        &self.sources.files[self.modules[module].file].shown
    }

    /// Whether the file of this module names axum or idem anywhere.
    pub(super) fn routes_in(&self, module: ModuleId) -> bool {
        self.sources.files[self.modules[module].file].routes
    }
}
