//! What a line calls: names of calls, and which modules are one list.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ledger::{Call, Ledger, LineKey, Ns};

use crate::place::base_name;

/// What the calls of modules are named in the ledger.
const MODULE: &str = "nn.Module: ";

/// The name of a module with each number as `*`: `layers.*.mlp.up` of `layers.3.mlp.up`, `Linear_*` of `Linear_7`.
#[must_use]
pub fn module_pattern(name: &str) -> String {
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let parts = name.split('.').map(|part| match part.rsplit_once('_') {
        _ if is_number(part) => "*".to_owned(),
        // A class with its number, which stands alone.
        Some((class, number)) if is_number(number) && !name.contains('.') => format!("{class}_*"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(".")
}

/// What a line calls: a call, or calls of the modules of a list.
pub(crate) struct CalleeGroup {
    /// What to call it: `item`, `layers.0 … layers.31 (Block)`.
    pub(crate) name: String,
    /// All of its calls.
    pub(crate) call: Call,
    /// Where what is called begins, if that is recorded.
    pub(crate) place: Option<LineKey>,
    /// Of a list, the module whose calls took longest, and how long.
    pub(crate) slowest: Option<(String, Ns)>,
}

/// What a line calls, the costliest first. The modules of a list are one where their names are recorded, else those of a class.
pub(crate) fn callee_groups(ledger: &Ledger, callees: &BTreeMap<String, Call>) -> Vec<CalleeGroup> {
    let mut groups: BTreeMap<String, Vec<(&str, &Call)>> = BTreeMap::new();
    for (name, call) in callees {
        let key = match name.strip_prefix(MODULE).map(|it| (it, it.rsplit_once(" ("))) {
            Some((_, Some((path, class)))) => {
                format!("{MODULE}{} ({class}", module_pattern(path))
            }
            // A class with its number.
            Some((module, None)) => format!("{MODULE}{}", module_pattern(module)),
            None => name.clone(),
        };
        groups.entry(key).or_default().push((name, call));
    }
    let mut groups: Vec<_> = groups
        .into_values()
        .map(|calls| {
            let place = calls.first().and_then(|(name, _)| begin(ledger, name));
            CalleeGroup { place, ..group(&calls) }
        })
        .collect();
    groups.sort_by(|a, b| {
        Reverse(a.call.cpu).cmp(&Reverse(b.call.cpu)).then_with(|| a.name.cmp(&b.name))
    });
    groups
}

fn group(calls: &[(&str, &Call)]) -> CalleeGroup {
    let call = calls.iter().fold(Call::default(), |mut sum, (_, call)| {
        sum.merge(call);
        sum
    });
    let paths =
        || calls.iter().filter_map(|(name, _)| name.strip_prefix(MODULE)?.rsplit_once(" ("));
    let first = paths().min_by_key(|(path, _)| numbers(path));
    let last = paths().max_by_key(|(path, _)| numbers(path));
    let slowest = calls.iter().max_by_key(|(_, call)| call.cpu);
    if let ([_, _, ..], Some((first, class)), Some((last, _)), Some((name, slowest))) =
        (calls, first, last, slowest)
    {
        let name = callee_name(name);
        let path = name.rsplit_once(" (").map_or(&*name, |(path, _)| path);
        return CalleeGroup {
            name: format!("{first} … {last} ({class}"),
            call,
            place: None,
            slowest: Some((path.to_owned(), slowest.cpu)),
        };
    }
    if let ([(name, _), _, ..], Some((slowest, most))) = (calls, slowest) {
        let class = callee_name(name);
        let class = class.rsplit_once('_').map_or(&*class, |(class, _)| class);
        return CalleeGroup {
            name: format!("{class} ({} modules)", calls.len()),
            call,
            place: None,
            slowest: Some((callee_name(slowest), most.cpu)),
        };
    }
    let name = calls.first().map_or_else(String::new, |(name, _)| callee_name(name));
    CalleeGroup { name, call, place: None, slowest: None }
}

/// Where what a recorded call calls begins: the function of a Python call, the first line of the `forward` of a module that
/// has numbers.
fn begin(ledger: &Ledger, name: &str) -> Option<LineKey> {
    if let Some(module) = name.strip_prefix(MODULE) {
        let class = match module.rsplit_once(" (") {
            Some((_, class)) => class.trim_end_matches(')'),
            None => module.rsplit_once('_')?.0,
        };
        let forward = format!("{class}.forward");
        let mut lines = ledger.lines.iter().filter(|(_, it)| it.function == forward);
        let (first, _) = lines.next()?;
        // Of classes of one name in several files it is not known which one it is.
        return lines.all(|(key, _)| key.file == first.file).then(|| first.clone());
    }
    let (recorded, line, _) = frame(name)?;
    let (file, _) = ledger.files.iter().find(|(_, it)| it.recorded == recorded)?;
    Some(LineKey { file: file.clone(), line: line.parse().ok()? })
}

/// Path, line and function of a call of a Python function, as recorded.
fn frame(name: &str) -> Option<(&str, &str, &str)> {
    let (place, function) = name.rsplit_once("): ")?;
    let (path, line) = place.rsplit_once('(')?;
    Some((path, line, function))
}

/// What a recorded Python call is called in the source: `forward (linear.py:114)`, `item`, `Linear_0`.
pub(crate) fn callee_name(name: &str) -> String {
    if let Some((path, line, function)) = frame(name) {
        return format!("{function} ({}:{line})", base_name(path));
    }
    let built_in =
        name.strip_prefix("<built-in method ").or(name.strip_prefix("<built-in function "));
    if let Some(rest) = built_in {
        return rest.split([' ', '>']).next().unwrap_or(rest).to_owned();
    }
    name.strip_prefix("nn.Module: ").unwrap_or(name).to_owned()
}

/// The numbers in a path, by which the modules of a list are in order.
fn numbers(path: &str) -> Vec<u64> {
    path.split('.').filter_map(|it| it.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use ledger::{LineBooks, SourceFile};

    use super::*;

    #[test]
    fn names_of_callees() {
        let rows = [
            ("torch/nn/modules/linear.py(114): forward", "forward (linear.py:114)"),
            ("<built-in method item of Tensor object at 0x7f0>", "item"),
            ("<built-in function len>", "len"),
            ("nn.Module: Linear_0", "Linear_0"),
            ("<method 'x' of 'y' objects>", "<method 'x' of 'y' objects>"),
        ];
        for (name, short) in rows {
            assert_eq!(callee_name(name), short);
        }
    }

    #[test]
    fn numbers_in_names_are_left_open() {
        let rows = [
            ("layers.3.mlp.up", "layers.*.mlp.up"),
            ("stages.0.blocks.12", "stages.*.blocks.*"),
            ("head", "head"),
            ("model.conv_2", "model.conv_2"),
            ("Linear_7", "Linear_*"),
            ("Model", "Model"),
        ];
        for (name, pattern) in rows {
            assert_eq!(module_pattern(name), pattern);
        }
    }

    #[test]
    fn calls_begin_where_their_functions_do() {
        let key = |file: &str, line| LineKey { file: file.to_owned(), line };
        let books =
            |function: &str| LineBooks { function: function.to_owned(), ..Default::default() };
        let mut ledger = Ledger::default();
        let lines = [
            ("model.py", 7, "Block.forward"),
            ("model.py", 9, "Block.forward"),
            ("a.py", 1, "Net.forward"),
            ("b.py", 1, "Net.forward"),
        ];
        ledger.lines = lines.map(|(file, line, it)| (key(file, line), Box::new(books(it)))).into();
        let file = SourceFile { recorded: "/w/model.py".to_owned(), ..SourceFile::default() };
        ledger.files.insert("model.py".to_owned(), file);
        let rows = [
            ("nn.Module: layers.3 (Block)", Some(key("model.py", 7))),
            ("nn.Module: Block_12", Some(key("model.py", 7))),
            ("nn.Module: Net_0", None),
            ("nn.Module: Linear_0", None),
            ("/w/model.py(20): step", Some(key("model.py", 20))),
            ("other.py(20): step", None),
            ("<built-in function len>", None),
        ];
        for (name, expected) in rows {
            assert_eq!(begin(&ledger, name), expected, "{name}");
        }
    }

    #[test]
    fn modules_of_a_list_are_one() {
        let call = |cpu| Call { calls: 1, cpu: Ns(cpu) };
        let rows = [
            ("nn.Module: layers.2 (Block)", call(9)),
            ("nn.Module: layers.10 (Block)", call(3)),
            ("nn.Module: layers.0 (Block)", call(4)),
            ("nn.Module: layers.1 (Other)", call(2)),
            ("nn.Module: Block_0", call(20)),
            ("nn.Module: Block_1", call(1)),
        ];
        let callees = rows.map(|(name, call)| (name.to_owned(), call)).into();
        let groups = callee_groups(&Ledger::default(), &callees);
        let shown: Vec<_> = groups
            .iter()
            .map(|it| {
                (
                    it.name.as_str(),
                    it.call.calls,
                    it.call.cpu.0,
                    it.slowest.as_ref().map(|it| (it.0.as_str(), it.1.0)),
                )
            })
            .collect();
        let expected = [
            ("Block (2 modules)", 2, 21, Some(("Block_0", 20))),
            ("layers.0 … layers.10 (Block)", 3, 16, Some(("layers.2", 9))),
            ("layers.1 (Other)", 1, 2, None),
        ];
        assert_eq!(shown, expected);
    }
}
