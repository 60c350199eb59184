//! Finds the library roots of the active Python environment by looking, without running Python: a language server
//! must not start programs that a workspace names.

use std::path::{Path, PathBuf};

/// `site-packages` folders of the environment that `VIRTUAL_ENV`, `CONDA_PREFIX`, an environment in `root`, or the
/// `python3` on `PATH` stand for, best first.
pub(crate) fn sites(root: &Path) -> Vec<PathBuf> {
    let variables = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(std::env::var_os);
    let mut prefixes: Vec<PathBuf> = variables.into_iter().flatten().map(PathBuf::from).collect();
    prefixes.extend([".venv", "venv", "env"].map(|name| root.join(name)));
    prefixes.extend(interpreter_prefixes());
    let mut sites: Vec<PathBuf> = Vec::new();
    for site in prefixes.iter().flat_map(|prefix| sites_of_prefix(prefix)) {
        if !sites.contains(&site) {
            sites.push(site);
        }
    }
    sites
}

/// The standard library that belongs to a `site-packages` folder: the folder around it.
pub(crate) fn standard_library(site: &Path) -> Option<PathBuf> {
    let folder = site.parent()?;
    folder.join("os.py").exists().then(|| folder.to_owned())
}

fn sites_of_prefix(prefix: &Path) -> Vec<PathBuf> {
    let mut sites = Vec::new();
    for library in ["lib", "lib64", "local/lib"] {
        let Ok(entries) = std::fs::read_dir(prefix.join(library)) else { continue };
        let mut versions: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
            .map(|entry| entry.path())
            .collect();
        versions.sort();
        // The highest version comes last.
        for version in versions.into_iter().rev() {
            sites.extend(["site-packages", "dist-packages"].map(|name| version.join(name)));
        }
    }
    sites.push(prefix.join("Lib").join("site-packages"));
    sites.retain(|site| site.is_dir());
    sites
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
