//! Rule `possible-sync`: what would wait for a device, before anything measured it.

use insights::{Severities, is_suppressed};
use ledger::{Ns, Operator};
use metrics::numbers::{count, duration};
use metrics::{Period, Scale};
use pysource::{PossibleSync, SyncKind};

use crate::place::{LazyModule, Placed, PlacedSource};
use crate::{Diagnostic, Severity};

/// Id of the rule.
const ID: &str = "possible-sync";

/// What to do.
const REMEDY: &str =
    "Keep the number a tensor, add up on the device, and read it every so many steps.";

/// What in the loops of a file would wait for a device, while no recording is loaded.
#[must_use]
pub fn possible_syncs(text: &str, module: &LazyModule, severities: &Severities) -> Vec<Diagnostic> {
    let found = reported(text, module, severities).into_iter();
    let diagnostics = found.map(|it| {
        let message = format!(
            "{ID}: {} in a loop waits for the device, if this is on one (not measured: no recording is loaded)",
            what(&it)
        );
        diagnostic(&it, severities, message)
    });
    diagnostics.collect()
}

/// The same with a recording without a device: only of what ran in it, with what it took there.
#[must_use]
pub fn possible_syncs_recorded(
    source: &PlacedSource<'_>,
    severities: &Severities,
) -> Vec<Diagnostic> {
    if !source.ledger.devices.is_empty() || source.ledger.totals.cuda != Ns::ZERO {
        return Vec::new();
    }
    let placed = source.placed();
    let scale = Scale::new(source.ledger, Period::Mean);
    let found = reported(source.text, source.module, severities).into_iter();
    let diagnostics = found.filter_map(|it| {
        let ran = ran(&placed, &it)?;
        let per_step = if scale.period() == Period::Run { "" } else { " per step" };
        let cost = scale.mean(ran.cpu.as_f64());
        let message = format!(
            "{ID}: {} in a loop, {} times{per_step}, took {} on the CPU; on a GPU it waits",
            what(&it),
            count(scale.mean(ran.calls as f64)),
            duration(cost)
        );
        let share = scale.mean_share(cost);
        Some(Diagnostic { cost: Ns(cost as i64), share, ..diagnostic(&it, severities, message) })
    });
    diagnostics.collect()
}

/// What is found and not silenced.
fn reported(text: &str, module: &LazyModule, severities: &Severities) -> Vec<PossibleSync> {
    if severities.is_off(ID) {
        return Vec::new();
    }
    let mut found = module.possible_syncs(text);
    let is_reported = |it: &PossibleSync| {
        let mut directives = module.directives(it.line);
        !directives.any(|it| is_suppressed(&it.text, ID) || is_suppressed(&it.text, "sync"))
    };
    found.retain(is_reported);
    found
}

/// The operator that reads, where it ran on the line.
fn ran(placed: &[Placed<'_>], it: &PossibleSync) -> Option<Operator> {
    let names: &[&str] = match it.kind {
        SyncKind::Number => &["aten::item", "aten::is_nonzero"],
        SyncKind::Condition => &["aten::is_nonzero"],
        SyncKind::Nonzero => &["aten::nonzero"],
        SyncKind::Mask => &["aten::index"],
        SyncKind::Copy | SyncKind::Synchronize => &[],
    };
    let line = &placed[placed.binary_search_by_key(&it.line, |at| at.line).ok()?];
    if line.is_stale || line.is_function {
        return None;
    }
    names.iter().find_map(|&name| line.books.operators.get(name)).copied()
}

fn what(it: &PossibleSync) -> String {
    match it.kind {
        SyncKind::Condition => format!("`{}` of a tensor", it.what),
        SyncKind::Mask => it.what.to_owned(),
        _ => format!("`{}`", it.what),
    }
}

fn diagnostic(it: &PossibleSync, severities: &Severities, message: String) -> Diagnostic {
    Diagnostic {
        line: it.line,
        start: it.range.start,
        end: it.range.end,
        severity: severities.of(ID, Severity::Hint),
        code: ID,
        message,
        related: Vec::new(),
        cost: Ns::ZERO,
        share: 0.0,
        remedy: REMEDY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    const TEXT: &str = "\
import torch
def f(xs):
    for x in xs:
        x.item()
        x.cpu()  # perfline: ignore[sync]
";

    #[test]
    fn nothing_is_measured_without_a_recording() {
        let fixture = Fixture::new(TEXT, "");
        let severities = Severities::default();
        let found = |severities: &Severities| possible_syncs(TEXT, &fixture.module, severities);
        let all = found(&severities);
        let [it] = &all[..] else { panic!("{all:?}") };
        assert_eq!(
            (it.line, it.severity, &TEXT[it.start..it.end]),
            (4, Severity::Hint, "x.item()")
        );
        assert_eq!(
            it.message,
            "possible-sync: `.item()` in a loop waits for the device, if this is on one (not measured: no recording is loaded)"
        );
        let mut off = Severities::default();
        off.set(ID, None);
        assert_eq!(found(&off), []);
    }

    #[test]
    fn a_recording_of_a_cpu_shows_what_ran() {
        let with = |books: &str| {
            let mut fixture = Fixture::new(TEXT, books);
            let reads = Operator { calls: 12, cpu: Ns(24_000), cuda: Ns(0) };
            for line in fixture.ledger.lines.values_mut() {
                line.operators.insert("aten::item".to_owned(), reads);
            }
            possible_syncs_recorded(&fixture.source(), &Severities::default())
        };
        let all = with("step 1 1ms\nstep 2 1ms\n4 fn=f cpu=1ms\n");
        let [it] = &all[..] else { panic!("{all:?}") };
        assert_eq!(
            it.message,
            "possible-sync: `.item()` in a loop, 6 times per step, took 12 µs on the CPU; on a GPU it waits"
        );
        assert_eq!((it.cost, it.share), (Ns(12_000), 0.012));
        assert_eq!(with("step 1 1ms\n3 fn=f cpu=1ms\n"), [], "it did not run");
        assert_eq!(with("step 1 1ms\n4 fn=f cpu=1ms cuda=1ms\n"), [], "a device says more");
    }
}
