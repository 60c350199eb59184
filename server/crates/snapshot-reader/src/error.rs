//! Why a pickle gives no snapshot.

/// Why nothing could be read. The message is one line: what is wrong, where, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An opcode that would import a name, call something or fetch an object from outside the file. Nothing was run.
    #[error(
        "{opcode} at byte {offset} asks to run code, which no memory snapshot needs; nothing was run, \
         use a file written by torch.cuda.memory._dump_snapshot"
    )]
    Code {
        /// Name of the opcode in Python's `pickletools`.
        opcode: &'static str,
        /// Byte offset in the pickle.
        offset: u64,
    },
    /// The bytes end where more are needed.
    #[error(
        "the pickle ends early: {opcode} at byte {offset} is missing or cut off; copy the file again or take a new snapshot"
    )]
    Truncated {
        /// Name of the opcode that is cut off; `STOP` if the bytes end between two opcodes.
        opcode: &'static str,
        /// Byte offset of that opcode in the pickle.
        offset: u64,
    },
    /// An opcode that cannot be obeyed here.
    #[error(
        "{opcode} at byte {offset} cannot be read: {problem}; copy the file again or take a new snapshot"
    )]
    Malformed {
        /// Name of the opcode in Python's `pickletools`.
        opcode: &'static str,
        /// Byte offset in the pickle.
        offset: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A byte that is no opcode.
    #[error(
        "byte {offset} is 0x{byte:02x}, which no pickle protocol knows; copy the file again or take a new snapshot"
    )]
    UnknownOpcode {
        /// The byte.
        byte: u8,
        /// Byte offset in the pickle.
        offset: u64,
    },
    /// A pickle, but of something else.
    #[error(
        "the pickle holds {found} (at byte {offset}), not a memory snapshot; \
         use a file written by torch.cuda.memory._dump_snapshot"
    )]
    NotSnapshot {
        /// What it holds.
        found: &'static str,
        /// Byte offset of that value in the pickle.
        offset: u64,
    },
}

impl Error {
    /// Where in the pickle it went wrong, in bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match *self {
            Self::Code { offset, .. }
            | Self::Truncated { offset, .. }
            | Self::Malformed { offset, .. }
            | Self::UnknownOpcode { offset, .. }
            | Self::NotSnapshot { offset, .. } => offset,
        }
    }
}
