//! What the whole recording teaches: which site leads to which callee, and how often a site leaves anything.

use pysource::flow::SiteKind;
use rustc_hash::FxHashMap;

use super::align::Aligned;
use super::keys::KeyId;
use super::structure::{Code, Sequence, Start};

/// Cost units in one natural unit of probability: costs are small integers.
pub(crate) const UNITS: f64 = 4.0;

/// How many observations the prior weighs as much as.
const PRIOR_WEIGHT: f64 = 2.0;

/// Counts of one round.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Events by code, site and key.
    site_key: FxHashMap<(usize, u32, KeyId), u32>,
    /// Events by code and site.
    site: FxHashMap<(usize, u32), u32>,
    /// Events of call sites by the name that is called and key.
    callee_key: FxHashMap<(String, KeyId), u32>,
    callee: FxHashMap<String, u32>,
    /// Whole frames by code.
    frames: FxHashMap<usize, u32>,
}

impl Learned {
    /// Counts an alignment for each frame that had it.
    pub(crate) fn add(
        &mut self,
        code_index: usize,
        code: &Code,
        sequence: &Sequence,
        aligned: &Aligned,
    ) {
        if sequence.start == Start::Entry {
            *self.frames.entry(code_index).or_default() += sequence.weight;
        }
        for (child, &site) in sequence.children.iter().zip(&aligned.sites) {
            let Some(at) = code.flow.sites.get(site as usize) else { continue };
            *self.site_key.entry((code_index, site, child.key)).or_default() += sequence.weight;
            *self.site.entry((code_index, site)).or_default() += sequence.weight;
            if let Some(name) = called_name(&at.kind) {
                *self.callee_key.entry((name.to_owned(), child.key)).or_default() +=
                    sequence.weight;
                *self.callee.entry(name.to_owned()).or_default() += sequence.weight;
            }
        }
    }

    /// The cost of `key` at a site, given what the prior says.
    pub(crate) fn emission(
        &self,
        code: usize,
        site: u32,
        kind: &SiteKind,
        key: KeyId,
        prior: u32,
    ) -> u32 {
        let mut probability = (-f64::from(prior) / UNITS).exp();
        if let Some(name) = called_name(kind) {
            let of_callee = self.callee.get(name).copied().unwrap_or(0);
            if of_callee > 0 {
                let of_key = self.callee_key.get(&(name.to_owned(), key)).copied().unwrap_or(0);
                probability = blend(of_key, of_callee, probability);
            }
        }
        let of_site = self.site.get(&(code, site)).copied().unwrap_or(0);
        if of_site > 0 {
            let of_key = self.site_key.get(&(code, site, key)).copied().unwrap_or(0);
            probability = blend(of_key, of_site, probability);
        }
        cost(probability)
    }

    /// The cost of a site that leaves nothing, given what the prior says.
    pub(crate) fn silence(&self, code: usize, site: u32, prior: u16) -> u16 {
        let frames = self.frames.get(&code).copied().unwrap_or(0);
        if frames < 2 {
            return prior;
        }
        let events = f64::from(self.site.get(&(code, site)).copied().unwrap_or(0));
        let frames = f64::from(frames);
        let silent = (1.0 - events / frames).max(0.0);
        let prior_silent = (-f64::from(prior) / UNITS).exp();
        let probability = (silent * frames + PRIOR_WEIGHT * prior_silent) / (frames + PRIOR_WEIGHT);
        u16::try_from(cost(probability)).unwrap_or(u16::MAX)
    }
}

fn blend(count: u32, of: u32, prior: f64) -> f64 {
    (f64::from(count) + PRIOR_WEIGHT * prior) / (f64::from(of) + PRIOR_WEIGHT)
}

fn cost(probability: f64) -> u32 {
    // At most 60 units, so the conversion is exact enough and never out of range.
    let units = (-probability.max(3e-7).ln() * UNITS).round();
    if units <= 0.0 { 0 } else { units as u32 }
}

/// The last name of what a call site calls.
pub(crate) fn called_name(kind: &SiteKind) -> Option<&str> {
    match kind {
        SiteKind::Call { callee, .. } => callee.name(),
        _ => None,
    }
}
