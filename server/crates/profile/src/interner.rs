//! Every distinct string once, in one buffer.

use std::hash::{BuildHasher, BuildHasherDefault};

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
    hasher: BuildHasherDefault<FxHasher>,
}

impl Interner {
    /// The handle of `string`, which is stored if it was not seen before.
    pub fn intern(&mut self, string: &str) -> StrId {
        let Self { text, ends, table, hasher } = self;
        let hash = hasher.hash_one(string);
        let found = table.find(hash, |&id| slice(text, ends, id) == string);
        if let Some(&id) = found {
            return id;
        }
        let id = StrId::from_index(ends.len());
        text.push_str(string);
        ends.push(text.len());
        table.insert_unique(hash, id, |&id| hasher.hash_one(slice(text, ends, id)));
        id
    }

    /// The handle of `string` if it is in the recording.
    #[must_use]
    pub fn find(&self, string: &str) -> Option<StrId> {
        let hash = self.hasher.hash_one(string);
        self.table.find(hash, |&id| self.get(id) == string).copied()
    }

    /// The text behind `id`; empty for [`StrId::NONE`].
    #[must_use]
    pub fn get(&self, id: StrId) -> &str {
        if id.index() < self.ends.len() { slice(&self.text, &self.ends, id) } else { "" }
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

fn slice<'a>(text: &'a str, ends: &[usize], id: StrId) -> &'a str {
    let index = id.index();
    let start = if index == 0 { 0 } else { ends[index - 1] };
    &text[start..ends[index]]
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
        assert_eq!(interner.get(StrId::NONE), "");
    }
}
