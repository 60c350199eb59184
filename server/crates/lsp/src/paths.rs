//! One spelling for each file: editors, recordings and the disk write the same path in different ways.

use std::path::{Path, PathBuf};

use tower_lsp::lsp_types::Url;

/// The path of a `file:` URI. Percent-encoding is undone.
pub(crate) fn of_uri(uri: &Url) -> Option<PathBuf> {
    if uri.scheme() == "file" { uri.to_file_path().ok() } else { None }
}

/// Whether a document is a cell of an open notebook, as VS Code names them.
pub(crate) fn is_cell(uri: &Url) -> bool {
    uri.scheme() == "vscode-notebook-cell"
}

/// The path of a document: of a cell, that of its notebook.
pub(crate) fn of_document(uri: &Url) -> Option<PathBuf> {
    if !is_cell(uri) {
        return of_uri(uri);
    }
    let mut notebook = Url::parse("file:///").ok()?;
    notebook.set_path(uri.path());
    of_uri(&notebook)
}

/// The folder that holds a path; of folders within each other, the innermost. Touches the disk.
pub(crate) fn holding<'a>(folders: &'a [PathBuf], path: &Path) -> Option<&'a PathBuf> {
    let path = real(path);
    let holds = |it: &&PathBuf| Path::new(&path).starts_with(real(it));
    folders.iter().filter(holds).max_by_key(|it| it.components().count())
}

/// The URI of a file; that of a cell (`pysource::cell_path`) is its notebook's, with `#cell=3` for the cell of that index, or
/// that of its text.
pub(crate) fn to_uri(path: &Path) -> Option<Url> {
    let Some((file, index)) = path.to_str().and_then(pysource::split_cell_path) else {
        return Url::from_file_path(path).ok();
    };
    let mut uri = Url::from_file_path(file).ok()?;
    if !pysource::may_have_text_cells(Path::new(file)) {
        uri.set_fragment(Some(&format!("cell={index}")));
    }
    Some(uri)
}

/// The one spelling of a path on this machine: links followed where it exists. Touches the disk.
pub(crate) fn real(path: &Path) -> String {
    let real = path.canonicalize();
    normal(&real.as_deref().unwrap_or(path).to_string_lossy())
}

/// A path with `/`, without the `\\?\` that Windows puts before long ones, its drive in lower case.
pub(crate) fn normal(path: &str) -> String {
    let path = path.strip_prefix(r"\\?\").unwrap_or(path);
    let has_drive = path.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && path.as_bytes().get(1) == Some(&b':');
    if !has_drive {
        return if path.starts_with(r"\\") { path.replace('\\', "/") } else { path.to_owned() };
    }
    let mut path = path.replace('\\', "/");
    path[..1].make_ascii_lowercase();
    path
}

/// How many names, from the last, a path and a recorded path share; `None` if the recorded one is relative and not all
/// of it agrees: it was cut at an entry of `sys.path`.
pub(crate) fn common_names(path: &str, recorded: &str) -> Option<usize> {
    let recorded = recorded.replace('\\', "/");
    let names = |path: &str| -> Vec<String> {
        let names = path.split('/').filter(|it| !it.is_empty() && *it != ".");
        names.rev().map(str::to_owned).collect()
    };
    let (mine, theirs) = (names(path), names(&recorded));
    let common = mine.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let is_absolute = recorded.starts_with('/') || recorded.as_bytes().get(1) == Some(&b':');
    let least = if is_absolute { 1 } else { theirs.len().max(1) };
    (least <= common).then_some(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling() {
        let rows = [
            ("/home/a/x.py", "/home/a/x.py"),
            (r"C:\a\x.py", "c:/a/x.py"),
            ("c:/a/x.py", "c:/a/x.py"),
            (r"\\?\C:\a\x.py", "c:/a/x.py"),
            (r"\\server\share\x.py", "//server/share/x.py"),
            (r"/home/a\b.py", r"/home/a\b.py"),
        ];
        for (path, expected) in rows {
            assert_eq!(normal(path), expected);
        }
    }

    #[test]
    fn uris() {
        let path = |uri: &str| of_uri(&Url::parse(uri).unwrap());
        assert_eq!(path("untitled:Untitled-1"), None);
        if cfg!(unix) {
            assert_eq!(path("file:///a%20b/%C3%A9.py"), Some(PathBuf::from("/a b/é.py")));
        }
    }

    #[test]
    fn names_from_the_last() {
        let rows = [
            ("/w/pkg/train.py", "train.py", Some(1)),
            ("/w/pkg/train.py", "pkg/train.py", Some(2)),
            ("/w/pkg/train.py", "other/train.py", None),
            ("/w/pkg/train.py", "/job/7/pkg/train.py", Some(2)),
            ("/w/pkg/train.py", r"C:\job\pkg\train.py", Some(2)),
            ("/w/pkg/train.py", "/job/pkg/model.py", None),
            ("/w/pkg/train.py", "", None),
        ];
        for (path, recorded, expected) in rows {
            assert_eq!(common_names(path, recorded), expected, "{recorded}");
        }
    }
}
