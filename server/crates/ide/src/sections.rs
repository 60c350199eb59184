//! What a hover says, as data; as Markdown, and as plain text.

use crate::markdown;

/// A part of what is known about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Section {
    /// What it is about.
    Title(Text),
    /// A paragraph.
    Text(Text),
    /// A table. The first column is text, the others are numbers.
    Table {
        /// Names of the columns.
        head: Vec<String>,
        /// Cells, as many in each row as there are columns.
        rows: Vec<Vec<Text>>,
    },
}

/// Text whose parts differ in where they come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(Vec<Span>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Span {
    /// Our words: they have nothing that Markdown takes for its own.
    Words(String),
    /// Text of others, or with marks in it, as it is.
    Verbatim(String),
    /// The same, set off.
    Strong(String),
    /// A name in code.
    Code(String),
    /// The end of a line.
    Break,
}

impl Text {
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
        self.0.push(Span::Words(words.into()));
        self
    }

    /// Adds text that is shown as it is, whatever is in it.
    pub(crate) fn and_verbatim(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Verbatim(text.into()));
        self
    }

    /// The same, set off.
    pub(crate) fn and_strong(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Strong(text.into()));
        self
    }

    /// Adds a name in code.
    pub(crate) fn and_code(mut self, name: &str) -> Self {
        self.0.push(Span::Code(name.to_owned()));
        self
    }

    /// Adds another text.
    pub(crate) fn and_text(mut self, text: Self) -> Self {
        self.0.extend(text.0);
        self
    }

    /// `texts` with `between` between them.
    pub(crate) fn joined(texts: impl IntoIterator<Item = Self>, between: &str) -> Self {
        Self::with_between(texts, &Span::Words(between.to_owned()))
    }

    /// `texts`, each on a line of its own.
    pub(crate) fn lines(texts: impl IntoIterator<Item = Self>) -> Self {
        Self::with_between(texts, &Span::Break)
    }

    fn with_between(texts: impl IntoIterator<Item = Self>, between: &Span) -> Self {
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
        let span = |span: &Span| match span {
            Span::Words(text) => text.clone(),
            Span::Verbatim(text) => markdown::escape(text),
            Span::Strong(text) => format!("**{}**", markdown::escape(text)),
            Span::Code(text) => markdown::code(text),
            Span::Break => "  \n".to_owned(),
        };
        self.0.iter().map(span).collect()
    }

    /// The text without marks. Names are shown without control characters.
    #[must_use]
    pub fn plain(&self) -> String {
        let span = |span: &Span| match span {
            Span::Words(text) => text.clone(),
            Span::Verbatim(text) | Span::Strong(text) | Span::Code(text) => {
                text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
            }
            Span::Break => "\n".to_owned(),
        };
        self.0.iter().map(span).collect()
    }
}

/// All that has something to say, as Markdown.
pub(crate) fn as_markdown(sections: &[Section]) -> String {
    let texts = sections.iter().map(|section| match section {
        Section::Title(text) | Section::Text(text) => text.markdown(),
        Section::Table { head, rows } => {
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            let row = |row: &Vec<Text>| row.iter().map(Text::markdown).collect();
            markdown::table(&head, &rows.iter().map(row).collect::<Vec<_>>()).trim_end().to_owned()
        }
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The same as plain text: columns of tables line up.
pub(crate) fn as_plain_text(sections: &[Section]) -> String {
    let texts = sections.iter().map(|section| match section {
        Section::Title(text) | Section::Text(text) => text.plain(),
        Section::Table { head, rows } => {
            let row = |row: &Vec<Text>| row.iter().map(Text::plain).collect();
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
pub(crate) fn table(head: &[&str], rows: Vec<Vec<Text>>) -> Option<Section> {
    let head = head.iter().map(|&it| it.to_owned()).collect();
    (!rows.is_empty()).then_some(Section::Table { head, rows })
}

/// A paragraph, or nothing without text.
pub(crate) fn paragraph(text: Text) -> Option<Section> {
    (!text.is_empty()).then_some(Section::Text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_renderers() {
        let row = |name: &str, number: &str| vec![Text::code(name), Text::words(number)];
        let sections = [
            Section::Title(Text::default().and_strong("__init__.py:3").and(" · ").and_code("f")),
            Section::Table {
                head: vec!["call".to_owned(), "µs".to_owned()],
                rows: vec![row("a|b", "1000"), row("c", "7")],
            },
            Section::Text(Text::lines([
                Text::words("One."),
                Text::default().and_verbatim("<2>\n"),
            ])),
        ];
        assert_eq!(
            as_markdown(&sections),
            "**\\_\\_init\\_\\_.py:3** · `f`\n\n| call   |   µs |\n| :----- | ---: |\n| `a\\|b` | 1000 |\n| `c`    |    7 |\n\nOne.  \n\\<2\\> "
        );
        assert_eq!(
            as_plain_text(&sections),
            "__init__.py:3 · f\n\ncall    µs\na|b   1000\nc        7\n\nOne.\n<2> "
        );
    }
}
