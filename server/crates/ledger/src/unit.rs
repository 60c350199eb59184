//! Units of numbers.

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things, or the number of one (a rank, a device, a step); a mean need not be whole.
    Count,
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Events per second.
    EventsPerSecond,
    /// A share of 1.
    Share,
    /// Floating-point operations.
    Flops,
    /// Floating-point operations per second.
    FlopsPerSecond,
    /// Floating-point operations per byte that is moved.
    FlopsPerByte,
}

impl Unit {
    /// Stable name, as in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Ns => "ns",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes/s",
            Self::EventsPerSecond => "events/s",
            Self::Share => "share",
            Self::Flops => "flops",
            Self::FlopsPerSecond => "flops/s",
            Self::FlopsPerByte => "flops/byte",
        }
    }
}
