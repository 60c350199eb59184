//! What loops cost.

use std::collections::BTreeMap;

use ledger::{LineBooks, LineKey, LoopBooks, Ns};
use line_stacks::{Lines, Node, amount};
use pysource::{Loop, LoopKind, Module};
use recorded::RecordedSources;

use super::charges::Charges;
use super::device::KernelWork;
use crate::host_charges::Idle;

/// The loops of your code that ran, with everything that was called from them.
pub(crate) fn loops(
    charges: &Charges,
    sources: &RecordedSources,
    lines: &BTreeMap<LineKey, Box<LineBooks>>,
) -> BTreeMap<LineKey, LoopBooks> {
    let mut loops = BTreeMap::new();
    let places = LoopsOfLines::new(&charges.stacks.lines, sources);
    if places.of_line.iter().all(Vec::is_empty) {
        return loops;
    }
    let stacks = &charges.stacks;
    let mut below = vec![Amounts::default(); stacks.len()];
    for node in stacks.nodes().rev() {
        below[node.index()].add(&Amounts::of(node, charges));
        let amounts = below[node.index()];
        below[stacks.parent(node).index()].add(&amounts);
    }
    // The nearest stack at or below each in which one of the loops is.
    let mut nearest = vec![Node::EMPTY; stacks.len()];
    for node in stacks.nodes() {
        let of_line = &places.of_line[stacks.line(node).index()];
        let outer = nearest[stacks.parent(node).index()];
        nearest[node.index()] = if of_line.is_empty() { outer } else { node };
        for place in of_line {
            let Some(found) = places.entry(&mut loops, place) else { continue };
            found.evidence = found.evidence.max(stacks.evidence(node));
            let mut around = outer;
            let mut is_outermost = true;
            while !around.is_empty() {
                for other in &places.of_line[stacks.line(around).index()] {
                    is_outermost &= other != place;
                    found.within.extend(places.key(other).filter(|_| other != place));
                }
                around = nearest[stacks.parent(around).index()];
            }
            for other in of_line.iter().take_while(|other| *other != place) {
                found.within.extend(places.key(other));
            }
            // Once, however deep the recursion.
            if is_outermost {
                below[node.index()].post(found);
            }
        }
    }
    for (key, found) in &mut loops {
        found.iterations = iterations(key, found, &places, lines);
    }
    loops.retain(|_, found| 0 < found.iterations);
    loops
}

/// How often the body of a loop ran: each name that is called on a line of it is called at least once whenever the line
/// runs, so that the rarest shows how often the line did; the line that ran most ran every time. Lines of loops in it
/// run more often, and are left out.
fn iterations(
    key: &LineKey,
    found: &LoopBooks,
    places: &LoopsOfLines<'_>,
    lines: &BTreeMap<LineKey, Box<LineBooks>>,
) -> u64 {
    let of_line = |line| LineKey { file: key.file.clone(), line };
    let body = lines.range(of_line(found.first_line)..=of_line(found.last_line));
    let counts = body.filter(|(line, _)| places.is_directly_in(line, key)).filter_map(|(_, it)| {
        let calls = it.callees.values().map(|it| it.calls).min();
        calls.or_else(|| it.operators.values().map(|it| it.calls).min())
    });
    counts.max().unwrap_or(0)
}

/// What is added up over stacks.
#[derive(Debug, Clone, Copy, Default)]
struct Amounts {
    time: Ns,
    cuda: Ns,
    kernels: KernelWork,
    sync: Ns,
    idle: Idle,
    idle_recording: Ns,
}

impl Amounts {
    fn of(node: Node, charges: &Charges) -> Self {
        let idle = amount(&charges.host.idle, node);
        let is_recording = charges.is_recording[node.index()];
        Self {
            time: amount(&charges.host.time, node).cpu - amount(&charges.host.adopted, node),
            cuda: amount(&charges.device.cuda, node),
            kernels: amount(&charges.device.kernels, node),
            sync: amount(&charges.waits.by_node, node).0,
            idle,
            idle_recording: if is_recording { idle.time - idle.after_wait } else { Ns::ZERO },
        }
    }

    fn add(&mut self, other: &Self) {
        self.time += other.time;
        self.cuda += other.cuda;
        self.kernels.merge(other.kernels);
        self.sync += other.sync;
        self.idle.time += other.idle.time;
        self.idle.after_wait += other.idle.after_wait;
        self.idle_recording += other.idle_recording;
    }

    fn post(&self, found: &mut LoopBooks) {
        found.time += self.time;
        found.cuda += self.cuda;
        found.kernels += self.kernels.kernels;
        found.launches += self.kernels.launches;
        found.launch_time += self.kernels.launch_time;
        found.short += self.kernels.short;
        found.sync += self.sync;
        found.gpu_idle += self.idle.time;
        found.idle_after_wait += self.idle.after_wait;
        found.idle_recording += self.idle_recording;
    }
}

/// A loop: its file, by the number of the file in the recording, and its place in the module.
type LoopId = (u32, usize);

/// Which lines are in which loops.
struct LoopsOfLines<'a> {
    /// By file of the recording; `None` where it is not yours or was not found.
    modules: Vec<Option<(&'a str, &'a Module)>>,
    /// By line: the loops that run the line, outer ones first.
    of_line: Vec<Vec<LoopId>>,
}

impl<'a> LoopsOfLines<'a> {
    fn new(lines: &'a Lines, sources: &'a RecordedSources) -> Self {
        let module = |file: &'a line_stacks::StackFile| {
            let source = sources.get(&file.recorded).filter(|_| file.is_user_code)?;
            Some((file.key.as_str(), source.module.as_deref()?))
        };
        let modules: Vec<_> = lines.files.iter().map(module).collect();
        let of_line = lines.ids().map(|line| {
            let file = lines.file_of(line).0;
            let Some((_, module)) = modules[file as usize] else { return Vec::new() };
            let of_module = around(module, lines.number(line));
            of_module.map(|(place, _)| (file, place)).collect()
        });
        let of_line = of_line.collect();
        Self { modules, of_line }
    }

    fn entry<'b>(
        &self,
        loops: &'b mut BTreeMap<LineKey, LoopBooks>,
        place: &LoopId,
    ) -> Option<&'b mut LoopBooks> {
        let (module, it) = self.get(place)?;
        let function = module.functions().get(it.function);
        let found = loops.entry(self.key(place)?).or_insert_with(|| LoopBooks {
            function: function.map(|it| it.qualified_name.clone()).unwrap_or_default(),
            first_line: it.first_line,
            last_line: it.last_line,
            ..LoopBooks::default()
        });
        Some(found)
    }

    fn get(&self, &(file, row): &LoopId) -> Option<(&'a Module, &'a Loop)> {
        let (_, module) = self.modules[file as usize]?;
        Some((module, module.loops().get(row)?))
    }

    /// The line of the `for` or `while`.
    fn key(&self, place: &LoopId) -> Option<LineKey> {
        let (file, _) = self.modules[place.0 as usize]?;
        Some(LineKey { file: file.to_owned(), line: self.get(place)?.1.header_line })
    }

    /// Whether the innermost loop around a line is the one whose header is at `header`, and runs nothing else before it.
    fn is_directly_in(&self, line: &LineKey, header: &LineKey) -> bool {
        let module = self.modules.iter().flatten().find(|(key, _)| *key == line.file);
        let Some((_, module)) = module else { return false };
        let of_header = |it: &Loop| it.header_line == header.line;
        let inner = module.loops().iter().any(|it| {
            !of_header(it)
                && header.line <= it.header_line
                && (it.header_line..=it.last_line).contains(&line.line)
        });
        !inner && around(module, line.line).last().is_some_and(|(_, it)| of_header(it))
    }
}

/// The `for` and `while` statements that run `line`, outer ones first: those of the innermost function there.
fn around(module: &Module, line: u32) -> impl Iterator<Item = (usize, &Loop)> {
    let function = module.enclosing(line).map(std::ptr::from_ref);
    module.loops().iter().enumerate().filter(move |(_, it)| {
        it.kind != LoopKind::Comprehension
            && (it.header_line..=it.last_line).contains(&line)
            && module.functions().get(it.function).map(std::ptr::from_ref) == function
    })
}

#[cfg(test)]
mod tests {
    use ledger::Call;

    use super::*;

    const TEXT: &str = "\
def train(loader, model):
    for batch in loader:
        loss = model(batch)
        for p in model.parameters():
            p.update()
        total = [x for x in loss]
    def inner():
        return 1
    return inner
";

    fn line(line: u32) -> LineKey {
        LineKey { file: "train.py".to_owned(), line }
    }

    fn called(calls: u64) -> Box<LineBooks> {
        let callees = [("f".to_owned(), Call { calls, cpu: Ns(1) })];
        Box::new(LineBooks { callees: callees.into(), ..LineBooks::default() })
    }

    #[test]
    fn a_line_is_in_the_loops_of_its_own_function() {
        let module = Module::parse(TEXT);
        let headers =
            |line| -> Vec<u32> { around(&module, line).map(|(_, it)| it.header_line).collect() };
        assert!(headers(1).is_empty());
        assert_eq!(headers(3), [2]);
        assert_eq!(headers(5), [2, 4]);
        assert_eq!(headers(6), [2], "a comprehension is no loop of its own");
        assert!(headers(8).is_empty());
    }

    #[test]
    fn a_loop_ran_as_often_as_the_line_that_ran_most_directly_in_it() {
        let module = Module::parse(TEXT);
        let places =
            LoopsOfLines { modules: vec![Some(("train.py", &module))], of_line: Vec::new() };
        let lines = BTreeMap::from([
            (line(3), called(7)),
            (line(5), called(70)),
            (line(6), called(6)),
            (line(9), called(900)),
        ]);
        let found =
            |first_line, last_line| LoopBooks { first_line, last_line, ..LoopBooks::default() };
        assert_eq!(iterations(&line(2), &found(2, 6), &places, &lines), 7);
        assert_eq!(iterations(&line(4), &found(4, 5), &places, &lines), 70);
    }
}
