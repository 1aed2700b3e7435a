//! One search for the meaning of a path, through the modules that it leads to.

use std::collections::HashMap;

use syn::Type;

use crate::audit::program::resolve::words;
use crate::audit::program::{Entry, ModuleId, Named, Program};

/// Longer chains of imports and aliases are circles.
const DEEPEST: usize = 24;

/// One question: what a path means. Imports can run in circles, so each name of a module is looked at once.
pub(super) struct Search<'p, 'a> {
    program: &'p Program<'a>,
    seen: HashMap<(ModuleId, String), Vec<Named>>,
}

impl<'p, 'a> Search<'p, 'a> {
    pub(super) fn new(program: &'p Program<'a>) -> Self {
        Self { program, seen: HashMap::new() }
    }
}

impl Search<'_, '_> {
    /// The meaning of a path in an expression or type, which foreign globs can hold too.
    pub(super) fn follow(&mut self, from: ModuleId, path: &[String], depth: usize) -> Vec<Named> {
        self.walk(from, path, depth, Self::unnamed)
    }

    /// The meaning of a path in a `use`.
    fn imported(&mut self, from: ModuleId, path: &[String], depth: usize) -> Vec<Named> {
        self.walk(from, path, depth, |search, from, name| vec![search.program.outside(from, name)])
    }

    fn walk(
        &mut self,
        from: ModuleId,
        path: &[String],
        depth: usize,
        otherwise: impl Fn(&mut Self, ModuleId, &str) -> Vec<Named>,
    ) -> Vec<Named> {
        let Some((first, mut rest)) = path.split_first().filter(|_| depth < DEEPEST) else {
            return Vec::new();
        };
        let program = self.program;
        let mut found = match first.as_str() {
            "" => {
                let Some((name, after)) = rest.split_first() else { return Vec::new() };
                rest = after;
                vec![program.outside(from, name)]
            }
            "crate" => vec![Named::Module(program.modules[from].root)],
            "self" => vec![Named::Module(program.nearest(from))],
            "super" => program.above(from).map(Named::Module).into_iter().collect(),
            name => {
                let inside = self.visible(from, name, depth);
                if inside.is_empty() { otherwise(self, from, name) } else { inside }
            }
        };
        for word in rest {
            found = found.iter().flat_map(|named| self.member_of(named, word, depth)).collect();
        }
        found.into_iter().flat_map(|named| self.behind_alias(named, depth)).collect()
    }

    pub(super) fn member_of(&mut self, named: &Named, word: &str, depth: usize) -> Vec<Named> {
        match named {
            Named::Module(module) if word == "super" => {
                self.program.above(*module).map(Named::Module).into_iter().collect()
            }
            Named::Module(module) if word == "self" => vec![Named::Module(*module)],
            Named::Module(module) => self.inside(*module, word, depth + 1),
            Named::Type(id) => match self.behind_alias(named.clone(), depth).as_slice() {
                [Named::Type(_)] | [] => {
                    let functions = self.program.types[*id].functions.get(word);
                    functions.into_iter().flatten().map(|&id| Named::Function(id)).collect()
                }
                behind => behind.iter().flat_map(|named| self.member_of(named, word, depth + 1)).collect(),
            },
            Named::Foreign(path) => {
                vec![Named::Foreign(path.iter().cloned().chain([word.to_owned()]).collect())]
            }
            Named::Function(_) | Named::Constant(_) => Vec::new(),
        }
    }

    fn behind_alias(&mut self, named: Named, depth: usize) -> Vec<Named> {
        let Named::Type(id) = named else { return vec![named] };
        let definition = &self.program.types[id];
        let Some(Type::Path(ty)) = definition.alias else { return vec![named] };
        let behind = self.follow(definition.module, &words(&ty.path), depth + 1);
        if behind.is_empty() { vec![named] } else { behind }
    }

    /// A name as seen from a module: for a body, also what is around it.
    fn visible(&mut self, from: ModuleId, name: &str, depth: usize) -> Vec<Named> {
        let mut module = from;
        loop {
            let found = self.inside(module, name, depth + 1);
            match (found.is_empty(), self.program.around(module)) {
                (true, Some(around)) => module = around,
                _ => return found,
            }
        }
    }

    /// What a module declares or imports under a name.
    fn inside(&mut self, module: ModuleId, name: &str, depth: usize) -> Vec<Named> {
        if depth >= DEEPEST {
            return Vec::new();
        }
        let key = (module, name.to_owned());
        if let Some(known) = self.seen.get(&key) {
            return known.clone();
        }
        self.seen.insert(key.clone(), Vec::new());
        let entries = self.program.modules[module].names.get(name).into_iter().flatten();
        let mut found: Vec<Named> = entries
            .flat_map(|entry| match entry {
                Entry::Named(named) => vec![named.clone()],
                // `use post::post` names a crate or a sibling, never itself.
                Entry::Import(path) if path.len() > 1 && path[0] == name => {
                    self.import_of_namesake(module, path, depth)
                }
                Entry::Import(path) => self.imported(module, path, depth + 1),
            })
            .collect();
        if found.is_empty() {
            let globs = self.program.modules[module].globs.iter();
            found = globs.flat_map(|glob| self.through(module, glob, name, depth)).collect();
        }
        self.seen.insert(key, found.clone());
        found
    }

    fn import_of_namesake(&mut self, module: ModuleId, path: &[String], depth: usize) -> Vec<Named> {
        let entries = self.program.modules[module].names.get(&path[0]);
        let sibling = entries.into_iter().flatten().find_map(|entry| match entry {
            Entry::Named(named @ Named::Module(_)) => Some(named.clone()),
            _ => None,
        });
        let first = sibling.unwrap_or_else(|| self.program.outside(module, &path[0]));
        path[1..].iter().fold(vec![first], |found, word| {
            found.iter().flat_map(|named| self.member_of(named, word, depth + 1)).collect()
        })
    }

    /// A name through `use path::*`, of this program only.
    fn through(&mut self, module: ModuleId, glob: &[String], name: &str, depth: usize) -> Vec<Named> {
        let targets = self.imported(module, glob, depth + 1).into_iter();
        let inside = targets.flat_map(|target| match target {
            Named::Module(target) if target != module => self.inside(target, name, depth + 1),
            _ => Vec::new(),
        });
        inside.collect()
    }

    /// A name that no module here declares: from a foreign glob, or a crate.
    fn unnamed(&mut self, from: ModuleId, name: &str) -> Vec<Named> {
        let program = self.program;
        let is_crate = program.packages[program.modules[from].package].dependencies.contains_key(name);
        if is_crate || program.libraries.contains_key(name) || matches!(name, "axum" | "idem_runtime" | "std")
        {
            return vec![program.outside(from, name)];
        }
        let mut around = Some(from);
        while let Some(module) = around {
            let globs = program.modules[module].globs.iter();
            let targets = globs.flat_map(|glob| self.imported(module, glob, 0));
            let mut foreign: Vec<Vec<String>> = targets
                .filter_map(|named| match named {
                    Named::Foreign(path) => Some(path),
                    _ => None,
                })
                .collect();
            // Which of several has it cannot be seen; what matters here is whether it is axum's.
            foreign.sort_by_key(|path| !path[0].starts_with("axum") && !path[0].starts_with("idem"));
            if let Some(mut path) = foreign.into_iter().next() {
                path.push(name.to_owned());
                return vec![Named::Foreign(path)];
            }
            around = program.around(module);
        }
        vec![program.outside(from, name)]
    }
}
