//! Rules over the ledger: what costs more than it has to, where, and what to do about it.
//!
//! *Owns*: the rules, their thresholds and remedies.
//!
//! *Never*: knows an editor, formats a number, looks at anything but the ledger.
//!
//! *The tests that say so*: beside each rule, from a ledger built by hand to its findings.

mod costly;
mod device;
mod explained;
mod host;
mod memory;
mod possible_sync;
mod rule;
mod severity;
mod suppression;
mod sync;

pub use device::{DeviceDetail, Product};
pub use memory::{MemoryDetail, MemoryKind};
pub use rule::{Area, Rule, Threshold, Thresholds, Unit};
pub use severity::{Severities, Severity};
pub use suppression::is_suppressed;

use ledger::{Evidence, Ledger, LineKey, Ns, Pattern, PatternBooks};
use metrics::{Period, Scale};

use rule::Limits;

/// When something is worth reporting.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Least share of the step (of 1), or of the recording where it has no steps.
    pub threshold: f64,
    /// What the reader thinks of the rules.
    pub severities: Severities,
    /// What the reader set of the thresholds of the rules.
    pub thresholds: Thresholds,
}

impl Default for Options {
    /// 0.5 % of the step.
    fn default() -> Self {
        Self {
            threshold: 0.005,
            severities: Severities::default(),
            thresholds: Thresholds::default(),
        }
    }
}

/// Something that costs more than it has to.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Id of the rule, stable.
    pub rule: &'static str,
    /// The line that costs.
    pub place: LineKey,
    /// The function that the line is in.
    pub function: String,
    /// How the line is known.
    pub evidence: Evidence,
    /// How much it matters.
    pub severity: Severity,
    /// What it costs over the whole recording, all ranks together.
    pub cost: Ns,
    /// What it costs in the mean step of a rank; `None` where the recording has no steps.
    pub cost_per_step: Option<Ns>,
    /// How often it happens over the whole recording.
    pub count: u64,
    /// The steps of all ranks, to give means of what is reported for the whole recording; 0 where it has none.
    pub steps: u64,
    /// `cost` as a share (of 1) of the step, or of the recording where it has no steps.
    pub share: f64,
    /// What only this rule knows.
    pub detail: Detail,
    /// Other lines that have to do with it.
    pub related: Vec<Related>,
    /// What to do about it: a sentence or two, without numbers.
    pub remedy: &'static str,
}

/// What only one rule knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    /// Rule `sync`: the line waits for the device.
    Sync {
        /// The line whose kernels ran longest during the waits; `None` where nothing ran.
        waited_for: Option<LineKey>,
        /// Device idle time that followed the waits, over the whole recording.
        idle_after: Ns,
    },
    /// The rules over anti-patterns of the host: the pattern, and what it cost on the line.
    Pattern(Pattern, PatternBooks),
    /// The rules about what the device does.
    Device(DeviceDetail),
    /// The rules over the memory of devices. They cost no time; `share` is of the peak, or as the rule says.
    Memory(MemoryDetail),
}

/// A line that has to do with a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Which line.
    pub place: LineKey,
    /// What it has to do with it: part of a sentence, with `{time}` where `time` is to stand.
    pub text: &'static str,
    /// How much, over the whole recording.
    pub time: Ns,
}

/// The rules of each module. One file for each rule.
static ALL: [&[&Rule]; 4] =
    [&[&sync::RULE, &possible_sync::RULE], &host::RULES, &device::RULES, &memory::RULES];

/// All rules.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    ALL.into_iter().flatten().copied()
}

/// The rule of an id.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().find(|it| it.id == id)
}

/// What all rules that are not turned off find in a ledger, the costliest first; those that cost no time by their share.
#[must_use]
pub fn find(ledger: &Ledger, options: &Options) -> Vec<Finding> {
    let scale = Scale::new(ledger, Period::Mean);
    let rules = rules().filter(|rule| !options.severities.is_off(rule.id));
    let mut findings: Vec<Finding> =
        rules.flat_map(|rule| (rule.find)(ledger, &scale, &Limits::new(rule, options))).collect();
    let is_explained: Vec<bool> =
        findings.iter().map(|it| explained::is_explained(it, &findings, ledger)).collect();
    let mut is_explained = is_explained.into_iter();
    findings.retain(|_| is_explained.next() == Some(false));
    for finding in &mut findings {
        finding.severity = options.severities.of(finding.rule, finding.severity);
    }
    findings.sort_by(|a, b| {
        let by_share = b.share.total_cmp(&a.share);
        b.cost.cmp(&a.cost).then(by_share).then_with(|| (&a.place, a.rule).cmp(&(&b.place, b.rule)))
    });
    findings
}
