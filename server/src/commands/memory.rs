//! `perfline memory`: what holds device memory, as text, as the contract `perfline.memory/1` (docs/memory.md), and as a
//! picture.

mod chart;
mod json;
pub(crate) mod picture;
mod text;

use std::io::{self, Write};
use std::path::Path;

use ledger::{DeviceMemory, LineKey, LineMemory};
use loader::Run;

use crate::args::{Memory, MemoryFormat};
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
        let picture = picture::draw(&run.merged).map_err(|error| on_file(path, &error))?;
        std::fs::write(path, picture).map_err(|error| on_file(path, &error))?;
    }
    match args.format {
        MemoryFormat::Text => text::write(out, run, args, sources, terminal),
        MemoryFormat::Json => json::write(out, run, &args.recording.root),
    }
}

fn on_file(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

/// The lines of a device, most bytes at the peak first, then most allocated.
fn ranked(memory: &DeviceMemory) -> Vec<(&LineKey, &LineMemory)> {
    let mut lines: Vec<_> = memory.lines.iter().collect();
    lines.sort_by_key(|(_, it)| std::cmp::Reverse((it.peak, it.alloc)));
    lines
}

#[cfg(test)]
mod tests;
