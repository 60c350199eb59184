//! Every distinct string once, in one buffer.

use std::hash::Hasher;
use std::ops::Range;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::StrId;

/// Interned text: one buffer, one end offset per string, and a table of handles without a second copy of keys
/// (the layout of samply's `string_table.rs`).
#[derive(Debug, Default)]
pub struct Interner {
    text: String,
    ends: Vec<usize>,
    table: HashTable<StrId>,
}

impl Interner {
    /// The handle of `string`, which is stored if it was not seen before.
    pub fn intern(&mut self, string: &str) -> StrId {
        let Self { text, ends, table } = self;
        let hash = hash(string.as_bytes());
        let found = table.find(hash, |&id| slice(text, ends, id) == string.as_bytes());
        if let Some(&id) = found {
            return id;
        }
        let id = StrId::from_index(ends.len());
        text.push_str(string);
        ends.push(text.len());
        table.insert_unique(hash, id, |&id| self::hash(slice(text, ends, id)));
        id
    }

    /// The handle of `string` if it is in the recording.
    #[must_use]
    pub fn find(&self, string: &str) -> Option<StrId> {
        self.find_bytes(string.as_bytes())
    }

    /// Like [`Self::find`], for bytes that may not be UTF-8: a reader need not validate text that it has seen before.
    #[must_use]
    pub fn find_bytes(&self, bytes: &[u8]) -> Option<StrId> {
        self.table.find(hash(bytes), |&id| slice(&self.text, &self.ends, id) == bytes).copied()
    }

    /// The text behind `id`; empty for [`StrId::NONE`].
    #[must_use]
    pub fn get(&self, id: StrId) -> &str {
        if id.index() < self.ends.len() { &self.text[range(&self.ends, id)] } else { "" }
    }

    /// Number of distinct strings; handles are `0..len`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether nothing was interned yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All strings with their handles, in the order of their first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (StrId, &str)> {
        (0..self.ends.len()).map(|index| {
            let id = StrId::from_index(index);
            (id, self.get(id))
        })
    }
}

fn slice<'a>(text: &'a str, ends: &[usize], id: StrId) -> &'a [u8] {
    &text.as_bytes()[range(ends, id)]
}

fn range(ends: &[usize], id: StrId) -> Range<usize> {
    let index = id.index();
    let start = if index == 0 { 0 } else { ends[index - 1] };
    start..ends[index]
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_stored_once_and_found_again() {
        let mut interner = Interner::default();
        let words = ["aten::mm", "", "aten::add", "aten::mm", "é"];
        let ids: Vec<StrId> = words.iter().map(|word| interner.intern(word)).collect();
        assert_eq!(ids[0], ids[3]);
        assert_eq!(interner.len(), 4);
        for (word, id) in words.iter().zip(ids) {
            assert_eq!(interner.get(id), *word);
            assert_eq!(interner.find(word), Some(id));
        }
        assert_eq!(interner.find("aten::mul"), None);
        assert_eq!(interner.find_bytes("é".as_bytes()), interner.find("é"));
        assert_eq!(interner.find_bytes(b"\xff"), None);
        assert_eq!(interner.get(StrId::NONE), "");
    }
}
