//! Rule `sync`: a line on which the CPU waits for the device.

use ledger::{Ledger, LineBooks, LineKey, Ns};
use metrics::Scale;

use crate::costly::{Costly, devices_per_rank, in_steps};
use crate::rule::{Area, Rule, RuleLimits, WARNING};
use crate::{Detail, Finding, Related, Severity};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "sync",
    area: Area::Waits,
    title: "The CPU waits for the device",
    summary: "While the CPU waits it launches nothing, so that the GPU runs dry as soon as it has caught up.",
    severity: Severity::Information,
    trigger: "A line of yours blocks in `cudaStreamSynchronize`, `cudaDeviceSynchronize`, `cudaEventSynchronize` or a copy that \
              waits, and the device has nothing to do after that, for more than the threshold of the view. Causes are `.item()`, `.tolist()`, `.cpu()`, `.numpy()`, `float(t)`, \
              `if t:`, `print(t)`, `nonzero`, indexing with a mask, `torch.cuda.synchronize()`, and copies from pageable memory.",
    measure: "The cost is what leaving the waits out can win at most: the idle time of the device after them until the next \
              wait of another line, of each wait no more than it lasted, because a CPU that does not wait comes to its next launches earlier by that \
              much. It is a mean over the devices of a rank; waits outside of the steps, and those of the profiler itself, are not counted. A \
              wait after which the device has enough to do wins nothing and is not reported, however long it is: the device is busy then. In a \
              recording without device events the cost is the wait. What was waited for is the line that launched the kernels that ran \
              longest meanwhile.",
    thresholds: &[WARNING],
    remedy: "Wait less often: keep the number a tensor, add up on the device and read it every so many steps. Wait for less: \
             `non_blocking=True` from pinned memory. Branch on the device: `torch.where` instead of `if`.",
    before: "for x, y in loader:\n    loss = step(x, y)\n    total += loss.item()",
    after: "total = torch.zeros((), device=\"cuda\")\nfor x, y in loader:\n    loss = step(x, y)\n    total += loss.detach()\nprint(total.item())",
    sources: &[
        "[PyTorch: avoid unnecessary CPU-GPU synchronization](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html)",
    ],
    limits: "A wait that is needed (the last one before results are written) looks like any other. Where two waits follow each other \
             closely, leaving one of them out may only make the other one longer.",
    find,
};

/// Lines that are reported as waited for, at most.
const MAX_RELATED: usize = 3;

/// Lines of your code that wait longer than the threshold.
fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let devices = devices_per_rank(ledger);
    let findings = ledger.lines.iter().filter_map(|(place, books)| {
        let waited = in_steps(scale, books.sync, books, |step| step.sync);
        let (cost, in_steps) = match ledger.devices.is_empty() {
            true => (books.sync, waited),
            false => (books.avoidable_idle / devices, books.avoidable_in_steps / devices),
        };
        let detail =
            Detail::Sync { waited_for: waited_for(books).next().map(|it| it.0.clone()), waited };
        let draft = Costly {
            in_steps,
            of: in_steps,
            count: books.syncs,
            related: related(place, books),
            ..Costly::line(place, books, cost, detail, remedy(books))
        };
        draft.finding(&RULE, scale, limits.least(), |share| limits.severity(&WARNING, share))
    });
    findings.collect()
}

/// The lines that launched what a line waited for, with the time that it ran meanwhile, the longest first.
fn waited_for(books: &LineBooks) -> impl Iterator<Item = (&LineKey, Ns)> {
    let mut waits: Vec<(&LineKey, Ns)> =
        books.waits.iter().map(|(line, &time)| (line, time)).collect();
    waits.sort_by_key(|&(line, time)| (std::cmp::Reverse(time), line));
    waits.into_iter()
}

/// The other lines that a line waited for.
pub(crate) fn related(place: &LineKey, books: &LineBooks) -> Vec<Related> {
    let others = waited_for(books).filter(|(line, _)| *line != place).take(MAX_RELATED);
    let related = others.map(|(line, time)| Related {
        place: line.clone(),
        text: "launched what was waited for ({time} of device time meanwhile)",
        time,
    });
    related.collect()
}

/// What to do, by the operators that are known to wait.
fn remedy(books: &LineBooks) -> &'static str {
    const REMEDIES: [(&[&str], &str); 3] = [
        (
            &["aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal"],
            "Keep it a tensor: add up on the device and read it every so many steps, or use torch.where instead of a branch. \
             A number is read from the device by .item(), float(), bool(), if, print.",
        ),
        (
            &["aten::nonzero", "aten::masked_select", "aten::unique_dim", "aten::_unique2"],
            "Keep the shape fixed: multiply by the mask, torch.where, or masked_fill. Where it depends on the data, the host \
             has to wait for it.",
        ),
        (
            &["aten::copy_", "aten::_to_copy", "aten::to"],
            "Copy without waiting: from the host pinned memory and non_blocking=True; to the host non_blocking=True, and an event \
             before the values are used.",
        ),
    ];
    let has = |names: &[&str]| names.iter().any(|&name| books.operators.contains_key(name));
    REMEDIES.iter().find(|(names, _)| has(names)).map_or(
        "Wait for the device only where its result is needed, and as late as possible.",
        |(_, remedy)| remedy,
    )
}

#[cfg(test)]
mod tests {
    use ledger::{DeviceBooks, DeviceKey, Operator, PerStep};

    use super::*;
    use crate::{RuleOptions, find};

    fn key(line: u32) -> LineKey {
        LineKey { file: "train.py".to_owned(), line }
    }

    /// Two steps of 1 ms; line 3 waits 90 µs in each, for line 2 mostly, and 1 ms outside of them; of the idle time of the device
    /// 40 µs in each step are why it waited, and 4 µs outside of them.
    fn ledger() -> Ledger {
        let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
        ledger.steps.extend([(1, Ns(1_000_000)), (2, Ns(1_000_000))]);
        ledger.devices.insert(DeviceKey { rank: 0, device: 0 }, DeviceBooks::default());
        let step = PerStep { sync: Ns(90_000), ..PerStep::default() };
        let mut books = LineBooks {
            function: "step".to_owned(),
            sync: Ns(1_180_000),
            syncs: 12,
            avoidable_idle: Ns(84_000),
            avoidable_in_steps: Ns(80_000),
            ..LineBooks::default()
        };
        books.steps.extend([(1, step), (2, step)]);
        books.waits.extend([(key(1), Ns(5)), (key(2), Ns(70_000)), (key(3), Ns(9))]);
        books.operators.insert("aten::item".to_owned(), Operator::default());
        ledger.lines.insert(key(3), Box::new(books));
        ledger.lines.insert(key(4), Box::new(LineBooks { sync: Ns(5), ..LineBooks::default() }));
        ledger
    }

    #[test]
    fn a_line_that_waits_in_the_steps_is_found() {
        let findings = find(&ledger(), &RuleOptions::default());
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.rule, &finding.place, finding.count), ("sync", &key(3), 12));
        assert_eq!((finding.cost, finding.cost_per_step), (Ns(84_000), Some(Ns(40_000))));
        assert_eq!((finding.share, finding.severity), (0.04, Severity::Information));
        let waited_for = Some(key(2));
        assert_eq!(finding.detail, Detail::Sync { waited_for, waited: Ns(180_000) });
        let related: Vec<_> = finding.related.iter().map(|it| (it.place.line, it.time)).collect();
        assert_eq!(related, [(2, Ns(70_000)), (1, Ns(5))], "itself is no other line");
        assert!(finding.remedy.starts_with("Keep it a tensor"), "{}", finding.remedy);
    }

    #[test]
    fn thresholds() {
        let rules =
            |threshold| find(&ledger(), &RuleOptions { threshold, ..RuleOptions::default() }).len();
        assert_eq!((rules(0.04), rules(0.041)), (1, 0));
        let severity = |ledger: &Ledger| find(ledger, &RuleOptions::default())[0].severity;
        let mut slow = ledger();
        slow.lines.values_mut().for_each(|it| it.avoidable_in_steps = Ns(100_000));
        assert_eq!(severity(&slow), Severity::Warning);
        // 8 % of the step, but less than anyone needs to be warned of.
        let mut short = ledger();
        short.steps.extend([(1, Ns(500_000)), (2, Ns(500_000))]);
        assert_eq!(severity(&short), Severity::Information);
    }

    #[test]
    fn without_steps_the_share_is_that_of_the_recording() {
        let mut ledger = ledger();
        ledger.steps.clear();
        let thread = ledger::ThreadKey { rank: 0, thread: "1".to_owned() };
        ledger.threads.insert(thread, Ns(4_000_000));
        let findings = find(&ledger, &RuleOptions::default());
        assert_eq!((findings[0].cost_per_step, findings[0].share), (None, 0.02));
    }

    #[test]
    fn a_wait_after_which_the_device_goes_on_wins_nothing() {
        let mut ledger = ledger();
        ledger.lines.values_mut().for_each(|it| it.avoidable_in_steps = Ns::ZERO);
        assert_eq!(find(&ledger, &RuleOptions::default()), []);
        // What devices did was not recorded.
        ledger.devices.clear();
        assert_eq!(find(&ledger, &RuleOptions::default())[0].cost_per_step, Some(Ns(90_000)));
    }

    #[test]
    fn remedies_follow_the_operators() {
        let with = |name: &str| {
            let mut books = LineBooks::default();
            books.operators.insert(name.to_owned(), Operator::default());
            remedy(&books)
        };
        assert!(with("aten::nonzero").contains("Keep the shape fixed"));
        assert!(with("aten::to").contains("pinned memory"));
        assert!(with("aten::mm").starts_with("Wait for the device only"));
    }
}
