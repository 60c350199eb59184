//! Why something was compiled again, and why a graph ends, in a line of text each.

use std::borrow::Cow;

/// The guard that failed: the first line of `reason` without the number of the version and without the comment that names
/// where the guard is from: `4/0: x == 1.5      # y = f(x)  # a.py:3 in g` is `x == 1.5`. What the compiler has no name for
/// (`___stack0`) is named by the code in the comment.
pub(crate) fn recompile_reason(reason: &str) -> Cow<'_, str> {
    let line = reason.lines().next().unwrap_or_default().trim();
    let is_version = |it: &str| {
        let numbers = it.split_once('/');
        numbers.is_some_and(|(a, b)| [a, b].iter().all(|it| it.parse::<u32>().is_ok()))
    };
    let guard = line.split_once(": ").filter(|(it, _)| is_version(it)).map_or(line, |(_, it)| it);
    let mut parts = guard.split("  #").map(str::trim);
    let guard = parts.next().unwrap_or_default();
    let code = parts.next().filter(|it| !it.is_empty() && guard.starts_with("___stack"));
    match (code, guard.split_once(" == ")) {
        (Some(code), Some((_, value))) => Cow::Owned(format!("`{code}` == {value}")),
        _ => Cow::Borrowed(guard),
    }
}

/// File, line and reason of a graph break. The first line names the place: `Graph break in user code at FILE:LINE`. What cannot be
/// compiled is named by the first sentence of the explanation, else by the line that begins with `Reason:` (until torch 2.6), else
/// by the next one.
pub(crate) fn graph_break(text: &str) -> Option<(&str, u32, &str)> {
    let mut lines = text.lines();
    let place = lines.next()?.strip_prefix("Graph break in user code at ")?;
    let (file, line) = place.trim_end().rsplit_once(':')?;
    let line = line.parse().ok()?;
    let labelled = |label: &str| lines.clone().find_map(|it| it.trim_start().strip_prefix(label));
    let reason = labelled("Explanation:").map(first_sentence).or_else(|| labelled("Reason:"));
    let next = || lines.clone().find(|it| !it.trim().is_empty());
    let reason = reason.or_else(next)?.trim();
    let reason = reason.strip_prefix("Graph Break Reason:").unwrap_or(reason).trim();
    (!reason.is_empty()).then_some((file, line, reason))
}

/// What stands before the first full stop that ends a sentence, and not an abbreviation.
fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let ends = text.match_indices(". ").map(|(at, _)| &text[..at]);
    let mut whole =
        ends.filter(|it| !["e.g", "i.e"].iter().any(|abbreviation| it.ends_with(abbreviation)));
    whole.next().unwrap_or(text).trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_that_failed() {
        let rows = [
            (
                "0/4: tensor 'x' size mismatch at index 0. expected 12, actual 13",
                "tensor 'x' size mismatch at index 0. expected 12, actual 13",
            ),
            (
                "4/0: ___stack2 == 1.75          # print(y.item())  # a.py:13 in f\nUser stack trace:\n  File",
                "`print(y.item())` == 1.75",
            ),
            ("4/0: self.count == 3          # self.count += 1  # a.py:13 in f", "self.count == 3"),
            ("a: b", "a: b"),
            ("", ""),
        ];
        for (reason, expected) in rows {
            assert_eq!(recompile_reason(reason), expected);
        }
    }

    #[test]
    fn the_reason_of_a_graph_break() {
        let rows = [
            (
                "Graph break in user code at /w/t.py:11\nGraph Break Reason: Data-dependent branching\n  Explanation: Detected branching (e.g. `if x:`). Dynamo\n",
                Some(("/w/t.py", 11, "Detected branching (e.g. `if x:`)")),
            ),
            (
                "Graph break in user code at C:\\t.py:13\nGraph Break Reason: Encountered graph break when attempting to trace CALL\n\n\
                 Unsupported Tensor.item() call\n  Explanation: Dynamo\n  Hint: Reason: none\n",
                Some(("C:\\t.py", 13, "Dynamo")),
            ),
            (
                "Graph break in user code at /w/t.py:3\nReason: Unsupported: Tensor.item\nUser code traceback:\n",
                Some(("/w/t.py", 3, "Unsupported: Tensor.item")),
            ),
            (
                "Graph break in user code at /w/t.py:3\nGraph Break Reason: f\n",
                Some(("/w/t.py", 3, "f")),
            ),
            ("Graph break in user code at /w/t.py:3\n", None),
            ("Graph break: t.py", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(graph_break(text), expected, "{text}");
        }
    }
}
