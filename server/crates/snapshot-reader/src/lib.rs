//! Bytes of a CUDA memory snapshot to the tables of [`profile::Snapshot`], and of an exported memory timeline.
//!
//! *Owns*: the pickle format (protocols 0 to 5, plain data only) and every layout of snapshot that torch has written
//! since `torch.cuda.memory_snapshot()`. The top level is a list of segments or the dict of `_dump_snapshot`.
//!
//! *Never*: imports, calls or fetches anything that a pickle names; reads a file or decompresses; panics, recurses,
//! or allocates by a number that the file claims. Time and memory are linear in the bytes, whatever they say.
//!
//! *The tests that say so*: `tests.rs` (each opcode and layout, hostile and damaged pickles, properties over random
//! damage).

mod convert;
mod error;
mod machine;
mod opcode;
#[cfg(test)]
mod tests;
mod timeline;
mod values;

pub use error::Error;
pub use timeline::{looks_like_timeline, read_timeline};

use profile::{Snapshot, WarningKind, Warnings};

/// Reads a snapshot from the bytes of its pickle (already decompressed).
///
/// A pickle that is cut off or damaged gives the segments and events before the damage, with a warning
/// ([`WarningKind::Truncated`] or [`WarningKind::Malformed`]) at the offset of the damage.
///
/// # Errors
/// If the pickle asks to run code, holds something else than a snapshot, or is damaged before the first whole segment
/// or event. The error names the opcode and its offset.
pub fn read_snapshot(bytes: &[u8]) -> Result<(Snapshot, Warnings), Error> {
    let mut warnings = Warnings::default();
    let loaded = machine::load(bytes, &mut warnings)?;
    let snapshot = convert::convert(&loaded.values, loaded.root, bytes.len(), &mut warnings);
    let Some(damage) = loaded.damage else {
        let snapshot = snapshot?;
        if loaded.end < bytes.len() {
            let message = "there are bytes behind the end of the pickle; they were ignored";
            warnings.add(WarningKind::Other, loaded.end as u64, message);
        }
        return Ok((snapshot, warnings));
    };
    match snapshot {
        Ok(snapshot) if has_data(&snapshot) => {
            let kind = match damage {
                Error::Truncated { .. } => WarningKind::Truncated,
                _ => WarningKind::Malformed,
            };
            warnings.add(kind, damage.offset(), damage_message(&damage, bytes.len()));
            Ok((snapshot, warnings))
        }
        _ => Err(damage),
    }
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

fn damage_message(damage: &Error, len: usize) -> String {
    let lost = (len as u64).saturating_sub(damage.offset());
    // Rounded up: what was lost is never shown as nothing.
    let percent = (lost * 100).div_ceil((len as u64).max(1));
    match damage {
        Error::Truncated { .. } => {
            "the pickle ends early; the segments and events before were read".to_owned()
        }
        _ => format!(
            "the pickle is damaged; the segments and events before were read, {percent} % of the bytes were not"
        ),
    }
}
