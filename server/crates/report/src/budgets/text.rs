//! A check as text, one line for each limit that is exceeded, as compilers print what they find.

use std::io::{self, Write};

use super::build::BudgetCheck;
use crate::terminal::{STRONG, Terminal, clean};

/// Prints what exceeds the budget, then a line with the result. `budget` is what the file of the budget is called.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(
    out: &mut dyn Write,
    check: &BudgetCheck,
    budget: &str,
    terminal: &Terminal,
) -> io::Result<()> {
    for it in &check.exceeded {
        let stated = format!("{budget}:{}", it.line);
        let (place, stated) = match &it.place {
            Some(place) => (place.to_string(), format!(" ({stated})")),
            None => (stated, String::new()),
        };
        let place = terminal.paint(STRONG, &clean(&place));
        writeln!(out, "{place}: {}", clean(&format!("{}{stated}", it.message)))?;
    }
    let mut lines: Vec<u32> = check.exceeded.iter().map(|it| it.line).collect();
    lines.dedup();
    let n_limits = match check.n_limits {
        1 => "1 limit".to_owned(),
        n => format!("{n} limits"),
    };
    let result = match lines.len() {
        0 => format!("{n_limits} kept"),
        1 => format!("1 of {n_limits} exceeded"),
        n => format!("{n} of {n_limits} exceeded"),
    };
    writeln!(out, "{}", clean(&format!("{result}: {}", check.recording)))
}
