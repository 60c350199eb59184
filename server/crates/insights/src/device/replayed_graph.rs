//! Rule `replayed-graph`: a line replays graphs, and nothing says which lines launched their kernels.

use ledger::{Ledger, Ns};
use metrics::Scale;

use super::detail::DeviceDetail;
use crate::costly::Costly;
use crate::rule::{Area, MINIMUM, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Detail, Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "replayed-graph",
    area: Area::Recording,
    title: "Kernels of CUDA graphs are on no line of their own",
    summary: "The line replays CUDA graphs, and the recording does not say which lines launched their kernels.",
    severity: Severity::Information,
    trigger: "A line launches graphs whose kernels take a share of the step, and neither a capture nor a run without graphs goes with the recording.",
    measure: "Device time of kernels of graphs of which no line is known but the one that replays them.",
    thresholds: &[MINIMUM_REPLAYED],
    remedy: "Record with `perfline record`, which records what the program captures, too. Otherwise record the capture of the graphs, or the \
             program with graphs switched off, and name that trace: `--capture`, `--lines-from` \
             ([how to, by program](../graphs.md)).",
    before: "with profile(with_stack=True) as prof:\n    graph.replay()",
    after: "with profile(with_stack=True) as capture:\n    with torch.cuda.graph(graph):\n        y = model(x)\nwith profile(with_stack=True) as prof:\n    graph.replay()",
    sources: &[
        "[torch.cuda.graph](https://docs.pytorch.org/docs/stable/generated/torch.cuda.graph.html)",
    ],
    limits: "How much of the time could be saved is not known: it is about what the recording does not show.",
    find,
};

/// Little time of graphs is not worth another recording.
const MINIMUM_REPLAYED: Threshold = Threshold {
    name: MINIMUM.name,
    unit: ThresholdUnit::Percent,
    default: 10.0,
    meaning: "share of the step from which it is reported",
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let lines = ledger.lines_with_books().filter(|(_, books)| Ns::ZERO < books.launching.replayed);
    let findings = lines.filter_map(|(place, books)| {
        let detail = Detail::Device(DeviceDetail::ReplayedGraph);
        let remedy = "Record what the program captures (perfline record does), or the program without graphs, and name that \
                      trace: --capture, --lines-from.";
        let draft = Costly::line(place, books, books.launching.replayed, detail, remedy);
        let least = limits.get(&MINIMUM_REPLAYED).max(limits.least());
        draft.finding(&RULE, scale, least, |_| RULE.severity)
    });
    findings.collect()
}
