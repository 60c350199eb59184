//! Which lines of a file are shown.

use std::collections::BTreeSet;

use pysource::{FunctionKind, Module};

/// The lines to show, 1-based and ascending: those with something to say, `context` lines of the same function around
/// each, and the `def` and `class` lines that they are in. Blank lines at the edges of a region are left out.
pub(super) fn regions(
    lines: &[&str],
    module: &Module,
    said: impl Iterator<Item = u32>,
    context: u32,
) -> BTreeSet<u32> {
    let last = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    let is_blank = |it: u32| lines.get(it as usize - 1).is_none_or(|line| line.trim().is_empty());
    let is_head =
        |kind| matches!(kind, FunctionKind::Class | FunctionKind::Def | FunctionKind::AsyncDef);
    let mut shown = BTreeSet::new();
    for number in said.filter(|it| (1..=last).contains(it)) {
        let within = module.enclosing(number).map(|it| it.first_line);
        let is_near = |it: &u32| module.enclosing(*it).map(|it| it.first_line) == within;
        let farthest = |lines: &mut dyn Iterator<Item = u32>| {
            let near = lines.take(context as usize).take_while(is_near);
            near.filter(|&it| !is_blank(it)).last().unwrap_or(number)
        };
        shown.extend(farthest(&mut (1..number).rev())..=farthest(&mut (number + 1..=last)));
        let around = module.functions().iter().filter(|it| is_head(it.kind) && it.contains(number));
        shown.extend(around.map(|it| it.def_line));
    }
    // A mark for one line left out is no shorter than the line.
    let alone: Vec<u32> =
        shown.iter().filter(|&&it| shown.contains(&(it + 2))).map(|it| it + 1).collect();
    shown.extend(alone);
    shown
}
