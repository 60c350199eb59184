//! The functions that `torch.compile` compiled, and why graphs end, from its log.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{CompiledFunction, Ledger, LineKey, RecompileCause};
use line_stacks::{LineId, Lines, StackFile, line_key};
use profile::{FunctionCompile, Profile, StrId};
use recorded::RecordedSources;
use rustc_hash::FxHashMap;

use super::patterns::PatternCharges;

/// Notes in `ledger` what was compiled, and where graphs end.
pub(crate) fn note_compiled(
    ledger: &mut Ledger,
    profile: &Profile,
    sources: &RecordedSources,
    patterns: &PatternCharges,
    lines: &Lines,
) {
    let mut ran_on: FxHashMap<u32, Vec<LineKey>> = FxHashMap::default();
    for &(line, frame) in patterns.regions.iter().filter(|(line, _)| *line != LineId::NONE) {
        ran_on.entry(frame).or_default().push(line_key(lines, line));
    }
    let key = |file: StrId, line: u32| {
        let file = StackFile::new(profile.strings.get(file), sources);
        LineKey { file: file.key, line }
    };
    for it in &profile.graph_breaks {
        let reasons = ledger.graph_breaks.entry(key(it.file, it.line)).or_default();
        reasons.insert(profile.strings.get(it.reason).to_owned());
    }
    let mut compiled: BTreeMap<LineKey, CompiledFunction> = BTreeMap::new();
    let functions = FirstLines::new(profile);
    for it in &profile.compiles {
        let whole = functions.whole(profile, it);
        let mine = compiled.entry(key(it.file, whole.line)).or_default();
        whole.name.clone_into(&mut mine.name);
        mine.compiles += 1;
        mine.time += it.time;
        mine.phases += it.phases;
        if let Some(reason) = it.reason.get() {
            let lines: Vec<LineKey> = match whole.broken_at {
                Some(line) => vec![key(it.file, line)],
                None => ran_on.get(&it.frame).into_iter().flatten().cloned().collect(),
            };
            let (cause, values) = cause(profile.strings.get(reason));
            let mine = mine.reasons.entry(cause).or_default();
            mine.count += 1;
            mine.values.extend(values);
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

/// The first lines of the functions that were compiled, by file and name.
struct FirstLines<'a>(FxHashMap<(StrId, &'a str), BTreeSet<u32>>);

impl<'a> FirstLines<'a> {
    fn new(profile: &'a Profile) -> Self {
        let mut lines: FxHashMap<_, BTreeSet<u32>> = FxHashMap::default();
        for it in &profile.compiles {
            let name = profile.strings.get(it.function);
            lines.entry((it.file, name)).or_default().insert(it.line);
        }
        Self(lines)
    }

    /// What was compiled may be the rest of a function: `torch_dynamo_resume_in_f_at_11`.
    fn whole(&self, profile: &'a Profile, it: &FunctionCompile) -> WholeFunction<'a> {
        let name = profile.strings.get(it.function);
        let rest = name.strip_prefix("torch_dynamo_resume_in_");
        let Some((name, broken_at)) = rest.and_then(|it| it.rsplit_once("_at_")) else {
            return WholeFunction { name, line: it.line, broken_at: None };
        };
        let lines = self.0.get(&(it.file, name));
        let line = lines.and_then(|lines| lines.range(..=it.line).next_back().copied());
        WholeFunction { name, line: line.unwrap_or(it.line), broken_at: broken_at.parse().ok() }
    }
}

/// What the guard says that changed, and the whole numbers that it was: `tensor 'x' size mismatch at index 0. expected 8, actual 9` is
/// the size of `'x'` at index 0, which was 8 and 9; `self.count == 3` a number that was 3.
fn cause(guard: &str) -> (RecompileCause, Vec<u64>) {
    let dimension = || {
        let (tensor, rest) = guard.strip_prefix("tensor '")?.split_once("' ")?;
        let (what, rest) = rest.split_once(" mismatch at index ")?;
        let (index, rest) = rest.split_once(". expected ")?;
        let (expected, actual) = rest.split_once(", actual ")?;
        let values = vec![expected.trim().parse().ok()?, actual.trim().parse().ok()?];
        // Until torch 2.9 `L['x']`.
        let tensor =
            tensor.strip_prefix("L['").and_then(|it| it.strip_suffix("']")).unwrap_or(tensor);
        let name = format!("{what} of '{tensor}' at index {index}");
        Some((RecompileCause::Dimension(name), values))
    };
    // Each value is a guard of its own.
    let number = || {
        let (name, value) = guard.split_once(" == ")?;
        value.trim().parse::<f64>().ok()?;
        let values = value.trim().parse().ok().into_iter().collect();
        Some((RecompileCause::Number(name.trim().to_owned()), values))
    };
    let other = || (RecompileCause::Guard(guard.to_owned()), Vec::new());
    dimension().or_else(number).unwrap_or_else(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_says_what_changed() {
        let dimension = |it: &str| RecompileCause::Dimension(it.to_owned());
        let number = |it: &str| RecompileCause::Number(it.to_owned());
        let rows = [
            (
                "tensor 'x' size mismatch at index 0. expected 8, actual 9",
                (dimension("size of 'x' at index 0"), vec![8, 9]),
            ),
            (
                "tensor 'L['x']' stride mismatch at index 1. expected 64, actual 128",
                (dimension("stride of 'x' at index 1"), vec![64, 128]),
            ),
            ("self.count == 3", (number("self.count"), vec![3])),
            ("factor == 1.5", (number("factor"), vec![])),
            ("mode == 'a'", (RecompileCause::Guard("mode == 'a'".to_owned()), vec![])),
        ];
        for (guard, expected) in rows {
            assert_eq!(cause(guard), expected);
        }
    }
}
