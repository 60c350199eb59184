//! How lines are known, as text.

use ledger::{Evidence, Ledger, LineBooks, Ns};

use crate::numbers;

/// What stands before the numbers of a line to say how it is known; empty for an exact line.
#[must_use]
pub fn mark(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Exact => "",
        Evidence::Inferred => "~",
        Evidence::Function => "fn",
    }
}

/// The same for a line of a text: whether it was changed since the recording goes first, and what follows is set off.
#[must_use]
pub fn mark_in_text(evidence: Evidence, is_stale: bool) -> &'static str {
    match (is_stale, evidence) {
        (false, Evidence::Exact) => "",
        (false, Evidence::Inferred) => "~",
        (false, Evidence::Function) => "fn ",
        (true, Evidence::Exact) => "≈",
        (true, Evidence::Inferred) => "≈~",
        (true, Evidence::Function) => "≈fn ",
    }
}

/// How `lines` of `ledger` are known, by shares of their own thread time (of their allocated bytes where the recording
/// has no thread time): `92 % exact, 8 % inferred`. Empty where they have neither.
#[must_use]
pub fn evidence_shares<'a>(lines: impl Iterator<Item = &'a LineBooks>, ledger: &Ledger) -> String {
    let has_time = ledger.totals.cpu != Ns::ZERO;
    let amount = |it: &LineBooks| if has_time { it.cpu_own.as_f64() } else { it.alloc.as_f64() };
    let kinds = [
        (Evidence::Exact, "exact"),
        (Evidence::Inferred, "inferred"),
        (Evidence::Function, "function"),
    ];
    let mut sums = [0.0; 3];
    for line in lines {
        for (sum, (kind, _)) in sums.iter_mut().zip(kinds) {
            if kind == line.evidence {
                *sum += amount(line);
            }
        }
    }
    let whole: f64 = sums.iter().sum();
    let present: Vec<(f64, &str)> = sums
        .iter()
        .zip(kinds)
        .filter(|(sum, _)| 0.0 < **sum)
        .map(|(sum, (_, name))| (*sum, name))
        .collect();
    if let [(_, name)] = present[..] {
        return name.to_owned();
    }
    let parts =
        present.iter().map(|(sum, name)| format!("{} {name}", numbers::percent(sum / whole)));
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use ledger::Bytes;

    use super::*;

    #[test]
    fn shares_of_thread_time_else_of_bytes() {
        let line = |evidence, cpu_own, alloc| LineBooks {
            evidence,
            cpu_own: Ns(cpu_own),
            alloc: Bytes(alloc),
            ..LineBooks::default()
        };
        let lines = [line(Evidence::Exact, 3, 1), line(Evidence::Inferred, 1, 0)];
        let mut ledger = Ledger::default();
        assert_eq!(evidence_shares(lines.iter(), &ledger), "exact");
        ledger.totals.cpu = Ns(4);
        assert_eq!(evidence_shares(lines.iter(), &ledger), "75 % exact, 25 % inferred");
        assert_eq!(evidence_shares([].iter(), &ledger), "");
    }
}
