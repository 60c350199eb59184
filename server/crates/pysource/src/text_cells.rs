//! The cells of notebooks that are written as plain text: Python with markers between the cells, or Markdown with fences around
//! the code.
//!
//! The formats are those of Jupytext (`percent`, `light`, Markdown and `MyST`), of the editors that run cells of Python files
//! (VS Code, Spyder, and the plugins of Vim and Neovim), of `nbconvert --to script`, and of Quarto. What a kernel got of a cell
//! is one of a few texts: with or without the marker, the blank lines around and the last line end. Which one it was is
//! known from its hash ([`crate::cell_hash`]).

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use crate::LineMap;
use crate::notebook::texts_of_cell;

/// A code cell of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextCell<'a> {
    /// Its place among all cells of the text, those without code included, from 0.
    pub index: usize,
    /// 1-based line of the text on which `body` begins.
    pub first_line: u32,
    /// Its code, without the marker and without blank lines around it.
    pub body: &'a str,
    /// Where else the text that ran may begin: on the marker, and on the line after it.
    wider: [(u32, &'a str); 2],
}

/// A text that may have run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellText<'a> {
    /// 1-based line on which it begins, in the text that has the cell.
    pub first_line: u32,
    /// The text, as a kernel may have got it.
    pub text: Cow<'a, str>,
}

/// The code cells of a text that is called `path`. A text without cells has none, and so has a notebook file.
#[must_use]
pub fn text_cells<'a>(path: &Path, text: &'a str) -> Vec<TextCell<'a>> {
    let lines: Vec<Range<usize>> = lines_of(text);
    let spans = match TextFormat::of(path, text, &lines) {
        Some(TextFormat::Markdown) => fenced(text, &lines),
        Some(TextFormat::Percent) => marked(text, &lines),
        Some(TextFormat::Light) => light(text, &lines),
        None => Vec::new(),
    };
    let cells = spans.into_iter().enumerate().filter(|(_, span)| span.is_code);
    cells.filter_map(|(index, span)| TextCell::new(index, text, &lines, &span)).collect()
}

/// Where the lines of a cell that ran as `ran` are in a text with cells, by its place among all of them; `None` where the text has no
/// code there.
#[must_use]
pub fn lines_of_text_cell(path: &Path, text: &str, index: usize, ran: &str) -> Option<LineMap> {
    let cell = text_cells(path, text).into_iter().find(|it| it.index == index)?;
    Some(cell.lines_of(ran, crate::LineIndex::new(text).n_lines()))
}

/// The text with spaces in place of all that is no code, so that what it says as Python stands where it does in the text;
/// `None` where all of the text is Python.
#[must_use]
pub fn code_among_prose(path: &Path, text: &str) -> Option<String> {
    let lines = lines_of(text);
    if TextFormat::of(path, text, &lines) != Some(TextFormat::Markdown) {
        return has_ending(path, &MARKDOWN).then(|| blank(text));
    }
    let mut code = String::with_capacity(text.len());
    for span in fenced(text, &lines).into_iter().filter(|it| it.is_code) {
        let (Some(first), Some(last)) = (lines.get(span.body.start), lines[..span.body.end].last())
        else {
            continue;
        };
        if code.len() <= first.start && first.start <= last.end {
            code.push_str(&blank(&text[code.len()..first.start]));
            code.push_str(&text[first.start..last.end]);
        }
    }
    code.push_str(&blank(&text[code.len()..]));
    Some(code)
}

/// Whether a file is named as texts are that may have cells.
#[must_use]
pub fn may_have_text_cells(path: &Path) -> bool {
    has_ending(path, &["py"]) || has_ending(path, &MARKDOWN)
}

const MARKDOWN: [&str; 3] = ["md", "qmd", "markdown"];

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().unwrap_or_default();
    endings.iter().any(|it| ending.eq_ignore_ascii_case(it))
}

/// As many bytes without code, with the same line ends.
fn blank(text: &str) -> String {
    text.bytes().map(|it| if matches!(it, b'\n' | b'\r') { char::from(it) } else { ' ' }).collect()
}

/// How a text marks its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextFormat {
    Percent,
    Light,
    Markdown,
}

impl TextFormat {
    fn of(path: &Path, text: &str, lines: &[Range<usize>]) -> Option<Self> {
        let any = |is: fn(&str) -> bool| lines.iter().any(|it| is(&text[it.clone()]));
        // Editors show a notebook file as one of these texts, under its name.
        let is_shown_notebook = has_ending(path, &["ipynb"]) && !text.trim_start().starts_with('{');
        let is_python = is_shown_notebook || has_ending(path, &["py"]);
        if is_python && header(text, lines).contains("format_name: light") {
            Some(Self::Light)
        } else if is_python && any(|line| marker(line).is_some()) {
            Some(Self::Percent)
        } else if (is_shown_notebook || has_ending(path, &MARKDOWN))
            && any(|line| fence(line).is_some_and(|it| it.is_python))
        {
            Some(Self::Markdown)
        } else {
            None
        }
    }
}

/// The lines of a cell, by their index in the lines of the text.
struct CellSpan {
    is_code: bool,
    /// The marker, or where it would be.
    marker: usize,
    /// What stands behind it.
    body: Range<usize>,
}

impl<'a> TextCell<'a> {
    /// `None` of a cell without code.
    fn new(index: usize, text: &'a str, lines: &[Range<usize>], span: &CellSpan) -> Option<Self> {
        let is_blank = |it: &usize| text[lines[*it].clone()].trim().is_empty();
        let first = span.body.clone().find(|it| !is_blank(it))?;
        let last = span.body.clone().rev().find(|it| !is_blank(it))?;
        // Up to where the next cell begins, with the line ends before it.
        let end = lines.get(span.body.end).map_or(text.len(), |it| it.start);
        let wider = [span.marker, span.body.start];
        Some(Self {
            index,
            first_line: first as u32 + 1,
            body: &text[lines[first].start..lines[last].end],
            wider: wider.map(|it| (it as u32 + 1, &text[lines[it].start..end])),
        })
    }

    /// Where the lines of `ran`, which this cell is or was, are in the text that has the cell, of `n_lines` lines.
    #[must_use]
    pub fn lines_of(&self, ran: &str, n_lines: u32) -> LineMap {
        match self.texts().find(|it| it.text == ran) {
            Some(it) => LineMap::identity(ran).inside(it.first_line, n_lines),
            None => LineMap::between(ran, self.body).inside(self.first_line, n_lines),
        }
    }

    /// The texts that may have run, the likeliest first.
    pub fn texts(&self) -> impl Iterator<Item = CellText<'a>> {
        let [with_marker, behind_marker] = self.wider;
        let starts = [(self.first_line, self.body), behind_marker, with_marker];
        starts.into_iter().flat_map(|(first_line, text)| {
            let trimmed = text.trim_end();
            let ends = [Cow::Borrowed(trimmed), Cow::Owned(format!("{trimmed}\n")), text.into()];
            ends.into_iter().flat_map(move |text| {
                let magic = without_comments_of_magics(&text).map(Cow::Owned);
                [Some(text), magic].into_iter().flatten().flat_map(move |text| {
                    let texts = texts_of_cell(&text).map(|it| Cow::Owned(it.into_owned()));
                    let texts: Vec<Cow<'a, str>> = texts.collect();
                    texts.into_iter().map(move |text| CellText { first_line, text })
                })
            })
        })
    }
}

/// A text in which Jupytext made comments of what only IPython reads, as it ran; `None` where there is nothing of this kind.
fn without_comments_of_magics(text: &str) -> Option<String> {
    let is_magic = |it: &str| {
        let name = it.trim_start_matches(['%', '!']);
        name.len() < it.len() && name.starts_with(|it: char| it.is_alphabetic() || it == '_')
    };
    let mut found = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let code = line.trim_start();
        let behind = code.strip_prefix("# ").or_else(|| code.strip_prefix('#'));
        match behind.filter(|it| is_magic(it)) {
            Some(behind) => {
                found = true;
                Cow::Owned(format!("{}{behind}", &line[..line.len() - code.len()]))
            }
            None => Cow::Borrowed(line),
        }
    });
    let text: String = lines.collect();
    found.then_some(text)
}

/// The lines of a text, without their ends.
fn lines_of(text: &str) -> Vec<Range<usize>> {
    let index = crate::LineIndex::new(text);
    (1..=index.n_lines()).filter_map(|line| index.line_range(line)).collect()
}

/// The settings that Jupytext writes at the start of a Python file: comments between two of `# ---`. Empty without.
fn header<'a>(text: &'a str, lines: &[Range<usize>]) -> &'a str {
    &text[..lines[..n_header(text, lines)].last().map_or(0, |it| it.end)]
}

fn n_header(text: &str, lines: &[Range<usize>]) -> usize {
    let line = |it: usize| text[lines[it].clone()].trim_end();
    if line(0) != "# ---" {
        return 0;
    }
    let end = (1..lines.len()).take_while(|it| line(*it).starts_with('#'));
    end.into_iter().find(|it| line(*it) == "# ---").map_or(0, |it| it + 1)
}

/// Whether a line that begins a cell begins one of code; `None` for other lines.
fn marker(line: &str) -> Option<bool> {
    let behind = line.strip_prefix('#')?.trim();
    if let Some(behind) = behind.strip_prefix("%%") {
        // `# %%time` is how Jupytext writes a magic.
        let is_marker = behind.is_empty()
            || behind.starts_with(|it: char| it.is_whitespace() || "%[".contains(it));
        let is_prose = ["[markdown]", "[md]", "[raw]"].iter().any(|it| behind.contains(it));
        return is_marker.then_some(!is_prose);
    }
    let number = behind.strip_prefix("In").and_then(|it| it.trim_start().strip_prefix('['));
    let number = number.and_then(|it| it.strip_suffix("]:").or_else(|| it.strip_suffix(']')));
    match behind {
        "<codecell>" => Some(true),
        "<markdowncell>" => Some(false),
        _ => number.filter(|it| it.trim().bytes().all(|it| it.is_ascii_digit())).map(|_| true),
    }
}

fn marked(text: &str, lines: &[Range<usize>]) -> Vec<CellSpan> {
    let start = n_header(text, lines);
    let mut cells = Vec::new();
    // What stands before the first marker is a cell, too, unless it is blank.
    let mut open = (true, start, start);
    let mut end_at = |(is_code, marker, body): (bool, usize, usize), end: usize| {
        let is_blank = text_of(text, lines, body..end).trim().is_empty();
        if marker < body || !is_blank {
            cells.push(CellSpan { is_code, marker, body: body..end });
        }
    };
    for at in start..lines.len() {
        if let Some(is_code) = marker(&text[lines[at].clone()]) {
            end_at(open, at);
            open = (is_code, at, at + 1);
        }
    }
    end_at(open, lines.len());
    cells
}

fn text_of<'a>(text: &'a str, lines: &[Range<usize>], span: Range<usize>) -> &'a str {
    match (lines.get(span.start), lines[..span.end].last()) {
        (Some(first), Some(last)) if first.start <= last.end => &text[first.start..last.end],
        _ => "",
    }
}

/// In Jupytext's light format, a cell is a paragraph, with what is indented behind blank lines, or stands between `# +` and
/// `# -`; one of comments alone is text.
fn light(text: &str, lines: &[Range<usize>]) -> Vec<CellSpan> {
    let line = |it: usize| text[lines[it].clone()].trim_end();
    let is_start = |it: usize| line(it) == "# +" || line(it).starts_with("# + ");
    let mut cells = Vec::new();
    let mut at = n_header(text, lines);
    while at < lines.len() {
        if line(at).is_empty() {
            at += 1;
        } else if is_start(at) {
            let ends = |it: &usize| line(*it) == "# -" || is_start(*it);
            let end = (at + 1..lines.len()).find(ends).unwrap_or(lines.len());
            let body = at + 1..end;
            cells.push(CellSpan { is_code: true, marker: at, body });
            at = if end < lines.len() && line(end) == "# -" { end + 1 } else { end };
        } else {
            let begins = |it: &usize| {
                is_start(*it)
                    || line(*it - 1).is_empty()
                        && !line(*it).is_empty()
                        && !line(*it).starts_with([' ', '\t'])
            };
            let end = (at + 1..lines.len()).find(begins).unwrap_or(lines.len());
            let is_code = (at..end).any(|it| !line(it).is_empty() && !line(it).starts_with('#'));
            cells.push(CellSpan { is_code, marker: at, body: at..end });
            at = end;
        }
    }
    cells
}

/// A line that begins or ends code in Markdown.
struct Fence {
    mark: char,
    length: usize,
    is_bare: bool,
    is_python: bool,
}

fn fence(line: &str) -> Option<Fence> {
    let mark = line.chars().next().filter(|it| "`~".contains(*it))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    let info = line[length..].trim();
    // `python`, `{python}`, `{.python .cell}`, `{code-cell} ipython3`.
    let language = info.trim_start_matches(['{', '.']);
    let language = language.split([' ', '}', ',']).next().unwrap_or_default();
    let is_python = ["python", "python3", "ipython3", "code-cell"].contains(&language);
    (3 <= length).then_some(Fence { mark, length, is_bare: info.is_empty(), is_python })
}

fn fenced(text: &str, lines: &[Range<usize>]) -> Vec<CellSpan> {
    let line = |it: usize| &text[lines[it].clone()];
    let mut cells = Vec::new();
    let (mut at, mut prose) = (0, 0);
    while at < lines.len() {
        let Some(open) = fence(line(at)) else {
            at += 1;
            continue;
        };
        let closes = |it: &usize| {
            fence(line(*it))
                .is_some_and(|it| it.is_bare && it.mark == open.mark && open.length <= it.length)
        };
        let end = (at + 1..lines.len()).find(closes).unwrap_or(lines.len());
        if open.is_python {
            if !text_of(text, lines, prose..at).trim().is_empty() {
                cells.push(CellSpan { is_code: false, marker: prose, body: prose..at });
            }
            let body = behind_options(text, lines, at + 1..end);
            cells.push(CellSpan { is_code: true, marker: (at + 1).min(body.start), body });
            prose = (end + 1).min(lines.len());
        }
        at = end + 1;
    }
    cells
}

/// The code of a fence: the options of Quarto (`#| label: x`) and of `MyST` (`:tags: [x]`) stand before it.
fn behind_options(text: &str, lines: &[Range<usize>], span: Range<usize>) -> Range<usize> {
    let is_option = |it: &usize| {
        let line = &text[lines[*it].clone()];
        line.starts_with("#|") || line.starts_with(':')
    };
    let n_options = span.clone().take_while(is_option).count();
    span.start + n_options..span.end
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the workloads are read from disk")]

    use super::*;
    use crate::notebook::{cell_hash, notebook_cells};

    fn workload(name: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/workloads");
        std::fs::read_to_string(folder.join(name)).unwrap()
    }

    /// Lines, index and the text on the first line of the cells whose texts are those of a notebook.
    fn found(name: &str, notebook: &str) -> Vec<(usize, u32)> {
        let path = Path::new(name.rsplit('/').next().unwrap());
        let text = workload(name);
        let lines: Vec<&str> = text.lines().collect();
        let cells = text_cells(path, &text);
        let found = notebook_cells(notebook).into_iter().filter_map(|ran| {
            let (cell, at) = cells.iter().find_map(|cell| {
                let mut texts = cell.texts();
                let hash = |it: &str| cell_hash(it) == cell_hash(&ran.text);
                texts.find(|it| hash(&it.text)).map(|it| (cell, it.first_line))
            })?;
            for (row, line) in ran.text.lines().enumerate() {
                let shown = lines[at as usize - 1 + row];
                assert!(shown == line || shown == format!("# {line}"), "{name}: {shown} is {line}");
            }
            Some((cell.index, at))
        });
        found.collect()
    }

    /// What Jupytext 1.19 wrote of the notebook that was recorded.
    #[test]
    fn texts_of_jupytext_have_the_cells_that_ran() {
        let notebook = workload("notebook.ipynb");
        let rows = [
            ("percent.py", [(1, 21), (2, 30), (3, 47), (5, 61)]),
            ("light.py", [(1, 20), (2, 30), (3, 47), (5, 61)]),
            ("markdown.md", [(1, 20), (2, 29), (3, 46), (5, 59)]),
            ("myst.md", [(1, 19), (2, 28), (3, 45), (5, 58)]),
        ];
        for (name, expected) in rows {
            assert_eq!(found(&format!("notebook_texts/{name}"), &notebook), expected, "{name}");
        }
    }

    fn bodies(name: &str, text: &str) -> Vec<(usize, u32, String)> {
        let cells = text_cells(Path::new(name), text);
        cells.iter().map(|it| (it.index, it.first_line, it.body.to_owned())).collect()
    }

    #[test]
    fn markers_of_editors_begin_cells() {
        let own = |it: &str| it.to_owned();
        let rows = [
            ("import a\n#%%\nb()\n", vec![(0, 1, own("import a")), (1, 3, own("b()"))]),
            ("# %% [markdown]\n# text\n#%% title\n\nb()\n\n", vec![(1, 5, own("b()"))]),
            ("# In[3]:\n\n\na()\n\n\n# In[ ]:\nb()", vec![(0, 4, own("a()")), (1, 8, own("b()"))]),
            ("# <codecell>\r\na()\r\nb()\r\n# %% [raw]\r\n", vec![(0, 2, own("a()\r\nb()"))]),
            ("# %%\n# %%time\na()\n# %%\n", vec![(0, 2, own("# %%time\na()"))]),
            ("a()\n# %d\n# 20 %%\n#: %%\n", Vec::new()),
            ("", Vec::new()),
        ];
        for (text, expected) in rows {
            assert_eq!(bodies("run.py", text), expected, "{text:?}");
            assert_eq!(bodies("run.ipynb", text), expected, "{text:?}");
            assert_eq!(bodies("run.txt", text), [], "{text:?}");
        }
        assert_eq!(bodies("run.ipynb", &workload("notebook.ipynb")), []);
    }

    #[test]
    fn a_cell_may_have_been_sent_with_its_marker_and_the_lines_around_it() {
        let text = "# %%\n\n# %precision 3\na()\n\n# %%\nb()\n";
        let cell = &text_cells(Path::new("run.py"), text)[0];
        let texts: Vec<(u32, String)> =
            cell.texts().map(|it| (it.first_line, it.text.into_owned())).collect();
        for (line, expected) in [
            (3, "%precision 3\na()"),
            (3, "# %precision 3\na()"),
            (2, "\n# %precision 3\na()\n"),
            (2, "\n# %precision 3\na()\n\n"),
            (1, "# %%\n\n# %precision 3\na()"),
            (1, "# %%\n\n# %precision 3\na()\n\n"),
        ] {
            assert!(texts.contains(&(line, expected.to_owned())), "{expected:?} in {texts:#?}");
        }
    }

    #[test]
    fn lines_of_a_cell_are_lines_of_the_text() {
        let text = "# %%\na()\n\n# %%\nb()\nc()\n";
        let cell = &text_cells(Path::new("run.py"), text)[1];
        let lines = |ran: &str| {
            let map = cell.lines_of(ran, 7);
            [1, 2].map(|it| map.current(it).map(|it| (it.line, it.is_edited)))
        };
        assert_eq!(lines("b()\nc()"), [Some((5, false)), Some((6, false))]);
        assert_eq!(lines("# %%\nb()\nc()\n"), [Some((4, false)), Some((5, false))]);
        assert_eq!(lines("b()\nc(1)"), [Some((5, false)), Some((6, true))]);
    }

    #[test]
    fn fences_hold_the_code_of_markdown() {
        let text = "# T\n```{python}\n#| label: x\na()\n```\n\n````python\n```\nb()\n````\n```sh\nls\n```\n~~~python\nc()";
        let own = |it: &str| it.to_owned();
        let expected = [(1, 4, own("a()")), (2, 8, own("```\nb()")), (4, 15, own("c()"))];
        assert_eq!(bodies("a.qmd", text), expected);
        let code = code_among_prose(Path::new("a.md"), text).unwrap();
        let lines: Vec<&str> = code.lines().map(str::trim).collect();
        let blank = "";
        let expected = [
            blank, blank, blank, "a()", blank, blank, blank, "```", "b()", blank, blank, blank,
            blank, blank, "c()",
        ];
        assert_eq!((lines, code.len()), (expected.to_vec(), text.len()));
        let prose = "é is prose\n";
        assert_eq!(code_among_prose(Path::new("a.md"), prose).unwrap().len(), prose.len());
        assert_eq!(code_among_prose(Path::new("a.py"), "# %%\na()"), None);
    }

    #[test]
    fn no_text_is_too_broken() {
        for name in ["a.py", "a.md", "a.ipynb"] {
            for text in [
                "# ---",
                "# %%\n# %%",
                "# ---\n# format_name: light\n# +",
                "```",
                "```python",
                "#%%\r",
                "# -\n# +",
            ] {
                let cells = text_cells(Path::new(name), text);
                assert_eq!(cells, [], "{name}: {text:?}");
                let code = code_among_prose(Path::new(name), text);
                assert!(code.is_none_or(|it| it.len() == text.len()), "{name}: {text:?}");
            }
        }
    }
}
