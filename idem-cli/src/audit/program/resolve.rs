//! What a path means where it stands: through imports, globs, aliases and the crates of the workspace.

use syn::{FnArg, LitStr, Type};

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

/// Longer chains of imports and aliases are circles.
const DEEPEST: usize = 24;

impl Program<'_> {
    /// Everything that the path may name; a function and a module can share their name.
    fn resolve(&self, from: ModuleId, path: &[String]) -> Vec<Named> {
        self.follow(from, path, 0)
    }

    /// The same within an `impl` of a type, where `Self` is that type.
    pub(in crate::audit) fn resolve_in(&self, from: ModuleId, of: Option<TypeId>, path: &syn::Path) -> Vec<Named> {
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
            Type::Path(ty) => self.resolve(from, &words(&ty.path)).into_iter().find_map(|named| match named {
                Named::Foreign(path) => Some(path),
                _ => None,
            }),
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
            [name] => self.member_of(&Named::Type(of), name, 0),
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
        let attribute = definition.attributes.iter().find(|attribute| attribute.path().is_ident("typed_path"))?;
        let text = attribute.meta.require_list().ok()?.tokens.clone().into_iter().next()?;
        syn::parse_str::<LitStr>(&text.to_string()).ok().map(|text| text.value())
    }

    pub(super) fn type_name(&self, id: TypeId) -> String {
        let definition = &self.types[id];
        let module = &self.modules[definition.module];
        let name = module.names.iter().find(|(_, entries)| {
            entries.iter().any(|entry| matches!(entry, Entry::Named(Named::Type(named)) if *named == id))
        });
        format!("{}::{}", module.name, name.map_or("_", |(name, _)| name))
    }

    fn follow(&self, from: ModuleId, path: &[String], depth: usize) -> Vec<Named> {
        let Some((first, mut rest)) = path.split_first().filter(|_| depth < DEEPEST) else {
            return Vec::new();
        };
        let mut found = match first.as_str() {
            "" => {
                let Some((name, after)) = rest.split_first() else { return Vec::new() };
                rest = after;
                vec![self.outside(from, name)]
            }
            "crate" => vec![Named::Module(self.modules[from].root)],
            "self" => vec![Named::Module(self.nearest(from))],
            "super" => self.above(from).map(Named::Module).into_iter().collect(),
            name => {
                let inside = self.visible(from, name, depth);
                if inside.is_empty() { self.unnamed(from, name, depth) } else { inside }
            }
        };
        for word in rest {
            found = found.iter().flat_map(|named| self.member_of(named, word, depth)).collect();
        }
        found.into_iter().flat_map(|named| self.behind_alias(named, depth)).collect()
    }

    fn member_of(&self, named: &Named, word: &str, depth: usize) -> Vec<Named> {
        match named {
            Named::Module(module) if word == "super" => self.above(*module).map(Named::Module).into_iter().collect(),
            Named::Module(module) if word == "self" => vec![Named::Module(*module)],
            Named::Module(module) => self.inside(*module, word, depth + 1),
            Named::Type(id) => match self.behind_alias(named.clone(), depth).as_slice() {
                [Named::Type(_)] | [] => {
                    let functions = self.types[*id].functions.get(word);
                    functions.into_iter().flatten().map(|&id| Named::Function(id)).collect()
                }
                behind => behind.iter().flat_map(|named| self.member_of(named, word, depth + 1)).collect(),
            },
            Named::Foreign(path) => vec![Named::Foreign(path.iter().cloned().chain([word.to_owned()]).collect())],
            Named::Function(_) | Named::Constant(_) => Vec::new(),
        }
    }

    fn behind_alias(&self, named: Named, depth: usize) -> Vec<Named> {
        match named {
            Named::Type(id) => match self.types[id].alias {
                Some(Type::Path(ty)) => {
                    let behind = self.follow(self.types[id].module, &words(&ty.path), depth + 1);
                    if behind.is_empty() { vec![named] } else { behind }
                }
                _ => vec![named],
            },
            _ => vec![named],
        }
    }

    /// A name as seen from a module: for a body, also what is around it.
    fn visible(&self, from: ModuleId, name: &str, depth: usize) -> Vec<Named> {
        let mut module = from;
        loop {
            let found = self.inside(module, name, depth + 1);
            match (found.is_empty(), self.modules[module].is_body, self.modules[module].parent) {
                (true, true, Some(parent)) => module = parent,
                _ => return found,
            }
        }
    }

    /// What a module declares or imports under a name.
    fn inside(&self, module: ModuleId, name: &str, depth: usize) -> Vec<Named> {
        if depth >= DEEPEST {
            return Vec::new();
        }
        let entries = self.modules[module].names.get(name);
        let found: Vec<Named> = entries
            .into_iter()
            .flatten()
            .flat_map(|entry| match entry {
                Entry::Named(named) => vec![named.clone()],
                // `use post::post` names a crate or a sibling, never itself.
                Entry::Import(path) if path.first().is_some_and(|first| first == name) && path.len() > 1 => {
                    self.import_of_namesake(module, path, depth)
                }
                Entry::Import(path) => self.follow(module, path, depth + 1),
            })
            .collect();
        if !found.is_empty() {
            return found;
        }
        self.modules[module].globs.iter().flat_map(|glob| self.through(module, glob, name, depth)).collect()
    }

    fn import_of_namesake(&self, module: ModuleId, path: &[String], depth: usize) -> Vec<Named> {
        let entries = self.modules[module].names.get(&path[0]);
        let sibling = entries.into_iter().flatten().find_map(|entry| match entry {
            Entry::Named(named @ Named::Module(_)) => Some(named.clone()),
            _ => None,
        });
        let first = sibling.unwrap_or_else(|| self.outside(module, &path[0]));
        path[1..].iter().fold(vec![first], |found, word| {
            found.iter().flat_map(|named| self.member_of(named, word, depth + 1)).collect()
        })
    }

    /// A name through `use path::*`, of this program only.
    fn through(&self, module: ModuleId, glob: &[String], name: &str, depth: usize) -> Vec<Named> {
        let targets = self.follow(module, glob, depth + 1).into_iter();
        targets.flat_map(|target| match target {
            Named::Module(target) if target != module => self.inside(target, name, depth + 1),
            _ => Vec::new(),
        }).collect()
    }

    /// A name that no module here declares: from a foreign glob, or a crate.
    fn unnamed(&self, from: ModuleId, name: &str, depth: usize) -> Vec<Named> {
        let is_crate = self.packages[self.modules[from].package].dependencies.contains_key(name);
        if is_crate || self.libraries.contains_key(name) {
            return vec![self.outside(from, name)];
        }
        let mut around = Some(from);
        while let Some(module) = around {
            let globs = self.modules[module].globs.iter();
            let targets = globs.flat_map(|glob| self.follow(module, glob, depth + 1));
            let mut foreign: Vec<Vec<String>> = targets.filter_map(|named| match named {
                Named::Foreign(path) => Some(path),
                _ => None,
            }).collect();
            // Which of several has it cannot be seen; what matters here is whether it is axum's.
            foreign.sort_by_key(|path| !path[0].starts_with("axum") && !path[0].starts_with("idem"));
            if let Some(mut path) = foreign.into_iter().next() {
                path.push(name.to_owned());
                return vec![Named::Foreign(path)];
            }
            around = self.modules[module].parent.filter(|_| self.modules[module].is_body);
        }
        vec![self.outside(from, name)]
    }

    /// A crate: one of the workspace, or a foreign one under its own name.
    fn outside(&self, from: ModuleId, name: &str) -> Named {
        let package = &self.packages[self.modules[from].package];
        let name = package.dependencies.get(name).map_or(name, String::as_str);
        match self.libraries.get(name) {
            Some(&root) => Named::Module(root),
            None => Named::Foreign(vec![name.to_owned()]),
        }
    }

    fn nearest(&self, from: ModuleId) -> ModuleId {
        let module = &self.modules[from];
        if module.is_body { module.parent.map_or(from, |parent| self.nearest(parent)) } else { from }
    }

    fn above(&self, from: ModuleId) -> Option<ModuleId> {
        self.modules[self.nearest(from)].parent
    }
}

/// The words of a path; an empty one first for a leading `::`.
fn words(path: &syn::Path) -> Vec<String> {
    let absolute = path.leading_colon.map(|_| String::new());
    absolute.into_iter().chain(path.segments.iter().map(|segment| segment.ident.to_string())).collect()
}
