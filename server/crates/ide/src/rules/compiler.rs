//! Why `torch.compile` compiles again, or ends a graph, as part of a sentence.

use insights::CompilerReason;
use ledger::RecompileCause;

/// Reasons that a message names.
const MAX_REASONS: usize = 2;

/// Values that a message names, of more the first ones and the last.
const MAX_VALUES: usize = 6;

/// What follows the message: `; forward was compiled for each size of 'x' at index 0: 8, 9, 10`.
pub(crate) fn because(reasons: &[CompilerReason]) -> String {
    let mut text: String = reasons.iter().take(MAX_REASONS).map(one).collect();
    match reasons.len().saturating_sub(MAX_REASONS) {
        0 => {}
        1 => text += "; and for 1 more reason",
        more => text += &format!("; and for {more} more reasons"),
    }
    text
}

fn one(reason: &CompilerReason) -> String {
    match reason {
        CompilerReason::GraphBreak(text) => format!("; {text}"),
        CompilerReason::Recompiled { function, cause: RecompileCause::Guard(guard), .. } => {
            format!("; {function} was compiled again because this no longer held: {guard}")
        }
        CompilerReason::Recompiled { function, cause, values } => {
            format!("; {function} was compiled for each {}", recompile_cause(cause, values))
        }
    }
}

/// What changed, so that a function was compiled again, with what it was: `size of 'x' at index 0: 8, 9, 10`.
#[must_use]
pub fn recompile_cause(cause: &RecompileCause, values: &[u64]) -> String {
    let text = match cause {
        RecompileCause::Dimension(name) => name.clone(),
        RecompileCause::Number(name) => format!("value of {name}"),
        RecompileCause::Guard(guard) => guard.clone(),
    };
    let shown: Vec<String> = match values {
        [] => return text,
        [first @ .., last] if MAX_VALUES <= first.len() => {
            let first = first.iter().take(MAX_VALUES - 2).map(u64::to_string);
            first.chain(["…".to_owned(), last.to_string()]).collect()
        }
        all => all.iter().map(u64::to_string).collect(),
    };
    format!("{text}: {}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_follow_the_message() {
        let again = |cause: RecompileCause, values: &[u64]| CompilerReason::Recompiled {
            function: "f".to_owned(),
            cause,
            values: values.to_vec(),
        };
        let size = || RecompileCause::Dimension("size of 'x' at index 0".to_owned());
        let guard = || RecompileCause::Guard("k == 'a'".to_owned());
        let number = || RecompileCause::Number("k".to_owned());
        let rows = [
            (vec![], ""),
            (vec![CompilerReason::GraphBreak("No branches".to_owned())], "; No branches"),
            (
                vec![again(size(), &[8, 9]), again(guard(), &[])],
                "; f was compiled for each size of 'x' at index 0: 8, 9; f was compiled again because this no longer held: k == 'a'",
            ),
            (vec![again(number(), &[])], "; f was compiled for each value of k"),
            (
                vec![again(size(), &[1, 2, 3, 4, 5, 6, 7]); 3],
                "; f was compiled for each size of 'x' at index 0: 1, 2, 3, 4, …, 7; f was compiled for each size of 'x' at index 0: 1, 2, 3, 4, …, 7; and for 1 more reason",
            ),
        ];
        for (reasons, expected) in rows {
            assert_eq!(because(&reasons), expected);
        }
    }
}
