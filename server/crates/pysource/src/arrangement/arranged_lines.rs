//! Puts the lines of a text where those are that they are aligned with: empty lines where there is more room, fewer lines where there
//! is less.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

use super::{CurrentCode, is_named};
use crate::FunctionKind;
use crate::alignment::{AlignedLine, LineEvidence};

/// What may be left out where there is too little room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thrift {
    /// Statements, too.
    Statements,
    /// Comments, functions that did not run, and whole bodies.
    Bodies,
}

/// What makes a text shorter.
enum Omission {
    /// These lines are left out.
    Lines(RangeInclusive<u32>),
    /// This line goes on the one before it, which is of the same statement.
    Join(u32),
    /// The head of a block is left out, and these lines of the block begin where it did.
    Header { lines: RangeInclusive<u32>, block: RangeInclusive<u32> },
    /// The body of a function is left out.
    Body(RangeInclusive<u32>),
}

impl Omission {
    /// The lines that are gone with it.
    fn lines(&self) -> RangeInclusive<u32> {
        match self {
            Self::Lines(lines) | Self::Header { lines, .. } | Self::Body(lines) => lines.clone(),
            Self::Join(line) => *line..=*line,
        }
    }
}

/// How many omissions take each of some lines away.
struct GoneLines {
    first: u32,
    counts: Vec<u32>,
    /// Lines that are gone.
    n_lines: u32,
}

impl GoneLines {
    fn new(range: Range<u32>) -> Self {
        Self { first: range.start, counts: vec![0; range.len()], n_lines: 0 }
    }

    fn has(&self, line: u32) -> bool {
        self.counts.get((line - self.first) as usize).is_some_and(|it| 0 < *it)
    }

    /// Whether one of `lines` was there; else nothing is added.
    fn add(&mut self, lines: RangeInclusive<u32>) -> bool {
        let is_new = lines.clone().any(|it| !self.has(it));
        for line in lines.filter(|_| is_new) {
            let count = &mut self.counts[(line - self.first) as usize];
            self.n_lines += u32::from(*count == 0);
            *count += 1;
        }
        is_new
    }

    fn remove(&mut self, lines: RangeInclusive<u32>) {
        for line in lines {
            let count = &mut self.counts[(line - self.first) as usize];
            *count -= 1;
            self.n_lines -= u32::from(*count == 0);
        }
    }
}

/// The lines of a text as it is put together.
pub(super) struct ArrangedLines<'a> {
    code: &'a CurrentCode<'a>,
    aligned: &'a [AlignedLine],
    /// Recorded lines on which something was called that are not aligned.
    lost: Vec<u32>,
    thrift: Thrift,
    /// What is there so far.
    lines: Vec<String>,
    /// The first current line that is not.
    next: u32,
    /// By how much lines of blocks without a head are moved to the left: characters, by line.
    dedents: HashMap<u32, usize>,
}

impl<'a> ArrangedLines<'a> {
    pub(super) fn new(
        code: &'a CurrentCode<'a>,
        evidence: &[LineEvidence],
        aligned: &'a [AlignedLine],
        thrift: Thrift,
    ) -> Self {
        let is_aligned = |line: u32| aligned.binary_search_by_key(&line, |it| it.recorded).is_ok();
        let recorded = evidence.iter().map(|it| it.recorded);
        let lost = recorded.filter(|it| !is_aligned(*it)).collect();
        let dedents = HashMap::new();
        Self { code, aligned, lost, thrift, lines: Vec::new(), next: 1, dedents }
    }

    pub(super) fn place(&mut self) {
        for at in self.aligned {
            // What was put further down than it should be leaves no room for it.
            let Some(room) = at.recorded.checked_sub(self.lines.len() as u32 + 1) else { continue };
            if self.next <= at.current {
                self.place_up_to(at.current, room);
            }
        }
        self.push(self.next..self.code.lines.len() as u32 + 1, &[]);
    }

    /// Puts the lines before `current` into `room` lines, and `current` behind them; nothing where they are too many.
    fn place_up_to(&mut self, current: u32, room: u32) {
        let start = self.code.statement_start(current).max(self.next);
        let range = self.next..start;
        let n_lines = current - self.next;
        let mut omitted: Vec<Omission> = Vec::new();
        let mut gone = GoneLines::new(range.clone());
        if room < n_lines {
            for it in self.omissions(range.clone()) {
                if gone.add(it.lines()) {
                    omitted.push(it);
                }
                if n_lines - gone.n_lines <= room {
                    break;
                }
            }
            // What frees many lines at once leaves room for some of the others.
            for at in (0..omitted.len()).rev() {
                gone.remove(omitted[at].lines());
                if n_lines - gone.n_lines <= room {
                    omitted.remove(at);
                } else {
                    gone.add(omitted[at].lines());
                }
            }
        }
        let Some(n_blank) = room.checked_sub(n_lines - gone.n_lines) else { return };
        for it in &omitted {
            if let Omission::Header { lines, block } = it {
                let less = self.code.indent(*block.start()) - self.code.indent(*lines.start());
                block.clone().for_each(|line| *self.dedents.entry(line).or_default() += less);
            }
        }
        let blank = self.best_gap(range.clone(), &gone, n_blank);
        self.push(range.start..blank, &omitted);
        self.lines.extend((0..n_blank).map(|_| String::new()));
        self.push(blank..current + 1, &omitted);
    }

    /// Before which of the lines of `range`, or behind them, empty lines go so that most of the lines that are lost are among
    /// them; of equal places the outermost, and the last of these.
    fn best_gap(&self, range: Range<u32>, gone: &GoneLines, n_blank: u32) -> u32 {
        let first = self.lines.len() as u32 + 1;
        let mut at = first;
        let mut best = None;
        for line in range.clone().chain(std::iter::once(range.end)) {
            let begins = line == range.end || self.code.statement_start(line) == line;
            if begins {
                let below = |line: u32| self.lost.partition_point(|it| *it < line);
                let n_lost = below(at + n_blank) - below(at);
                best = best.max(Some((n_lost, Reverse(self.code.indent(line)), line)));
            }
            at += u32::from(!gone.has(line));
        }
        best.map_or(range.end, |it| it.2)
    }

    /// What makes lines fewer, what matters least first.
    fn omissions(&self, range: Range<u32>) -> Vec<Omission> {
        let code = self.code;
        let is_inside =
            |lines: &RangeInclusive<u32>| range.start <= *lines.start() && *lines.end() < range.end;
        let is_aligned = |lines: &RangeInclusive<u32>| {
            let before = self.aligned.partition_point(|it| it.current < *lines.start());
            self.aligned.get(before).is_some_and(|it| lines.contains(&it.current))
        };
        let of_range = |line: u32| code.statements.partition_point(|it| it.0 < line);
        let statements = &code.statements[of_range(range.start)..of_range(range.end)];
        let empty = range.clone().rev().filter(|it| code.is_empty_line(*it));
        let mut omissions: Vec<Omission> = empty.map(|it| Omission::Lines(it..=it)).collect();
        let is_joined = |line: &u32| {
            let first = code.statement_start(*line);
            first < *line && code.can_be_joined(first)
        };
        omissions.extend(range.clone().rev().filter(is_joined).map(Omission::Join));
        let functions = || {
            let functions = code.module.functions().iter().rev();
            functions.filter(|it| is_named(it) || it.kind == FunctionKind::Class)
        };
        let unused = functions().map(|it| it.first_line..=it.last_line);
        let unused = unused.filter(|it| is_inside(it) && !is_aligned(it));
        omissions.extend(unused.map(Omission::Lines));
        if self.thrift == Thrift::Statements {
            let statements = || statements.iter().rev().map(|&(first, last)| first..=last);
            let is_quiet = |it: &RangeInclusive<u32>| code.calls.range(it.clone()).next().is_none();
            let simple = || statements().filter(|it| is_inside(it) && !code.is_header(it));
            omissions.extend(simple().filter(is_quiet).map(Omission::Lines));
            // Where calls are recorded with their lines, what has none is what came later.
            if code.has_calls {
                let later = simple().filter(|it| !is_aligned(it) && !is_quiet(it));
                omissions.extend(later.map(Omission::Lines));
                let headers = statements().filter(|it| is_inside(it) && !is_aligned(it));
                omissions.extend(headers.filter_map(|lines| {
                    Some(Omission::Header { block: code.block_of(&lines)?, lines })
                }));
            }
        }
        let bodies = functions().filter(|it| is_named(it)).map(|it| {
            let header = code.module.statement_lines(it.def_line);
            *header.end() + 1..=it.last_line
        });
        let bodies = bodies.filter(|it| !it.is_empty() && is_inside(it));
        omissions.extend(bodies.map(Omission::Body));
        omissions
    }

    fn push(&mut self, range: Range<u32>, omitted: &[Omission]) {
        for line in range.clone() {
            let text = self.code.line(line);
            let text =
                self.dedents.get(&line).map_or(text, |less| text.get(*less..).unwrap_or(text));
            let gone = omitted.iter().find(|it| it.lines().contains(&line));
            match (gone, self.lines.last_mut()) {
                (Some(Omission::Join(_)), Some(last)) => {
                    last.push(' ');
                    last.push_str(text.trim());
                }
                (Some(Omission::Body(lines)), Some(header)) if *lines.start() == line => {
                    *header = without_body(header);
                }
                (Some(_), _) => {}
                (None, _) => self.lines.push(text.to_owned()),
            }
        }
        self.next = range.end.max(self.next);
    }

    pub(super) fn text(&self) -> String {
        self.lines.join("\n")
    }
}

/// The last line of the header of a function, with a body that does nothing.
fn without_body(header: &str) -> String {
    match header.rfind(':') {
        Some(colon) => format!("{}: ...", &header[..colon]),
        None => header.to_owned(),
    }
}
