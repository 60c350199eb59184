//! The names in the expressions of sites.

use std::ops::Range;

/// The identifiers of a text that stand in sites, in source order. Flows of one text share them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Identifiers {
    /// Each distinct one once.
    pub(super) texts: Vec<Box<str>>,
    /// Rows of `texts`.
    pub(super) order: Vec<u32>,
}

/// The names in an expression: variables, attributes, keywords of arguments; not what stands in strings and comments.
#[derive(Debug, Clone, Copy)]
pub struct Mentions<'a> {
    texts: &'a [Box<str>],
    order: &'a [u32],
}

impl<'a> Mentions<'a> {
    pub(super) fn new(identifiers: &'a Identifiers, rows: &Range<u32>) -> Self {
        let order = identifiers.order.get(rows.start as usize..rows.end as usize);
        Self { texts: &identifiers.texts, order: order.unwrap_or(&[]) }
    }

    /// The names in source order, as often as they stand there.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        self.order.iter().filter_map(|&row| self.texts.get(row as usize)).map(|it| &**it)
    }

    /// Whether `name` is one of them.
    #[must_use]
    pub fn contains(self, name: &str) -> bool {
        self.iter().any(|it| it == name)
    }
}
