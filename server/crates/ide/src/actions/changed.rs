//! Arguments that make a call faster, where the text proves them.

use ledger::Ns;

use insights::Finding;
use pysource::edits::{Change, Goal, Recorded, What};

use super::action::{Action, Edit};
use crate::diagnostics::Diagnostic;
use crate::place::PlacedSource;

/// What can be changed for a finding, each with the line of the call that is changed.
pub(super) fn changed(
    source: &PlacedSource<'_>,
    finding: &Finding,
    diagnostic: &Diagnostic,
    saving: &str,
) -> Vec<(u32, Action)> {
    let recorded = recorded(source, finding);
    let written = source.text.get(diagnostic.start..diagnostic.end).unwrap_or_default();
    let changes = goals(finding.rule)
        .iter()
        // Findings may be many, and to look for a change is to read the whole text.
        .filter(|goal| goal.may_concern(written))
        .flat_map(|&goal| source.module.changes(source.text, diagnostic.line, goal, recorded));
    let action = |change: Change| {
        let title = title(change.what, change.line, diagnostic.line, saving);
        let edits = change.replacements.into_iter().map(|it| Edit {
            start: it.range.start,
            end: it.range.end,
            text: it.text,
        });
        let action = Action {
            title,
            is_fix: true,
            is_preferred: is_safe(change.what),
            edits: edits.collect(),
            diagnostic: diagnostic.clone(),
        };
        (change.line, action)
    };
    changes.map(action).collect()
}

fn goals(rule: &str) -> &'static [Goal] {
    match rule {
        "optimizer-single-tensor" => &[Goal::Optimizer],
        "zero-grad" => &[Goal::ZeroGrad],
        "h2d-copy" => &[Goal::HostToDevice],
        // A copy that is waited for is a wait, too.
        "sync" => &[Goal::Collected, Goal::HostToDevice],
        "dataloader" => &[Goal::DataLoader],
        _ => &[],
    }
}

fn recorded(source: &PlacedSource<'_>, finding: &Finding) -> Recorded {
    // Of several versions, what holds for the earliest and for the latest is not distinguished.
    let mut versions = source.ledger.torch.iter();
    let torch = versions.next().copied().filter(|_| versions.next().is_none());
    let books = source.ledger.lines.get(&finding.place);
    Recorded { torch, is_on_device: books.is_some_and(|it| it.cuda_own > Ns::ZERO) }
}

/// What a change does, what it saves, and what it relies on that the text cannot show.
fn title(what: What, line: u32, of: u32, saving: &str) -> String {
    let place = if line == of { String::new() } else { format!(" on line {line}") };
    match what {
        What::Foreach => format!("Set `foreach=True`{place}: {saving}"),
        What::Fused => {
            format!("Set `fused=True`{place}: {saving} (all parameters have to be floating point)")
        }
        What::SetToNone => format!(
            "Set `set_to_none=True`{place}: {saving} (parameters without a gradient are then skipped)"
        ),
        What::Collected => {
            format!(
                "Collect tensors, and read them after the loop: {saving} (a small tensor of each pass stays)"
            )
        }
        What::NonBlocking => format!("Copy with `non_blocking=True`: {saving}"),
        What::PinMemory => {
            format!("Set `pin_memory=True`{place} and copy with `non_blocking=True`: {saving}")
        }
        What::Workers(n) => format!(
            "Try `num_workers={n}`{place}: {saving} (the data set is pickled where processes are spawned)"
        ),
    }
}

/// Whether a change relies on nothing that the text does not show.
fn is_safe(what: What) -> bool {
    match what {
        What::Foreach | What::NonBlocking => true,
        What::Fused | What::SetToNone | What::Collected | What::PinMemory | What::Workers(_) => {
            false
        }
    }
}
