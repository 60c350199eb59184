//! What a pickle holds, as an arena: values refer to each other by handle, so that a frame that thousands of stacks
//! share is stored once, and neither depth nor cycles matter to anything that drops or walks it.

use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use profile::{Interner, StrId};
use rustc_hash::FxHasher;

/// A value of the arena. Integers of 31 bits (most lines, many sizes) are the handle itself and take no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Handle(u32);

impl Handle {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const FALSE: Self = Self(1);
    pub(crate) const TRUE: Self = Self(2);
    const INLINE: u32 = 1 << 31;

    /// The row of a value that is stored, or `None` for one that is in its handle.
    pub(crate) fn row(self) -> Option<usize> {
        (self.0 & Self::INLINE == 0).then_some(self.0 as usize)
    }
}

/// One value, 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PickleValue {
    None,
    Bool(bool),
    Int(i64),
    /// An integer from 2⁶³ to 2⁶⁴ − 1.
    Unsigned(u64),
    Text(StrId),
    List(Chain),
    Tuple(Chain),
    /// Keys and values in turns. A key may occur twice: the last counts.
    Dict(Chain),
    /// A set, whose items nothing asks for.
    Set,
    /// A float, bytes, or an integer of more than 64 bits: no table has a column for them.
    Scalar,
}

/// The items of a container: a chain of runs in one common buffer, because containers grow while others are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain {
    first: u32,
    last: u32,
    /// Where in the file the container begins; the last offset that fits where it lies beyond 4 GiB.
    offset: u32,
}

const NO_RUN: u32 = u32::MAX;

impl Chain {
    pub(crate) fn new(offset: u64) -> Self {
        Self { first: NO_RUN, last: NO_RUN, offset: u32::try_from(offset).unwrap_or(u32::MAX) }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.first == NO_RUN
    }

    pub(crate) fn offset(self) -> u64 {
        u64::from(self.offset)
    }
}

#[derive(Debug)]
struct ItemRun {
    start: u32,
    len: u32,
    next: u32,
    /// Whether it may be in several lists, so that nothing can be put behind it.
    is_shared: bool,
}

/// The arena is full: handles have 31 bits.
#[derive(Debug)]
pub(crate) struct Full;

/// All values of one pickle.
#[derive(Debug)]
pub(crate) struct PickleValues {
    rows: Vec<PickleValue>,
    items: Vec<Handle>,
    runs: Vec<ItemRun>,
    /// Runs that are shared, by content: a snapshot writes out the frames of a stack every time that the stack occurs.
    shared: HashTable<u32>,
    texts: Interner,
    /// The one value of each distinct text.
    text_values: Vec<Handle>,
}

impl Default for PickleValues {
    fn default() -> Self {
        Self::new()
    }
}

impl PickleValues {
    pub(crate) fn new() -> Self {
        Self {
            rows: vec![PickleValue::None, PickleValue::Bool(false), PickleValue::Bool(true)],
            items: Vec::new(),
            runs: Vec::new(),
            shared: HashTable::new(),
            texts: Interner::default(),
            text_values: Vec::new(),
        }
    }

    pub(crate) fn get(&self, handle: Handle) -> PickleValue {
        match handle.row() {
            Some(row) => self.rows[row],
            None => PickleValue::Int(i64::from(handle.0 & !Handle::INLINE)),
        }
    }

    /// Number of stored values; the rows of handles are `0..len`.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The distinct texts.
    pub(crate) fn texts(&self) -> &Interner {
        &self.texts
    }

    /// The items of a container, run by run; the runs of a dict hold whole pairs.
    pub(crate) fn runs(&self, chain: Chain) -> impl Iterator<Item = &[Handle]> {
        let mut next = chain.first;
        std::iter::from_fn(move || {
            let run = self.runs.get(next as usize)?;
            next = run.next;
            Some(&self.items[run.start as usize..(run.start + run.len) as usize])
        })
    }

    /// What lists that share their items have in common.
    pub(crate) fn shared(&self, list: Chain) -> Option<u32> {
        self.runs.get(list.first as usize).filter(|run| run.is_shared).map(|_| list.first)
    }

    /// The keys and values of a dict.
    pub(crate) fn pairs(&self, chain: Chain) -> impl Iterator<Item = (Handle, Handle)> {
        self.runs(chain).flat_map(|run| run.chunks_exact(2).map(|pair| (pair[0], pair[1])))
    }

    pub(crate) fn add(&mut self, value: PickleValue) -> Result<Handle, Full> {
        match u32::try_from(self.rows.len()) {
            Ok(row) if row < Handle::INLINE => {
                self.rows.push(value);
                Ok(Handle(row))
            }
            _ => Err(Full),
        }
    }

    pub(crate) fn add_int(&mut self, int: i64) -> Result<Handle, Full> {
        match u32::try_from(int) {
            Ok(small) if small < Handle::INLINE => Ok(Handle(small | Handle::INLINE)),
            _ => self.add(PickleValue::Int(int)),
        }
    }

    pub(crate) fn add_text(&mut self, text: &str) -> Result<Handle, Full> {
        let id = self.texts.intern(text);
        if let Some(&known) = self.text_values.get(id.index()) {
            return Ok(known);
        }
        let handle = self.add(PickleValue::Text(id))?;
        self.text_values.push(handle);
        Ok(handle)
    }

    /// Puts another value in the place of a stored one: a container that has grown.
    pub(crate) fn set(&mut self, handle: Handle, value: PickleValue) {
        if let Some(row) = handle.row() {
            self.rows[row] = value;
        }
    }

    /// The chain with `more` behind its items.
    pub(crate) fn extend(&mut self, mut chain: Chain, more: &[Handle]) -> Result<Chain, Full> {
        if more.is_empty() {
            return Ok(chain);
        }
        if let Some(last) = self.runs.get(chain.last as usize)
            && last.is_shared
        {
            // It is the only one of its chain, which goes on with a copy of its own.
            let own = last.start as usize..(last.start + last.len) as usize;
            let start = self.room_for(own.len())?;
            self.items.extend_from_within(own.clone());
            chain.first = self.add_run(start, own.len(), false)?;
            chain.last = chain.first;
        }
        let start = self.room_for(more.len())?;
        self.items.extend_from_slice(more);
        match self.runs.get_mut(chain.last as usize) {
            Some(last) if last.start + last.len == start => {
                last.len += u32::try_from(more.len()).map_err(|_| Full)?;
            }
            _ => {
                let run = self.add_run(start, more.len(), false)?;
                match self.runs.get_mut(chain.last as usize) {
                    Some(last) => last.next = run,
                    None => chain.first = run,
                }
                chain.last = run;
            }
        }
        Ok(chain)
    }

    /// Like [`Self::extend`]; an empty list shares its items with others that have the same.
    pub(crate) fn extend_list(&mut self, mut chain: Chain, more: &[Handle]) -> Result<Chain, Full> {
        if !chain.is_empty() || more.len() < 2 {
            return self.extend(chain, more);
        }
        let Self { shared, runs, items, .. } = self;
        let of = |run: &u32| {
            let run = &runs[*run as usize];
            &items[run.start as usize..(run.start + run.len) as usize]
        };
        let hash = hash(more);
        let run = match shared.find(hash, |run| of(run) == more) {
            Some(&run) => run,
            None => {
                let start = self.room_for(more.len())?;
                self.items.extend_from_slice(more);
                let run = self.add_run(start, more.len(), true)?;
                let Self { shared, runs, items, .. } = self;
                shared.insert_unique(hash, run, |&run| {
                    let run = &runs[run as usize];
                    self::hash(&items[run.start as usize..(run.start + run.len) as usize])
                });
                run
            }
        };
        (chain.first, chain.last) = (run, run);
        Ok(chain)
    }

    /// Where the next `len` items will be.
    fn room_for(&self, len: usize) -> Result<u32, Full> {
        u32::try_from(self.items.len() + len).map_err(|_| Full)?;
        u32::try_from(self.items.len()).map_err(|_| Full)
    }

    fn add_run(&mut self, start: u32, len: usize, is_shared: bool) -> Result<u32, Full> {
        let run = u32::try_from(self.runs.len()).map_err(|_| Full)?;
        let len = u32::try_from(len).map_err(|_| Full)?;
        self.runs.push(ItemRun { start, len, next: NO_RUN, is_shared });
        Ok(run)
    }
}

fn hash(items: &[Handle]) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_takes_sixteen_bytes_and_a_small_integer_none() {
        assert_eq!(size_of::<PickleValue>(), 16);
        let mut values = PickleValues::new();
        let before = values.len();
        let small = values.add_int((1 << 31) - 1).unwrap();
        assert_eq!(values.get(small), PickleValue::Int((1 << 31) - 1));
        assert_eq!(values.len(), before);
        for large in [-1, 1 << 31, i64::MAX] {
            let handle = values.add_int(large).unwrap();
            assert_eq!(values.get(handle), PickleValue::Int(large));
        }
        assert_eq!(values.len(), before + 3);
    }

    #[test]
    fn containers_that_grow_in_turns_keep_their_own_items() {
        let mut values = PickleValues::new();
        let int = |values: &mut PickleValues, it| values.add_int(it).unwrap();
        let (one, two, three) = (int(&mut values, 1), int(&mut values, 2), int(&mut values, 3));
        let (mut a, mut b) = (Chain::new(0), Chain::new(0));
        a = values.extend(a, &[one]).unwrap();
        a = values.extend(a, &[two]).unwrap();
        b = values.extend(b, &[three]).unwrap();
        a = values.extend(a, &[three, one]).unwrap();
        let all = |chain| values.runs(chain).flatten().copied().collect::<Vec<_>>();
        assert_eq!(all(a), [one, two, three, one]);
        assert_eq!(all(b), [three]);
        assert_eq!(values.runs.len(), 3, "a run that ends the buffer is extended in place");
    }

    #[test]
    fn lists_of_the_same_items_share_them_until_one_grows() {
        let mut values = PickleValues::new();
        let items: Vec<Handle> = (0..3).map(|it| values.add_int(it).unwrap()).collect();
        let empty = Chain::new(0);
        let a = values.extend_list(empty, &items).unwrap();
        let b = values.extend_list(empty, &items).unwrap();
        assert_eq!(values.items.len(), 3);
        assert!(values.shared(a).is_some());
        assert_eq!(values.shared(a), values.shared(b));
        let longer = values.extend_list(b, &items[..1]).unwrap();
        let all = |chain| values.runs(chain).flatten().copied().collect::<Vec<_>>();
        assert_eq!(all(a), items);
        assert_eq!(all(longer), [items[0], items[1], items[2], items[0]]);
        assert_eq!(values.shared(longer), None);
    }
}
