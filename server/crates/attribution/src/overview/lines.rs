//! Communication and arithmetic to the lines that caused them, by the rule of `cuda_own`.

use std::collections::BTreeMap;

use ledger::{Books, KernelClass, Ledger, LineBooks, Metric, Ns, Reason};
use profile::{DeviceEventId, Profile};
use recorded::{KernelClasses, Launches, Steps};

use super::arithmetic::Counted;
use super::intervals::Intervals;
use crate::device::DeviceStacks;
use crate::stacks::{LineId, line_key};
use crate::sweep::Swept;

/// What lines are charged from.
pub(crate) struct Parts<'a, 'b> {
    pub(crate) profile: &'a Profile,
    pub(crate) launches: &'a Launches,
    pub(crate) classes: &'a KernelClasses,
    pub(crate) steps: &'a Steps,
    pub(crate) stacks: &'a DeviceStacks,
    pub(crate) swept: &'a Swept<'b>,
}

impl Parts<'_, '_> {
    /// Charges FLOPs, collectives, and what of these was not hidden by compute.
    pub(crate) fn charge(&self, ledger: &mut Ledger, counted: &[Counted]) {
        for it in counted {
            let (precision, arithmetic) = it.arithmetic(self.profile);
            let flops = i64::try_from(arithmetic.flops).unwrap_or(i64::MAX);
            let start = self.profile.host.start[it.operator.index()];
            let sums = Books { flops, ..Books::default() };
            self.add(ledger, &sums, Some(start));
            let stacks = &self.swept.stacks;
            match stacks.own(self.swept.inside[it.operator.index()]).get() {
                Some(line) => {
                    let books = self.books(ledger, line);
                    books.arithmetic.entry(precision).or_default().merge(&arithmetic);
                }
                None => ledger.unattributed.charge(self.without_line(), Metric::Flops, flops),
            }
        }
        for (event, exposed) in self.communication() {
            let time = self.profile.device.duration[event.index()];
            let launch = self.launches.launch(event);
            let launched = launch.map(|it| self.profile.host.start[it.index()]);
            let sums = Books { comm: time, comm_exposed: exposed, ..Books::default() };
            self.add(ledger, &sums, launched);
            match self.swept.stacks.own(self.stacks.node(event)).get() {
                Some(line) => {
                    let books = self.books(ledger, line);
                    books.comm += time;
                    books.comm_exposed += exposed;
                }
                None => {
                    let reason =
                        if launch.is_some() { self.without_line() } else { Reason::NoLaunch };
                    ledger.unattributed.charge(reason, Metric::Comm, time);
                    ledger.unattributed.charge(reason, Metric::CommExposed, exposed);
                }
            }
        }
    }

    /// Adds what was caused at `at` to the totals, and to those of the steps if that is in one or there is none.
    fn add(&self, ledger: &mut Ledger, sums: &Books, at: Option<Ns>) {
        ledger.totals.add(sums);
        if self.steps.0.is_empty() || at.is_some_and(|at| self.steps.at(at).is_some()) {
            ledger.in_steps.add(sums);
        }
    }

    fn books<'c>(&self, ledger: &'c mut Ledger, line: LineId) -> &'c mut LineBooks {
        ledger.lines.entry(line_key(&self.swept.stacks.lines, line)).or_default()
    }

    fn without_line(&self) -> Reason {
        if self.swept.names.has_stacks { Reason::NoPythonFrame } else { Reason::NoStacks }
    }

    /// The collectives, with the time of each during which its device ran no compute kernel. An instant of several
    /// collectives counts to the one that started first.
    fn communication(&self) -> Vec<(DeviceEventId, Ns)> {
        let device = &self.profile.device;
        let (mut collectives, mut compute) = (BTreeMap::new(), BTreeMap::new());
        for event in device.ids() {
            let ordinal = device.device[event.index()];
            match self.classes.class(event) {
                KernelClass::Communication => {
                    collectives.entry(ordinal).or_insert_with(Vec::new).push(event);
                }
                KernelClass::Compute => compute
                    .entry(ordinal)
                    .or_insert_with(Vec::new)
                    .push((device.start[event.index()], device.end(event))),
                KernelClass::Memory => {}
            }
        }
        let mut found = Vec::new();
        for (ordinal, mut events) in collectives {
            let compute = Intervals::new(compute.remove(&ordinal).unwrap_or_default());
            events.sort_by_key(|event| device.start[event.index()]);
            let mut until = Ns::MIN;
            for event in events {
                let (start, end) = (device.start[event.index()].max(until), device.end(event));
                let alone = (end - start).max(0) - compute.within(start, end.max(start));
                found.push((event, alone));
                until = until.max(end);
            }
        }
        found
    }
}
