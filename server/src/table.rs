//! Tables of text.

use std::io::{self, Write};

use crate::terminal::{FAINT, Terminal, clean, columns, cut, left, right};

/// Rows under headings, in columns as wide as they need. The last column is cut where the terminal ends.
pub(crate) struct Table {
    head: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

/// Where a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

impl Table {
    pub(crate) fn new(head: &[(&'static str, Align)]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn add_column(&mut self, title: &'static str, align: Align) {
        self.head.push((title, align));
    }

    pub(crate) fn add_row(&mut self, row: Vec<String>) {
        self.rows.push(row.iter().map(|cell| clean(cell)).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The same as HTML. A column in which every cell is empty is left out.
    pub(crate) fn html(&self) -> String {
        let is_used = |index: &usize| self.rows.iter().any(|row| !row[*index].is_empty());
        let used: Vec<usize> = (0..self.head.len()).filter(is_used).collect();
        let row = |tag: &str, cell: &dyn Fn(usize) -> String| {
            let cells = used.iter().map(|&index| {
                let class = if self.head[index].1 == Align::Right { " class=n" } else { "" };
                format!("<{tag}{class}>{}</{tag}>", escape(&cell(index)))
            });
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let mut html = String::from("<div class=table><table>\n<thead>");
        html += &row("th", &|index| self.head[index].0.to_owned());
        html += "</thead><tbody>\n";
        for cells in &self.rows {
            html += &row("td", &|index| cells[index].clone());
        }
        html + "</tbody></table></div>\n"
    }

    /// Prints headings and rows, indented by two. A column in which every cell is empty is left out.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub(crate) fn write(&self, out: &mut dyn Write, terminal: &Terminal) -> io::Result<()> {
        let titles: Vec<String> = self.head.iter().map(|(title, _)| (*title).to_owned()).collect();
        let widths: Vec<usize> = (0..self.head.len())
            .map(|index| {
                let cells = self.rows.iter().map(|row| columns(&row[index]));
                match cells.max() {
                    None | Some(0) => 0,
                    Some(widest) => widest.max(columns(&titles[index])),
                }
            })
            .collect();
        let line = |row: &[String]| {
            let mut line = String::new();
            for ((cell, &width), (_, align)) in
                row.iter().zip(&widths).zip(&self.head).filter(|((_, width), _)| **width != 0)
            {
                line += "  ";
                line += &match align {
                    Align::Left => left(cell, width),
                    Align::Right => right(cell, width),
                };
            }
            cut(line.trim_end(), terminal.width)
        };
        writeln!(out, "{}", terminal.paint(FAINT, &line(&titles)))?;
        for row in &self.rows {
            writeln!(out, "{}", line(row))?;
        }
        Ok(())
    }
}

/// Text for HTML, without what reorders or hides the text around it.
pub(crate) fn escape(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_escapes_and_leaves_empty_columns_out() {
        let mut table = Table::new(&[("a", Align::Right), ("", Align::Left), ("b", Align::Left)]);
        table.add_row(vec!["1".to_owned(), String::new(), "<module> & \"x\"".to_owned()]);
        assert_eq!(
            table.html(),
            "<div class=table><table>\n<thead><tr><th class=n>a</th><th>b</th></tr>\n</thead><tbody>\n\
             <tr><td class=n>1</td><td>&lt;module&gt; &amp; &quot;x&quot;</td></tr>\n</tbody></table></div>\n"
        );
    }
}
