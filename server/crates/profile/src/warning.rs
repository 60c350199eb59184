//! The anomalies that a reader met, where, and how often.

/// The anomalies that were met. One entry per kind is kept with its count, so that a file with a million faults gives a short list.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum WarningKind {
    /// The file ends inside a value; everything before was read.
    Truncated,
    /// Bytes that are not JSON (or not the JSON of an event) were skipped.
    Malformed,
    /// Text that is not UTF-8 was replaced by U+FFFD.
    InvalidUtf8,
    /// A raw control character or an impossible escape inside a string was taken literally.
    LooseString,
    /// `NaN`, `Infinity`, `N/A` or another bare word stood where a value belongs.
    BareWord,
    /// An event without a usable start was left out, one without a usable duration was taken as lasting 0.
    MissingTime,
    /// An event with a negative duration was taken as lasting 0.
    NegativeDuration,
    /// A number does not fit its column and was taken as absent.
    NumberOutOfRange,
    /// A time, a duration or a size cannot be true, so that the event was set aside.
    NotCredible,
    /// A category that this version does not know; its events were left out.
    UnknownCategory,
    /// A table is full (2³² − 1 rows); later events were left out.
    TooManyEvents,
    /// Compressed data is damaged or ends early; everything before was read.
    BrokenCompression,
    /// The exact callers of a side-car do not match the trace.
    SideCarMismatch,
    /// The memory snapshot of the same rank does not fit the trace, or not all of it.
    SnapshotMismatch,
    /// Another input holds the same recording, and only one of them counts.
    Duplicate,
    /// Something else that the message explains.
    Other,
    /// The limit of memory was reached; everything before was read.
    MemoryLimit,
    /// The input is of another run than those before it.
    OtherRun,
}

/// What an anomaly does to the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WarningSeverity {
    /// Nothing; it is good to know.
    Note,
    /// Something was taken as probable: single numbers may be less exact.
    Doubt,
    /// Something that was recorded is missing: numbers are too small.
    DataLoss,
}

impl WarningSeverity {
    /// Stable name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Doubt => "doubt",
            Self::DataLoss => "data_loss",
        }
    }
}

impl WarningKind {
    /// What it does to the numbers.
    #[must_use]
    pub fn severity(self) -> WarningSeverity {
        match self {
            Self::Truncated
            | Self::Malformed
            | Self::TooManyEvents
            | Self::BrokenCompression
            | Self::MemoryLimit => WarningSeverity::DataLoss,
            Self::InvalidUtf8
            | Self::LooseString
            | Self::BareWord
            | Self::MissingTime
            | Self::NegativeDuration
            | Self::NumberOutOfRange
            | Self::NotCredible
            | Self::UnknownCategory
            | Self::SideCarMismatch
            | Self::SnapshotMismatch
            | Self::OtherRun => WarningSeverity::Doubt,
            Self::Duplicate | Self::Other => WarningSeverity::Note,
        }
    }

    /// Stable name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::LooseString => "loose_string",
            Self::BareWord => "bare_word",
            Self::MissingTime => "missing_time",
            Self::NegativeDuration => "negative_duration",
            Self::NumberOutOfRange => "number_out_of_range",
            Self::NotCredible => "not_credible",
            Self::UnknownCategory => "unknown_category",
            Self::TooManyEvents => "too_many_events",
            Self::BrokenCompression => "broken_compression",
            Self::SideCarMismatch => "side_car_mismatch",
            Self::SnapshotMismatch => "snapshot_mismatch",
            Self::Duplicate => "duplicate",
            Self::OtherRun => "other_run",
            Self::Other => "other",
            Self::MemoryLimit => "memory_limit",
        }
    }
}

/// One kind of anomaly in one input.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Warning {
    /// The anomalies that were met.
    pub kind: WarningKind,
    /// What happened and what it means, one sentence, without path and offset.
    pub message: String,
    /// Byte offset in the (decompressed) text where it was first seen; `None` where it is about the input as a whole.
    pub offset: Option<u64>,
    /// How often it was seen.
    pub count: u64,
}

/// Warnings of one input, one entry per kind and message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Warnings(Vec<Warning>);

impl Warnings {
    /// Different messages kept at most; further ones are counted with the last of their kind.
    const MAX_MESSAGES: usize = 64;

    /// Counts one more anomaly; so that a file with a million faults costs little.
    pub fn add(
        &mut self,
        kind: WarningKind,
        offset: impl Into<Option<u64>>,
        message: impl AsRef<str>,
    ) {
        let (offset, message) = (offset.into(), message.as_ref());
        let full = self.0.len() >= Self::MAX_MESSAGES;
        let same = self.0.iter_mut().find(|it| it.kind == kind && (full || it.message == message));
        match same {
            Some(warning) => warning.count += 1,
            None if full => {
                if let Some(last) = self.0.last_mut() {
                    last.count += 1;
                }
            }
            None => self.0.push(Warning { kind, message: message.to_owned(), offset, count: 1 }),
        }
    }

    /// The warnings in the order in which they were first seen.
    pub fn iter(&self) -> impl Iterator<Item = &Warning> {
        self.0.iter()
    }

    /// Forgets the anomalies of one kind.
    pub fn remove(&mut self, kind: WarningKind) {
        self.0.retain(|it| it.kind != kind);
    }

    /// Whether there was no anomaly.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes over the warnings about a later part of the same input, whose offsets lack `shift`, as if they had been
    /// added here one by one; unless they are too many for that: then nothing is taken over.
    pub fn append(&mut self, later: &Self, shift: u64) -> bool {
        if self.0.len() + later.0.len() > Self::MAX_MESSAGES {
            return later.0.is_empty();
        }
        for warning in &later.0 {
            let same = |it: &&mut Warning| it.kind == warning.kind && it.message == warning.message;
            match self.0.iter_mut().find(same) {
                Some(known) => known.count += warning.count,
                None => {
                    let offset = warning.offset.map(|it| it.wrapping_add(shift));
                    self.0.push(Warning { offset, ..warning.clone() });
                }
            }
        }
        true
    }

    /// Takes over the warnings of another stage.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}
