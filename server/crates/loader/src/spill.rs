//! Values that are not looked at for now, as bytes: in memory while they are few, then in a temporary file.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

use ledger_file::{pack, unpack};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// Bytes of a run that are kept in memory: the books of about 2,000 ranks with 400 lines each.
const MAX_IN_MEMORY: usize = 64 << 20;

/// Where the bytes of values are: a file that has no name, so that it goes with the process, however that ends. It is made when the
/// first bytes go into it.
#[derive(Debug)]
pub struct SpillFile {
    max_in_memory: usize,
    state: Mutex<SpillState>,
}

#[derive(Debug, Default)]
struct SpillState {
    in_memory: usize,
    file: Option<File>,
    /// Bytes that were written.
    length: u64,
    /// Nothing more is written after an error: what is there may still be read.
    is_closed: bool,
}

impl Default for SpillFile {
    fn default() -> Self {
        Self::new(MAX_IN_MEMORY)
    }
}

impl SpillFile {
    pub(crate) fn new(max_in_memory: usize) -> Self {
        Self { max_in_memory, state: Mutex::default() }
    }

    /// Where in the file `bytes` are now; `None` where they stay in memory, as they do if they cannot be written.
    fn write(&self, bytes: &[u8]) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.in_memory.saturating_add(bytes.len()) <= self.max_in_memory || state.is_closed {
            state.in_memory = state.in_memory.saturating_add(bytes.len());
            return None;
        }
        let at = state.append(bytes);
        state.is_closed = at.is_err();
        at.ok()
    }

    fn read(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let file = state.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

impl SpillState {
    fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.length;
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)?;
        self.length = at.saturating_add(bytes.len() as u64);
        Ok(at)
    }
}

/// A value that is not looked at for now: of a rank with 6,700 lines the ledger takes 0.1 MB in place of 25 MB.
#[derive(Debug, Clone)]
pub(crate) struct Spilled<T>(SpillPlace<T>);

#[derive(Debug, Clone)]
enum SpillPlace<T> {
    Memory(Arc<[u8]>),
    File {
        file: Arc<SpillFile>,
        at: u64,
        length: usize,
    },
    /// A value that has no bytes: a ledger with a path that is not UTF-8.
    Whole(Arc<T>),
}

impl<T: Serialize + DeserializeOwned + Clone> Spilled<T> {
    pub(crate) fn new(value: T, file: &Arc<SpillFile>) -> Self {
        let Some(bytes) = pack(&value) else { return Self(SpillPlace::Whole(Arc::new(value))) };
        Self(match file.write(&bytes) {
            Some(at) => SpillPlace::File { file: Arc::clone(file), at, length: bytes.len() },
            None => SpillPlace::Memory(bytes.into()),
        })
    }

    /// The value.
    ///
    /// # Errors
    /// If it cannot be read from the file.
    pub(crate) fn get(&self) -> Result<Cow<'_, T>, Error> {
        let value = match &self.0 {
            SpillPlace::Whole(value) => return Ok(Cow::Borrowed(&**value)),
            SpillPlace::Memory(bytes) => unpack(bytes),
            SpillPlace::File { file, at, length } => {
                unpack(&file.read(*at, *length).map_err(Error::spilled)?)
            }
        };
        // Other bytes than this process wrote.
        let damaged = || Error::spilled(io::ErrorKind::InvalidData.into());
        value.map(Cow::Owned).ok_or_else(damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that has about 1,200 bytes when it is packed: numbers that compression does not make shorter.
    fn value(seed: u64) -> Vec<u64> {
        (0..125).map(|it| (seed + it + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
    }

    fn is_in_file<T>(spilled: &Spilled<T>) -> bool {
        matches!(spilled.0, SpillPlace::File { .. })
    }

    #[test]
    fn what_exceeds_the_memory_is_in_the_file() {
        let file = Arc::new(SpillFile::new(4_000));
        let spilled: Vec<_> = (0..8).map(|it| Spilled::new(value(it), &file)).collect();
        let places: Vec<bool> = spilled.iter().map(is_in_file).collect();
        assert_eq!(places.iter().position(|it| *it), Some(3), "{places:?}");
        assert_eq!(places.iter().filter(|it| **it).count(), 5);
        for (seed, it) in (0..8_u32).zip(&spilled).rev() {
            assert_eq!(*it.get().unwrap(), value(seed.into()));
        }
        // Clones have the same bytes, also when the others are gone.
        let last = spilled.last().cloned().unwrap();
        drop((spilled, file));
        assert_eq!(*last.get().unwrap(), value(7));
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let file = Arc::new(SpillFile::new(0));
        let spilled = Spilled::new(value(0), &file);
        assert!(is_in_file(&spilled));
        let set_length = |length| {
            let state = file.state.lock().unwrap();
            state.file.as_ref().unwrap().set_len(length).unwrap();
        };
        for (length, expected) in
            [(10, io::ErrorKind::UnexpectedEof), (10_000, io::ErrorKind::InvalidData)]
        {
            set_length(length);
            let Error::Spilled { source, .. } = spilled.get().unwrap_err() else { panic!() };
            assert_eq!(source.kind(), expected);
        }
    }

    #[test]
    fn what_cannot_be_written_stays_in_memory() {
        let file = Arc::new(SpillFile::new(0));
        // A file that can be read alone.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("read-only");
        std::fs::write(&path, "").unwrap();
        file.state.lock().unwrap().file = Some(File::open(&path).unwrap());
        let spilled: Vec<_> = (0..2).map(|it| Spilled::new(value(it), &file)).collect();
        for (seed, it) in (0..).zip(&spilled) {
            assert!(!is_in_file(it));
            assert_eq!(*it.get().unwrap(), value(seed));
        }
    }
}
