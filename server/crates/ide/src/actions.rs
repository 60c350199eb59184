//! What can be done about a finding.

mod action;
mod changed;
mod ignored;
mod moved;

use std::ops::RangeInclusive;

pub use action::{Action, Edit};
use insights::Finding;
use metrics::numbers::duration;

use crate::diagnostics::{Diagnostic, diagnostic_of, diagnostics};
use crate::place::PlacedSource;

/// What can be done about the findings of statements on `lines`, and about findings elsewhere by changing a call there:
/// fixes first. Two that change the same are reported as one, of the costlier finding.
#[must_use]
pub fn actions(
    source: &PlacedSource<'_>,
    findings: &[Finding],
    lines: &RangeInclusive<u32>,
) -> Vec<Action> {
    let placed = source.placed_as_recorded();
    let is_here = |line: u32| is_on(source, line, lines);
    let mut actions: Vec<Action> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.place.file == source.key) {
        let Some(diagnostic) = diagnostic_of(source, &placed, finding) else { continue };
        let saving = saving(finding, &diagnostic);
        let is_of_line = is_here(diagnostic.line);
        let changed = changed::changed(source, finding, &diagnostic, &saving).into_iter();
        actions.extend(changed.filter(|(line, _)| is_of_line || is_here(*line)).map(|it| it.1));
        if is_of_line {
            if finding.rule == "sync" {
                actions.extend(moved::moved(source, &diagnostic, &saving));
            }
            actions.extend(ignored::ignored(source, &diagnostic));
        }
    }
    actions.sort_by_key(|action| (!action.is_preferred, !action.is_fix));
    let mut reported: Vec<Vec<Edit>> = Vec::new();
    actions.retain(|action| {
        let is_new = !reported.contains(&action.edits);
        reported.push(action.edits.clone());
        is_new
    });
    actions
}

/// The findings of statements on `lines`, one of each rule.
#[must_use]
pub fn diagnostics_on(
    source: &PlacedSource<'_>,
    findings: &[Finding],
    lines: &RangeInclusive<u32>,
) -> Vec<Diagnostic> {
    let mut diagnostics = diagnostics(source, findings);
    diagnostics.retain(|it| is_on(source, it.line, lines));
    diagnostics.sort_by_key(|it| it.code);
    diagnostics.dedup_by_key(|it| it.code);
    diagnostics
}

/// Whether the statement on a line has a line among `lines`.
fn is_on(source: &PlacedSource<'_>, line: u32, lines: &RangeInclusive<u32>) -> bool {
    let statement = source.module.statement_lines(line);
    statement.start() <= lines.end() && lines.start() <= statement.end()
}

/// What the recording predicts at best.
fn saving(finding: &Finding, diagnostic: &Diagnostic) -> String {
    let cost = duration(diagnostic.cost.as_f64());
    let of_waiting = if finding.rule == "sync" { " of waiting" } else { "" };
    let per_step = if finding.cost_per_step.is_some() { " per step" } else { "" };
    format!("saves up to {cost}{of_waiting}{per_step}")
}

#[cfg(test)]
mod tests;
