//! `# perfline: ignore[rule]`.

use super::action::{Action, Edit};
use crate::diagnostics::Diagnostic;
use crate::place::PlacedSource;

/// A comment says that the finding is not to be reported: on its line, else on another one of the statement, because not
/// every line can have a comment.
pub(super) fn ignored(source: &PlacedSource<'_>, diagnostic: &Diagnostic) -> Option<Action> {
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
        let is_reported = directives.any(|it| insights::is_suppressed(&it.text, rule));
        (is_reported && module.has_errors() == source.module.has_errors()).then_some(edit)
    })?;
    Some(Action {
        title: format!("Ignore `{rule}` on this line"),
        is_fix: false,
        is_preferred: false,
        edits: vec![edit],
        diagnostic: diagnostic.clone(),
    })
}

/// The line with the rule in its comment: in the list that is there, else in one after everything else.
fn comment(source: &PlacedSource<'_>, line: u32, rule: &str) -> Option<Edit> {
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
