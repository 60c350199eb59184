//! The `perfline.toml` of a project.

use std::path::Path;

use settings::{ProjectFile, Settings};

use crate::args::project_file;
use crate::failure::Failure;

/// What the file in the root says of settings; the defaults where there is none.
///
/// # Errors
/// If it cannot be read, or says what cannot be understood.
pub(super) fn settings(root: &Path) -> Result<Settings, Failure> {
    let path = project_file(root);
    match loader::project_file(root) {
        Ok(Some(text)) => Ok(parse(&text, &path)?.settings()),
        Ok(None) => Ok(Settings::default()),
        Err(error) => Err(Failure::ProjectFile(path, error)),
    }
}

/// Reads the text of the file at `path`.
///
/// # Errors
/// If it says what cannot be understood. The first fault is returned.
pub(super) fn parse(text: &str, path: &Path) -> Result<ProjectFile, Failure> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (file, faults) = ProjectFile::parse(text, folder, |it| loader::leads_out(folder, it));
    match faults.into_iter().next() {
        Some(fault) => Err(Failure::Project(path.to_owned(), fault)),
        None => Ok(file),
    }
}
