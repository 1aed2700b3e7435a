//! Parses the files of each crate, from its root along its `mod` lines.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use proc_macro2::LineColumn;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta, Token};

use crate::audit::Error;
use crate::audit::packages::Package;

/// One parsed file.
pub(super) struct File {
    /// Its path as the user would write it.
    pub(super) shown: String,
    pub(super) syntax: syn::File,
    /// Whether it names axum or idem anywhere.
    pub(super) routes: bool,
    /// The files of each `mod name;`, by its place: under `cfg_attr` it can have several.
    pub(super) modules: HashMap<LineColumn, Vec<ModuleFile>>,
}

/// Where the text of a module is.
#[derive(Debug, Clone)]
pub(super) enum ModuleFile {
    /// A file of the list.
    Found(usize),
    /// Nowhere; why not.
    Missing(String),
}

/// All files, and for each target the one it begins with.
#[derive(Default)]
pub(super) struct Sources {
    pub(super) files: Vec<File>,
    /// In the order of the packages and their targets.
    pub(super) roots: Vec<usize>,
}

/// Parses everything that the packages are compiled from.
pub(super) fn load(packages: &[Package]) -> Result<Sources, Error> {
    let mut loader = Loader::default();
    let mut roots = Vec::new();
    for target in packages.iter().flat_map(|package| &package.targets) {
        roots.push(loader.load(&target.root, true)?);
    }
    if !loader.broken.is_empty() {
        return Err(Error::Syntax(loader.broken.join("\nerror: ")));
    }
    Ok(Sources { files: loader.files, roots })
}

#[derive(Default)]
struct Loader {
    files: Vec<File>,
    known: HashMap<PathBuf, usize>,
    /// What could not be parsed: all of it is told at once.
    broken: Vec<String>,
}

impl Loader {
    /// `is_root`: whether its modules lie beside the file, as those of a crate root do.
    fn load(&mut self, path: &Path, is_root: bool) -> Result<usize, Error> {
        if let Some(&known) = self.known.get(path) {
            return Ok(known);
        }
        let read = std::fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let text = String::from_utf8_lossy(&read);
        let shown = path.strip_prefix("./").unwrap_or(path).display().to_string();
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| {
            let at = error.span().start();
            let message = match error.to_string() {
                // The lexer says no more than that.
                lexer if lexer.contains("token stream") => "a bracket or quote has no fellow".to_owned(),
                parser => parser,
            };
            self.broken.push(format!("{shown}:{}:{}: {message}", at.line, at.column + 1));
            syn::File { shebang: None, frontmatter: None, attrs: Vec::new(), items: Vec::new() }
        });
        let index = self.files.len();
        self.known.insert(path.to_owned(), index);
        let routes = ["axum", "idem_runtime"].iter().any(|name| text.contains(name));
        let file = File { shown, syntax, routes, modules: HashMap::new() };
        self.files.push(file);
        let mut declared = Vec::new();
        declarations(&self.files[index].syntax.items, &mut Vec::new(), &mut declared);
        for Declared { name, given, place } in declared {
            let modules = match given.as_slice() {
                [] => vec![self.find(path, is_root, &name, None)?],
                given => given
                    .iter()
                    .map(|given| self.find(path, is_root, &name, Some(given)))
                    .collect::<Result<_, _>>()?,
            };
            self.files[index].modules.insert(place, modules);
        }
        Ok(index)
    }

    fn find(
        &mut self,
        from: &Path,
        is_root: bool,
        name: &[String],
        given: Option<&str>,
    ) -> Result<ModuleFile, Error> {
        let folder = from.parent().unwrap_or(Path::new(""));
        let beside = is_root || from.file_stem().is_some_and(|stem| stem == "mod");
        let below = if beside { folder.to_owned() } else { from.with_extension("") };
        let name: Vec<&str> = name.iter().map(|word| word.trim_start_matches("r#")).collect();
        let (name, around) = name.split_last().map_or(("", &[][..]), |(name, around)| (*name, around));
        let inside = around.iter().fold(below, |folder, module| folder.join(module));
        if let Some(given) = given {
            let base = if around.is_empty() { folder } else { &inside };
            let path = base.join(given);
            return Ok(if path.is_file() {
                ModuleFile::Found(self.load(&path, true)?)
            } else {
                ModuleFile::Missing(format!("its file {} is not there", path.display()))
            });
        }
        let candidates = [inside.join(format!("{name}.rs")), inside.join(name).join("mod.rs")];
        match candidates.iter().find(|path| path.is_file()) {
            Some(path) => Ok(ModuleFile::Found(self.load(path, false)?)),
            None => Ok(ModuleFile::Missing(format!("there is no file {}", candidates[0].display()))),
        }
    }
}

/// A `mod name;`.
struct Declared {
    /// Its name, after those of the inline modules around it.
    name: Vec<String>,
    /// The files that `#[path]` names.
    given: Vec<String>,
    place: LineColumn,
}

/// Every `mod name;` of a file.
fn declarations(items: &[Item], around: &mut Vec<String>, found: &mut Vec<Declared>) {
    for item in items {
        let Item::Mod(module) = item else { continue };
        if only_in_tests(&module.attrs) {
            continue;
        }
        around.push(module.ident.to_string());
        match &module.content {
            Some((_, items)) => declarations(items, around, found),
            None => found.push(Declared {
                name: around.clone(),
                given: module.attrs.iter().flat_map(|attribute| given_paths(&attribute.meta)).collect(),
                place: module.ident.span().start(),
            }),
        }
        around.pop();
    }
}

fn given_paths(meta: &Meta) -> Vec<String> {
    match meta {
        Meta::NameValue(meta) if meta.path.is_ident("path") => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) => vec![path.value()],
            _ => Vec::new(),
        },
        Meta::List(list) if list.path.is_ident("cfg_attr") => {
            let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            parts.into_iter().flatten().skip(1).flat_map(|meta| given_paths(&meta)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the item is compiled for tests only, which serve nobody.
pub(super) fn only_in_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let word = attribute.path().segments.last().map(|segment| segment.ident.to_string());
        match word.as_deref() {
            Some("test") => true,
            Some("cfg") => attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test")),
            _ => false,
        }
    })
}
