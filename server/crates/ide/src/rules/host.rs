//! What findings of anti-patterns on the host say.

use insights::Finding;
use ledger::{LineKey, Ns, Pattern, PatternBooks};
use metrics::numbers::{bytes, count};

use super::{per, place, share, time};

/// What the finding says, as one line of text.
/// `name` names a line, where it still is.
pub(crate) fn message(
    finding: &Finding,
    pattern: Pattern,
    books: &PatternBooks,
    name: impl Fn(&LineKey) -> Option<String>,
) -> String {
    let at = place(finding);
    let cost = time(finding, finding.cost);
    let text = match pattern {
        Pattern::ForLoopIndexing => format!(
            "{}, one row at a time {at}: {}, {cost}",
            number(finding, books.count, "round"),
            plural(books.ops as f64 / books.count.max(1) as f64, "operator") + " each"
        ),
        Pattern::OptimizerSingleTensor => format!(
            "the optimizer takes one parameter after the other {at}: {}, {cost}",
            number(finding, books.ops, "operator")
        ),
        Pattern::ZeroGrad => format!(
            "gradients are filled with zeros {at}: {}, {cost}",
            number(finding, books.ops, "operator")
        ),
        Pattern::DataLoaderWorkers => {
            format!("the loop waits {cost} {at} for batches that workers make")
        }
        Pattern::DataLoaderAlone => {
            let costliest = finding.related.first().and_then(|it| name(&it.place));
            let most = costliest.map_or_else(String::new, |it| format!(", most of it at {it}"));
            format!("the loop makes its batches itself {at} (num_workers=0): {cost}{most}")
        }
        Pattern::ConvBias => {
            let whole = time(finding, books.around.max(books.around_cuda));
            let bias = match finding.cost {
                Ns::ZERO => "a part of".to_owned(),
                _ => format!("{cost} of"),
            };
            format!("batch normalization takes the bias away that is added {at}: {bias} {whole}")
        }
        Pattern::PageableCopy => {
            let rate = match books.cuda {
                Ns::ZERO => String::new(),
                time => format!(" at {}/s", bytes(books.bytes.as_f64() * 1e9 / time.as_f64())),
            };
            let (what, time_of) = match books.wait {
                Ns::ZERO => ("the device copies for", books.cuda),
                wait => ("the CPU waits", wait),
            };
            let mut text = format!(
                "{what} {} {at} for {} from pageable memory ({}{rate})",
                time(finding, time_of),
                plural_copies(finding, books),
                bytes(per(finding, books.bytes.as_f64())),
            );
            if let Some(before) = finding.related.first().and_then(|it| name(&it.place)) {
                text += &format!(" behind kernels of {before}");
            }
            text + &format!("; up to {cost} can be won")
        }
        Pattern::ExtraCopy => format!(
            "made on the host and then copied {at}: {}, {cost}",
            bytes(per(finding, books.bytes.as_f64()))
        ),
        Pattern::CpuFallback => {
            format!("{} on the CPU instead {at}: {cost}", runs(finding, books.count))
        }
        Pattern::GraphBreak => {
            let rest = time(finding, books.around.max(books.around_cuda));
            let rest = match finding.cost {
                Ns::ZERO => format!("the rest takes {rest}"),
                _ => format!("{cost} to look for the rest, which takes {rest}"),
            };
            let times = number(finding, books.count, "time");
            format!("torch.compile breaks the graph {at}, {times}: {rest}")
        }
        Pattern::Compilation => {
            let versions = match books.most {
                0 | 1 => String::new(),
                most => format!("; that makes {most} versions"),
            };
            let steps = match finding.steps {
                0 => String::new(),
                steps => format!(" in {} of {steps} steps", books.steps),
            };
            format!("torch.compile compiles {at}{steps}: {cost}{versions}")
        }
        Pattern::UpdateOneByOne => format!(
            "tensors are updated one by one {at}: {}, {cost}",
            number(finding, books.ops, "operator")
        ),
        Pattern::PythonBetween => format!(
            "Python between operators takes {} {at}, in {}{}",
            time(finding, books.cpu),
            number(finding, books.count, "call"),
            if finding.cost < books.cpu {
                format!("; the GPU idles {cost} of it")
            } else {
                String::new()
            }
        ),
        Pattern::GarbageCollection => format!(
            "Python's garbage collector takes {cost} {at}, in {}",
            number(finding, books.count, "collection")
        ),
        Pattern::DataParallel => format!(
            "DataParallel hands out parameters and inputs {at} and collects results: {cost} of {}",
            time(finding, books.around)
        ),
    };
    format!("{}: {text}{}", finding.rule, share(finding))
}

/// `24 operators`, by the mean step.
fn number(finding: &Finding, sum: u64, noun: &str) -> String {
    plural(per(finding, sum as f64), noun)
}

fn plural(number: f64, noun: &str) -> String {
    let number = count(number);
    let s = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{s}")
}

fn plural_copies(finding: &Finding, books: &PatternBooks) -> String {
    match count(per(finding, books.count as f64)).as_str() {
        "1" => "1 copy".to_owned(),
        number => format!("{number} copies"),
    }
}

fn runs(finding: &Finding, number: u64) -> String {
    match count(per(finding, number as f64)).as_str() {
        "1" => "an operator runs".to_owned(),
        number => format!("{number} operators run"),
    }
}

#[cfg(test)]
mod tests {
    use insights::{Detail, Related, Severity};
    use ledger::{Bytes, Evidence, LineKey};

    use super::*;

    /// Two steps; 8 ms in all.
    fn finding(pattern: Pattern, evidence: Evidence, cost: i64, books: &PatternBooks) -> Finding {
        Finding {
            rule: "rule",
            place: LineKey { file: "train.py".to_owned(), line: 7 },
            function: String::new(),
            evidence,
            severity: Severity::Hint,
            cost: Ns(cost),
            cost_per_step: Some(Ns(cost / 2)),
            count: books.count,
            steps: 2,
            share: 0.25,
            detail: Detail::Pattern(pattern, books.clone()),
            related: Vec::new(),
            remedy: "",
        }
    }

    fn line_name(line: &LineKey) -> Option<String> {
        Some(format!("line {}", line.line))
    }

    fn message_of(pattern: Pattern, evidence: Evidence, cost: i64, books: PatternBooks) -> String {
        message(&finding(pattern, evidence, cost, &books), pattern, &books, line_name)
    }

    #[test]
    fn findings_in_words() {
        let books = PatternBooks {
            count: 4,
            ops: 48,
            cpu: Ns(8_000_000),
            wait: Ns(8_000_000),
            cuda: Ns(4_000_000),
            around: Ns(20_000_000),
            bytes: Bytes(8 << 20),
            most: 3,
            steps: 1,
            ..PatternBooks::default()
        };
        let rows = [
            (
                Pattern::ForLoopIndexing,
                "2 rounds, one row at a time here: 12 operators each, 4 ms per step",
            ),
            (
                Pattern::OptimizerSingleTensor,
                "the optimizer takes one parameter after the other here: 24 operators, 4 ms per step",
            ),
            (
                Pattern::ZeroGrad,
                "gradients are filled with zeros here: 24 operators, 4 ms per step",
            ),
            (
                Pattern::DataLoaderWorkers,
                "the loop waits 4 ms per step here for batches that workers make",
            ),
            (
                Pattern::DataLoaderAlone,
                "the loop makes its batches itself here (num_workers=0): 4 ms per step",
            ),
            (
                Pattern::ConvBias,
                "batch normalization takes the bias away that is added here: 4 ms per step of 10 ms per step",
            ),
            (
                Pattern::PageableCopy,
                "the CPU waits 4 ms per step here for 2 copies from pageable memory (4 MiB at 1.95 GiB/s); up to 4 ms per step can be won",
            ),
            (Pattern::ExtraCopy, "made on the host and then copied here: 4 MiB, 4 ms per step"),
            (Pattern::CpuFallback, "2 operators run on the CPU instead here: 4 ms per step"),
            (
                Pattern::GraphBreak,
                "torch.compile breaks the graph here, 2 times: 4 ms per step to look for the rest, which takes 10 ms per step",
            ),
            (
                Pattern::Compilation,
                "torch.compile compiles here in 1 of 2 steps: 4 ms per step; that makes 3 versions",
            ),
            (
                Pattern::UpdateOneByOne,
                "tensors are updated one by one here: 24 operators, 4 ms per step",
            ),
            (
                Pattern::PythonBetween,
                "Python between operators takes 4 ms per step here, in 2 calls",
            ),
            (
                Pattern::GarbageCollection,
                "Python's garbage collector takes 4 ms per step here, in 2 collections",
            ),
            (
                Pattern::DataParallel,
                "DataParallel hands out parameters and inputs here and collects results: 4 ms per step of 10 ms per step",
            ),
        ];
        for (pattern, expected) in rows {
            let text = message_of(pattern, Evidence::Exact, 8_000_000, books.clone());
            assert_eq!(text, format!("rule: {expected} (25 % of the step)"));
        }
        let text = message_of(Pattern::ConvBias, Evidence::Function, 0, books.clone());
        let expected = "rule: batch normalization takes the bias away that is added somewhere in this function: a part of 10 ms per step (25 % of the step)";
        assert_eq!(text, expected);

        let mut finding = finding(Pattern::DataLoaderAlone, Evidence::Exact, 8_000_000, &books);
        let place = LineKey { file: "data.py".to_owned(), line: 3 };
        finding.related.push(Related { place, text: "", time: Ns(7_000_000) });
        let text = message(&finding, Pattern::DataLoaderAlone, &books, line_name);
        let expected = "rule: the loop makes its batches itself here (num_workers=0): 4 ms per step, most of it at line 3 (25 % of the step)";
        assert_eq!(text, expected);
    }
}
