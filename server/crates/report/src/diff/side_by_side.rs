//! The sources of two runs side by side, where they or what their lines cost differ.

use std::collections::{BTreeMap, BTreeSet};

use comparison::Difference;
use ledger::{LineBooks, LineKey};
use metrics::{Period, Quantity, Scale, mark};
use pysource::{FunctionKind, LineMap, Module};

use super::build::DiffReport;
use crate::model::{Cell, SideLine, SideLines, SideRow, SourcePair};
use crate::recording::Recording;

/// Rows that are shown around each that differs.
const CONTEXT: usize = 3;

/// Rows of a file that are shown at most.
const MAX_ROWS: usize = 600;

/// What lines cost that is shown beside them.
const COLUMNS: [Quantity; 2] = [Quantity::CpuBusy, Quantity::CudaOwn];

/// The files by their names, in which something differs. A file that one run alone has stands beside nothing; so do functions that
/// were moved to another file. A file of which one run alone knows the text is left out. `recordings` are the base and the new run that
/// `diff` is of.
#[must_use]
pub fn source_pairs(recordings: [&Recording<'_>; 2], diff: &DiffReport<'_>) -> Vec<SourcePair> {
    let DiffReport { texts, difference, .. } = diff;
    let scales = recordings.map(|it| Scale::new(&it.run.merged, Period::Mean));
    let is_present = |it: &Quantity| scales.iter().any(|scale| scale.is_present(*it));
    let columns: Vec<Quantity> = COLUMNS.into_iter().filter(is_present).collect();
    let mut files: BTreeMap<&str, [Option<&String>; 2]> = BTreeMap::new();
    for (side, texts) in texts.iter().enumerate() {
        for key in texts.keys() {
            files.entry(recordings[side].file(key)).or_default()[side] = Some(key);
        }
    }
    // Of a file without its text nothing says that lines were added or removed.
    let is_known = |side: usize, name: &str, key: Option<&String>| {
        key.is_some() || recordings[side].names.values().all(|it| it != name)
    };
    let pairs = files.into_iter().filter_map(|(name, keys)| {
        if !(0..2).all(|side| is_known(side, name, keys[side])) {
            return None;
        }
        let sides = [0, 1].map(|it| SourceSide {
            key: keys[it].map_or("", String::as_str),
            text: keys[it].map_or("", |key| &texts[it][key].text),
            scale: &scales[it],
            columns: &columns,
        });
        pair(name, &sides, difference)
    });
    pairs.collect()
}

/// A file in one of the runs; without a key and text where the run has none of the name.
struct SourceSide<'a> {
    key: &'a str,
    text: &'a str,
    scale: &'a Scale<'a>,
    columns: &'a [Quantity],
}

impl<'a> SourceSide<'a> {
    fn lines(&self) -> Vec<SideLine> {
        let lines = self.text.lines().zip(1..);
        lines.map(|(text, number)| self.line(number, text)).collect()
    }

    fn line(&self, number: u32, text: &str) -> SideLine {
        let books = self.books(number);
        let cost = |quantity: &Quantity| {
            let value = books.and_then(|it| self.scale.value(*quantity, it));
            value.filter(|it| *it != 0.0).map(|it| quantity.text(it)).unwrap_or_default()
        };
        let costs: Vec<String> = self.columns.iter().map(cost).collect();
        let has_cost = costs.iter().any(|it| !it.is_empty());
        let mark = books.filter(|_| has_cost).map_or("", |it| mark(it.evidence));
        SideLine { number, text: text.to_owned(), mark, costs }
    }

    fn books(&self, line: u32) -> Option<&'a LineBooks> {
        self.scale.ledger().lines.get(&LineKey { file: self.key.to_owned(), line }).map(|it| &**it)
    }
}

/// One file; `None` where neither the text nor the time of a line differs.
fn pair(name: &str, sides: &[SourceSide<'_>; 2], difference: &Difference) -> Option<SourcePair> {
    let changes = [0, 1].map(|it| changes(difference, sides[it].key, it == 1));
    let with_change = |[base, new]: [Option<SideLine>; 2]| {
        let line = |of: &Option<SideLine>, side: usize| changes[side].get(&of.as_ref()?.number);
        let change = line(&new, 1).or_else(|| line(&base, 0)).cloned().unwrap_or_default();
        SideLines { base, new, change }
    };
    let rows: Vec<SideLines> = aligned(sides).into_iter().map(with_change).collect();
    let differs = |it: &SideLines| it.is_edited() || !it.change.text.is_empty();
    let mut shown = BTreeSet::new();
    for (place, _) in rows.iter().enumerate().filter(|(_, it)| differs(it)) {
        shown.extend(place.saturating_sub(CONTEXT)..(place + CONTEXT + 1).min(rows.len()));
    }
    if shown.is_empty() {
        return None;
    }
    let left_out = shown.len().saturating_sub(MAX_ROWS);
    let shown: BTreeSet<usize> = shown.into_iter().take(MAX_ROWS).collect();
    let columns = sides[1].columns.iter().map(|it| it.heading()).collect();
    let rows = with_gaps(rows, &shown, sides);
    Some(SourcePair { name: name.to_owned(), columns, rows, left_out })
}

/// What is said of the lines of a file in one run: by how much they differ, or that they do other work. What has a line in both
/// runs is said of the one in the new run.
fn changes(difference: &Difference, file: &str, is_new: bool) -> BTreeMap<u32, Cell> {
    let line = |base: &Option<LineKey>, new: &Option<LineKey>| {
        let of_new = new.is_some();
        let key = new.as_ref().or(base.as_ref()).filter(|it| it.file == file);
        key.filter(|_| of_new == is_new).map(|it| it.line)
    };
    let other = difference.other_work.iter().filter_map(|it| {
        let number = line(&it.base, &it.new)?;
        Some((number, Cell::text("other work")))
    });
    let mut found: BTreeMap<u32, Cell> = other.collect();
    found.extend(difference.lines.iter().filter_map(|it| {
        let number = line(&it.base, &it.new)?;
        let amount = it.largest_time()?;
        let mut cell = Cell::difference(amount.delta(), amount.quantity.unit());
        if amount.quantity != Quantity::CpuBusy {
            cell.text = format!("{} {}", cell.text, amount.quantity.heading());
        }
        Some((number, cell))
    }));
    found
}

/// The lines of both texts in their order. What is on one side alone stands beside what is in its place on the other, as far as
/// there are as many lines.
fn aligned(sides: &[SourceSide<'_>; 2]) -> Vec<[Option<SideLine>; 2]> {
    let map = LineMap::between(sides[0].text, sides[1].text);
    let mut base = sides[0].lines().into_iter().peekable();
    let mut added = Vec::new();
    let mut rows = Vec::new();
    for line in sides[1].lines() {
        let Some(recorded) = map.recorded(line.number) else {
            added.push(line);
            continue;
        };
        let removed: Vec<SideLine> =
            std::iter::from_fn(|| base.next_if(|it| it.number < recorded)).collect();
        push_beside(&mut rows, removed, std::mem::take(&mut added));
        rows.push([base.next(), Some(line)]);
    }
    push_beside(&mut rows, base.collect(), added);
    rows
}

fn push_beside(
    rows: &mut Vec<[Option<SideLine>; 2]>,
    removed: Vec<SideLine>,
    added: Vec<SideLine>,
) {
    let n = removed.len().max(added.len());
    let (mut removed, mut added) = (removed.into_iter(), added.into_iter());
    rows.extend((0..n).map(|_| [removed.next(), added.next()]));
}

/// The rows that are shown, with what stands for those between them.
fn with_gaps(
    rows: Vec<SideLines>,
    shown: &BTreeSet<usize>,
    sides: &[SourceSide<'_>; 2],
) -> Vec<SideRow> {
    let modules = [0, 1].map(|it| Module::parse(sides[it].text));
    let function = |it: &SideLines| {
        let (module, line) = match (&it.base, &it.new) {
            (_, Some(new)) => (&modules[1], new.number),
            (Some(base), None) => (&modules[0], base.number),
            (None, None) => return String::new(),
        };
        let function = module.enclosing(line).filter(|it| it.kind != FunctionKind::Module);
        function.map(|it| it.qualified_name.clone()).unwrap_or_default()
    };
    let mut found = Vec::new();
    let mut next = 0;
    for (place, row) in rows.into_iter().enumerate() {
        if !shown.contains(&place) {
            continue;
        }
        if next < place {
            found.push(SideRow::Gap(function(&row)));
        }
        found.push(SideRow::Lines(Box::new(row)));
        next = place + 1;
    }
    found
}
