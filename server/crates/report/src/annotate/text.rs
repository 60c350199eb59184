//! Annotated source for people.

use std::io::{self, Write};

use ledger::Evidence;
use metrics::numbers::percent;
use metrics::{Unit, mark, mark_in_text};

use super::model::{Annotated, AnnotatedFile, AnnotatedLine, AnnotatedRow, LineCost};
use crate::model::Column;
use crate::terminal::{DOUBT, FAINT, STRONG, Terminal, clean, cut, left, right};
use crate::text;

/// Prints the files with the columns that there is room for.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: &mut dyn Write, annotated: &Annotated, terminal: &Terminal) -> io::Result<()> {
    text::summary(out, &annotated.summary, terminal)?;
    if let Some(nothing) = &annotated.nothing {
        return writeln!(out, "\n{nothing}");
    }
    let table = ColumnTable::new(annotated, terminal);
    for file in &annotated.files {
        writeln!(out)?;
        table.file(out, file)?;
    }
    table.legend(out)
}

/// The heading of a column over two lines.
fn heading(column: &Column) -> [&'static str; 2] {
    column.name.split_once(' ').map_or(["", column.name], |(above, below)| [above, below])
}

/// Terminal columns that the numbers and the heading of a column need.
fn width(column: &Column) -> usize {
    let numbers = match column.unit {
        Some(Unit::Bytes) => 8,
        // A rank, of which jobs have thousands at most.
        Some(Unit::Count) if column.name == "worst rank" => 5,
        _ => 7,
    };
    heading(column).map(str::len).into_iter().fold(numbers, usize::max)
}

/// The columns of numbers, the same for all files.
struct ColumnTable<'a> {
    annotated: &'a Annotated,
    terminal: &'a Terminal,
    /// The columns that are shown, by index in ascending order.
    kept: Vec<usize>,
    /// Those that the terminal is too narrow for, the most important first.
    left_out: Vec<usize>,
    line_width: usize,
}

impl<'a> ColumnTable<'a> {
    const MARK: usize = 2;
    const SHARE: usize = 6;

    fn new(annotated: &'a Annotated, terminal: &'a Terminal) -> Self {
        let costly = |row: &AnnotatedRow| match row {
            AnnotatedRow::Line(AnnotatedLine { number, cost: Some(_), .. }) => Some(*number),
            _ => None,
        };
        let rows = annotated.files.iter().flat_map(|it| &it.rows);
        let last = rows.filter_map(costly).max().unwrap_or(0);
        let line_width = last.to_string().len().max(4);
        let mut table =
            Self { annotated, terminal, kept: Vec::new(), left_out: Vec::new(), line_width };
        for &column in &annotated.by_priority {
            table.kept.push(column);
            let is_too_wide = terminal
                .width
                .is_some_and(|width| width < table.gutter() + source_width(width, annotated));
            if is_too_wide && 1 < table.kept.len() {
                table.kept.pop();
                table.left_out.push(column);
            }
        }
        table.kept.sort_unstable();
        table
    }

    fn columns(&self) -> impl Iterator<Item = &'a Column> {
        self.kept.iter().map(|&it| &self.annotated.columns[it])
    }

    /// Columns before the source, the rule included.
    fn gutter(&self) -> usize {
        let numbers: usize = self.columns().map(|it| width(it) + 1).sum();
        self.edge() + numbers + 3
    }

    /// Columns for the line number, its mark and its share.
    fn edge(&self) -> usize {
        self.line_width + 1 + Self::MARK + 1 + Self::SHARE
    }

    fn file(&self, out: &mut dyn Write, file: &AnnotatedFile) -> io::Result<()> {
        self.head(out, file)?;
        for row in &file.rows {
            match row {
                AnnotatedRow::Gap => {
                    let gap = format!("{} …", " ".repeat(self.line_width.saturating_sub(2)));
                    writeln!(out, "{}", self.terminal.paint(FAINT, &gap))?;
                }
                AnnotatedRow::Line(line) => self.line(out, line)?,
            }
        }
        Ok(())
    }

    fn head(&self, out: &mut dyn Write, file: &AnnotatedFile) -> io::Result<()> {
        writeln!(out, "{}", self.terminal.titled(&file.name, &file.extent))?;
        if let Some(doubt) = &file.doubt {
            writeln!(out, "{}", self.terminal.paint(DOUBT, &cut(doubt, self.terminal.width)))?;
        }
        let share = right("share", self.edge() - self.line_width);
        let edges = [
            right(&self.annotated.period, self.edge()),
            format!("{}{share}", right("line", self.line_width)),
        ];
        for (row, edge) in edges.into_iter().enumerate() {
            let cells: String = self
                .columns()
                .map(|it| format!(" {}", right(heading(it)[row], width(it))))
                .collect();
            let cells = if row == 0 { cells } else { format!("{cells} │") };
            let heading = format!("{edge}{cells}");
            writeln!(out, "{}", self.terminal.paint(FAINT, heading.trim_end()))?;
        }
        Ok(())
    }

    fn line(&self, out: &mut dyn Write, line: &AnnotatedLine) -> io::Result<()> {
        let room = self.terminal.width.map(|width| width.saturating_sub(self.gutter()));
        let source = cut(&clean(&line.text), room);
        let rule = self.terminal.paint(FAINT, "│");
        let number = right(&line.number.to_string(), self.line_width);
        let row = match &line.cost {
            Some(cost) => format!("{number} {} {rule} {source}", self.cost(cost)),
            None => {
                let blank = " ".repeat(self.gutter() - self.line_width - 3);
                let [number, source] = [number, source].map(|it| self.terminal.paint(FAINT, &it));
                format!("{number}{blank} {rule} {source}")
            }
        };
        writeln!(out, "{}", row.trim_end())
    }

    /// Mark, share and numbers.
    fn cost(&self, cost: &LineCost) -> String {
        let share = if 0.0 < cost.share { percent(cost.share) } else { String::new() };
        let share = right(&share, Self::SHARE);
        let is_stale = cost.is_stale && cost.evidence != Evidence::Function;
        let mark = if is_stale { mark_in_text(cost.evidence, true) } else { mark(cost.evidence) };
        let mut text = format!("{} ", left(mark, Self::MARK));
        text += &if cost.share < 0.005 {
            share
        } else {
            self.terminal.paint(self.terminal.heat(cost.share), &share)
        };
        for &index in &self.kept {
            let amount = &cost.amounts[index];
            let cell = right(&amount.cell.text, width(&self.annotated.columns[index]));
            // Large shares stand out.
            let cell = if 0.1 <= amount.share { self.terminal.paint(STRONG, &cell) } else { cell };
            text += &format!(" {cell}");
        }
        text
    }

    fn legend(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut notes: Vec<String> =
            self.annotated.legend.iter().map(|&it| it.to_owned()).collect();
        if !self.left_out.is_empty() {
            let name = |&it: &usize| self.annotated.columns[it].name;
            let names: Vec<_> = self.left_out.iter().map(name).collect();
            notes.push(format!("too narrow for {}", names.join(", ")));
        }
        if !notes.is_empty() {
            writeln!(out)?;
        }
        for note in notes {
            writeln!(out, "{}", self.terminal.paint(FAINT, &cut(&note, self.terminal.width)))?;
        }
        Ok(())
    }
}

/// What the source gets at least of a terminal's columns; names of functions need less.
fn source_width(width: usize, annotated: &Annotated) -> usize {
    let has_text = annotated.files.iter().any(|it| it.has_text);
    if has_text { (width * 2 / 5).max(30) } else { width / 4 }
}
