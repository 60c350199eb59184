//! A text that may have run, made of a later one: its functions put where a recording names them.
//!
//! A recording says where functions begin and, some of them, on which lines what was called. The lines of the later text are
//! aligned with that, in order: a function with one of its name, a line of calls with a line that calls what was called. As
//! few places as possible are taken to have moved against what stands before them. Where the recorded text had more lines,
//! there are empty ones; where it had fewer, comments, functions that did not run and statements that call nothing are left
//! out, and where that is not enough, the body of the function.

mod arranged_lines;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;

use self::arranged_lines::{ArrangedLines, Thrift};
use crate::alignment::{AlignedLine, LineEvidence, align};
use crate::flow::{Access, Site, SiteKind};
use crate::statements::statements;
use crate::{Function, FunctionKind, LineIndex, Module, flows};

/// Weight of a function of the recorded name, and of a line in it on which its frame is left and entered again.
const FUNCTION: i64 = 12;

/// Weight of another line within a function of the recorded name: a frame that was open when recording began has the line that
/// it was on.
const INSIDE: i64 = 6;

/// Weight of a lambda or comprehension, and of a function whose name is not recorded, for one whose name is not there.
const NAMELESS: i64 = 3;

/// Weight of each call on a line that the recording names there.
const CALL: i64 = 3;

/// Weight of a line that calls something, though not by the name of what was called.
const ANY_CALL: i64 = 1;

/// Most lines by which a line moved on which nothing rare is called by its name.
const MAX_MOVE: u32 = 500;

/// Most lines on which a rare name is called.
const MAX_RARE: usize = 32;

/// Most pairs of a recorded line and one that may be it.
const MAX_PAIRS: usize = 1_000_000;

/// Something that was called on a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedCall {
    /// The line as recorded.
    pub line: u32,
    /// The name of what was called; empty where that has none of its own, as an object with `__call__`.
    pub name: String,
    /// Whether it is a built-in, which is called by its name most of the time; a Python function may be wrapped.
    pub is_built_in: bool,
}

/// The text that `current` may have been when it ran. `functions` are those that ran, with the line that they begin on (of the
/// first decorator) or one inside, `calls` what was called on lines of it. `None` where no function is found again.
#[must_use]
pub fn arranged(
    current: &str,
    functions: &[(String, u32)],
    calls: &[RecordedCall],
) -> Option<String> {
    let module = Module::parse(current);
    let code = CurrentCode::new(current, &module, !calls.is_empty());
    let evidence = code.evidence(functions, calls).or_else(|| code.evidence(functions, &[]))?;
    let aligned = align(&evidence);
    let begins = |it: &&AlignedLine| {
        let found = module.functions().iter().find(|at| at.first_line == it.current);
        found.is_some_and(|at| is_named(at) && functions.contains(&(at.name.clone(), it.recorded)))
    };
    aligned.iter().find(begins)?;
    let arranged = [Thrift::Statements, Thrift::Bodies].into_iter().map(|thrift| {
        let mut lines = ArrangedLines::new(&code, &evidence, &aligned, thrift);
        lines.place();
        lines.text()
    });
    // Without a statement a block may be none.
    arranged.into_iter().find(|it| module.has_errors() || !Module::parse(it).has_errors())
}

fn is_named(function: &Function) -> bool {
    matches!(function.kind, FunctionKind::Def | FunctionKind::AsyncDef)
}

/// What a line of the current text calls.
#[derive(Default)]
struct LineCalls {
    names: HashSet<String>,
    /// Whether something happens that may be recorded by any name, as attributes are not.
    has_any: bool,
    /// Whether the frame is left here, and entered again.
    has_yield: bool,
}

/// The current text, with what is asked of its lines.
struct CurrentCode<'a> {
    lines: Vec<&'a str>,
    module: &'a Module,
    /// Lines on which something may happen that is recorded, by line.
    calls: BTreeMap<u32, LineCalls>,
    /// First and last line of each statement.
    statements: Vec<(u32, u32)>,
    /// Whether calls are recorded with their lines.
    has_calls: bool,
}

impl<'a> CurrentCode<'a> {
    fn new(text: &'a str, module: &'a Module, has_calls: bool) -> Self {
        let index = LineIndex::new(text);
        let line = |it: u32| index.line_range(it).map_or("", |range| &text[range]);
        let wanted: Vec<usize> = (0..module.functions().len()).collect();
        let mut calls: BTreeMap<u32, LineCalls> = BTreeMap::new();
        for flow in flows(text, &wanted) {
            for site in (0..flow.n_nodes()).filter_map(|it| flow.site(it)) {
                let line = calls.entry(site.line).or_default();
                line.names.extend(names(site, module).map(str::to_owned));
                let is_access =
                    matches!(site.kind, SiteKind::Attribute { .. } | SiteKind::Subscript { .. });
                line.has_any |= !is_access;
                line.has_yield |= matches!(site.kind, SiteKind::Yield | SiteKind::Await);
            }
        }
        Self {
            lines: (1..=index.n_lines()).map(line).collect(),
            module,
            calls,
            has_calls,
            statements: statements(text).iter().map(|it| (it.first_line, it.last_line)).collect(),
        }
    }

    /// Which of the current lines each recorded one may be; `None` where there is too much of it.
    fn evidence(
        &self,
        functions: &[(String, u32)],
        calls: &[RecordedCall],
    ) -> Option<Vec<LineEvidence>> {
        let mut rows: BTreeMap<u32, BTreeMap<u32, i64>> = BTreeMap::new();
        let mut n_pairs = 0;
        let names: HashSet<&str> = functions.iter().map(|(name, _)| name.as_str()).collect();
        let is_renamed = |it: &&Function| is_named(it) && !names.contains(it.name.as_str());
        for (name, recorded) in functions.iter().filter(|(name, _)| name != "<module>") {
            let row = rows.entry(*recorded).or_default();
            if self.module.named(name).next().is_none() {
                for function in self.module.functions().iter().filter(is_renamed) {
                    *row.entry(function.first_line).or_default() += NAMELESS;
                    n_pairs += 1;
                }
            }
            for function in self.module.named(name) {
                let weight = if is_named(function) { FUNCTION } else { NAMELESS };
                *row.entry(function.first_line).or_default() += weight;
                n_pairs += 1;
                let body = function.body_first_line.min(function.last_line)..=function.last_line;
                for (&line, calls) in self.calls.range(body).filter(|_| is_named(function)) {
                    *row.entry(line).or_default() +=
                        if calls.has_yield { FUNCTION } else { INSIDE };
                    n_pairs += 1;
                }
            }
        }
        let mut called: BTreeMap<u32, HashMap<&str, bool>> = BTreeMap::new();
        for RecordedCall { line, name, is_built_in } in calls {
            called.entry(*line).or_default().insert(name, *is_built_in);
        }
        // A module is called by the name of its attribute, and runs under other names: of a function whose name is nowhere in
        // the text nothing can be known.
        let mut by_name: HashMap<&str, Vec<u32>> = HashMap::new();
        for (&line, calls) in &self.calls {
            calls.names.iter().for_each(|it| by_name.entry(it).or_default().push(line));
        }
        for (recorded, names) in called {
            let known: Vec<&Vec<u32>> = names.keys().filter_map(|it| by_name.get(it)).collect();
            let row = rows.entry(recorded).or_default();
            let mut named: BTreeMap<u32, i64> = BTreeMap::new();
            let near = recorded.saturating_sub(MAX_MOVE)..=recorded.saturating_add(MAX_MOVE);
            for lines in &known {
                let is_rare = lines.len() <= MAX_RARE;
                for &line in lines.iter().filter(|it| is_rare || near.contains(it)) {
                    *named.entry(line).or_default() += 1;
                }
            }
            for (line, n_there) in named {
                let n_missing = known.len() as i64 - n_there;
                *row.entry(line).or_default() += ANY_CALL + CALL * n_there - n_missing;
                n_pairs += 1;
            }
            if known.is_empty() && !names.into_values().any(|is_built_in| is_built_in) {
                for (&line, _) in self.calls.range(near).filter(|(_, calls)| calls.has_any) {
                    *row.entry(line).or_default() += ANY_CALL;
                    n_pairs += 1;
                }
            }
        }
        let row = |(recorded, candidates): (u32, BTreeMap<u32, i64>)| LineEvidence {
            recorded,
            candidates: candidates.into_iter().filter(|(_, weight)| 0 < *weight).collect(),
        };
        (n_pairs <= MAX_PAIRS).then(|| rows.into_iter().map(row).collect())
    }

    /// The first line of the statement on a line.
    fn statement_start(&self, line: u32) -> u32 {
        *self.module.statement_lines(line).start()
    }

    fn is_empty_line(&self, line: u32) -> bool {
        let begun = self.statements.partition_point(|&(first, _)| first <= line);
        begun.checked_sub(1).is_none_or(|at| self.statements[at].1 < line)
    }

    fn line(&self, line: u32) -> &'a str {
        self.lines.get(line as usize - 1).copied().unwrap_or_default()
    }

    /// Characters before the first that is none of white space.
    fn indent(&self, line: u32) -> usize {
        let text = self.line(line);
        text.len() - text.trim_start().len()
    }

    /// Whether a statement begins a block.
    fn is_header(&self, lines: &RangeInclusive<u32>) -> bool {
        self.line(*lines.end()).split('#').next().unwrap_or_default().trim_end().ends_with(':')
    }

    /// The block of a header that can go without it: no other part of its statement follows.
    fn block_of(&self, header: &RangeInclusive<u32>) -> Option<RangeInclusive<u32>> {
        let keyword = self.line(*header.start()).split_whitespace().next()?;
        if !self.is_header(header) || !["with", "if", "for", "while", "async"].contains(&keyword) {
            return None;
        }
        let indent = self.indent(*header.start());
        let after = self.statements.partition_point(|&(first, _)| first <= *header.end());
        let of_block = |&&(first, _): &&(u32, u32)| indent < self.indent(first);
        let n_block = self.statements[after..].iter().take_while(of_block).count();
        let (block, rest) = self.statements[after..].split_at(n_block);
        let next = rest.first().map_or("", |&(first, _)| self.line(first).trim_start());
        let goes_on = ["else", "elif"].iter().any(|it| next.starts_with(it));
        let is_level = rest.first().is_some_and(|&(first, _)| self.indent(first) == indent);
        if goes_on && is_level {
            return None;
        }
        Some(block.first()?.0..=block.last()?.1)
    }

    /// Whether the lines of the statement that begins on `first` can be one line: what separates them is within brackets.
    fn can_be_joined(&self, first: u32) -> bool {
        let mut lines = self.module.statement_lines(first);
        lines.all(|it| {
            let text = self.line(it);
            !["#", "\"\"\"", "'''", "\\"].iter().any(|it| text.contains(it))
        })
    }
}

/// What an event at a site may be called.
fn names<'a>(site: &'a Site, module: &'a Module) -> impl Iterator<Item = &'a str> {
    let names = match &site.kind {
        SiteKind::Call { callee, .. } => [callee.name(), None],
        SiteKind::Attribute { name, access: Access::Load, .. } => {
            [Some(name.as_str()), Some("__getattr__")]
        }
        SiteKind::Attribute { name, access: Access::Store, .. } => {
            [Some(name.as_str()), Some("__setattr__")]
        }
        SiteKind::Subscript { access: Access::Load, .. } => [Some("__getitem__"), None],
        SiteKind::Subscript { access: Access::Store, .. } => [Some("__setitem__"), None],
        SiteKind::Iterate(_) => [Some("__iter__"), Some("__next__")],
        SiteKind::Comprehension { function } | SiteKind::Generator { function } => {
            [module.functions().get(*function).map(|it| it.name.as_str()), None]
        }
        SiteKind::Enter => [Some("__enter__"), None],
        SiteKind::Exit => [Some("__exit__"), None],
        _ => [None, None],
    };
    names.into_iter().flatten()
}
