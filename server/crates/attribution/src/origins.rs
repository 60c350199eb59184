//! The lines of the user that a kernel of a generated file was made from, in place of the generated line.

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger::Evidence;
use line_stacks::{FileId, LineId, Lines, Node, Stacks};
use profile::{GeneratedFile, OriginFrame, Profile, StrId};
use recorded::{RecordedSources, function_of};
use rustc_hash::FxHashMap;

use crate::compute_pass::ComputePass;
use crate::moved_lines::lines_in_text;
use crate::names::Names;

/// What is known of generated files. Empty where no log was joined.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    files: FxHashMap<FileId, Vec<KernelOrigin>>,
    /// First and last line of the functions that outermost lines of stacks are in, as far as their texts are known.
    functions: FxHashMap<LineId, (u32, u32)>,
    known: FxHashMap<(Node, LineId), Node>,
}

/// Lines of a generated file, and the stacks of lines that the kernel on them was made from.
#[derive(Debug)]
struct KernelOrigin {
    first_line: u32,
    last_line: u32,
    stacks: Arc<[Vec<LineId>]>,
    /// How certain they are at best.
    evidence: Evidence,
    pass: ComputePass,
}

impl Origins {
    pub(crate) fn new(
        profile: &Profile,
        sources: &RecordedSources,
        names: &mut Names<'_>,
        lines: &mut Lines,
    ) -> Self {
        let (mut files, mut functions) = (FxHashMap::default(), FxHashMap::default());
        if !names.uses_callers() {
            return Self::default();
        }
        for generated in &profile.generated {
            let file = names.file(profile.strings.get(generated.path), lines);
            let moved = moved_lines(generated, profile, sources);
            let mut calls = Vec::with_capacity(generated.calls.len());
            for call in &generated.calls {
                let mut stacks: Vec<Vec<LineId>> = Vec::with_capacity(call.origins.len());
                // Runs of operations that a library asked for.
                let (mut n_hidden, mut hidden) = (0, None);
                // A line that was found again is not one that was noted.
                let mut evidence = match call.is_inferred() {
                    true => Evidence::Inferred,
                    false => Evidence::Exact,
                };
                for (at, frames) in call.origins.iter().enumerate() {
                    let mut stack = Vec::with_capacity(frames.len());
                    for noted in frames {
                        let Some(frame) = in_text_that_ran(noted, &moved) else { break };
                        if frame != *noted {
                            evidence = Evidence::Inferred;
                        }
                        let recorded = profile.strings.get(frame.file);
                        let file = names.file(recorded, lines);
                        let line = lines.line(file, frame.line);
                        lines.name(line, function_of(profile.strings.get(frame.function)));
                        let module = sources.get(recorded).and_then(|it| it.module.as_ref());
                        if let Some(it) = module.and_then(|it| it.enclosing(frame.line)) {
                            functions.insert(line, (it.first_line, it.last_line));
                        }
                        stack.push(line);
                    }
                    // Calls within libraries make no difference. Where only the innermost frame is known, which line called
                    // the library is not: that part stays on the function.
                    let is_of_user = lines.last_of_user(&stack).is_some();
                    if is_of_user && !stacks.contains(&stack) {
                        stacks.push(stack);
                    }
                    let run = call.runs.get(at).filter(|_| !is_of_user);
                    n_hidden += usize::from(run.is_some() && run != hidden);
                    hidden = run;
                }
                if !stacks.is_empty() {
                    // Before the others, so that the line of the function is kept.
                    stacks.splice(0..0, std::iter::repeat_n(Vec::new(), n_hidden));
                    let (first_line, last_line) = (call.first_line, call.last_line);
                    let stacks = stacks.into();
                    let pass = match (generated.is_backward, call.is_recomputed) {
                        (false, _) => ComputePass::Forward,
                        (true, false) => ComputePass::Backward,
                        (true, true) => ComputePass::Recompute,
                    };
                    calls.push(KernelOrigin { first_line, last_line, stacks, evidence, pass });
                }
            }
            files.insert(file, calls);
        }
        Self { files, functions, known: FxHashMap::default() }
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What the kernel on `line` of a generated file was made from.
    fn of_line(&self, lines: &Lines, line: LineId) -> Option<&KernelOrigin> {
        let calls = self.files.get(&lines.file_of(line))?;
        let number = lines.number(line);
        let next = calls.partition_point(|it| it.first_line <= number);
        calls[..next].last().filter(|it| number <= it.last_line)
    }

    /// Whether a kernel is called on `line` whose origin is known.
    pub(crate) fn is_kernel_line(&self, lines: &Lines, line: LineId) -> bool {
        !self.is_empty() && self.of_line(lines, line).is_some()
    }

    /// The pass of what is called on `line`, if that calls a kernel whose origin is known.
    pub(crate) fn pass(&self, lines: &Lines, line: LineId) -> Option<ComputePass> {
        if self.is_empty() { None } else { self.of_line(lines, line).map(|it| it.pass) }
    }

    /// `stack`, whose last line calls a kernel in a generated file, with the lines below it that the kernel was made from.
    ///
    /// The compiled function has one line in the stack below which its code was generated: that of its definition. The line
    /// that it was really on takes its place.
    pub(crate) fn below(&mut self, stack: Node, stacks: &mut Stacks) -> Node {
        let line = stacks.line(stack);
        if self.is_empty() || line == LineId::NONE {
            return stack;
        }
        if let Some(&known) = self.known.get(&(stack, line)) {
            return known;
        }
        let origins = self.of_line(&stacks.lines, line);
        let origins = origins.map(|it| (Arc::clone(&it.stacks), it.evidence));
        let node = match origins {
            Some((origins, evidence)) => self.with_origins(stack, &origins, evidence, stacks),
            None => stack,
        };
        self.known.insert((stack, line), node);
        node
    }

    fn with_origins(
        &self,
        stack: Node,
        origins: &[Vec<LineId>],
        evidence: Evidence,
        stacks: &mut Stacks,
    ) -> Node {
        let evidence = stacks.evidence(stack).max(evidence);
        let first = &origins[0];
        let n_common = (0..first.len())
            .take_while(|&at| origins.iter().all(|it| it.get(at) == first.get(at)))
            .count();
        let common = (n_common > 0).then_some(evidence);
        let (mut node, is_in_place) = self.without_function(stack, first, common, stacks);
        for &line in &first[usize::from(is_in_place).min(n_common)..n_common] {
            node = stacks.push(node, line, evidence);
        }
        let parts: Vec<Vec<LineId>> = origins.iter().map(|it| it[n_common..].to_vec()).collect();
        match parts.len() {
            1 => node,
            _ => {
                let n_hidden = origins.iter().take_while(|it| it.is_empty()).count();
                push_fused(node, &parts, n_hidden, evidence, stacks)
            }
        }
    }

    /// `stack` with the line of the compiled function replaced by `origin[0]`, with the evidence `common`, or without it where the origins differ from
    /// there on; and whether it was replaced. It is the last line of user code, if that is in the same function; else the stack stays (the
    /// graph of a backward pass runs below another function).
    fn without_function(
        &self,
        stack: Node,
        origin: &[LineId],
        common: Option<Evidence>,
        stacks: &mut Stacks,
    ) -> (Node, bool) {
        let (mut above, mut at) = (Vec::new(), stack);
        while !at.is_empty() && !stacks.lines.is_user_code(stacks.line(at)) {
            above.push((stacks.line(at), stacks.evidence(at)));
            at = stacks.parent(at);
        }
        let Some(&outermost) = origin.first().filter(|_| !at.is_empty()) else {
            return (stack, false);
        };
        let (function, lines) = (stacks.line(at), &stacks.lines);
        // Several functions of a file may have one name.
        let is_within =
            |&(first, last): &(u32, u32)| (first..=last).contains(&lines.number(function));
        let is_same = lines.file_of(function) == lines.file_of(outermost)
            && lines.function(function) == lines.function(outermost)
            && self.functions.get(&outermost).is_none_or(is_within);
        if !is_same {
            return (stack, false);
        }
        let parent = stacks.parent(at);
        let base = common.map_or(parent, |evidence| stacks.push(parent, outermost, evidence));
        let rebased = above.into_iter().rev();
        (rebased.fold(base, |node, (line, how)| stacks.push(node, line, how)), common.is_some())
    }
}

/// By file and number when they were compiled, where the lines of a graph are in the texts that ran, of all that are known.
type MovedLines = FxHashMap<StrId, BTreeMap<u32, Option<u32>>>;

fn moved_lines(
    generated: &GeneratedFile,
    profile: &Profile,
    sources: &RecordedSources,
) -> MovedLines {
    let mut compiled: BTreeMap<StrId, BTreeMap<u32, &str>> = BTreeMap::new();
    for it in &generated.lines {
        compiled.entry(it.file).or_default().insert(it.line, profile.strings.get(it.text));
    }
    let moved = |(file, lines): (StrId, BTreeMap<u32, &str>)| {
        let source = sources.get(profile.strings.get(file))?;
        // What is not certain to be the text that ran says nothing of its lines.
        let text = source.text.as_ref().filter(|_| !source.origin.is_doubtful())?;
        Some((file, lines_in_text(&lines, text)))
    };
    compiled.into_iter().filter_map(moved).collect()
}

/// A frame with the line that it has in the text that ran; `None` where that is not known.
fn in_text_that_ran(frame: &OriginFrame, moved: &MovedLines) -> Option<OriginFrame> {
    let place = moved.get(&frame.file).and_then(|it| it.get(&frame.line));
    let line = place.copied().unwrap_or(Some(frame.line))?;
    Some(OriginFrame { line, ..*frame })
}

/// Adds what belongs to several lines, each once. A kernel may be made from a call and from what that calls: then one of the
/// parts is empty, and the last line that all have in common takes its place; so it does for each of the first `n_hidden` parts, of which the line is not known.
fn push_fused(
    node: Node,
    parts: &[Vec<LineId>],
    n_hidden: usize,
    evidence: Evidence,
    stacks: &mut Stacks,
) -> Node {
    let charged = stacks.charged_line(node);
    let own_of = |part: &Vec<LineId>| stacks.lines.last_of_user(part).unwrap_or(charged);
    let mut of_own: Vec<(LineId, Vec<LineId>)> = Vec::with_capacity(parts.len());
    for (at, part) in parts.iter().enumerate() {
        let own = own_of(part);
        if at < n_hidden || !of_own.iter().any(|(it, _)| *it == own) {
            let is_below = stacks.lines.last_of_user(part).is_some();
            of_own.push((own, if is_below { part.clone() } else { vec![charged] }));
        }
    }
    let parts: Vec<Vec<LineId>> = of_own.into_iter().map(|(_, it)| it).collect();
    if let [part] = &parts[..] {
        return part.iter().fold(node, |node, &line| match stacks.line(node) == line {
            true => node,
            false => stacks.push(node, line, evidence),
        });
    }
    match stacks.lines.fused(&parts) {
        Some(fused) => stacks.push(node, fused, evidence),
        None => node,
    }
}
