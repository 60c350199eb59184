//! What the rules over several ranks found, in words.

use insights::{Finding, RankDetail};
use ledger::{LineKey, Ns};
use metrics::numbers::{count, duration};
use ranks::{CauseReason, Straggler};

use super::share;

/// What the finding says, as one line of text. `name` names a line, where it still is.
pub(crate) fn message(
    finding: &Finding,
    detail: &RankDetail,
    name: impl Fn(&LineKey) -> Option<String>,
) -> String {
    let text = match detail {
        RankDetail::Straggler(it) => straggler(it, |line| match *line == finding.place {
            true => Some("this line".to_owned()),
            false => name(line),
        }),
        RankDetail::Imbalance { rank, here, mean, saving } => {
            let (per_step, step) = match finding.steps {
                0 => ("", "the run"),
                _ => (" per step", "a step"),
            };
            format!(
                "takes {}{per_step} on rank {rank}, {} in the mean of all ranks; the others wait for it: {step} would be {} shorter",
                duration(here.as_f64()),
                duration(mean.as_f64()),
                duration(saving.as_f64())
            )
        }
    };
    format!("{}: {text}{}", finding.rule, share(finding))
}

/// Which rank is late, where the others wait for it, and what takes longer there.
pub fn straggler(it: &Straggler, name: impl Fn(&LineKey) -> Option<String>) -> String {
    let per_step = if it.steps == 0 { "" } else { " per step" };
    let mut text = format!(
        "rank {} is late at {} of {} collectives; the others wait {}{per_step}",
        it.rank,
        it.late,
        it.collectives,
        duration(it.lateness.as_f64())
    );
    if let Some(line) = it.waits_at.as_ref().and_then(&name) {
        text += &format!(" at {line}");
    }
    if let Some(cause) = &it.cause
        && let Some(line) = name(&cause.line)
    {
        let device = if cause.is_on_device { " of the device" } else { "" };
        let here = duration(cause.here.as_f64());
        text += &match cause.others.0 {
            0 => format!("; the difference is {line}: {here}{device} on rank {} only", it.rank),
            _ => format!(
                "; the difference is {line}: {here}{device} on rank {}, {} on the others",
                it.rank,
                duration(cause.others.as_f64())
            ),
        };
        text += &cause.reason.map(reason).unwrap_or_default();
    }
    if it.saving != Ns::ZERO {
        let step = if it.steps == 0 { "the run" } else { "a step" };
        let so =
            if it.cause.is_some() { "without it" } else { "if it computed no longer than they do" };
        text += &format!("; {so} {step} would be {} shorter", duration(it.saving.as_f64()));
    }
    text
}

/// Why a line takes longer on one rank, behind that it does.
fn reason(reason: CauseReason) -> String {
    match reason {
        CauseReason::Collecting => ", where Python's garbage collector runs".to_owned(),
        CauseReason::Compiling => ", where torch.compile compiles".to_owned(),
        CauseReason::LargerInputs { here, others } => {
            format!(", for inputs {} times as large", count(here as f64 / others as f64))
        }
    }
}

#[cfg(test)]
mod tests {
    use ranks::Cause;

    use super::*;

    #[test]
    fn a_straggler_is_named_with_its_cause() {
        let line = |line| LineKey { file: "train.py".to_owned(), line };
        let cause = Cause {
            line: line(86),
            here: Ns(173_000_000),
            others: Ns(0),
            is_on_device: false,
            reason: None,
        };
        let mut it = Straggler {
            rank: 1,
            lateness: Ns(200_000_000),
            steps: 3,
            late: 8,
            collectives: 9,
            saving: Ns(160_000_000),
            waits_at: Some(line(65)),
            cause: Some(cause),
        };
        let name = |line: &LineKey| Some(format!("{}:{}", line.file, line.line));
        assert_eq!(
            straggler(&it, name),
            "rank 1 is late at 8 of 9 collectives; the others wait 200 ms per step at train.py:65; \
             the difference is train.py:86: 173 ms on rank 1 only; without it a step would be 160 ms shorter"
        );
        it.cause = None;
        it.waits_at = None;
        assert_eq!(
            straggler(&it, name),
            "rank 1 is late at 8 of 9 collectives; the others wait 200 ms per step; \
             if it computed no longer than they do a step would be 160 ms shorter"
        );
        it.steps = 0;
        it.saving = Ns::ZERO;
        assert_eq!(
            straggler(&it, name),
            "rank 1 is late at 8 of 9 collectives; the others wait 200 ms"
        );
    }
}
