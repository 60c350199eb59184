//! Why `torch.compile` compiles again, or ends a graph, as part of a sentence.

use insights::CompilerReason;

/// Reasons that a message names.
const MAX_REASONS: usize = 2;

/// Sizes that a message names, of more the first ones and the last.
const MAX_SIZES: usize = 6;

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
    let CompilerReason { function, text, sizes } = reason;
    if function.is_empty() {
        return format!("; {text}");
    }
    let what = recompile_reason(text, sizes);
    if sizes.is_empty() {
        return match what.strip_prefix("value of ") {
            Some(name) => format!("; {function} was compiled for each value of {name}"),
            None => {
                format!("; {function} was compiled again because this no longer held: {what}")
            }
        };
    }
    format!("; {function} was compiled for each {what}")
}

/// What changed, so that a function was compiled again, with the sizes that it had: `size of 'x' at index 0: 8, 9, 10`.
#[must_use]
pub fn recompile_reason(text: &str, sizes: &[u64]) -> String {
    let shown: Vec<String> = match sizes {
        [] => return text.to_owned(),
        [first @ .., last] if MAX_SIZES <= first.len() => {
            let first = first.iter().take(MAX_SIZES - 2).map(u64::to_string);
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
        let reason = |function: &str, text: &str, sizes: &[u64]| CompilerReason {
            function: function.to_owned(),
            text: text.to_owned(),
            sizes: sizes.to_vec(),
        };
        let size = "size of 'x' at index 0";
        let rows = [
            (vec![], ""),
            (vec![reason("", "Data-dependent branching", &[])], "; Data-dependent branching"),
            (
                vec![reason("f", size, &[8, 9]), reason("f", "k == 1", &[])],
                "; f was compiled for each size of 'x' at index 0: 8, 9; f was compiled again because this no longer held: k == 1",
            ),
            (vec![reason("f", "value of k", &[])], "; f was compiled for each value of k"),
            (
                vec![reason("f", size, &[1, 2, 3, 4, 5, 6, 7]); 3],
                "; f was compiled for each size of 'x' at index 0: 1, 2, 3, 4, …, 7; f was compiled for each size of 'x' at index 0: 1, 2, 3, 4, …, 7; and for 1 more reason",
            ),
        ];
        for (reasons, expected) in rows {
            assert_eq!(because(&reasons), expected);
        }
    }
}
