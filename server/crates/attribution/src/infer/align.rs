//! The least costly path through a function's control flow that explains a sequence of children.

use pysource::flow::{EdgeKind, IMPASSABLE, Site, SiteKind, Ways};
use rustc_hash::FxHashMap;

use super::affinity;
use super::definitions::Start;
use super::facts::{Classes, Expression, expressions};
use super::keys::{KeyId, Keys};
use super::learn::Learned;
use super::structure::{Child, Code, Python, Sequence, Structure};

/// Cost of an event that no expression explains.
const UNEXPLAINED: u32 = 40;

/// A line is told if every path that takes the event to another line costs at least this much more.
const LEAST_MARGIN: u32 = 4;

/// What is learned from: what every other path would cost at least this much more to explain.
const LEAST_LESSON: u32 = 3;

/// Cost of a way that no path took whose lines were told, where others came by.
const NEVER_TAKEN: u32 = 4;

/// How much worse than the best a reading may be, and still be followed.
const HOPELESS: u32 = 2 * UNEXPLAINED;

/// Cost of a frame that was open when recording began and is not on the line that its name tells.
const ELSEWHERE: u32 = 10;

const UNREACHABLE: u32 = u32::MAX / 4;

/// No site: the event is unexplained.
pub(crate) const NO_SITE: u32 = u32::MAX;

/// Where the children of a sequence came from.
pub(crate) struct Aligned {
    /// The site of each child on the best path, or [`NO_SITE`].
    pub(crate) sites: Vec<u32>,
    /// The line of each child that is to be told, or 0.
    pub(crate) lines: Vec<u32>,
    /// Of each child that is not told: the lines that are about equally good, where there are several.
    pub(crate) readings: Vec<Vec<u32>>,
    /// Whether no other site explains a child nearly as well.
    pub(crate) is_clear: Vec<bool>,
    /// The sites at which the best path leaves something, once for each time that it comes by, where that is clear.
    pub(crate) visited: Vec<u32>,
    /// The edges that it takes between those, likewise.
    pub(crate) edges: Vec<(u32, u32)>,
}

/// What is told of the children of a sequence.
pub(crate) struct Answer {
    /// The line of each child that is to be told, or 0.
    pub(crate) lines: Vec<u32>,
    /// The lines that are about equally good, where there are several: of each such child that is not told.
    pub(crate) readings: Vec<Vec<u32>>,
}

impl Aligned {
    /// The part that is told.
    pub(crate) fn told(mut self) -> Answer {
        let mut lines = self.lines.iter();
        self.readings.retain(|it| lines.next() == Some(&0) && it.len() > 1);
        Answer { lines: self.lines, readings: self.readings }
    }
}

/// Aligns the sequences of one function.
pub(crate) struct Aligner<'a> {
    code: &'a Code,
    keys: &'a Keys,
    learned: &'a Learned,
    code_index: usize,
    python: Python,
    expressions: Vec<Expression<'a>>,
    /// The lambdas and generator expressions that are arguments of calls.
    passed: Vec<usize>,
    silence: Vec<u16>,
    /// The cheapest ways from each node, by the silent sites between; filled when first needed.
    ways: Vec<Option<Ways>>,
    /// Sites that may leave each key, with the cost of doing so.
    candidates: FxHashMap<KeyId, Vec<(u32, u32)>>,
}

/// A way to explain a child: a site, or none while the path stays where it was.
#[derive(Debug, Clone, Copy)]
struct State {
    /// The site that the path is at.
    at: u32,
    /// Whether the child came from there.
    is_explained: bool,
    /// Cost of the best path up to and with this child.
    forward: u32,
    /// The best state before.
    back: usize,
    /// Cost of the best path from here on.
    rest: u32,
}

impl<'a> Aligner<'a> {
    pub(crate) fn new(
        code: &'a Code,
        structure: &'a Structure,
        learned: &'a Learned,
        code_index: usize,
        classes: &'a Classes,
    ) -> Self {
        let (keys, python) = (&structure.keys, structure.python);
        let expressions = expressions(code, classes);
        let passed = expressions.iter().filter_map(|it| match it.kind {
            SiteKind::Call { passes, .. } => Some(passes),
            _ => None,
        });
        let passed = passed.flatten().copied().collect();
        let silence = expressions
            .iter()
            .enumerate()
            .map(|(site, it)| {
                if !is_run(&code.flow.sites[site], python) {
                    return IMPASSABLE;
                }
                let number = u32::try_from(site).unwrap_or(u32::MAX);
                learned.silence(code_index, number, it.shared.as_deref(), affinity::silence(it))
            })
            .collect();
        Self {
            code,
            keys,
            learned,
            code_index,
            python,
            expressions,
            passed,
            silence,
            ways: vec![None; code.flow.n_nodes() as usize],
            candidates: FxHashMap::default(),
        }
    }

    /// What is learned for all sites together that say the same as `site`.
    pub(crate) fn shared(&self, site: u32) -> Option<&str> {
        self.expressions.get(site as usize)?.shared.as_deref()
    }

    pub(crate) fn align(&mut self, sequence: &Sequence) -> Aligned {
        let n = sequence.children.len();
        let mut columns: Vec<Vec<State>> = Vec::with_capacity(n);
        for (at, &child) in sequence.children.iter().enumerate() {
            let column = match at.checked_sub(1) {
                None => self.first_column(sequence.start, child),
                Some(before) => self.next_column(&columns[before], child),
            };
            columns.push(column);
        }
        self.fill_rest(sequence, &mut columns);
        let mut sites = vec![NO_SITE; n];
        let best = columns.last().and_then(|column| {
            (0..column.len())
                .min_by_key(|&state| column[state].forward.saturating_add(column[state].rest))
        });
        let mut path = Vec::with_capacity(n);
        let mut state = best.unwrap_or(0);
        for (at, column) in columns.iter().enumerate().rev() {
            let Some(it) = column.get(state) else { break };
            if it.is_explained {
                sites[at] = it.at;
            }
            path.push(*it);
            state = it.back;
        }
        path.reverse();
        let is_clear: Vec<bool> =
            columns.iter().zip(&path).map(|(column, state)| is_clear(column, state)).collect();
        let (visited, edges) = self.steps(sequence, &path, &is_clear);
        let lines = columns
            .iter()
            .zip(&sites)
            .map(|(column, &site)| self.sure_line(column, site))
            .collect();
        let readings = columns.iter().map(|column| self.readings(column)).collect();
        Aligned { sites, lines, readings, is_clear, visited, edges }
    }

    /// The lines that explain a child about as well as the best one; none if leaving it unexplained is as good.
    fn readings(&self, column: &[State]) -> Vec<u32> {
        let best = column.iter().map(total).min().unwrap_or(UNREACHABLE);
        let mut lines = Vec::new();
        for state in column.iter().filter(|it| total(it) < best.saturating_add(LEAST_MARGIN)) {
            match self.line(state.at).filter(|_| state.is_explained) {
                Some(line) => lines.push(line),
                None => return Vec::new(),
            }
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// The sites that a path visits, and the edges that it takes between those that are clear.
    fn steps(
        &mut self,
        sequence: &Sequence,
        path: &[State],
        is_clear: &[bool],
    ) -> (Vec<u32>, Vec<(u32, u32)>) {
        let (mut visited, mut edges) = (Vec::new(), Vec::new());
        let mut from = match sequence.start {
            Start::Entry => Some(self.code.flow.entry),
            Start::Within(_) => None,
        };
        for ((state, child), &is_clear) in path.iter().zip(&sequence.children).zip(is_clear) {
            if !state.is_explained {
                continue;
            }
            let again =
                affinity::again(&self.expressions[state.at as usize], self.keys.get(child.key));
            self.find_ways(state.at);
            if from == Some(state.at) && again <= self.way(state.at, state.at) {
                continue;
            }
            if is_clear {
                visited.push(state.at);
                if let Some(from) = from {
                    self.add_edges(from, state.at, &mut edges);
                }
            }
            from = is_clear.then_some(state.at);
        }
        let exit = self.code.flow.exit;
        if let Some(from) = from {
            self.find_ways(from);
            if self.way(from, exit) <= affinity::NOT_RETURNED {
                self.add_edges(from, exit, &mut edges);
            }
        }
        (visited, edges)
    }

    /// The line of `site`, if every path through another line costs clearly more.
    fn sure_line(&self, column: &[State], site: u32) -> u32 {
        let Some(line) = self.line(site) else { return 0 };
        let is_here = |state: &&State| state.is_explained && self.line(state.at) == Some(line);
        let here = column.iter().filter(is_here).map(total).min().unwrap_or(UNREACHABLE);
        let other =
            column.iter().filter(|state| !is_here(state)).map(total).min().unwrap_or(UNREACHABLE);
        if other >= here.saturating_add(LEAST_MARGIN) { line } else { 0 }
    }

    fn line(&self, site: u32) -> Option<u32> {
        self.code.flow.sites.get(site as usize).map(|site| site.line_in(self.python.minor))
    }

    /// Where a frame goes on from; nowhere known if it was open when recording began.
    fn begins(&self, start: Start) -> Vec<u32> {
        let flow = &self.code.flow;
        match start {
            Start::Entry => vec![flow.entry],
            Start::Within(line) => {
                let points = flow.resume_points.iter().copied();
                points.filter(|&point| self.line(point) == Some(line)).collect()
            }
        }
    }

    fn first_column(&mut self, start: Start, child: Child) -> Vec<State> {
        let begins = self.begins(start);
        let open_line = match start {
            Start::Entry => 0,
            Start::Within(line) => line,
        };
        begins.iter().for_each(|&begin| self.find_ways(begin));
        let candidates = self.candidates(child);
        let mut column = Vec::with_capacity(candidates.len() + 1);
        for (site, emission) in candidates {
            let distance = if begins.is_empty() {
                // The frame was open before: its line then is that of the call that was going on.
                if self.line(site) == Some(open_line) { 0 } else { ELSEWHERE }
            } else {
                let ways = begins.iter().map(|&begin| self.way(begin, site));
                ways.min().unwrap_or(UNREACHABLE)
            };
            if distance < UNREACHABLE {
                let forward = distance + emission;
                column.push(State {
                    at: site,
                    is_explained: true,
                    forward,
                    back: 0,
                    rest: UNREACHABLE,
                });
            }
        }
        let at = begins.first().copied().unwrap_or(NO_SITE);
        column.push(State {
            at,
            is_explained: false,
            forward: UNEXPLAINED,
            back: 0,
            rest: UNREACHABLE,
        });
        column
    }

    fn next_column(&mut self, before: &[State], child: Child) -> Vec<State> {
        let candidates = self.candidates(child);
        let mut best = vec![(UNREACHABLE, 0); candidates.len()];
        for (index, state) in before.iter().enumerate() {
            self.find_ways(state.at);
            let ways = self.ways_from(state.at);
            for (best, &(site, _)) in best.iter_mut().zip(&candidates) {
                let step = self.step(ways, state.at, site, child.key);
                *best = (*best).min((state.forward.saturating_add(step), index));
            }
        }
        let reached = candidates.into_iter().zip(best).filter(|(_, best)| best.0 < UNREACHABLE);
        let mut column: Vec<State> = reached
            .map(|((site, emission), (way, back))| State {
                at: site,
                is_explained: true,
                forward: way + emission,
                back,
                rest: UNREACHABLE,
            })
            .collect();
        // The child is unexplained and the path stays; of several ways to be at one place, the best is enough.
        let mut stays: FxHashMap<u32, (u32, usize)> = FxHashMap::default();
        for (index, state) in before.iter().enumerate() {
            let best = stays.entry(state.at).or_insert((UNREACHABLE, 0));
            *best = (*best).min((state.forward, index));
        }
        let mut stays: Vec<_> = stays.into_iter().collect();
        stays.sort_unstable();
        column.extend(stays.into_iter().map(|(at, (forward, back))| State {
            at,
            is_explained: false,
            forward: forward.saturating_add(UNEXPLAINED),
            back,
            rest: UNREACHABLE,
        }));
        // What is so much worse than the best cannot become part of the best path, nor a rival to it.
        let best = column.iter().map(|state| state.forward).min().unwrap_or(UNREACHABLE);
        column.retain(|state| state.forward <= best.saturating_add(HOPELESS));
        column
    }

    /// Cost of the silent sites on the way from `from` to `site`, which leaves `key`; `ways` are those from `from`.
    fn step(&self, ways: Option<&Ways>, from: u32, site: u32, key: KeyId) -> u32 {
        if from == NO_SITE {
            return 0;
        }
        let way = ways.map_or(UNREACHABLE, |ways| ways.cost(site).min(UNREACHABLE));
        if from != site {
            return way;
        }
        // One expression may leave several events in a row.
        way.min(affinity::again(&self.expressions[site as usize], self.keys.get(key)))
    }

    fn fill_rest(&mut self, sequence: &Sequence, columns: &mut [Vec<State>]) {
        let Some(last) = columns.last_mut() else { return };
        let exit = self.code.flow.exit;
        // Frames that were open when recording began are mostly open when it ends.
        let is_open = self.begins(sequence.start).is_empty();
        for state in last.iter_mut() {
            self.find_ways(state.at);
            let way = if state.at == NO_SITE || is_open { 0 } else { self.way(state.at, exit) };
            state.rest = if way >= UNREACHABLE {
                affinity::NOT_RETURNED
            } else {
                way.min(affinity::NOT_RETURNED)
            };
        }
        for at in (1..columns.len()).rev() {
            let (before, after) = columns.split_at_mut(at);
            let (before, after) = (&mut before[at - 1], &after[0]);
            let child = sequence.children[at];
            let emissions: FxHashMap<u32, u32> = self.candidates(child).into_iter().collect();
            let emission = |state: &State| emissions.get(&state.at).copied().unwrap_or(UNREACHABLE);
            let after: Vec<(State, u32)> = after.iter().map(|it| (*it, emission(it))).collect();
            for state in before.iter_mut() {
                let ways = self.ways_from(state.at);
                for &(next, emission) in &after {
                    let cost = if next.is_explained {
                        self.step(ways, state.at, next.at, child.key).saturating_add(emission)
                    } else if next.at == state.at {
                        UNEXPLAINED
                    } else {
                        continue;
                    };
                    state.rest = state.rest.min(cost.saturating_add(next.rest));
                }
            }
        }
    }

    /// Cost of the cheapest way between two nodes, once [`Self::find_ways`] has found those from `from`.
    fn way(&self, from: u32, to: u32) -> u32 {
        self.ways_from(from).map_or(UNREACHABLE, |ways| ways.cost(to).min(UNREACHABLE))
    }

    /// The ways from a node, once [`Self::find_ways`] has found them.
    fn ways_from(&self, from: u32) -> Option<&Ways> {
        self.ways.get(from as usize)?.as_ref()
    }

    fn add_edges(&mut self, from: u32, to: u32, edges: &mut Vec<(u32, u32)>) {
        self.find_ways(from);
        if let Some(Some(ways)) = self.ways.get(from as usize) {
            ways.edges(to, edges);
        }
    }

    /// Finds the cheapest ways from `node`, once.
    fn find_ways(&mut self, node: u32) {
        let (code, learned, code_index) = (self.code, self.learned, self.code_index);
        let expressions = &self.expressions;
        let Some(ways @ None) = self.ways.get_mut(node as usize) else { return };
        let edge_cost = |from: u32, to, kind| match kind {
            EdgeKind::Exception => affinity::RAISED,
            EdgeKind::Normal => match learned.is_taken(code_index, from, to) {
                Some(true) => 0,
                Some(false) => NEVER_TAKEN,
                None => match expressions.get(from as usize) {
                    Some(site) if code.flow.next(from).first() == Some(&to) => {
                        affinity::truth(site)
                    }
                    _ => 0,
                },
            },
        };
        *ways = Some(code.flow.ways(node, &self.silence, edge_cost));
    }

    /// The sites that may have left `child`, with the cost of doing so.
    fn candidates(&mut self, child: Child) -> Vec<(u32, u32)> {
        let (code, keys, learned, code_index) =
            (self.code, self.keys, self.learned, self.code_index);
        let (python, expressions, passed) = (self.python, &self.expressions, &self.passed);
        let minor = python.minor;
        let of_key = self.candidates.entry(child.key).or_insert_with(|| {
            let key = keys.get(child.key);
            let sites = expressions.iter().enumerate();
            sites
                .filter(|&(site, _)| is_run(&code.flow.sites[site], python))
                .filter_map(|(site, it)| {
                    let site = u32::try_from(site).ok()?;
                    let prior = affinity::emission(it, key, &code.recorded, passed)?;
                    let shared = it.shared.as_deref();
                    Some((site, learned.emission(code_index, site, shared, child.key, prior)))
                })
                .collect()
        });
        let of_line = |&&(site, _): &&(u32, u32)| {
            child.exact == 0 || code.flow.sites[site as usize].line_in(minor) == child.exact
        };
        let found: Vec<(u32, u32)> = of_key.iter().filter(of_line).copied().collect();
        if !found.is_empty() || child.exact == 0 {
            return found;
        }
        // The line is known, so whatever stands on it has left the event.
        let sites = code
            .flow
            .sites
            .iter()
            .enumerate()
            .filter(|(_, site)| site.line_in(minor) == child.exact);
        sites
            .filter_map(|(site, _)| Some((u32::try_from(site).ok()?, affinity::KNOWN_LINE)))
            .collect()
    }
}

/// Cost of the best path through a state.
fn total(state: &State) -> u32 {
    state.forward.saturating_add(state.rest)
}

/// Whether the column's other states are clearly worse than that of the best path.
fn is_clear(column: &[State], best: &State) -> bool {
    let others = column.iter().filter(|it| !(it.is_explained && it.at == best.at));
    let other = others.map(total).min().unwrap_or(UNREACHABLE);
    best.is_explained && other >= total(best).saturating_add(LEAST_LESSON)
}

/// Whether a site is there in the Python that recorded: a comprehension is either a frame or part of its function.
fn is_run(site: &Site, python: Python) -> bool {
    match (python.has_comprehension_frames, &site.kind) {
        (Some(true), _) => site.inlined.is_none(),
        (Some(false), SiteKind::Comprehension { .. }) => false,
        _ => true,
    }
}
