//! Numbers that are added up.

use crate::{Bytes, Ns};

/// An amount or a count that is added up. A sum stops at the largest number that fits: with sums that wrap, the books
/// would say nonsense and balance all the same. No amount is negative, so the order makes no difference at the limit
/// either.
pub(crate) trait Amount: Copy {
    /// Adds `more`.
    fn gain(&mut self, more: Self);
}

macro_rules! amount {
    ($($number:ty),*) => {
        $(impl Amount for $number {
            fn gain(&mut self, more: Self) {
                *self = self.saturating_add(more);
            }
        })*
    };
}

amount!(Ns, Bytes, i64, u64, u32, i128);
