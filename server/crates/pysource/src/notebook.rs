//! The cells of Jupyter notebooks: their texts, and the names of the files that recordings give them.
//!
//! A kernel compiles each cell as a file of its own. `ipykernel` (6.0 and later) names it
//! `<temporary folder>/ipykernel_<process>/<number>.py`, where the number is a hash of the cell's text as it was run
//! (`ipykernel/compiler.py`: `murmur2_x86` with the seed `0xC70F6907`). So a recording says exactly which text ran, and a
//! cell that was edited since has another name.

use std::borrow::Cow;

use serde_json::Value;

const SEED: u32 = 0xC70F_6907;

/// A code cell of a notebook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotebookCell {
    /// Its place among all cells of the notebook, text cells included, from 0: the index in the notebook's `cells`.
    pub index: usize,
    /// Its text.
    pub text: String,
}

/// The code cells of a notebook file (`.ipynb`, `nbformat` 4). A text that is no notebook has none.
#[must_use]
pub fn notebook_cells(notebook: &str) -> Vec<NotebookCell> {
    let Ok(mut notebook) = serde_json::from_str::<Value>(notebook) else { return Vec::new() };
    let Some(Value::Array(cells)) = notebook.get_mut("cells").map(Value::take) else {
        return Vec::new();
    };
    let cells = cells.into_iter().enumerate();
    cells.filter_map(|(index, cell)| Some(NotebookCell { index, text: code_of(&cell)? })).collect()
}

/// The text of a code cell, which is one string or a list of lines; `None` for other cells.
fn code_of(cell: &Value) -> Option<String> {
    if cell.get("cell_type")? != "code" {
        return None;
    }
    match cell.get("source")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => Some(lines.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

/// The number that `ipykernel` names the file of a cell with: 32-bit MurmurHash2 of its text in UTF-8.
#[must_use]
pub fn cell_hash(text: &str) -> u32 {
    const M: u32 = 0x5BD1_E995;
    let bytes = text.as_bytes();
    // As in ipykernel, which cuts the length to 32 bits.
    let mut hash = SEED ^ bytes.len() as u32;
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        let mut word = u32::from_le_bytes(*word).wrapping_mul(M);
        word ^= word >> 24;
        hash = hash.wrapping_mul(M) ^ word.wrapping_mul(M);
    }
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        hash = (hash ^ word).wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ hash >> 15
}

/// The texts that a cell may have run as. That of a cell that begins with `%%perfline` is compiled with a comment (`#`) in
/// place of its first line, so that its lines have the numbers that they have in the cell.
pub fn texts_of_cell(cell: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let without_magic = if cell.starts_with("%%") { cell.split_once('\n') } else { None };
    let without_magic = without_magic.map(|(_, body)| Cow::Owned(format!("#\n{body}")));
    std::iter::once(Cow::Borrowed(cell)).chain(without_magic)
}

/// The number in the name of a recorded file, if it is that of a cell: the [`cell_hash`] of what ran.
#[must_use]
pub fn recorded_cell(recorded: &str) -> Option<u32> {
    let mut names = recorded.rsplit(['/', '\\']);
    let (file, folder) = (names.next()?, names.next()?);
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    is_number(folder.strip_prefix("ipykernel_")?)
        .then(|| file.strip_suffix(".py").filter(|it| is_number(it))?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_ipykernel() {
        // From `ipykernel.compiler.murmur2_x86(text, 0xC70F6907)` of ipykernel 7.
        let rows = [
            ("", 3_990_065_800),
            ("a", 2_167_009_006),
            ("ab", 2_805_137_849),
            ("abc", 3_350_977_461),
            ("abcd", 804_720_481),
            ("x = 1\n", 1_602_534_638),
            ("é𝄞 = 'ü'", 2_372_542_466),
        ];
        for (text, expected) in rows {
            assert_eq!(cell_hash(text), expected, "{text:?}");
        }
    }

    #[test]
    fn code_cells_keep_their_index() {
        let notebook = r##"{"cells": [
            {"cell_type": "markdown", "source": ["# Title"]},
            {"cell_type": "code", "source": ["a = 1\n", "b = 2"], "outputs": [{"data": {}}]},
            {"cell_type": "code"},
            {"cell_type": "code", "source": "c"}], "nbformat": 4}"##;
        let cells = notebook_cells(notebook);
        let cells: Vec<_> = cells.iter().map(|it| (it.index, it.text.as_str())).collect();
        assert_eq!(cells, [(1, "a = 1\nb = 2"), (3, "c")]);
        for broken in ["", "[]", r#"{"cells": 1}"#, r#"{"cells": [1, {}, {"cell_type": 2}]}"#] {
            assert_eq!(notebook_cells(broken), []);
        }
    }

    #[test]
    fn a_cell_with_a_magic_runs_with_its_own_line_numbers() {
        let texts = |cell| texts_of_cell(cell).collect::<Vec<_>>();
        assert_eq!(texts("a\nb"), ["a\nb"]);
        assert_eq!(texts("%%perfline\na\nb"), ["%%perfline\na\nb", "#\na\nb"]);
        assert_eq!(texts("%%perfline"), ["%%perfline"]);
    }

    /// What only IPython reads is an error to the parser, which goes on behind it.
    #[test]
    fn lines_of_ipython_do_not_hide_the_functions_of_a_cell() {
        let text = "%matplotlib inline\n!pip install x\nimport torch\n\ndef f(x):\n    %time y = x\n    return y\n\ntorch.add?\ndef g():\n    pass\n";
        let module = crate::Module::parse(text);
        let lines = |name: &str| module.named(name).next().map(|it| (it.first_line, it.last_line));
        assert_eq!((lines("f"), lines("g")), (Some((5, 7)), Some((10, 11))));
    }

    #[test]
    fn names_of_cells() {
        let rows = [
            ("/tmp/ipykernel_2566/1623915622.py", Some(1_623_915_622)),
            (r"C:\Users\a\Temp\ipykernel_1\7.py", Some(7)),
            ("/tmp/ipykernel_2566/99999999999.py", None),
            ("/tmp/ipykernel_2566/train.py", None),
            ("ipykernel/7.py", None),
            ("7.py", None),
        ];
        for (recorded, expected) in rows {
            assert_eq!(recorded_cell(recorded), expected, "{recorded}");
        }
    }
}
