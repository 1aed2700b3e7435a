//! What a path means where it stands: through imports, globs, aliases and the crates of the workspace.

use syn::{FnArg, LitStr, Type};

use crate::audit::program::search::Search;
use crate::audit::program::{ConstantId, Entry, FunctionId, ModuleId, Program, TypeId};

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::audit) enum Named {
    Module(ModuleId),
    Function(FunctionId),
    Constant(ConstantId),
    Type(TypeId),
    /// Something of a crate whose source is not here, by its full path.
    Foreign(Vec<String>),
}

impl Program<'_> {
    /// Everything that the path may name; a function and a module can share their name.
    fn resolve(&self, from: ModuleId, path: &[String]) -> Vec<Named> {
        self.search().follow(from, path, 0)
    }

    /// The same within an `impl` of a type, where `Self` is that type.
    pub(in crate::audit) fn resolve_in(
        &self,
        from: ModuleId,
        of: Option<TypeId>,
        path: &syn::Path,
    ) -> Vec<Named> {
        let words = words(path);
        match (words.split_first(), of) {
            (Some((first, rest)), Some(of)) if first == "Self" => self.member_of_type(of, rest),
            _ => self.resolve(from, &words),
        }
    }

    /// The type of this program that a path names, behind all aliases.
    pub(in crate::audit) fn type_named(&self, from: ModuleId, path: &syn::Path) -> Option<TypeId> {
        self.resolve(from, &words(path)).into_iter().find_map(|named| match named {
            Named::Type(id) => Some(id),
            _ => None,
        })
    }

    /// The foreign path that a type stands for, `axum::Router` for instance.
    pub(in crate::audit) fn foreign_type(&self, from: ModuleId, ty: &Type) -> Option<Vec<String>> {
        match ty {
            Type::Reference(ty) => self.foreign_type(from, &ty.elem),
            Type::Path(ty) => {
                self.resolve(from, &words(&ty.path)).into_iter().find_map(|named| match named {
                    Named::Foreign(path) => Some(path),
                    _ => None,
                })
            }
            _ => None,
        }
    }

    /// An attribute's own name, behind imports; none when it comes from a crate that is not idem.
    pub(in crate::audit) fn own_name(&self, from: ModuleId, path: &syn::Path) -> Option<String> {
        let written = words(path);
        let named = self.resolve(from, &written);
        let foreign = named.iter().find_map(|named| match named {
            Named::Foreign(path) => Some(path),
            _ => None,
        });
        match foreign {
            Some(path) if path.len() > 1 && !path[0].starts_with("idem") => None,
            Some(path) => path.last().cloned(),
            None => written.last().cloned(),
        }
    }

    /// What `Self::name` is within an `impl` of a type; nothing for longer paths.
    pub(in crate::audit) fn member_of_type(&self, of: TypeId, path: &[String]) -> Vec<Named> {
        match path {
            [name] => self.search().member_of(&Named::Type(of), name, 0),
            _ => Vec::new(),
        }
    }

    /// The path of axum-extra's `#[typed_path("/orders/{id}")]`, on the type of a handler's first argument.
    pub(in crate::audit) fn typed_path(&self, id: FunctionId) -> Option<String> {
        let function = &self.functions[id];
        let first = function.signature.inputs.iter().find_map(|input| match input {
            FnArg::Typed(input) => Some(&*input.ty),
            FnArg::Receiver(_) => None,
        })?;
        let Type::Path(ty) = first else { return None };
        let definition = &self.types[self.type_named(function.scope, &ty.path)?];
        let attribute =
            definition.attributes.iter().find(|attribute| attribute.path().is_ident("typed_path"))?;
        let text = attribute.meta.require_list().ok()?.tokens.clone().into_iter().next()?;
        syn::parse_str::<LitStr>(&text.to_string()).ok().map(|text| text.value())
    }

    fn search(&self) -> Search<'_, '_> {
        Search::new(self)
    }

    pub(super) fn type_name(&self, id: TypeId) -> String {
        let definition = &self.types[id];
        let module = &self.modules[definition.module];
        let name = module.names.iter().find(|(_, entries)| {
            entries.iter().any(|entry| matches!(entry, Entry::Named(Named::Type(named)) if *named == id))
        });
        format!("{}::{}", module.name, name.map_or("_", |(name, _)| name))
    }

    /// A crate: one of the workspace, or a foreign one under its own name.
    pub(super) fn outside(&self, from: ModuleId, name: &str) -> Named {
        let package = &self.packages[self.modules[from].package];
        let name = package.dependencies.get(name).map_or(name, String::as_str);
        match self.libraries.get(name) {
            Some(&root) => Named::Module(root),
            None => Named::Foreign(vec![name.to_owned()]),
        }
    }

    /// The module around a body, where names that it lacks are looked up.
    pub(super) fn around(&self, module: ModuleId) -> Option<ModuleId> {
        self.modules[module].parent.filter(|_| self.modules[module].is_body)
    }

    pub(super) fn nearest(&self, from: ModuleId) -> ModuleId {
        let module = &self.modules[from];
        if module.is_body { module.parent.map_or(from, |parent| self.nearest(parent)) } else { from }
    }

    pub(super) fn above(&self, from: ModuleId) -> Option<ModuleId> {
        self.modules[self.nearest(from)].parent
    }
}

/// The words of a path; an empty one first for a leading `::`.
pub(super) fn words(path: &syn::Path) -> Vec<String> {
    let absolute = path.leading_colon.map(|_| String::new());
    absolute.into_iter().chain(path.segments.iter().map(|segment| segment.ident.to_string())).collect()
}
