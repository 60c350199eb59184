//! Equal parts of amounts.

use crate::{Bytes, Ns};

/// One of `n` equal parts of an amount that is not negative. What is left over goes to the first parts, one unit each, so that
/// all parts add up to the amount, and a part of a smaller amount is no larger.
#[must_use]
pub fn share_of(amount: i64, n: usize, part: usize) -> i64 {
    let (n, part) = (i64::try_from(n).unwrap_or(i64::MAX).max(1), i64::try_from(part).unwrap_or(0));
    amount / n + i64::from(part < amount % n)
}

/// What can be divided into equal parts.
pub(crate) trait Portion: Copy {
    /// Part number `part` of `n`; see [`share_of`].
    fn share(self, n: usize, part: usize) -> Self;
}

impl Portion for Ns {
    fn share(self, n: usize, part: usize) -> Self {
        Self(share_of(self.0, n, part))
    }
}

impl Portion for Bytes {
    fn share(self, n: usize, part: usize) -> Self {
        Self(share_of(self.0, n, part))
    }
}

impl Portion for u64 {
    fn share(self, n: usize, part: usize) -> Self {
        let (n, part) = (n.max(1) as Self, part as Self);
        self / n + Self::from(part < self % n)
    }
}

impl Portion for i128 {
    fn share(self, n: usize, part: usize) -> Self {
        let (n, part) = (n.max(1) as Self, part as Self);
        self / n + Self::from(part < self % n)
    }
}
