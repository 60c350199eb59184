//! From a ledger to its findings.

use ledger::Ledger;
use metrics::{Period, Scale};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::catalogue::rules;
use crate::device::launch_bound::keep_costliest;
use crate::explained::is_explained;
use crate::rule::RuleLimits;
use crate::{Finding, RuleOptions};

/// What all rules that are not turned off find in a ledger, the costliest first; those that cost no time by their share.
#[must_use]
pub fn find(ledger: &Ledger, options: &RuleOptions) -> Vec<Finding> {
    let scale = Scale::new(ledger, Period::Mean);
    let rules = Vec::from_iter(rules().filter(|rule| !options.severities.is_off(rule.id)));
    // Each looks at all lines, of which there may be a million.
    let findings = rules
        .into_par_iter()
        .flat_map_iter(|rule| (rule.find)(ledger, &scale, &RuleLimits::new(rule, options)));
    let mut findings: Vec<Finding> = findings.collect();
    let explained: Vec<bool> =
        findings.iter().map(|it| is_explained(it, &findings, ledger)).collect();
    let mut explained = explained.into_iter();
    findings.retain(|_| explained.next() == Some(false));
    for finding in &mut findings {
        finding.severity = options.severities.of(finding.rule, finding.severity);
    }
    findings.sort_by(|a, b| {
        let by_share = b.share.total_cmp(&a.share);
        b.cost.cmp(&a.cost).then(by_share).then_with(|| (&a.place, a.rule).cmp(&(&b.place, b.rule)))
    });
    keep_costliest(&mut findings, ledger);
    findings
}
