//! The lines of the user that a kernel of a generated file was made from, in place of the generated line.

use std::sync::Arc;

use ledger::Evidence;
use line_stacks::{FileId, LineId, Lines, Node, Stacks};
use profile::Profile;
use recorded::function_of;
use rustc_hash::FxHashMap;

use crate::names::Names;

/// What is known of generated files. Empty where no log was joined.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    files: FxHashMap<FileId, Vec<KernelOrigin>>,
    known: FxHashMap<(Node, LineId), Node>,
}

/// Lines of a generated file, and the stacks of lines that the kernel on them was made from.
#[derive(Debug)]
struct KernelOrigin {
    first_line: u32,
    last_line: u32,
    stacks: Arc<[Vec<LineId>]>,
}

impl Origins {
    pub(crate) fn new(profile: &Profile, names: &mut Names<'_>, lines: &mut Lines) -> Self {
        let mut files = FxHashMap::default();
        if !names.uses_callers() {
            return Self::default();
        }
        for generated in &profile.generated {
            let file = names.file(profile.strings.get(generated.path), lines);
            let mut calls = Vec::with_capacity(generated.calls.len());
            for call in &generated.calls {
                let mut stacks: Vec<Vec<LineId>> = Vec::with_capacity(call.origins.len());
                for frames in &call.origins {
                    let mut stack = Vec::with_capacity(frames.len());
                    for frame in frames {
                        let file = names.file(profile.strings.get(frame.file), lines);
                        let line = lines.line(file, frame.line);
                        lines.name(line, function_of(profile.strings.get(frame.function)));
                        stack.push(line);
                    }
                    // Calls within libraries make no difference.
                    if lines.last_of_user(&stack).is_some() && !stacks.contains(&stack) {
                        stacks.push(stack);
                    }
                }
                if !stacks.is_empty() {
                    let (first_line, last_line) = (call.first_line, call.last_line);
                    calls.push(KernelOrigin { first_line, last_line, stacks: stacks.into() });
                }
            }
            files.insert(file, calls);
        }
        Self { files, known: FxHashMap::default() }
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The stacks of lines that the kernel on `line` of a generated file was made from.
    fn of_line(&self, lines: &Lines, line: LineId) -> Option<Arc<[Vec<LineId>]>> {
        let calls = self.files.get(&lines.file_of(line))?;
        let number = lines.number(line);
        let next = calls.partition_point(|it| it.first_line <= number);
        let call = calls[..next].last().filter(|it| number <= it.last_line)?;
        Some(Arc::clone(&call.stacks))
    }

    /// Whether a kernel is called on `line` whose origin is known.
    pub(crate) fn is_kernel_line(&self, lines: &Lines, line: LineId) -> bool {
        !self.is_empty() && self.of_line(lines, line).is_some()
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
        let node = origins.map_or(stack, |origins| with_origins(stack, &origins, stacks));
        self.known.insert((stack, line), node);
        node
    }
}

fn with_origins(stack: Node, origins: &[Vec<LineId>], stacks: &mut Stacks) -> Node {
    let evidence = stacks.evidence(stack);
    let first = &origins[0];
    let n_common = (0..first.len())
        .take_while(|&at| origins.iter().all(|it| it.get(at) == first.get(at)))
        .count();
    let (mut node, is_in_place) = without_function(stack, first, n_common > 0, stacks);
    for &line in &first[usize::from(is_in_place).min(n_common)..n_common] {
        node = stacks.push(node, line, evidence);
    }
    let parts: Vec<Vec<LineId>> = origins.iter().map(|it| it[n_common..].to_vec()).collect();
    match parts.len() {
        1 => node,
        _ => push_fused(node, &parts, evidence, stacks),
    }
}

/// Adds what belongs to several lines, each once. A kernel may be made from a call and from what that calls: then one of the
/// parts is empty, and the last line that all have in common takes its place.
fn push_fused(node: Node, parts: &[Vec<LineId>], evidence: Evidence, stacks: &mut Stacks) -> Node {
    let charged = stacks.charged_line(node);
    let own_of = |part: &Vec<LineId>| stacks.lines.last_of_user(part).unwrap_or(charged);
    let mut of_own: Vec<(LineId, Vec<LineId>)> = Vec::with_capacity(parts.len());
    for part in parts {
        let own = own_of(part);
        if !of_own.iter().any(|(it, _)| *it == own) {
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

/// `stack` with the line of the compiled function replaced by `origin[0]`, or without it where the origins differ from there on;
/// and whether it was replaced. It is the last line of user code, if that is in the same function; else the stack stays (the
/// graph of a backward pass runs below another function).
fn without_function(
    stack: Node,
    origin: &[LineId],
    is_common: bool,
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
    let is_same = lines.file_of(function) == lines.file_of(outermost)
        && lines.function(function) == lines.function(outermost);
    if !is_same {
        return (stack, false);
    }
    let evidence = stacks.evidence(stack);
    let parent = stacks.parent(at);
    let base = if is_common { stacks.push(parent, outermost, evidence) } else { parent };
    let rebased = above.into_iter().rev();
    (rebased.fold(base, |node, (line, how)| stacks.push(node, line, how)), is_common)
}
