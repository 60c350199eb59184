//! A read of the device goes where what is read is used.

use pysource::Destination;

use super::action::{Action, Edit};
use crate::diagnostics::Diagnostic;
use crate::place::PlacedSource;

/// Characters of a condition in a title at most.
const MAX_LENGTH: usize = 40;

pub(super) fn moved(
    source: &PlacedSource<'_>,
    diagnostic: &Diagnostic,
    saving: &str,
) -> Option<Action> {
    let found = source.module.move_read(source.text, diagnostic.line)?;
    let to = match &found.to {
        Destination::If(condition) => format!("into `{}`", cut(condition)),
        Destination::AfterLoop => "after the loop".to_owned(),
    };
    Some(Action {
        title: format!("Move `{}` {to}: {saving}", found.read),
        is_fix: true,
        is_preferred: true,
        edits: vec![
            Edit { start: found.delete.start, end: found.delete.end, text: String::new() },
            Edit { start: found.insert_at, end: found.insert_at, text: found.insert },
        ],
        diagnostic: diagnostic.clone(),
    })
}

fn cut(condition: &str) -> String {
    if condition.chars().count() <= MAX_LENGTH {
        return condition.to_owned();
    }
    condition.chars().take(MAX_LENGTH - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_conditions_are_cut() {
        assert_eq!(cut("if step"), "if step");
        assert_eq!(cut(&"x".repeat(50)).chars().count(), MAX_LENGTH);
    }
}
