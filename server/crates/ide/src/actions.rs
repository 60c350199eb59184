//! What can be done about a finding.

use std::ops::RangeInclusive;

use insights::Finding;

use crate::diagnostics::{Diagnostic, diagnostic_of};
use crate::numbers::duration;
use crate::place::Source;

/// Characters of a condition in a title at most.
const LONGEST: usize = 40;

/// A change of the text that settles a finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// What it does.
    pub title: String,
    /// Whether it removes the cause, rather than the message.
    pub is_fix: bool,
    /// In the order of the text; they do not overlap.
    pub edits: Vec<Edit>,
    /// What it is about.
    pub diagnostic: Diagnostic,
}

/// Bytes `start..end` of the text become `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// What is there instead.
    pub text: String,
}

/// What can be done about the findings of statements on `lines`: fixes first.
#[must_use]
pub fn actions(
    source: &Source<'_>,
    findings: &[Finding],
    lines: &RangeInclusive<u32>,
) -> Vec<Action> {
    let placed = source.placed();
    let of_file = findings.iter().filter(|finding| finding.place.file == source.key);
    let here = of_file.filter_map(|finding| {
        let diagnostic = diagnostic_of(source, &placed, finding)?;
        let statement = source.module.statement_lines(diagnostic.line);
        let is_here = statement.start() <= lines.end() && lines.start() <= statement.end();
        is_here.then_some((finding, diagnostic))
    });
    let mut actions: Vec<Action> = here
        .flat_map(|(finding, diagnostic)| {
            [moved(source, finding, &diagnostic), ignored(source, &diagnostic)]
        })
        .flatten()
        .collect();
    actions.sort_by_key(|action| !action.is_fix);
    actions
}

/// A read of the device goes where what is read is used.
fn moved(source: &Source<'_>, finding: &Finding, diagnostic: &Diagnostic) -> Option<Action> {
    if finding.rule != "sync" {
        return None;
    }
    let found = source.module.move_into_if(source.text, diagnostic.line)?;
    let cost = duration(diagnostic.cost_ns as f64);
    let per_step = if finding.cost_per_step.is_some() { " per step" } else { "" };
    let (read, condition) = (found.read, cut(&found.condition));
    Some(Action {
        title: format!("Move `{read}` into `{condition}`: saves up to {cost} of waiting{per_step}"),
        is_fix: true,
        edits: vec![
            Edit { start: found.delete.start, end: found.delete.end, text: String::new() },
            Edit { start: found.insert_at, end: found.insert_at, text: found.insert },
        ],
        diagnostic: diagnostic.clone(),
    })
}

fn cut(condition: &str) -> String {
    if condition.chars().count() <= LONGEST {
        return condition.to_owned();
    }
    condition.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// A comment says that the finding is not to be told: on its line, else on another one of the statement, because not
/// every line can have a comment.
fn ignored(source: &Source<'_>, diagnostic: &Diagnostic) -> Option<Action> {
    let rule = diagnostic.code;
    let lines = source.module.statement_lines(diagnostic.line);
    let is_alone = lines.start() == lines.end();
    let others = lines.rev().filter(|&line| line != diagnostic.line);
    let edit = std::iter::once(diagnostic.line).chain(others).find_map(|line| {
        let edit = comment(source, line, rule)?;
        // A line that is a whole statement ends neither in a string nor in a backslash.
        if is_alone {
            return Some(edit);
        }
        let mut text = source.text.to_owned();
        text.replace_range(edit.start..edit.end, &edit.text);
        // Inside a string, or after a backslash, it would be no comment.
        let module = pysource::Module::parse(&text);
        let mut directives = module.directives(diagnostic.line);
        let is_told = directives.any(|it| insights::is_suppressed(&it.text, rule));
        (is_told && module.has_errors() == source.module.has_errors()).then_some(edit)
    })?;
    Some(Action {
        title: format!("Ignore `{rule}` on this line"),
        is_fix: false,
        edits: vec![edit],
        diagnostic: diagnostic.clone(),
    })
}

/// The line with the rule in its comment: in the list that is there, else in one after everything else.
fn comment(source: &Source<'_>, line: u32, rule: &str) -> Option<Edit> {
    let range = source.index.line_range(line)?;
    let text = source.text.get(range.clone())?;
    if let Some(directive) = source.module.directives(line).find(|it| it.line == line)
        && let Some(list) = directive.text.strip_prefix("ignore").map(str::trim_start)
        && let Some((rules, _)) = list.strip_prefix('[').and_then(|list| list.split_once(']'))
    {
        // A comment ends its line, so the last place that reads like it is it.
        let list = range.start + text.rfind(list)?;
        let at = list + 1 + rules.trim_end().len();
        let separator = if rules.trim().is_empty() { "" } else { ", " };
        return Some(Edit { start: at, end: at, text: format!("{separator}{rule}") });
    }
    let at = range.start + text.trim_end().len();
    Some(Edit { start: at, end: at, text: format!("  # perfline: ignore[{rule}]") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::View;
    use crate::testing::{Fixture, check_text};

    /// What can be done on a line: titles, each with the text afterwards.
    fn shown(text: &str, line: u32) -> String {
        let fixture = Fixture::new(text, "step 1 10ms\n3 fn=f wait=4.8ms waits=10\n");
        let source = fixture.source();
        let findings = View::default().findings(source.ledger);
        let actions = actions(&source, &findings, &(line..=line));
        let shown = actions.iter().map(|action| {
            let mut text = text.to_owned();
            for edit in action.edits.iter().rev() {
                text.replace_range(edit.start..edit.end, &edit.text);
            }
            let module = pysource::Module::parse(&text);
            assert!(!module.has_errors(), "{text}");
            assert!(action.is_fix || module.directives(3).next().is_some(), "{text}");
            format!("{}\n{text}", action.title)
        });
        shown.collect()
    }

    #[test]
    fn a_fix_comes_first() {
        let text = "\
def f(a, step):
    loss = 1 - a
    value = loss.item()
    if step % 10 == 0:
        log(value)
";
        check_text(
            &shown(text, 3),
            "
            Move `.item()` into `if step % 10 == 0`: saves up to 4.8 ms of waiting per step
            def f(a, step):
                loss = 1 - a
                if step % 10 == 0:
                    value = loss.item()
                    log(value)
            Ignore `sync` on this line
            def f(a, step):
                loss = 1 - a
                value = loss.item()  # perfline: ignore[sync]
                if step % 10 == 0:
                    log(value)
            ",
        );
    }

    #[test]
    fn comments_are_kept_and_lists_extended() {
        let rows = [
            ("a.item()", "a.item()  # perfline: ignore[sync]"),
            ("a.item()  ", "a.item()  # perfline: ignore[sync]  "),
            ("a.item()  # note", "a.item()  # note  # perfline: ignore[sync]"),
            ("a.item()  # perfline: ignore[b]", "a.item()  # perfline: ignore[b, sync]"),
            ("a.item()  # perfline: ignore[]", "a.item()  # perfline: ignore[sync]"),
            ("a()  # é #perfline:ignore [b ] x", "a()  # é #perfline:ignore [b, sync ] x"),
            (
                "a('# perfline: ignore[b]')  # perfline: ignore[b]",
                "a('# perfline: ignore[b]')  # perfline: ignore[b, sync]",
            ),
            ("a('# perfline: ignore[b]')", "a('# perfline: ignore[b]')  # perfline: ignore[sync]"),
            ("a.item( \\\n  )", "a.item( \\\n  )  # perfline: ignore[sync]"),
            ("a.item('''\n''')", "a.item('''\n''')  # perfline: ignore[sync]"),
            ("a.item(\n  )", "a.item(  # perfline: ignore[sync]\n  )"),
        ];
        for (before, after) in rows {
            let text = |line: &str| format!("def f(a):\n    pass\n    {line}\n    b()\n");
            let expected = format!("Ignore `sync` on this line\n{}", text(after));
            assert_eq!(shown(&text(before), 3), expected);
        }
    }

    #[test]
    fn only_where_there_is_a_finding() {
        let text = "def f(a):\n    pass\n    a.item()\n    b()\n";
        assert_eq!(shown(text, 2), "");
        assert_eq!(shown(text, 4), "");
        assert_eq!(shown(&text.replace("item()", "item()  # perfline: ignore"), 3), "");
    }

    #[test]
    fn long_conditions_are_cut() {
        assert_eq!(cut("if step"), "if step");
        assert_eq!(cut(&"x".repeat(50)).chars().count(), LONGEST);
    }
}
