//! Bytes of a CUDA memory snapshot to the tables of [`profile::Snapshot`], and of an exported memory timeline; other pickles of
//! plain data to JSON.
//!
//! *Owns*: the pickle format (protocols 0 to 5, plain data only) and every layout of snapshot that torch has written
//! since `torch.cuda.memory_snapshot()`. The top level is a list of segments or the dict of `_dump_snapshot`.
//!
//! *Never*: imports, calls or fetches anything that a pickle names; reads a file or decompresses; panics, recurses,
//! or allocates by a number that the file claims. Time and memory are linear in the bytes, whatever they say.
//!
//! *The tests that say so*: `tests.rs` (each opcode and layout, malicious and damaged pickles, properties over random
//! damage).

mod convert;
mod error;
mod machine;
mod opcode;
mod plain;
#[cfg(test)]
mod tests;
mod timeline;
mod values;

pub use error::Error;
pub use plain::{PlainPickle, read_plain};
pub use timeline::{TimelineReader, looks_like_timeline};

use machine::Machine;
use profile::{Snapshot, WarningKind, Warnings};

/// Reads a snapshot whose pickle is fed in pieces (already decompressed).
#[derive(Debug, Default)]
pub struct SnapshotReader {
    machine: Machine,
    warnings: Warnings,
    bytes: u64,
}

impl SnapshotReader {
    /// A reader to which nothing was fed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads on. How the pickle is cut into pieces makes no difference to the result.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.machine.feed(bytes, &mut self.warnings);
    }

    /// The snapshot.
    ///
    /// A pickle that is cut off or damaged gives the segments and events before the damage, with a warning
    /// ([`WarningKind::Truncated`] or [`WarningKind::Malformed`]) at the offset of the damage.
    ///
    /// # Errors
    /// If the pickle asks to run code, holds something else than a snapshot, or is damaged before the first whole
    /// segment or event. The error names the opcode and its offset.
    pub fn finish(self) -> Result<(Snapshot, Warnings), Error> {
        let Self { machine, mut warnings, bytes } = self;
        let loaded = machine.finish(&mut warnings)?;
        let budget = usize::try_from(bytes).unwrap_or(usize::MAX);
        let snapshot = convert::convert(&loaded.values, loaded.root, budget, &mut warnings);
        let Some(damage) = loaded.damage else {
            let snapshot = snapshot?;
            if loaded.end < bytes {
                let message = "there are bytes behind the end of the pickle; they were ignored";
                warnings.add(WarningKind::Other, loaded.end, message);
            }
            return Ok((snapshot, warnings));
        };
        match snapshot {
            Ok(snapshot) if has_data(&snapshot) => {
                let kind = match damage {
                    Error::Truncated { .. } => WarningKind::Truncated,
                    _ => WarningKind::Malformed,
                };
                warnings.add(kind, damage.offset(), damage_message(&damage, bytes));
                Ok((snapshot, warnings))
            }
            _ => Err(damage),
        }
    }
}

/// Reads a snapshot from all bytes of its pickle. See [`SnapshotReader::finish`].
///
/// # Errors
/// As [`SnapshotReader::finish`].
pub fn read_snapshot(bytes: &[u8]) -> Result<(Snapshot, Warnings), Error> {
    let mut reader = SnapshotReader::new();
    reader.feed(bytes);
    reader.finish()
}

/// Whether a file that begins with `prefix` may be a snapshot: a pickle of protocol 2 to 5 whose first value is a
/// dict or a list. Some ten bytes suffice; `torch.save` files, which are pickles of something else, do not match.
#[must_use]
pub fn looks_like_snapshot(prefix: &[u8]) -> bool {
    let [0x80, 2..=5, rest @ ..] = prefix else { return false };
    let first = match rest {
        [0x95, frame @ ..] => frame.get(8),
        _ => rest.first(),
    };
    matches!(first, None | Some(b'}' | b']'))
}

fn has_data(snapshot: &Snapshot) -> bool {
    !snapshot.segments.is_empty() || snapshot.devices.iter().any(|device| !device.events.is_empty())
}

fn damage_message(damage: &Error, len: u64) -> String {
    let lost = len.saturating_sub(damage.offset());
    // Rounded up: what was lost is never shown as nothing.
    let percent = (lost * 100).div_ceil(len.max(1));
    match damage {
        Error::Truncated { .. } => {
            "the pickle ends early; the segments and events before were read".to_owned()
        }
        _ => format!(
            "the pickle is damaged; the segments and events before were read, {percent} % of the bytes were not"
        ),
    }
}
