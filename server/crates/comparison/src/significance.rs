//! Which differences between the runs count: of lines, and of several together.

use metrics::{Quantity, Scale};

use crate::lines::{AmountDifference, ComparedLine, LineGroup, TIMES, add};
use crate::noise::{NoiseTest, Shift};
use crate::same_work::SameWork;

/// The bytes of a line that are compared.
pub(crate) const SIZES: [Quantity; 2] = [Quantity::Alloc, Quantity::Peak];

/// Share (of 1) of all bytes that a difference of bytes must reach. They vary little from step to step.
const MIN_BYTES: f64 = 0.01;

/// Whether times of lines, or of several together, differ by more than the noise.
pub(crate) struct Significance<'a> {
    pub(crate) units: &'a [LineGroup<'a>],
    pub(crate) scales: [&'a Scale<'a>; 2],
    pub(crate) test: NoiseTest,
    pub(crate) same_work: SameWork,
}

impl Significance<'_> {
    /// A time of one of the units, by its place.
    fn of_line(&self, place: usize, quantity: Quantity, means: [f64; 2]) -> AmountDifference {
        let [base, new] = means;
        let group = self.same_work.group(place);
        let own = self.by_step(&[place], quantity);
        // What one line did and another one does now is one work.
        let tested = if group.len() < 2 { own.clone() } else { self.by_step(group, quantity) };
        let (_, differs) = self.test.is_significant(&tested[0], &tested[1]);
        let is_same_work = differs == Some(true)
            && quantity == Quantity::CpuBusy
            && !group.is_empty()
            && !self.test.is_beyond_processes(&tested[0], &tested[1]);
        let significant = if is_same_work { Some(false) } else { differs };
        let shift = Shift::between(&own[0], &own[1]);
        AmountDifference { quantity, base, new, shift, significant, is_same_work }
    }

    /// A time of several units together: what does the same work in both runs makes no difference.
    pub(crate) fn of_sum(&self, places: &[usize], quantity: Quantity) -> Option<AmountDifference> {
        let mean = |is_new: bool| -> f64 {
            let scale = self.scales[usize::from(is_new)];
            places.iter().map(|&it| self.units[it].mean(quantity, scale, is_new)).sum()
        };
        let [base, new] = [false, true].map(mean);
        if base == 0.0 && new == 0.0 {
            return None;
        }
        let all = self.by_step(places, quantity);
        let (shift, differs) = self.test.is_significant(&all[0], &all[1]);
        let does_other_work = |it: &&usize| {
            let group = self.same_work.group(**it);
            let tested = self.by_step(group, quantity);
            group.is_empty() || self.test.is_beyond_processes(&tested[0], &tested[1])
        };
        let is_same_work = differs == Some(true) && quantity == Quantity::CpuBusy && {
            let rest: Vec<usize> = places.iter().filter(does_other_work).copied().collect();
            let rest = self.by_step(&rest, quantity);
            let (of_rest, differs) = self.test.is_significant(&rest[0], &rest[1]);
            let is_one_direction = shift
                .zip(of_rest)
                .is_some_and(|(all, rest)| (0.0 < all.estimate) == (0.0 < rest.estimate));
            differs != Some(true) || !is_one_direction
        };
        let significant = if is_same_work { Some(false) } else { differs };
        Some(AmountDifference { quantity, base, new, shift, significant, is_same_work })
    }

    /// What a quantity of several units is in each step, of the base and of the new run.
    fn by_step(&self, places: &[usize], quantity: Quantity) -> [Vec<f64>; 2] {
        [false, true].map(|is_new| {
            let scale = self.scales[usize::from(is_new)];
            let mut sums = vec![0.0; scale.ledger().steps.len().max(1)];
            for &place in places {
                add(&mut sums, &self.units[place].by_step(quantity, scale, is_new));
            }
            sums
        })
    }
}

/// By size, how many bytes a difference must reach.
pub(crate) fn least_bytes(of: &Significance<'_>) -> [f64; 2] {
    SIZES.map(|quantity| {
        let total = |is_new: bool| -> f64 {
            let scale = of.scales[usize::from(is_new)];
            of.units.iter().map(|it| it.mean(quantity, scale, is_new)).sum()
        };
        MIN_BYTES * total(false).max(total(true))
    })
}

/// What each of the units costs, and whether the differences count.
pub(crate) fn differences(of: &Significance<'_>) -> Vec<ComparedLine> {
    let Significance { units, scales, test, .. } = of;
    let least_bytes = least_bytes(of);
    let have_steps = scales.iter().all(|it| 2 <= it.ledger().steps.len());
    let difference = |(place, unit): (usize, &LineGroup<'_>)| {
        let mut amounts = Vec::new();
        for quantity in TIMES.into_iter().chain(SIZES) {
            let [base, new] =
                [false, true].map(|it| unit.mean(quantity, scales[usize::from(it)], it));
            if base == 0.0 && new == 0.0 {
                continue;
            }
            let untested = |significant: bool| AmountDifference {
                quantity,
                base,
                new,
                shift: None,
                significant: Some(significant),
                is_same_work: false,
            };
            amounts.push(match SIZES.iter().position(|it| *it == quantity) {
                Some(size) => {
                    let delta = (new - base).abs();
                    untested(least_bytes[size] <= delta && 0.0 < delta)
                }
                None if !test.is_large(new - base, base.max(new)) && have_steps => untested(false),
                None => of.of_line(place, quantity, [base, new]),
            });
        }
        ComparedLine {
            base: unit.line(false).cloned(),
            new: unit.line(true).cloned(),
            function: unit.name().to_owned(),
            status: unit.status,
            evidence: unit.evidence(),
            amounts,
        }
    };
    units.iter().enumerate().map(difference).collect()
}
