//! Random numbers that are the same in every run.

/// A sequence of random numbers (xorshift64*, Vigna 2016, <https://arxiv.org/abs/1402.6246>).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence with this number; neighbouring numbers give sequences that have nothing in common.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        // The generator never leaves zero. The constant is that of SplitMix64, which spreads small seeds.
        let mixed = (seed.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = Self((mixed ^ (mixed >> 31)).max(1));
        random.bits();
        random
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`; 0 where that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from((self.bits() >> 16) % limit).unwrap_or(0)
    }

    /// True once in `times` calls.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of `items`; `None` where there are none.
    pub fn of<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// A range of at most `longest` items, below `length`.
    pub fn range(&mut self, length: usize, longest: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        let size = self.below(longest + 1);
        start..(start + size).min(length)
    }
}
