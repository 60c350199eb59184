//! Tables with typed columns, each with its unit and what it means.

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum DataKind {
    Text,
    /// 64 bits, signed.
    Integer,
    /// 64 bits.
    Real,
    Flag,
    /// In each row any number of rows with these columns.
    Rows(&'static [DataColumn]),
}

/// A column of a data table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DataColumn {
    pub(crate) name: &'static str,
    pub(crate) kind: DataKind,
    /// What numbers count: `us`, `bytes`, `share` (of 1), `flop`, `flop/s`; empty for the number of things, and for what is no number.
    pub(crate) unit: &'static str,
    /// What it means, in one line.
    pub(crate) about: &'static str,
    /// Whether rows may have nothing in it.
    pub(crate) is_nullable: bool,
}

impl DataColumn {
    const fn new(
        name: &'static str,
        kind: DataKind,
        unit: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, kind, unit, about, is_nullable: false }
    }

    pub(crate) const fn text(name: &'static str, about: &'static str) -> Self {
        Self::new(name, DataKind::Text, "", about)
    }

    /// The number of something, or the number that something has.
    pub(crate) const fn count(name: &'static str, about: &'static str) -> Self {
        Self::new(name, DataKind::Integer, "", about)
    }

    pub(crate) const fn integer(
        name: &'static str,
        unit: &'static str,
        about: &'static str,
    ) -> Self {
        Self::new(name, DataKind::Integer, unit, about)
    }

    pub(crate) const fn bytes(name: &'static str, about: &'static str) -> Self {
        Self::integer(name, "bytes", about)
    }

    /// Microseconds, as the contracts in JSON have them. A double has those of 26 days to the nanosecond.
    pub(crate) const fn time(name: &'static str, about: &'static str) -> Self {
        Self::new(name, DataKind::Real, "us", about)
    }

    pub(crate) const fn share(name: &'static str, about: &'static str) -> Self {
        Self::new(name, DataKind::Real, "share", about)
    }

    pub(crate) const fn flag(name: &'static str, about: &'static str) -> Self {
        Self::new(name, DataKind::Flag, "", about)
    }

    pub(crate) const fn rows(
        name: &'static str,
        columns: &'static [DataColumn],
        about: &'static str,
    ) -> Self {
        Self::new(name, DataKind::Rows(columns), "", about)
    }

    /// Rows may have nothing in it.
    pub(crate) const fn or_null(self) -> Self {
        Self { is_nullable: true, ..self }
    }
}

/// A value of a data table, of the kind of its column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DataValue {
    /// What is not known, or does not apply.
    Null,
    Text(String),
    Integer(i64),
    Real(f64),
    Flag(bool),
    Rows(Vec<Vec<DataValue>>),
}

impl DataValue {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// What no 64 bits hold is the largest that they do.
    pub(crate) fn integer(number: impl TryInto<i64>) -> Self {
        Self::Integer(number.try_into().unwrap_or(i64::MAX))
    }
}

/// A table whose columns are the same for every recording.
#[derive(Debug)]
pub(crate) struct TypedTable {
    /// Stable.
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [DataColumn],
    /// A value for each column.
    pub(crate) rows: Vec<Vec<DataValue>>,
    /// What else is said of the table: a name and a text.
    pub(crate) notes: Vec<(&'static str, String)>,
}
