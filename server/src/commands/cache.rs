//! `perfline cache`.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use loader::CacheUsage;

use crate::args::CacheAction;
use crate::failure::Failure;
use crate::inputs;

/// Shows or clears what is kept of recordings.
///
/// # Errors
/// If files cannot be deleted, or the output cannot be written.
pub(crate) fn run(action: Option<CacheAction>) -> Result<ExitCode, Failure> {
    let Some(folder) = loader::cache_folder() else {
        inputs::report(
            "nothing is kept: PERFLINE_CACHE_DIR is empty, or this account has no cache folder",
        );
        return Ok(ExitCode::SUCCESS);
    };
    let contents = loader::cache_contents(&folder);
    let rows = [("ledgers", contents.ledgers), ("texts", contents.texts)];
    let size = |it: &CacheUsage| metrics::numbers::bytes(it.bytes as f64);
    match action {
        Some(CacheAction::Clear) => {
            loader::clear_cache(&folder).map_err(|error| {
                io::Error::other(format!("{}: clearing it failed: {error}", folder.display()))
            })?;
            let [ledgers, texts] =
                rows.map(|(what, it)| format!("{what} ({}, {})", it.files, size(&it)));
            inputs::report(&format!("deleted from {}: {ledgers} and {texts}", folder.display()));
        }
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            writeln!(out, "{}", folder.display())?;
            for (what, it) in rows {
                let limit = metrics::numbers::bytes(it.limit as f64);
                writeln!(out, "  {what:<8}{:>6}  {:>10} of at most {limit}", it.files, size(&it))?;
            }
            out.flush()?;
            if let Some(fault) = loader::cache_fault(&folder) {
                inputs::report(&fault);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
