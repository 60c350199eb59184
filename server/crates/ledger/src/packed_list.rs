//! Many small values in the bytes of their digits.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Values one after the other as postcard writes them. Amounts are mostly small beside what 64 bits hold, and most of them 0, so that
/// they take a third or a quarter of what they take as they are. Of a run of a thousand ranks that is what decides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Vec<T>", into = "Vec<T>", bound = "T: Clone + Serialize + DeserializeOwned")]
pub struct PackedList<T> {
    bytes: Vec<u8>,
    of: PhantomData<T>,
}

impl<T> Default for PackedList<T> {
    fn default() -> Self {
        Self { bytes: Vec::new(), of: PhantomData }
    }
}

impl<T: Serialize + DeserializeOwned> PackedList<T> {
    /// The values in their order.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            // These bytes were written by this process: nothing is wrong with them before they end.
            let (value, after) = postcard::take_from_bytes(rest).ok()?;
            rest = after;
            Some(value)
        })
    }

    /// Adds a value at the end.
    pub(crate) fn push(&mut self, value: &T) {
        self.bytes.extend(postcard::to_allocvec(value).into_iter().flatten());
    }

    #[cfg(test)]
    pub(crate) fn n_bytes(&self) -> usize {
        self.bytes.len()
    }
}

impl<T: Serialize + DeserializeOwned> FromIterator<T> for PackedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut list = Self::default();
        values.into_iter().for_each(|it| list.push(&it));
        list.bytes.shrink_to_fit();
        list
    }
}

impl<T: Serialize + DeserializeOwned> From<Vec<T>> for PackedList<T> {
    fn from(values: Vec<T>) -> Self {
        values.into_iter().collect()
    }
}

impl<T: Serialize + DeserializeOwned> From<PackedList<T>> for Vec<T> {
    fn from(list: PackedList<T>) -> Self {
        list.iter().collect()
    }
}
