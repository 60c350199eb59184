//! The least costly path through a function's control flow that explains a sequence of children.

use pysource::flow::{EdgeKind, Flow, IMPASSABLE, ShortestPaths, Site, SiteKind};
use pysource::{Function, FunctionKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::affinity::{self, Called};
use crate::answer::{AlignedFrame, Answer, NO_SITE};
use crate::code::{Child, FunctionCode, Python, Sequence};
use crate::costs::Costs;
use crate::definitions::Start;
use crate::facts::{Classes, Expression, expressions};
use crate::generators::{self, GeneratorProgress};
use crate::keys::{ChildKey, KeyId, Keys};
use crate::learn::{Learned, Teachers};

const UNREACHABLE: u32 = u32::MAX / 4;

/// Of conditions that may hold or not, so many are tried with each other.
const MAX_OPEN_CONDITIONS: usize = 3;

/// Frames with more children are aligned without assuming that conditions last.
const MAX_ASSUMED_CHILDREN: usize = 4096;

/// What does not change between rounds: what the text says of the sites of a function, and the costs before anything was
/// learned.
pub(crate) struct Prior<'a> {
    code: &'a FunctionCode,
    python: Python,
    expressions: Vec<Expression<'a>>,
    /// The cost of skipping each site; [`IMPASSABLE`] for those that this Python does not have, and for `yield`: a frame
    /// ends there, and the next one begins.
    skip_costs: Vec<u16>,
    /// Where a frame ends: at the exit, or at a `yield`.
    ends: Vec<u32>,
    /// From where it goes to the exit without an exception.
    returns: Vec<u32>,
    /// The line of all the code of the function, if there is but one.
    only_line: Option<u32>,
    /// By key of a child: the sites that may have left it, in order, with the cost of doing so.
    emissions: FxHashMap<KeyId, Vec<Emission>>,
    /// By site that takes the next element in a loop: the one that begins the loop ([`generators::loop_starts`]).
    loop_starts: Vec<u32>,
    /// By site that tests the truth of a comparison: that of the comparison; else [`NO_SITE`].
    compared: Vec<u32>,
    /// By join by which the flow goes on if a condition that lasts holds, or does not hold: which condition, and which of
    /// the two.
    gates: FxHashMap<u32, (u32, bool)>,
}

/// A site that may leave a child.
struct Emission {
    site: u32,
    /// The cost of doing so, before anything was learned.
    cost: u32,
    /// What is added because the arguments do not fit, which nothing that is learned changes.
    misfit: u32,
}

impl<'a> Prior<'a> {
    pub(crate) fn new(
        code: &'a FunctionCode,
        classes: &'a Classes,
        keys: &Keys,
        python: Python,
        costs: &Costs,
    ) -> Self {
        let mut expressions = expressions(code, classes);
        let children = code.sequences.iter().flat_map(|it| &it.children);
        let children: FxHashSet<KeyId> = children.map(|it| it.key).collect();
        let called = Called::new(children.iter().map(|&key| keys.get(key)));
        for it in &mut expressions {
            it.target.package = called.package_of(it, &code.recorded);
            it.target.has_dispatcher = called.has_dispatcher_of(it);
        }
        let arguments = expressions.iter().filter_map(|it| match it.kind {
            SiteKind::Call { passes, .. } => Some(passes),
            _ => None,
        });
        // The lambdas and generator expressions that are arguments of calls.
        let arguments: Vec<usize> = arguments.flatten().copied().collect();
        let sites = || (0_u32..).zip(&code.flow.sites).zip(&expressions);
        let mut emissions: FxHashMap<KeyId, Vec<Emission>> = FxHashMap::default();
        for child in children {
            let key = keys.get(child);
            let arity = match key {
                ChildKey::Function(it) => it.source.as_ref().and_then(|it| it.arity),
                ChildKey::Module { class } => classes.arity_of_forward(class),
                _ => None,
            };
            let run = sites().filter(|((_, site), _)| is_run(site, python));
            let of_key = run.filter_map(|((site, _), it)| {
                let cost = affinity::emission(it, key, &code.recorded, &arguments, costs)?;
                Some(Emission { site, cost, misfit: affinity::misfit(it, key, arity, costs) })
            });
            emissions.insert(child, of_key.collect());
        }
        let skip_costs = sites()
            .map(|((_, site), it)| match is_run(site, python) && site.kind != SiteKind::Yield {
                true => affinity::skip_cost(it, &called, costs),
                false => IMPASSABLE,
            })
            .collect();
        let yields = sites().filter(|((_, site), _)| site.kind == SiteKind::Yield);
        let ends = yields.map(|((site, _), _)| site).chain([code.flow.exit]).collect();
        let nodes = 0..code.flow.n_nodes();
        let returns = nodes.filter(|&it| code.flow.next(it).contains(&code.flow.exit)).collect();
        let loop_starts = generators::loop_starts(&code.flow);
        let compared = comparisons_tested(&code.flow);
        let gates =
            code.flow.decisions.iter().flat_map(|it| {
                [(it.holds, (it.condition, true)), (it.fails, (it.condition, false))]
            });
        let gates = gates.collect();
        Self {
            code,
            only_line: code.module.functions().get(code.flow.function).and_then(only_line),
            python,
            expressions,
            skip_costs,
            ends,
            returns,
            emissions,
            loop_starts,
            compared,
            gates,
        }
    }

    /// Which other sites teach something about `site`.
    pub(crate) fn teachers(&self, site: u32) -> Teachers<'_> {
        let expression = self.expressions.get(site as usize);
        Teachers {
            same: expression.and_then(|it| it.shared.as_deref()),
            receiver: expression.and_then(|it| it.receiver),
        }
    }
}

/// The line of all the code of a function, if there is but one.
fn only_line(function: &Function) -> Option<u32> {
    let first_line = match function.kind {
        FunctionKind::Def | FunctionKind::AsyncDef | FunctionKind::Lambda => {
            function.body_first_line
        }
        _ => function.first_line,
    };
    (first_line == function.last_line).then_some(first_line)
}

/// Aligns the sequences of one function.
pub(crate) struct Aligner<'a> {
    prior: &'a Prior<'a>,
    code: &'a FunctionCode,
    keys: &'a Keys,
    learned: &'a Learned,
    costs: &'a Costs,
    code_index: usize,
    python: Python,
    /// What it costs to skip each site, given what was learned.
    skip_costs: Vec<u16>,
    /// What is taken for granted of conditions.
    assumed: Assumptions,
    /// The shortest paths from each node, over the sites between that leave nothing, under these assumptions; filled when
    /// first needed.
    paths: Vec<Option<ShortestPaths>>,
    /// The same under others.
    other_paths: FxHashMap<Assumptions, Vec<Option<ShortestPaths>>>,
    /// Sites that may leave each key, in order, with the cost of doing so.
    candidates: FxHashMap<KeyId, Vec<(u32, u32)>>,
}

/// An event and the one before it.
struct ChildEvents<'a> {
    before: &'a ChildKey,
    key: &'a ChildKey,
    /// Of a generator.
    progress: Option<GeneratorProgress>,
    /// Whether a generator begins right after another one went on.
    restarts: bool,
}

/// A way to explain a child: a site, or none while the path stays where it was.
#[derive(Debug, Clone, Copy)]
struct AlignmentState {
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
        prior: &'a Prior<'a>,
        keys: &'a Keys,
        learned: &'a Learned,
        code_index: usize,
        costs: &'a Costs,
    ) -> Self {
        let skip_costs = (0_u32..).zip(&prior.skip_costs).map(|(site, &cost)| match cost {
            IMPASSABLE => IMPASSABLE,
            _ => learned.skip_cost(code_index, site, prior.teachers(site), cost),
        });
        Self {
            prior,
            code: prior.code,
            keys,
            learned,
            costs,
            code_index,
            python: prior.python,
            skip_costs: skip_costs.collect(),
            assumed: Assumptions::default(),
            paths: vec![None; prior.code.flow.n_nodes() as usize],
            other_paths: FxHashMap::default(),
            candidates: FxHashMap::default(),
        }
    }

    /// Finds the best path, to learn from.
    pub(crate) fn align(&mut self, sequence: &Sequence) -> AlignedFrame {
        let (columns, path) = self.best_path(sequence, Assumptions::default());
        let is_clear: Vec<bool> = columns
            .iter()
            .zip(&path)
            .map(|(column, state)| is_clear(column, state, self.costs.min_lesson))
            .collect();
        let (visited, edges) = self.steps(sequence, &path, &is_clear);
        let sites = path.iter().map(site_of).collect();
        AlignedFrame { sites, is_clear, visited, edges }
    }

    /// Finds the lines that can be assigned, where it is given which conditions hold.
    pub(crate) fn answer(&mut self, sequence: &Sequence, given: Assumptions) -> Answer {
        let (columns, path) = self.best_path(sequence, given);
        let (mut lines, mut sites, mut tied) = (Vec::new(), Vec::new(), Vec::new());
        for (column, state) in columns.iter().zip(&path) {
            let line = self.sure_line(column, site_of(state));
            if line == 0 {
                tied.push(self.tied(column));
            }
            lines.push(line);
            let is_clear = is_clear(column, state, self.costs.min_margin);
            sites.push(if is_clear { site_of(state) } else { NO_SITE });
        }
        tied.retain(|it| it.len() > 1);
        Answer { lines, sites, tied }
    }

    /// Whether a path that takes conditions to hold as it is given explains `sequence` about as well as any other.
    pub(crate) fn is_likely(&mut self, sequence: &Sequence, given: Assumptions) -> bool {
        let [any, of_given] = [Assumptions::default(), given].map(|assumed| {
            self.assume(assumed);
            self.search(sequence).1.last().map_or(UNREACHABLE, total)
        });
        of_given < any.saturating_add(self.costs.condition_changed)
    }

    /// The states that explain each child, and the best of them, where it is given which conditions hold.
    ///
    /// Where that leaves a line open, or takes a condition that lasts to hold here and not there, paths are found that take it
    /// to hold everywhere, and paths that take it to hold nowhere.
    fn best_path(
        &mut self,
        sequence: &Sequence,
        given: Assumptions,
    ) -> (Vec<Vec<AlignmentState>>, Vec<AlignmentState>) {
        self.assume(given);
        let (columns, path) = self.search(sequence);
        let n_conditions = self.code.flow.n_lasting;
        if n_conditions == 0 || sequence.children.len() > MAX_ASSUMED_CHILDREN {
            return (columns, path);
        }
        let is_sure = |(column, state): (&Vec<AlignmentState>, &AlignmentState)| {
            self.sure_line(column, site_of(state)) != 0
        };
        let is_sure = columns.iter().zip(&path).all(is_sure);
        if is_sure && !self.contradicts_itself(sequence, &path) {
            return (columns, path);
        }
        let changed = self.costs.condition_changed;
        let (mut settled, mut open) = (given, Vec::new());
        for condition in (0..n_conditions).filter(|&it| given.of(it).is_none()) {
            let [fails, holds] = [false, true].map(|holds| {
                self.assume(settled.with(condition, holds));
                self.search(sequence).1.last().map_or(UNREACHABLE, total)
            });
            if fails.abs_diff(holds) >= changed {
                settled = settled.with(condition, holds < fails);
            } else if open.len() < MAX_OPEN_CONDITIONS {
                open.push(condition);
            }
        }
        // Unless a condition did change.
        let mut columns = columns;
        columns.iter_mut().flatten().for_each(|it| it.rest = it.rest.saturating_add(changed));
        let mut best = path;
        best.iter_mut().for_each(|it| it.rest = it.rest.saturating_add(changed));
        for values in 0..1_u32 << open.len() {
            let assumed = (0..).zip(&open).fold(settled, |assumed, (bit, &condition)| {
                assumed.with(condition, values >> bit & 1 == 1)
            });
            self.assume(assumed);
            let (more, path) = self.search(sequence);
            if path.last().map(total) < best.last().map(total) {
                best = path;
            }
            columns.iter_mut().zip(more).for_each(|(column, more)| column.extend(more));
        }
        (columns, best)
    }

    /// Takes conditions for granted.
    fn assume(&mut self, assumed: Assumptions) {
        if assumed == self.assumed {
            return;
        }
        let n = self.paths.len();
        let paths = self.other_paths.remove(&assumed).unwrap_or_else(|| vec![None; n]);
        let before = std::mem::replace(&mut self.paths, paths);
        self.other_paths.insert(self.assumed, before);
        self.assumed = assumed;
    }

    /// Whether a path takes a condition that lasts to hold at one place and not to hold at another.
    fn contradicts_itself(&mut self, sequence: &Sequence, path: &[AlignmentState]) -> bool {
        let mut edges = Vec::new();
        let mut from = match sequence.start {
            Start::Entry => Some(self.code.flow.entry),
            Start::Within(_) => None,
        };
        for state in path.iter().filter(|it| it.is_explained) {
            if let Some(from) = from
                && (from != state.at || self.distance(from, from) < UNREACHABLE)
            {
                self.add_edges(from, state.at, &mut edges);
            }
            from = Some(state.at);
        }
        if let Some(from) = from {
            self.find_paths(from);
            let (_, end) = self.nearest_end(from, sequence.returned);
            self.add_edges_to_end(from, end, sequence.returned, &mut edges);
        }
        let mut seen = Assumptions::default();
        edges.iter().filter_map(|(_, to)| self.prior.gates.get(to)).any(|&(condition, holds)| {
            let is_contrary = seen.of(condition) == Some(!holds);
            seen = seen.with(condition, holds);
            is_contrary
        })
    }

    /// The states that explain each child under what is assumed, and the best of them.
    fn search(&mut self, sequence: &Sequence) -> (Vec<Vec<AlignmentState>>, Vec<AlignmentState>) {
        let n = sequence.children.len();
        let mut columns: Vec<Vec<AlignmentState>> = Vec::with_capacity(n);
        for (row, &child) in sequence.children.iter().enumerate() {
            let column = match row.checked_sub(1) {
                None => self.first_column(sequence.start, child),
                Some(before) => {
                    let key = sequence.children[before].key;
                    self.next_column(&columns[before], key, child)
                }
            };
            columns.push(column);
        }
        self.fill_rest(sequence, &mut columns);
        let best = columns.last().and_then(|column| {
            (0..column.len())
                .min_by_key(|&state| column[state].forward.saturating_add(column[state].rest))
        });
        let mut path = Vec::with_capacity(n);
        let mut state = best.unwrap_or(0);
        for column in columns.iter().rev() {
            let Some(it) = column.get(state) else { break };
            path.push(*it);
            state = it.back;
        }
        path.reverse();
        (columns, path)
    }

    /// The lines that explain a child about as well as the best one; none if leaving it unexplained is as good.
    fn tied(&self, column: &[AlignmentState]) -> Vec<u32> {
        let best = column.iter().map(total).min().unwrap_or(UNREACHABLE);
        let mut lines = Vec::new();
        for state in
            column.iter().filter(|it| total(it) < best.saturating_add(self.costs.min_margin))
        {
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
        path: &[AlignmentState],
        is_clear: &[bool],
    ) -> (Vec<u32>, Vec<(u32, u32)>) {
        let (mut visited, mut edges) = (Vec::new(), Vec::new());
        let mut from = match sequence.start {
            Start::Entry => Some(self.code.flow.entry),
            Start::Within(_) => None,
        };
        let Some(first) = sequence.children.first() else { return (visited, edges) };
        let befores = [first].into_iter().chain(&sequence.children).map(|it| it.key);
        let rows = path.iter().zip(&sequence.children).zip(is_clear).zip(befores);
        for (((state, child), &is_clear), before) in rows {
            if !state.is_explained {
                continue;
            }
            let expression = &self.prior.expressions[state.at as usize];
            let (before, key) = (self.keys.get(before), self.keys.get(child.key));
            let repeat = affinity::repeat_cost(expression, before, key, self.costs);
            self.find_paths(state.at);
            if from == Some(state.at) && repeat <= self.distance(state.at, state.at) {
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
        if let Some(from) = from.filter(|_| !sequence.is_cut) {
            self.find_paths(from);
            let (way, end) = self.nearest_end(from, sequence.returned);
            if way <= self.costs.not_returned {
                self.add_edges_to_end(from, end, sequence.returned, &mut edges);
            }
        }
        (visited, edges)
    }

    /// The line of `site`, if every path through another line costs clearly more, or there is no other line.
    fn sure_line(&self, column: &[AlignmentState], site: u32) -> u32 {
        if let Some(line) = self.prior.only_line {
            return line;
        }
        let Some(line) = self.line(site) else { return 0 };
        let is_here =
            |state: &&AlignmentState| state.is_explained && self.line(state.at) == Some(line);
        let here = column.iter().filter(is_here).map(total).min().unwrap_or(UNREACHABLE);
        let other =
            column.iter().filter(|state| !is_here(state)).map(total).min().unwrap_or(UNREACHABLE);
        if other >= here.saturating_add(self.costs.min_margin) { line } else { 0 }
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

    fn first_column(&mut self, start: Start, child: Child) -> Vec<AlignmentState> {
        let begins = self.begins(start);
        let open_line = match start {
            Start::Entry => 0,
            Start::Within(line) => line,
        };
        begins.iter().for_each(|&begin| self.find_paths(begin));
        let candidates = self.candidates(child);
        // What is awaited goes on before anything else is done.
        let goes_on =
            GeneratorProgress::of(self.keys.get(child.key)) == Some(GeneratorProgress::GoesOn);
        let is_await =
            |&it: &u32| self.code.flow.site(it).is_some_and(|site| site.kind == SiteKind::Await);
        let awaits = goes_on && begins.iter().any(is_await);
        let mut column = Vec::with_capacity(candidates.len() + 1);
        for (site, emission) in candidates {
            let distance = if begins.is_empty() {
                // The frame was open before: its line then is that of the call that was going on.
                if self.line(site) == Some(open_line) { 0 } else { self.costs.elsewhere }
            } else {
                let distances = begins.iter().map(|&begin| self.distance(begin, site));
                let elsewhere =
                    if awaits && !begins.contains(&site) { self.costs.elsewhere } else { 0 };
                distances.min().unwrap_or(UNREACHABLE).saturating_add(elsewhere)
            };
            if distance < UNREACHABLE {
                let forward = distance + emission;
                column.push(AlignmentState {
                    at: site,
                    is_explained: true,
                    forward,
                    back: 0,
                    rest: UNREACHABLE,
                });
            }
        }
        let at = begins.first().copied().unwrap_or(NO_SITE);
        column.push(AlignmentState {
            at,
            is_explained: false,
            forward: self.costs.unexplained,
            back: 0,
            rest: UNREACHABLE,
        });
        column
    }

    /// `key_before` is the child before.
    fn next_column(
        &mut self,
        before: &[AlignmentState],
        key_before: KeyId,
        child: Child,
    ) -> Vec<AlignmentState> {
        let candidates = self.candidates(child);
        let events = self.events(key_before, child.key);
        self.find_loop_paths(&candidates, events.progress);
        let mut best = vec![(UNREACHABLE, 0); candidates.len()];
        for (index, state) in before.iter().enumerate() {
            self.find_paths(state.at);
            let paths = self.paths_from(state.at);
            for (best, &(site, _)) in best.iter_mut().zip(&candidates) {
                let step = self.step(paths, state, site, &events);
                *best = (*best).min((state.forward.saturating_add(step), index));
            }
        }
        let reached = candidates.into_iter().zip(best).filter(|(_, best)| best.0 < UNREACHABLE);
        let mut column: Vec<AlignmentState> = reached
            .map(|((site, emission), (way, back))| AlignmentState {
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
        column.extend(stays.into_iter().map(|(at, (forward, back))| AlignmentState {
            at,
            is_explained: false,
            forward: forward.saturating_add(self.costs.unexplained),
            back,
            rest: UNREACHABLE,
        }));
        // What is so much worse than the best cannot become part of the best path, nor a rival to it.
        let best = column.iter().map(|state| state.forward).min().unwrap_or(UNREACHABLE);
        column.retain(|state| state.forward <= best.saturating_add(2 * self.costs.unexplained));
        column
    }

    fn events(&self, before: KeyId, key: KeyId) -> ChildEvents<'a> {
        let (before, key) = (self.keys.get(before), self.keys.get(key));
        let progress = GeneratorProgress::of(key);
        let ended_before = GeneratorProgress::of(before) == Some(GeneratorProgress::GoesOn);
        let restarts = progress == Some(GeneratorProgress::Begins) && ended_before;
        ChildEvents { before, key, progress, restarts }
    }

    /// Cost of the skipped sites on the path from `state` to `site`, which leaves the event; `paths` are those from there.
    fn step(
        &self,
        paths: Option<&ShortestPaths>,
        state: &AlignmentState,
        site: u32,
        events: &ChildEvents<'_>,
    ) -> u32 {
        let from = state.at;
        if from == NO_SITE {
            return 0;
        }
        let direct = paths.map_or(UNREACHABLE, |paths| paths.cost(site).min(UNREACHABLE));
        let cost = match events.progress {
            Some(progress) => self.step_of_generator(paths, direct, from, site, progress),
            None => direct,
        };
        if from != site {
            // Only a comparison that gives a tensor leaves an event when its truth is read.
            let compared = self.prior.compared[site as usize];
            let more = if compared != NO_SITE && compared != from {
                self.costs.truth_without_comparison
            } else if site != from + 1 {
                self.result_unused(state, events.before)
            } else {
                0
            };
            return cost.saturating_add(more).min(UNREACHABLE);
        }
        // One expression may leave several events in a row.
        let expression = &self.prior.expressions[site as usize];
        let repeat = affinity::repeat_cost(expression, events.before, events.key, self.costs);
        cost.min(if events.restarts { repeat + self.costs.generator_restarted } else { repeat })
    }

    /// What it costs to go on from `state`, whose event was `key`, to anything but what the text does with the tensor that an operator
    /// gave: another operator on it, or a test of its truth, leaves an event.
    fn result_unused(&self, state: &AlignmentState, key: &ChildKey) -> u32 {
        let next = self.code.flow.site(state.at.saturating_add(1));
        let is_used = next.is_some_and(|it| it.goes_on);
        let is_operator = matches!(key, ChildKey::Operator { .. });
        if is_operator && state.is_explained && is_used { self.costs.result_unused } else { 0 }
    }

    /// Cost of the path to a site that takes an element from a generator; `direct` is that of the shortest one.
    fn step_of_generator(
        &self,
        paths: Option<&ShortestPaths>,
        direct: u32,
        from: u32,
        site: u32,
        progress: GeneratorProgress,
    ) -> u32 {
        let start = self.prior.loop_starts[site as usize];
        if start == NO_SITE {
            let is_begun_elsewhere = progress == GeneratorProgress::GoesOn
                && from != site
                && generators::takes_all(self.prior.expressions[site as usize].kind);
            let more = if is_begun_elsewhere { self.costs.generator_not_begun } else { 0 };
            return direct.saturating_add(more).min(UNREACHABLE);
        }
        // The loop is entered where it begins.
        let to_start = if from == start {
            0
        } else {
            let skipped = u32::from(self.skip_costs[start as usize]);
            let to_start = paths.map_or(UNREACHABLE, |paths| paths.cost(start));
            to_start.saturating_add(skipped)
        };
        let entered = to_start.saturating_add(self.distance(start, site)).min(UNREACHABLE);
        match progress {
            GeneratorProgress::Begins => entered,
            GeneratorProgress::GoesOn if entered <= direct => {
                direct.saturating_add(self.costs.generator_not_begun).min(UNREACHABLE)
            }
            GeneratorProgress::GoesOn => direct,
        }
    }

    /// Finds the paths from where the loops begin in which `candidates` take elements from a generator.
    fn find_loop_paths(&mut self, candidates: &[(u32, u32)], progress: Option<GeneratorProgress>) {
        if progress.is_none() {
            return;
        }
        for &(site, _) in candidates {
            let start = self.prior.loop_starts[site as usize];
            if start != NO_SITE {
                self.find_paths(start);
            }
        }
    }

    fn fill_rest(&mut self, sequence: &Sequence, columns: &mut [Vec<AlignmentState>]) {
        let Some(last) = columns.last_mut() else { return };
        let last_key = sequence.children.last().map(|it| self.keys.get(it.key));
        // Frames that were open when recording began are mostly open when it ends.
        let is_open = self.begins(sequence.start).is_empty();
        let not_returned = match sequence.returned {
            true => self.costs.not_returned_seen,
            false => self.costs.not_returned,
        };
        for state in last.iter_mut() {
            self.find_paths(state.at);
            let goes_on = is_open || sequence.is_cut || state.at == NO_SITE;
            let way = if goes_on { 0 } else { self.nearest_end(state.at, sequence.returned).0 };
            state.rest = if way >= UNREACHABLE {
                self.costs.not_returned
            } else {
                let unused = last_key.map_or(0, |key| self.result_unused(state, key));
                way.saturating_add(unused).min(not_returned)
            };
        }
        for at in (1..columns.len()).rev() {
            let (before, after) = columns.split_at_mut(at);
            let (before, after) = (&mut before[at - 1], &after[0]);
            let child = sequence.children[at];
            let emissions = self.candidates(child);
            let events = self.events(sequence.children[at - 1].key, child.key);
            let emission = |state: &AlignmentState| {
                let row = emissions.binary_search_by_key(&state.at, |&(site, _)| site);
                row.map_or(UNREACHABLE, |row| emissions[row].1)
            };
            let after: Vec<(AlignmentState, u32)> =
                after.iter().map(|it| (*it, emission(it))).collect();
            for state in before.iter_mut() {
                let paths = self.paths_from(state.at);
                for &(next, emission) in &after {
                    let cost = if next.is_explained {
                        self.step(paths, state, next.at, &events).saturating_add(emission)
                    } else if next.at == state.at {
                        self.costs.unexplained
                    } else {
                        continue;
                    };
                    state.rest = state.rest.min(cost.saturating_add(next.rest));
                }
            }
        }
    }

    /// Cost of the shortest path between two nodes, once [`Self::find_paths`] has found those from `from`.
    fn distance(&self, from: u32, to: u32) -> u32 {
        self.paths_from(from).map_or(UNREACHABLE, |paths| paths.cost(to).min(UNREACHABLE))
    }

    /// What the way costs to where the frame ends, and which of its ends that is. `returned`: not by an exception.
    fn nearest_end(&self, from: u32, returned: bool) -> (u32, u32) {
        let way = |end: u32| match returned {
            true if end == from => 0,
            true => {
                let skipped = self.skip_costs.get(end as usize).copied().unwrap_or(0);
                self.distance(from, end).saturating_add(u32::from(skipped)).min(UNREACHABLE)
            }
            false => self.distance(from, end),
        };
        let ends = if returned { &self.prior.returns } else { &self.prior.ends };
        let nearest = ends.iter().map(|&end| (way(end), end)).min();
        nearest.unwrap_or((UNREACHABLE, self.code.flow.exit))
    }

    /// Adds the edges of that way.
    fn add_edges_to_end(
        &mut self,
        from: u32,
        end: u32,
        returned: bool,
        edges: &mut Vec<(u32, u32)>,
    ) {
        if end != from {
            self.add_edges(from, end, edges);
        }
        if returned {
            edges.push((end, self.code.flow.exit));
        }
    }

    /// The shortest paths from a node, once [`Self::find_paths`] has found them.
    fn paths_from(&self, from: u32) -> Option<&ShortestPaths> {
        self.paths.get(from as usize)?.as_ref()
    }

    fn add_edges(&mut self, from: u32, to: u32, edges: &mut Vec<(u32, u32)>) {
        self.find_paths(from);
        if let Some(Some(paths)) = self.paths.get(from as usize) {
            paths.edges(to, edges);
        }
    }

    /// Finds the shortest paths from `node`, once.
    fn find_paths(&mut self, node: u32) {
        let (code, learned, code_index, costs) =
            (self.code, self.learned, self.code_index, self.costs);
        let expressions = &self.prior.expressions;
        let Some(paths @ None) = self.paths.get_mut(node as usize) else { return };
        let (gates, assumed) = (&self.prior.gates, self.assumed);
        let edge_cost = |from: u32, to, kind| match kind {
            EdgeKind::Exception if code.flow.site(from).is_some_and(|it| it.is_tried) => {
                costs.raised_in_vain
            }
            EdgeKind::Exception => costs.raised,
            EdgeKind::Normal => {
                let gate = gates.get(&to);
                let is_closed = gate.is_some_and(|&(condition, holds)| {
                    assumed.of(condition).is_some_and(|assumed| assumed != holds)
                });
                match learned.is_taken(code_index, from, to) {
                    _ if is_closed => pysource::flow::UNREACHABLE,
                    Some(true) => 0,
                    Some(false) => costs.never_taken,
                    None => match expressions.get(from as usize) {
                        Some(site) if code.flow.next(from).first() == Some(&to) => {
                            affinity::branch_cost(site, costs)
                        }
                        _ => 0,
                    },
                }
            }
        };
        *paths = Some(code.flow.shortest_paths(node, &self.skip_costs, edge_cost));
    }

    /// The sites that may have left `child`, in order, with the cost of doing so.
    fn candidates(&mut self, child: Child) -> Vec<(u32, u32)> {
        let (code, prior, learned, code_index) =
            (self.code, self.prior, self.learned, self.code_index);
        let known_line = self.costs.known_line;
        let minor = self.python.minor;
        let of_key = self.candidates.entry(child.key).or_insert_with(|| {
            let of_key = prior.emissions.get(&child.key).map_or(&[][..], Vec::as_slice);
            let learn = |it: &Emission| {
                let shared = prior.teachers(it.site).same;
                let cost = learned.emission(code_index, it.site, shared, child.key, it.cost);
                (it.site, cost + it.misfit)
            };
            of_key.iter().map(learn).collect()
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
        sites.filter_map(|(site, _)| Some((u32::try_from(site).ok()?, known_line))).collect()
    }
}

/// What is taken for granted of the conditions of a frame that last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Assumptions {
    /// A bit for each condition of which something is assumed.
    known: u32,
    /// Those of them that hold.
    holding: u32,
}

impl Assumptions {
    pub(crate) fn with(self, condition: u32, holds: bool) -> Self {
        let bit = 1_u32.checked_shl(condition).unwrap_or(0);
        let holding = if holds { self.holding | bit } else { self.holding & !bit };
        Self { known: self.known | bit, holding }
    }

    pub(crate) fn of(self, condition: u32) -> Option<bool> {
        let bit = 1_u32.checked_shl(condition).unwrap_or(0);
        (self.known & bit != 0).then_some(self.holding & bit != 0)
    }
}

/// By site: of one that tests the truth of a comparison, that of the comparison; else [`NO_SITE`].
fn comparisons_tested(flow: &Flow) -> Vec<u32> {
    let mut compared = vec![NO_SITE; flow.sites.len()];
    for (at, pair) in (0_u32..).zip(flow.sites.windows(2)) {
        let is_test = pair[1].kind == SiteKind::TruthTest && pair[1].goes_on;
        if is_test && matches!(pair[0].kind, SiteKind::Compare { .. }) {
            compared[at as usize + 1] = at;
        }
    }
    compared
}

/// The site that a state says a child came from.
fn site_of(state: &AlignmentState) -> u32 {
    if state.is_explained { state.at } else { NO_SITE }
}

/// Cost of the best path through a state.
fn total(state: &AlignmentState) -> u32 {
    state.forward.saturating_add(state.rest)
}

/// Whether the column's other states cost at least `margin` more than that of the best path.
fn is_clear(column: &[AlignmentState], best: &AlignmentState, margin: u32) -> bool {
    let others = column.iter().filter(|it| !(it.is_explained && it.at == best.at));
    let other = others.map(total).min().unwrap_or(UNREACHABLE);
    best.is_explained && other >= total(best).saturating_add(margin)
}

/// Whether a site is there in the Python that recorded: a comprehension is either a frame or part of its function.
fn is_run(site: &Site, python: Python) -> bool {
    match (python.has_comprehension_frames, &site.kind) {
        (Some(true), _) => site.inlined.is_none(),
        (Some(false), SiteKind::Comprehension { .. }) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PYTHON, code, sequence};

    /// The lines of the operators `names` in a function `f`, and the tied candidates.
    fn aligned(text: &str, names: &[&str]) -> (Vec<u32>, Vec<Vec<u32>>) {
        let mut keys = Keys::default();
        let children: Vec<KeyId> = names.iter().map(|name| keys.operator_named(name)).collect();
        let mut code = code(text, "f");
        code.sequences.push(sequence(&children));
        let (classes, costs, learned) = (Classes::default(), Costs::default(), Learned::default());
        let prior = Prior::new(&code, &classes, &keys, PYTHON, &costs);
        let mut aligner = Aligner::new(&prior, &keys, &learned, 0, &costs);
        let answer = aligner.answer(&code.sequences[0], Assumptions::default());
        (answer.lines, answer.tied)
    }

    #[test]
    fn the_order_of_the_children_is_that_of_the_lines() {
        let text = "def f(a, b):\n    c = a @ b\n    d = c + a\n    e = d @ b\n    return e\n";
        assert_eq!(aligned(text, &["matmul", "add", "matmul"]).0, [2, 3, 4]);
    }

    #[test]
    fn equal_branches_are_tied() {
        let text = "def f(a, b, c):\n    if c is None:\n        a = a @ b\n    else:\n        a = b @ a\n    return a\n";
        assert_eq!(aligned(text, &["matmul"]), (vec![0], vec![vec![3, 5]]));
    }

    #[test]
    fn what_no_site_leaves_stays_unexplained() {
        let text = "def f(a, b):\n    c = 1\n    return a @ b\n";
        assert_eq!(aligned(text, &["sub", "matmul"]).0, [0, 3]);
    }

    #[test]
    fn what_is_left_on_the_only_line_comes_from_there() {
        let text = "def f(a, b):\n    return a @ b\n";
        assert_eq!(aligned(text, &["sub", "matmul"]).0, [2, 2]);
    }

    #[test]
    fn a_loop_is_passed_as_often_as_it_left_something() {
        let text = "def f(a, b, n):\n    for _ in range(n):\n        a = a @ b\n        a = a - b\n    return a + b\n";
        let names = ["matmul", "sub", "matmul", "sub", "add"];
        assert_eq!(aligned(text, &names).0, [3, 4, 3, 4, 5]);
    }
}
