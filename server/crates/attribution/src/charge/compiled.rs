//! The functions that `torch.compile` compiled, and why graphs end, from its log.

use std::collections::BTreeMap;

use ledger::{CompiledFunction, Ledger, LineKey};
use line_stacks::{LineId, line_key};
use profile::{FunctionCompile, Profile, StrId};
use rustc_hash::FxHashMap;

use super::patterns::PatternCharges;
use crate::event_stacks::EventStacks;

/// Notes in `ledger` what was compiled, and where graphs end.
pub(crate) fn note_compiled(
    ledger: &mut Ledger,
    profile: &Profile,
    patterns: &PatternCharges,
    events: &mut EventStacks<'_>,
) {
    let EventStacks { names, stacks, .. } = events;
    let mut ran_on: FxHashMap<u32, Vec<LineKey>> = FxHashMap::default();
    for &(line, frame) in patterns.regions.iter().filter(|(line, _)| *line != LineId::NONE) {
        ran_on.entry(frame).or_default().push(line_key(&stacks.lines, line));
    }
    let mut key = |file: StrId, line: u32| {
        let file = names.file(profile.strings.get(file), &mut stacks.lines);
        let line = stacks.lines.line(file, line);
        line_key(&stacks.lines, line)
    };
    for it in &profile.graph_breaks {
        let reasons = ledger.graph_breaks.entry(key(it.file, it.line)).or_default();
        reasons.insert(profile.strings.get(it.reason).to_owned());
    }
    let mut compiled: BTreeMap<LineKey, CompiledFunction> = BTreeMap::new();
    for it in &profile.compiles {
        let whole = whole_function(profile, it);
        let mine = compiled.entry(key(it.file, whole.line)).or_default();
        whole.name.clone_into(&mut mine.name);
        mine.compiles += 1;
        mine.time += it.time;
        if let Some(reason) = it.reason.get() {
            let lines: Vec<LineKey> = match whole.broken_at {
                Some(line) => vec![key(it.file, line)],
                None => ran_on.get(&it.frame).into_iter().flatten().cloned().collect(),
            };
            let (what, sizes) = what_changed(profile.strings.get(reason));
            let mine = mine.reasons.entry(what).or_default();
            mine.count += 1;
            mine.sizes.extend(sizes);
            mine.lines.extend(lines);
        }
    }
    ledger.compiled = compiled;
}

/// The function of which something was compiled.
struct WholeFunction<'a> {
    name: &'a str,
    /// Its first line.
    line: u32,
    /// The line behind which the graph broke, if the rest was compiled.
    broken_at: Option<u32>,
}

/// What was compiled may be the rest of a function: `torch_dynamo_resume_in_f_at_11`.
fn whole_function<'a>(profile: &'a Profile, it: &FunctionCompile) -> WholeFunction<'a> {
    let name = profile.strings.get(it.function);
    let rest = name.strip_prefix("torch_dynamo_resume_in_").and_then(|it| it.rsplit_once("_at_"));
    let Some((whole, broken_at)) = rest else {
        return WholeFunction { name, line: it.line, broken_at: None };
    };
    let is_whole = |other: &&FunctionCompile| {
        other.file == it.file
            && other.line <= it.line
            && profile.strings.get(other.function) == whole
    };
    let line = profile.compiles.iter().filter(is_whole).map(|it| it.line).max();
    WholeFunction { name: whole, line: line.unwrap_or(it.line), broken_at: broken_at.parse().ok() }
}

/// What of a guard changed, and the sizes that it had, where it is a size: `tensor 'x' size mismatch at index 0. expected 8, actual
/// 9` is the size of `'x'` at index 0, which was 8 and 9; `self.count == 3` is the value of it, which was 3. Any other guard stands as it is.
fn what_changed(guard: &str) -> (String, Vec<u64>) {
    let size = || {
        let (tensor, rest) = guard.strip_prefix("tensor '")?.split_once("' ")?;
        let (what, rest) = rest.split_once(" mismatch at index ")?;
        let (index, rest) = rest.split_once(". expected ")?;
        let (expected, actual) = rest.split_once(", actual ")?;
        let sizes = vec![expected.trim().parse().ok()?, actual.trim().parse().ok()?];
        // Until torch 2.9 `L['x']`.
        let tensor =
            tensor.strip_prefix("L['").and_then(|it| it.strip_suffix("']")).unwrap_or(tensor);
        Some((format!("{what} of '{tensor}' at index {index}"), sizes))
    };
    // A number that is compiled in: `self.count == 3`, each value of which is a guard of its own.
    let number = || {
        let (name, value) = guard.split_once(" == ")?;
        value.trim().parse::<f64>().ok()?;
        let values = value.trim().parse().ok().into_iter().collect();
        Some((format!("value of {}", name.trim()), values))
    };
    size().or_else(number).unwrap_or_else(|| (guard.to_owned(), Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_changed_is_named_with_its_values() {
        let rows = [
            (
                "tensor 'x' size mismatch at index 0. expected 8, actual 9",
                ("size of 'x' at index 0".to_owned(), vec![8, 9]),
            ),
            (
                "tensor 'L['x']' stride mismatch at index 1. expected 64, actual 128",
                ("stride of 'x' at index 1".to_owned(), vec![64, 128]),
            ),
            ("self.count == 3", ("value of self.count".to_owned(), vec![3])),
            ("factor == 1.5", ("value of factor".to_owned(), vec![])),
            ("mode == 'a'", ("mode == 'a'".to_owned(), vec![])),
        ];
        for (guard, expected) in rows {
            assert_eq!(what_changed(guard), expected);
        }
    }
}
