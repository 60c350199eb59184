//! What has to be said of a recording that was loaded, before anything of it is shown.

use loader::{Input, Run};
use profile::{Warning, WarningKind};

use crate::model::exact;
use crate::summary::{first_cause, is_loss, warning};

/// One line for each input that holds the same recording as another and was left out, and for each that is of another run.
#[must_use]
pub fn inputs_to_check(run: &Run) -> Vec<String> {
    let lines = run.inputs.iter().flat_map(|input| {
        let is_about_input =
            |it: &&Warning| matches!(it.kind, WarningKind::Duplicate | WarningKind::OtherRun);
        let warnings = input.warnings.iter().filter(is_about_input);
        warnings.map(|it| format!("warning: {}: {}", loader::shown(&input.path), it.message))
    });
    lines.collect()
}

/// One line for each input that was not read to its end without loss.
#[must_use]
pub fn losses(run: &Run) -> Vec<String> {
    let line = |input: &Input| {
        let worst = first_cause(&input.warnings).or(input.warnings.first());
        let why = worst.map_or_else(String::new, |it| format!(": {}", warning(it)));
        format!("warning: {} is incomplete{why}", loader::shown(&input.path))
    };
    run.inputs.iter().filter(|it| has_loss(it)).map(line).collect()
}

/// Whether the numbers lack something that was recorded, or an input as a whole.
#[must_use]
pub fn has_losses(run: &Run) -> bool {
    !run.failures.is_empty() || run.inputs.iter().any(has_loss)
}

fn has_loss(input: &Input) -> bool {
    !input.complete || input.warnings.iter().any(is_loss)
}

/// One line for each sum that does not add up, as a fault of Perfline: such numbers cannot be relied on.
#[must_use]
pub fn faults(run: &Run) -> Vec<String> {
    // Ranks too: what is too much in one may be too little in another.
    let open = run.ranks.iter().flat_map(|it| it.open.clone()).chain(run.merged.balances());
    let mut faults: Vec<_> = open
        .filter(|it| !it.is_balanced())
        .map(|it| {
            format!(
                "internal error: totals of {} do not add up (lines {} + unattributed {} is not the total {}); \
                 please report it",
                it.metric.label(),
                exact(it.metric, it.lines),
                exact(it.metric, it.unattributed),
                exact(it.metric, it.total),
            )
        })
        .collect();
    // What two runs did in the step of one number is more than that step took, and no fault of Perfline.
    let is_one_run = run.of_other_run().is_none();
    let excesses = run.ranks.iter().flat_map(|it| &it.excesses).chain(run.merged.excesses());
    let excesses = excesses.filter(|_| is_one_run);
    faults.extend(excesses.map(|line| {
        format!(
            "internal error: {}:{} has more time than was recorded; please report it",
            line.file, line.line
        )
    }));
    let with_gaps = run.ranks.iter().filter(|it| !it.has_whole_paths);
    faults.extend(with_gaps.map(|it| {
        format!("internal error: the critical path of rank {} has gaps; please report it", it.rank)
    }));
    faults.dedup();
    faults
}

#[cfg(test)]
mod tests {
    use ledger::Ns;

    use super::*;
    use crate::testing::training;

    #[test]
    fn sums_that_do_not_add_up_are_reported() {
        let mut run = training();
        assert_eq!(faults(&run), Vec::<String>::new());
        run.merged.totals.cuda += Ns(1);
        assert_eq!(
            faults(&run),
            [
                "internal error: totals of CUDA time do not add up (lines 24000.5 µs + unattributed 0 µs is not the total \
              24000.501 µs); please report it"
            ]
        );
        let mut run = training();
        let line = run.merged.lines.values_mut().next().unwrap();
        line.elapsed = Ns(20_000_001);
        let expected =
            "internal error: helper.py:4 has more time than was recorded; please report it";
        assert_eq!(faults(&run), [expected]);
    }
}
