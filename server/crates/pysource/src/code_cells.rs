//! The code cells of files of both kinds, notebook files and texts, and what they are called.

use std::path::{Path, PathBuf};

use crate::notebook::{NotebookCell, notebook_cells};
use crate::text_cells::{may_have_text_cells, text_cells};

/// What stands between the name of a notebook and the number of a cell in the path of the cell.
const CELL: &str = ":cell ";

/// The code cells of a file that is called `path`: of a notebook file, or of a text with cells ([`text_cells`]).
#[must_use]
pub fn code_cells(path: &Path, text: &str) -> Vec<NotebookCell> {
    let in_text = text_cells(path, text).into_iter();
    let cells: Vec<NotebookCell> =
        in_text.map(|it| NotebookCell { index: it.index, text: it.body.to_owned() }).collect();
    if cells.is_empty() { notebook_cells(text) } else { cells }
}

/// What a cell of a notebook file, or of a text with cells, is called: the path of the file with `:cell N`, where N counts all cells from 1.
#[must_use]
pub fn cell_path(notebook: &Path, index: usize) -> PathBuf {
    let mut path = notebook.as_os_str().to_owned();
    path.push(format!("{CELL}{}", index + 1));
    path.into()
}

/// The path of the file and the index of the cell of a [`cell_path`]; `None` for other paths.
#[must_use]
pub fn split_cell_path(path: &str) -> Option<(&str, usize)> {
    let (notebook, number) = path.rsplit_once(CELL)?;
    let index = number.parse::<usize>().ok()?.checked_sub(1)?;
    let is_text = || may_have_text_cells(Path::new(notebook));
    (notebook.ends_with(".ipynb") || is_text()).then_some((notebook, index))
}

/// The path of the text and the index of the cell of a [`cell_path`] of a text with cells; `None` for those of notebook files.
#[must_use]
pub fn split_text_cell_path(path: &Path) -> Option<(&Path, usize)> {
    let (file, index) = split_cell_path(path.to_str()?)?;
    may_have_text_cells(Path::new(file)).then_some((Path::new(file), index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_cells() {
        let path = cell_path(Path::new("/a/my run.ipynb"), 3);
        assert_eq!(path, Path::new("/a/my run.ipynb:cell 4"));
        assert_eq!(split_cell_path("/a/my run.ipynb:cell 4"), Some(("/a/my run.ipynb", 3)));
        assert_eq!(split_cell_path("/a/run.py:cell 1"), Some(("/a/run.py", 0)));
        for other in ["/a/my run.ipynb", "/a/x.ipynb:cell 0", "/a/x.txt:cell 1"] {
            assert_eq!(split_cell_path(other), None, "{other}");
        }
    }

    #[test]
    fn cells_of_both_kinds() {
        let cells = |path: &str, text: &str| {
            let cells = code_cells(Path::new(path), text).into_iter();
            cells.map(|it| (it.index, it.text)).collect::<Vec<_>>()
        };
        let expected = [(0, "a()".to_owned()), (1, "b()".to_owned())];
        assert_eq!(cells("run.py", "# %%\na()\n# %%\nb()\n"), expected);
        let notebook = r#"{"cells": [{"cell_type": "code", "source": "a()"}, {"cell_type": "code", "source": "b()"}]}"#;
        assert_eq!(cells("run.ipynb", notebook), expected);
        assert_eq!(cells("run.py", "a()\n"), []);
    }
}
