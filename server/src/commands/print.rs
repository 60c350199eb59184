//! Prints a table as its options say.

use std::io::{self, Write};
use std::process::ExitCode;

use report::tables;
use report::terminal::Terminal;

use crate::args;

/// Prints `table` as text or as JSON.
///
/// # Errors
/// If `out` cannot be written.
pub(super) fn print_table(
    out: &mut dyn Write,
    table: &tables::NamedTable,
    args: &args::TableArgs,
    terminal: &Terminal,
) -> io::Result<ExitCode> {
    match args.format {
        args::OutputFormat::Text => tables::write_text(out, table, args.top, terminal)?,
        args::OutputFormat::Json => tables::write_json(out, table)?,
    }
    Ok(ExitCode::SUCCESS)
}
