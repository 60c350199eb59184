//! Finds the library roots of the active Python environment by looking, without running Python: a language server
//! must not start programs that a workspace names.

use std::path::{Path, PathBuf};

use crate::LoadOptions;

/// The library roots that a recording is loaded against: those that were named, else those of the active Python
/// environment.
#[must_use]
pub fn library_roots(options: &LoadOptions) -> Vec<PathBuf> {
    options.sites.clone().unwrap_or_else(|| {
        let root = options.root.canonicalize();
        sites(root.as_deref().unwrap_or(&options.root))
    })
}

/// `site-packages` folders of the environment that `VIRTUAL_ENV`, `CONDA_PREFIX`, an environment in `root`, or the
/// `python3` on `PATH` stand for, best first. `root` is without links.
pub(crate) fn sites(root: &Path) -> Vec<PathBuf> {
    let variables = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(std::env::var_os);
    let mut found: Vec<PathBuf> = Vec::new();
    for prefix in variables.into_iter().flatten().map(PathBuf::from) {
        found.extend(sites_of_active(&prefix));
    }
    for name in [".venv", "venv", "env", ".conda", ".pixi/envs/default"] {
        found.extend(sites_of_prefix(&root.join(name), Some(root)));
    }
    for prefix in interpreter_prefixes() {
        found.extend(sites_of_active(&prefix));
    }
    let mut sites: Vec<PathBuf> = Vec::new();
    for site in found {
        if !sites.contains(&site) {
            sites.push(site);
        }
    }
    sites
}

/// Library code below `site-packages` folders: they, and the standard libraries that belong to them.
pub(crate) fn libraries(sites: &[PathBuf]) -> Vec<PathBuf> {
    let standard = sites.iter().filter_map(|site| standard_library(site));
    sites.iter().cloned().chain(standard).collect()
}

/// The standard library that belongs to a `site-packages` folder: the folder around it.
fn standard_library(site: &Path) -> Option<PathBuf> {
    let folder = site.parent()?;
    folder.join("os.py").exists().then(|| folder.to_owned())
}

/// The `site-packages` folders of an environment that the user has activated, or whose interpreter is on `PATH`. A virtual
/// environment has no standard library; those folders follow that belong to the Python it was made from.
fn sites_of_active(prefix: &Path) -> Vec<PathBuf> {
    let mut sites = sites_of_prefix(prefix, None);
    sites.extend(base_prefix(prefix).iter().flat_map(|base| sites_of_prefix(base, None)));
    sites
}

/// Where the Python is installed that a virtual environment was made from: the parent of `home` in its `pyvenv.cfg`
/// (<https://docs.python.org/3/library/venv.html>).
fn base_prefix(prefix: &Path) -> Option<PathBuf> {
    let config = std::fs::read_to_string(prefix.join("pyvenv.cfg")).ok()?;
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "home").then(|| PathBuf::from(value.trim()))
    };
    let home = config.lines().find_map(value)?;
    // On Windows the interpreter lies in the prefix itself.
    if home.ends_with("bin") { home.parent().map(Path::to_owned) } else { Some(home) }
}

/// The `site-packages` folders of an environment. With `within`, they must lie below it when all links are followed:
/// who hands on a folder with an environment in it does not say which other folders are read.
fn sites_of_prefix(prefix: &Path, within: Option<&Path>) -> Vec<PathBuf> {
    let is_within = |folder: &Path| {
        within.is_none_or(|within| {
            folder.canonicalize().is_ok_and(|it| it != within && it.starts_with(within))
        })
    };
    let mut sites = Vec::new();
    for library in ["lib", "lib64", "local/lib"] {
        let library = prefix.join(library);
        if !is_within(&library) {
            continue;
        }
        let Ok(entries) = std::fs::read_dir(&library) else { continue };
        let mut versions: Vec<(u32, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| Some((minor(entry.file_name().to_str()?)?, entry.path())))
            .collect();
        versions.sort();
        // The highest version comes last.
        for (_, version) in versions.into_iter().rev() {
            sites.extend(["site-packages", "dist-packages"].map(|name| version.join(name)));
        }
    }
    sites.push(prefix.join("Lib").join("site-packages"));
    sites.retain(|site| site.is_dir() && is_within(site));
    sites
}

/// The minor version in the name of a folder of Python 3: 12 for `python3.12` and `python3.12t`, 0 for `python3`.
fn minor(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("python3")?;
    let Some(version) = rest.strip_prefix('.') else { return rest.is_empty().then_some(0) };
    version.trim_end_matches('t').parse().ok()
}

/// Prefixes of the interpreters on `PATH`, and of the version that pyenv stands for there.
fn interpreter_prefixes() -> Vec<PathBuf> {
    let Some(path) = std::env::var_os("PATH") else { return Vec::new() };
    let mut prefixes = Vec::new();
    for folder in std::env::split_paths(&path) {
        let interpreter = ["python3", "python", "python.exe"]
            .iter()
            .map(|name| folder.join(name))
            .find(|it| it.is_file());
        let Some(interpreter) = interpreter else { continue };
        if folder.ends_with("shims")
            && let Some(pyenv) = folder.parent()
        {
            prefixes.extend(pyenv_prefix(pyenv));
            continue;
        }
        // The interpreter of a virtual environment is a link to the one it was made from.
        let environment = folder.parent().filter(|it| it.join("pyvenv.cfg").is_file());
        prefixes.extend(environment.map(Path::to_owned));
        let real = interpreter.canonicalize().unwrap_or(interpreter);
        prefixes.extend(real.parent().and_then(Path::parent).map(Path::to_owned));
    }
    prefixes
}

fn pyenv_prefix(pyenv: &Path) -> Option<PathBuf> {
    let chosen = match std::env::var("PYENV_VERSION") {
        Ok(version) => version,
        Err(_) => std::fs::read_to_string(pyenv.join("version")).ok()?,
    };
    let version = chosen.split([':', '\n']).next()?.trim();
    Some(pyenv.join("versions").join(version))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn an_environment_in_the_root_does_not_lead_out_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        let (root, elsewhere) = (at.join("root"), at.join("elsewhere"));
        let site = |prefix: &Path| prefix.join("lib/python3.12/site-packages");
        for prefix in [root.join(".venv"), elsewhere.clone()] {
            std::fs::create_dir_all(site(&prefix)).unwrap();
        }
        std::fs::create_dir_all(root.join("env/lib/python3.12")).unwrap();
        symlink(&elsewhere, root.join("venv")).unwrap();
        symlink(site(&elsewhere), site(&root.join("env"))).unwrap();
        symlink("python3.12", root.join(".venv/lib/python3")).unwrap();
        let mut found = sites(&root);
        found.retain(|it| it.starts_with(&at));
        let expected = [site(&root.join(".venv")), root.join(".venv/lib/python3/site-packages")];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_highest_version_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let site = |version: &str| folder.path().join("lib").join(version).join("site-packages");
        for version in ["python3.9", "python3.13", "python3.10", "python3.13t", "pythonx"] {
            std::fs::create_dir_all(site(version)).unwrap();
        }
        let found = sites_of_prefix(folder.path(), None);
        let expected = ["python3.13t", "python3.13", "python3.10", "python3.9"].map(site);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_virtual_environment_has_the_standard_library_of_the_python_it_was_made_from() {
        let folder = tempfile::tempdir().unwrap();
        let (base, environment) = (folder.path().join("base"), folder.path().join("venv"));
        let site = |prefix: &Path| prefix.join("lib/python3.12/site-packages");
        for prefix in [&base, &environment] {
            std::fs::create_dir_all(site(prefix)).unwrap();
        }
        std::fs::write(base.join("lib/python3.12/os.py"), "").unwrap();
        let config = format!(
            "include-system-site-packages = false\nhome = {}\n",
            base.join("bin").display()
        );
        std::fs::write(environment.join("pyvenv.cfg"), config).unwrap();
        let sites = sites_of_active(&environment);
        assert_eq!(sites, [site(&environment), site(&base)]);
        assert_eq!(libraries(&sites)[2..], [base.join("lib/python3.12")]);
    }
}
