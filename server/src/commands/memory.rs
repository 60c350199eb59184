//! `perfline memory`: what holds device memory, as text, as the contract `perfline.memory/1` (docs/memory.md), and as a
//! picture.

mod chart;
mod json;
pub(crate) mod picture;
mod text;

use std::io::{self, Write};

use ledger::{DeviceMemory, LineKey, LineMemory};
use loader::Run;

use crate::args::{Memory, MemoryFormat};
use crate::output;
use crate::sources::Sources;
use crate::terminal::Terminal;

/// Prints the memory of every device of `run`, and writes its picture where one is asked for.
///
/// # Errors
/// If `out` or the picture cannot be written.
pub(crate) fn write(
    out: &mut dyn Write,
    run: &Run,
    args: &Memory,
    sources: &dyn Sources,
    terminal: &Terminal,
) -> io::Result<()> {
    if let Some(path) = &args.svg {
        let picture = picture::draw(&run.merged)
            .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        output::write(path, &picture, args.recording.paths(run))?;
    }
    match args.format {
        MemoryFormat::Text => text::write(out, run, args, sources, terminal),
        MemoryFormat::Json => json::write(out, run, &args.recording.root),
    }
}

/// The lines of a device, most bytes at the peak first, then most allocated.
fn ranked(memory: &DeviceMemory) -> Vec<(&LineKey, &LineMemory)> {
    let mut lines: Vec<_> = memory.lines.iter().collect();
    lines.sort_by_key(|(_, it)| std::cmp::Reverse((it.peak, it.alloc)));
    lines
}

#[cfg(test)]
mod tests;
