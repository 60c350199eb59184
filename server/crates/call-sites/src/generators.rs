//! Frames of generators: where one can begin, and where it can go on.
//!
//! A generator leaves an event each time that an element is taken from it. The first is recorded with the line of its
//! function's definition, later ones with the line at which it goes on, so that two loops over generators of one function
//! are distinguished: a loop is entered with a generator that begins, and goes round with one that goes on.

use pysource::flow::{Flow, Iteration, SiteKind};

use crate::answer::NO_SITE;
use crate::keys::ChildKey;

/// What an event is to the generator that it is a frame of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GeneratorProgress {
    /// Its first frame.
    Begins,
    /// A later one.
    GoesOn,
}

impl GeneratorProgress {
    /// `None` for what is no generator.
    pub(crate) fn of(key: &ChildKey) -> Option<Self> {
        match key {
            ChildKey::Function(it) if it.is_generator && it.is_resumed => Some(Self::GoesOn),
            ChildKey::Function(it) if it.is_generator => Some(Self::Begins),
            _ => None,
        }
    }
}

/// By site: of one that takes the next element in a loop, the one that begins the loop; else [`NO_SITE`].
pub(crate) fn loop_starts(flow: &Flow) -> Vec<u32> {
    let mut starts: Vec<u32> = Vec::with_capacity(flow.sites.len());
    for (at, site) in flow.sites.iter().enumerate() {
        let is_start = |before: &usize| {
            let before = &flow.sites[*before];
            before.kind == SiteKind::Iterate(Iteration::Start) && before.text == site.text
        };
        let start = match site.kind {
            SiteKind::Iterate(Iteration::Next) => (0..at).rev().find(is_start),
            _ => None,
        };
        starts.push(start.and_then(|it| u32::try_from(it).ok()).unwrap_or(NO_SITE));
    }
    starts
}

/// Whether a site takes all elements one after the other, so that a generator that goes on there began there.
pub(crate) fn takes_all(kind: &SiteKind) -> bool {
    match kind {
        SiteKind::Call { callee, .. } => {
            !matches!(callee.name(), None | Some("next" | "send" | "throw" | "close" | "islice"))
        }
        SiteKind::Unpack { .. } | SiteKind::Spread { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::code;

    #[test]
    fn a_loop_begins_where_its_iterator_is_made() {
        let code = code(
            "def f(a, b):\n    for x in a:\n        pass\n    for y in b:\n        pass\n",
            "f",
        );
        let starts = loop_starts(&code.flow);
        let lines: Vec<(u32, u32)> = starts
            .iter()
            .enumerate()
            .filter(|&(_, &start)| start != NO_SITE)
            .map(|(at, &start)| (code.flow.sites[at].line, code.flow.sites[start as usize].line))
            .collect();
        assert_eq!(lines, [(2, 2), (4, 4)]);
    }

    #[test]
    fn the_loop_of_a_generator_expression_begins_elsewhere() {
        let code = code("def f(a):\n    return sum(x for x in a)\n", "<genexpr>");
        assert!(loop_starts(&code.flow).iter().all(|&start| start == NO_SITE));
    }
}
