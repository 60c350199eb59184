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
