//! Damage of files.

use std::io;

use profile::{WarningKind, Warnings};

/// What is wrong with a file on the way from the disk to its decompressed bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) kind: WarningKind,
    /// What happened, where in the compressed bytes, what it means, what to do.
    pub(crate) message: String,
    /// Decompressed bytes before it, where it has one place.
    pub(crate) offset: Option<u64>,
}

impl Damage {
    pub(crate) fn reading(error: &io::Error) -> Self {
        let message =
            format!("reading the file failed ({error}): nothing behind was read; copy it again");
        Self { kind: WarningKind::Truncated, message, offset: None }
    }

    /// Whether it is none of the file's: more memory mends it.
    fn is_lack_of_memory(&self) -> bool {
        self.kind == WarningKind::MemoryLimit
    }

    /// What cannot be decompressed, or was decompressed to something else.
    pub(crate) fn compression(message: String) -> Self {
        Self { kind: WarningKind::BrokenCompression, message, offset: None }
    }
}

/// Whether memory ended reading: the same file may be read further the next time.
pub(crate) fn is_cut(damage: &[Damage]) -> bool {
    damage.iter().any(Damage::is_lack_of_memory)
}

/// Adds what was found on the way to what the readers found.
pub(crate) fn add_damage(warnings: &mut Warnings, damage: Vec<Damage>) {
    if is_cut(&damage) {
        // The readers saw that the file ended there.
        warnings.remove(WarningKind::Truncated);
    }
    for Damage { kind, message, offset } in damage {
        warnings.add(kind, offset, message);
    }
}
