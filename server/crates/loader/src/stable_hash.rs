//! A hash that is the same in every version of Perfline and on every machine, for what is kept on disk.

/// FNV-1a with 128 bits, word by word. It protects against mistakes, not against an opponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StableHash(pub(crate) u128);

impl StableHash {
    pub(crate) fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// The hash of one text.
    pub(crate) fn of(text: &[u8]) -> u128 {
        let mut hash = Self::new();
        hash.bytes(text);
        hash.0
    }

    pub(crate) fn number(&mut self, number: i64) {
        let word = u128::from(number.cast_unsigned());
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }

    /// Adds bytes with their length, so that what follows cannot be taken for a part of them.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.number(i64::from_le_bytes(word));
        }
    }
}
