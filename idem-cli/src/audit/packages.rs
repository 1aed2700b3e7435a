//! Which crates lie under a path, and where the source of each begins.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::audit::Error;

/// A package with what is compiled from it.
#[derive(Debug)]
pub(super) struct Package {
    /// The name by which others write `use`.
    pub(super) name: String,
    /// Each dependency's name in the source, with the name of its package.
    pub(super) dependencies: BTreeMap<String, String>,
    pub(super) targets: Vec<Target>,
}

/// One library or program.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) name: String,
    pub(super) root: PathBuf,
    pub(super) is_library: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct Manifest {
    package: Option<Named>,
    lib: Option<Named>,
    bin: Vec<Named>,
    example: Vec<Named>,
    workspace: Option<Workspace>,
    dependencies: BTreeMap<String, Dependency>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: Option<String>,
    path: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Workspace {
    members: Vec<String>,
    exclude: Vec<String>,
    dependencies: BTreeMap<String, Dependency>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Dependency {
    Detailed { package: Option<String>, path: Option<PathBuf> },
    Other(serde::de::IgnoredAny),
}

/// Finds the packages of a crate folder, a workspace or a single file.
pub(super) fn find(path: &Path, examples: bool) -> Result<Vec<Package>, Error> {
    if path.is_file() && path.extension().is_some_and(|extension| extension == "rs") {
        let name = identifier(&path.file_stem().unwrap_or_default().to_string_lossy());
        let target = Target { name: name.clone(), root: path.to_owned(), is_library: false };
        return Ok(vec![Package { name, dependencies: BTreeMap::new(), targets: vec![target] }]);
    }
    let is_manifest = path.file_name().is_some_and(|name| name == "Cargo.toml");
    let folder = plain(if is_manifest { path.parent().unwrap_or(path) } else { path });
    let folder = folder.as_path();
    if !path.exists() {
        return Err(Error::NoSource(format!("{}: there is no such file or folder", path.display())));
    }
    let manifest_path = folder.join("Cargo.toml");
    if !manifest_path.is_file() {
        let message = "no Cargo.toml here; name a crate, a workspace or a .rs file";
        return Err(Error::NoSource(format!("{}: {message}", path.display())));
    }
    let mut folders = BTreeSet::new();
    let manifest = read(&manifest_path)?;
    if manifest.package.is_some() {
        folders.insert(folder.to_owned());
    }
    if let Some(workspace) = &manifest.workspace {
        members(folder, workspace, &mut folders)?;
    }
    let shared = manifest.workspace.map(|workspace| workspace.dependencies).unwrap_or_default();
    let packages = folders.iter().map(|folder| package(folder, &shared, examples));
    let packages: Vec<Package> = packages.collect::<Result<_, Error>>()?;
    if packages.iter().all(|package| package.targets.is_empty()) {
        let message = "no library and no program here";
        return Err(Error::NoSource(format!("{}: {message}", path.display())));
    }
    Ok(packages)
}

/// The members that are listed, and those that Cargo adds because another one depends on them by path.
fn members(root: &Path, workspace: &Workspace, folders: &mut BTreeSet<PathBuf>) -> Result<(), Error> {
    let excluded: Vec<PathBuf> = workspace.exclude.iter().map(|path| root.join(path)).collect();
    let mut open: Vec<PathBuf> = folders.iter().cloned().collect();
    for member in &workspace.members {
        let escaped = glob::Pattern::escape(&root.to_string_lossy());
        let pattern = Path::new(&escaped).join(member).to_string_lossy().into_owned();
        let found = glob::glob(&pattern).map_err(|error| Error::Malformed {
            path: root.join("Cargo.toml"),
            message: format!("`{member}` is no pattern: {error}"),
        })?;
        open.extend(found.flatten().filter(|folder| folder.join("Cargo.toml").is_file()));
    }
    let by_path = workspace.dependencies.values().filter_map(Dependency::path);
    open.extend(by_path.map(|path| plain(&root.join(path))));
    while let Some(folder) = open.pop() {
        let left_out = excluded.iter().any(|excluded| folder.starts_with(excluded));
        let manifest = folder.join("Cargo.toml");
        if left_out || !folder.starts_with(root) || !manifest.is_file() {
            continue;
        }
        let manifest = read(&manifest)?;
        let by_path = manifest.dependencies.values().filter_map(Dependency::path);
        let next: Vec<PathBuf> = by_path.map(|path| plain(&folder.join(path))).collect();
        if folders.insert(folder) || !next.iter().all(|next| folders.contains(next)) {
            open.extend(next.into_iter().filter(|next| !folders.contains(next)));
        }
    }
    Ok(())
}

fn package(folder: &Path, shared: &BTreeMap<String, Dependency>, examples: bool) -> Result<Package, Error> {
    let manifest = read(&folder.join("Cargo.toml"))?;
    let given = manifest.package.and_then(|package| package.name).unwrap_or_default();
    let name = identifier(&given);
    let renamed = |(alias, dependency): (&String, &Dependency)| {
        let package = dependency.package().or_else(|| shared.get(alias)?.package());
        (identifier(alias), identifier(package.unwrap_or(alias)))
    };
    let dependencies = manifest.dependencies.iter().map(renamed).collect();
    let mut targets = Vec::new();
    let library = manifest.lib.unwrap_or_default();
    let root = folder.join(library.path.unwrap_or_else(|| "src/lib.rs".into()));
    let name = library.name.map_or(name, |name| identifier(&name));
    if root.is_file() {
        targets.push(Target { name: name.clone(), root, is_library: true });
    }
    let mut programs = vec![("src", "main.rs", &manifest.bin), ("src/bin", "", &manifest.bin)];
    if examples {
        programs.push(("examples", "", &manifest.example));
    }
    let mut roots = BTreeSet::new();
    for (under, only, declared) in programs {
        roots.extend(declared.iter().filter_map(|target| target.path.as_ref()).map(|path| folder.join(path)));
        if only.is_empty() {
            roots.extend(standing_in(&folder.join(under)));
        } else {
            roots.insert(folder.join(under).join(only));
        }
    }
    for root in roots.into_iter().filter(|root| root.is_file()) {
        let stem = root.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let of_folder = root.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let declared =
            manifest.bin.iter().find(|bin| bin.path.as_ref().is_some_and(|path| root.ends_with(path)));
        let target = match (declared.and_then(|bin| bin.name.as_deref()), stem.as_str()) {
            (Some(name), _) => identifier(name),
            (None, "main") if of_folder == "src" => identifier(&given),
            (None, "main") => identifier(&of_folder),
            (None, stem) => identifier(stem),
        };
        targets.push(Target { name: target, root, is_library: false });
    }
    Ok(Package { name, dependencies, targets })
}

/// The programs of a folder, as Cargo finds them: its files, and `main.rs` of each folder in it.
fn standing_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let roots = paths.map(|path| if path.is_dir() { path.join("main.rs") } else { path });
    roots.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

fn read(path: &Path) -> Result<Manifest, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
    toml::from_str(&text)
        .map_err(|error| Error::Malformed { path: path.to_owned(), message: error.message().to_owned() })
}

impl Dependency {
    fn package(&self) -> Option<&str> {
        match self {
            Self::Detailed { package, .. } => package.as_deref(),
            Self::Other(_) => None,
        }
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Self::Detailed { path, .. } => path.as_deref(),
            Self::Other(_) => None,
        }
    }
}

/// A name as it is written in the source.
fn identifier(name: &str) -> String {
    name.replace('-', "_")
}

/// The path without `.` and `a/..`, so that the same folder has one name.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components().filter(|part| *part != Component::CurDir) {
        let up = part == Component::ParentDir;
        if !(up && plain.file_name().is_some() && plain.pop()) {
            plain.push(part);
        }
    }
    plain
}
