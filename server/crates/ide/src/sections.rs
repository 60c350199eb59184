//! What a hover says, as data; as Markdown, and as plain text.

use std::path::{Path, PathBuf};

use crate::markdown;

/// A part of what is known about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineSection {
    /// What it is about.
    Title(RichText),
    /// A paragraph.
    Text(RichText),
    /// A table. The first column is text, the others are numbers.
    Table {
        /// Names of the columns.
        head: Vec<String>,
        /// Cells, as many in each row as there are columns.
        rows: Vec<Vec<RichText>>,
    },
}

/// Text whose parts differ in where they come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RichText(Vec<TextSpan>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum TextSpan {
    /// Our words: they have nothing that Markdown takes for its own.
    Words(String),
    /// Text of others, or with marks in it, as it is.
    Verbatim(String),
    /// The same, set off.
    Strong(String),
    /// A name in code.
    Code(String),
    /// A name in code, and where that is on this machine.
    Link { name: String, path: PathBuf, line: u32 },
    /// The end of a line.
    Break,
}

impl RichText {
    /// Our words, in which Markdown sees nothing special.
    pub(crate) fn words(words: impl Into<String>) -> Self {
        Self::default().and(words)
    }

    /// A name in code.
    pub(crate) fn code(name: &str) -> Self {
        Self::default().and_code(name)
    }

    /// Adds our words.
    pub(crate) fn and(mut self, words: impl Into<String>) -> Self {
        self.0.push(TextSpan::Words(words.into()));
        self
    }

    /// Adds text that is shown as it is, whatever is in it.
    pub(crate) fn and_verbatim(mut self, text: impl Into<String>) -> Self {
        self.0.push(TextSpan::Verbatim(text.into()));
        self
    }

    /// The same, set off.
    pub(crate) fn and_strong(mut self, text: impl Into<String>) -> Self {
        self.0.push(TextSpan::Strong(text.into()));
        self
    }

    /// Adds a name in code.
    pub(crate) fn and_code(mut self, name: &str) -> Self {
        self.0.push(TextSpan::Code(name.to_owned()));
        self
    }

    /// A line of a file on this machine by a name in code, for readers to go there.
    pub(crate) fn link(name: String, path: &Path, line: u32) -> Self {
        Self(vec![TextSpan::Link { name, path: path.to_owned(), line }])
    }

    /// Adds another text.
    pub(crate) fn and_text(mut self, text: Self) -> Self {
        self.0.extend(text.0);
        self
    }

    /// `texts` with `between` between them.
    pub(crate) fn joined(texts: impl IntoIterator<Item = Self>, between: &str) -> Self {
        Self::with_between(texts, &TextSpan::Words(between.to_owned()))
    }

    /// `texts`, each on a line of its own.
    pub(crate) fn lines(texts: impl IntoIterator<Item = Self>) -> Self {
        Self::with_between(texts, &TextSpan::Break)
    }

    fn with_between(texts: impl IntoIterator<Item = Self>, between: &TextSpan) -> Self {
        let mut joined = Self::default();
        for (place, text) in texts.into_iter().enumerate() {
            joined.0.extend((0 < place).then(|| between.clone()));
            joined.0.extend(text.0);
        }
        joined
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn markdown(&self) -> String {
        let span = |span: &TextSpan| match span {
            TextSpan::Words(text) => text.clone(),
            TextSpan::Verbatim(text) => markdown::escape(text),
            TextSpan::Strong(text) => format!("**{}**", markdown::escape(text)),
            TextSpan::Code(text) => markdown::code(text),
            TextSpan::Link { name, path, line } => markdown::link(name, path, *line),
            TextSpan::Break => "  \n".to_owned(),
        };
        self.0.iter().map(span).collect()
    }

    /// The text without marks. Names are shown without control characters.
    #[must_use]
    pub fn plain(&self) -> String {
        let span = |span: &TextSpan| match span {
            TextSpan::Words(text) => text.clone(),
            TextSpan::Verbatim(text)
            | TextSpan::Strong(text)
            | TextSpan::Code(text)
            | TextSpan::Link { name: text, .. } => {
                text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
            }
            TextSpan::Break => "\n".to_owned(),
        };
        self.0.iter().map(span).collect()
    }
}

/// All that has something to say, as Markdown.
pub(crate) fn as_markdown(sections: &[LineSection]) -> String {
    let texts = sections.iter().map(|section| match section {
        LineSection::Title(text) | LineSection::Text(text) => text.markdown(),
        LineSection::Table { head, rows } => {
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            let row = |row: &Vec<RichText>| row.iter().map(RichText::markdown).collect();
            markdown::table(&head, &rows.iter().map(row).collect::<Vec<_>>()).trim_end().to_owned()
        }
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The same as plain text: columns of tables line up.
pub(crate) fn as_plain_text(sections: &[LineSection]) -> String {
    let texts = sections.iter().map(|section| match section {
        LineSection::Title(text) | LineSection::Text(text) => text.plain(),
        LineSection::Table { head, rows } => {
            let row = |row: &Vec<RichText>| row.iter().map(RichText::plain).collect();
            let rows: Vec<Vec<String>> =
                [head.clone()].into_iter().chain(rows.iter().map(row)).collect();
            aligned(&rows)
        }
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn aligned(rows: &[Vec<String>]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|it| it.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A table, or nothing without rows.
pub(crate) fn table(head: &[&str], rows: Vec<Vec<RichText>>) -> Option<LineSection> {
    let head = head.iter().map(|&it| it.to_owned()).collect();
    (!rows.is_empty()).then_some(LineSection::Table { head, rows })
}

/// A paragraph, or nothing without text.
pub(crate) fn paragraph(text: RichText) -> Option<LineSection> {
    (!text.is_empty()).then_some(LineSection::Text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_renderers() {
        let row = |name: &str, number: &str| vec![RichText::code(name), RichText::words(number)];
        let sections = [
            LineSection::Title(
                RichText::default().and_strong("__init__.py:3").and(" · ").and_code("f"),
            ),
            LineSection::Table {
                head: vec!["call".to_owned(), "µs".to_owned()],
                rows: vec![row("a|b", "1000"), row("c", "7")],
            },
            LineSection::Text(RichText::lines([
                RichText::words("One."),
                RichText::default().and_verbatim("<2>\n"),
            ])),
        ];
        assert_eq!(
            as_markdown(&sections),
            "**\\_\\_init\\_\\_.py:3** · `f`\n\n| call   |   µs |\n| :----- | ---: |\n| `a\\|b` | 1000 |\n| `c`    |    7 |\n\nOne.  \n\\<2> "
        );
        assert_eq!(
            as_plain_text(&sections),
            "__init__.py:3 · f\n\ncall    µs\na|b   1000\nc        7\n\nOne.\n<2> "
        );
    }
}
