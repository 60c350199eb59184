//! The side-car of exact callers, cut as its trace is.

use recorded::Frame;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value, json};

use crate::CutTrace;
use crate::names::ReplacedNames;

/// Nanoseconds that the times of a row and of its event differ by at most, and more where a line was noted.
const TOLERANCE: i64 = 2_000;
const LINE_TOLERANCE: i64 = 20_000;

/// The part of the side-car `text` that belongs to `cut`, with other names; without the texts of sources. `None` where it is no side-car.
#[must_use]
pub fn cut_side_car(text: &[u8], cut: &CutTrace, names: &mut ReplacedNames) -> Option<Vec<u8>> {
    let Value::Object(file) = serde_json::from_slice(text).ok()? else { return None };
    let old: Vec<&str> =
        array(&file, "strings").map(|it| it.as_str().unwrap_or_default()).collect();
    let mut strings = Strings { old, new: Vec::new(), index: FxHashMap::default(), names };
    let mut new = Map::new();
    for key in ["schema", "torch", "python"] {
        let version = file.get(key).and_then(Value::as_str).filter(|it| is_version(it));
        new.extend(version.map(|it| (key.to_owned(), Value::from(it))));
    }
    let mut events = WrittenEvents { starts: &cut.python, taken: FxHashMap::default() };
    let threads =
        array(&file, "threads").filter_map(|it| rows(it.as_object()?, &mut events, &mut strings));
    let threads: Vec<Value> = threads.collect();
    new.insert("threads".to_owned(), Value::from(threads));
    if let Some(lines) = file.get("lines").and_then(Value::as_object) {
        new.insert("lines".to_owned(), noted_lines(lines, cut, &mut strings));
    }
    if let Some(modules) = file.get("modules").and_then(Value::as_object) {
        let columns = ["event", "name"].map(|it| integers(modules, it));
        let [event, name] = columns;
        let event: Vec<i64> =
            event.iter().map(|&it| strings.renamed(it, ReplacedNames::python_event)).collect();
        let name: Vec<i64> =
            name.iter().map(|&it| strings.renamed(it, ReplacedNames::module)).collect();
        let sizes = |key: &str| modules.get(key).cloned().unwrap_or_default();
        let (parameters, bytes) = (sizes("parameters"), sizes("bytes"));
        new.insert(
            "modules".to_owned(),
            json!({"event": event, "name": name, "parameters": parameters, "bytes": bytes}),
        );
    }
    if let Some(steps) = file.get("plain_steps_ns").filter(|it| it.is_array()) {
        let steps: Vec<i64> = steps.as_array()?.iter().filter_map(Value::as_i64).collect();
        new.insert("plain_steps_ns".to_owned(), Value::from(steps));
    }
    if let Some(workers) = file.get("loader_workers").and_then(Value::as_object) {
        let (time, worked) =
            (workers.get("time_ns").and_then(Value::as_i64), integers(workers, "worked_ns"));
        new.insert("loader_workers".to_owned(), json!({"time_ns": time, "worked_ns": worked}));
    }
    new.insert("strings".to_owned(), Value::from(strings.new));
    serde_json::to_vec(&Value::Object(new)).ok()
}

/// The versions of PyTorch and Python that a side-car names.
#[must_use]
pub fn versions(text: &[u8]) -> (Option<String>, Option<String>) {
    let Ok(Value::Object(file)) = serde_json::from_slice(text) else { return (None, None) };
    let version = |key: &str| {
        let text = file.get(key).and_then(Value::as_str);
        text.filter(|it| is_version(it)).map(str::to_owned)
    };
    (version("torch"), version("python"))
}

/// `2.11.0+cu130`, `perfline.callers/1`: no text of a user.
fn is_version(text: &str) -> bool {
    text == "perfline.callers/1"
        || text.len() < 32
            && text.starts_with(|it: char| it.is_ascii_digit())
            && !text.contains("git")
            && text.split(['.', '+']).all(|it| {
                let letters = it.trim_end_matches(|it: char| it.is_ascii_digit());
                letters.is_empty()
                    || ["cu", "cpu", "rocm", "rc", "a", "b", "dev", "xpu"]
                        .contains(&letters.trim_start_matches(|it: char| it.is_ascii_digit()))
            })
}

/// The rows of a thread that belong to events that were kept.
fn rows(
    thread: &Map<String, Value>,
    events: &mut WrittenEvents<'_>,
    strings: &mut Strings<'_>,
) -> Option<Value> {
    let [name, start, file, line] =
        ["name", "start_ns", "file", "line"].map(|it| integers(thread, it));
    let n_rows = name.len().min(start.len()).min(file.len()).min(line.len());
    let (mut at, mut before) = (0_i64, 0_i64);
    let (mut names, mut starts, mut files, mut lines) = (vec![], vec![], vec![], vec![]);
    for row in 0..n_rows {
        at = at.saturating_add(start[row]);
        if !events.take(strings.old(name[row]), at) {
            continue;
        }
        names.push(strings.renamed(name[row], ReplacedNames::python_event));
        starts.push(at.saturating_sub(before));
        files.push(strings.renamed(file[row], ReplacedNames::path));
        lines.push(line[row]);
        before = at;
    }
    let tid = thread.get("tid").and_then(Value::as_i64).unwrap_or(-1);
    (!names.is_empty()).then(
        || json!({"tid": tid, "name": names, "start_ns": starts, "file": files, "line": lines}),
    )
}

/// The lines that were noted within the part, and before it those of the frames that are open when it begins.
fn noted_lines(lines: &Map<String, Value>, cut: &CutTrace, strings: &mut Strings<'_>) -> Value {
    let codes = lines.get("codes").and_then(Value::as_object).cloned().unwrap_or_default();
    let [file, function, first, last] =
        ["file", "function", "first", "last"].map(|it| integers(&codes, it));
    let open: FxHashSet<(&str, &str)> = cut
        .open
        .iter()
        .filter_map(|it| Frame::parse(&it.name))
        .map(|it| (it.file, it.function))
        .collect();
    let of_code = |(&file, &function): (&i64, &i64)| {
        open.contains(&(strings.old(file), recorded::function_of(strings.old(function))))
    };
    let has_open: Vec<bool> = file.iter().zip(&function).map(of_code).collect();
    let is_open = |code: i64| {
        usize::try_from(code).ok().and_then(|it| has_open.get(it)).copied().unwrap_or_default()
    };
    let mut threads = Vec::new();
    for thread in array(lines, "threads").filter_map(Value::as_object) {
        let [time, code, line] = ["time_ns", "code", "line"].map(|it| integers(thread, it));
        let n_rows = time.len().min(code.len()).min(line.len());
        let mut at = 0_i64;
        let mut rows = Vec::with_capacity(n_rows);
        for row in 0..n_rows {
            at = at.saturating_add(time[row]);
            rows.push((at, code[row], line[row]));
        }
        let mut kept: FxHashSet<usize> = FxHashSet::default();
        // Of each function whose frame is open, its beginning and the last line before the part.
        let mut last_lines: FxHashMap<i64, usize> = FxHashMap::default();
        for (index, &(at, code, line)) in rows.iter().enumerate() {
            if cut.holds(at.saturating_sub(LINE_TOLERANCE))
                || cut.holds(at.saturating_add(LINE_TOLERANCE))
            {
                kept.insert(index);
            } else if is_open(code) && at < cut.start() {
                if line == 0 {
                    if cut.open_near(at, LINE_TOLERANCE).next().is_some() {
                        kept.insert(index);
                    }
                } else {
                    last_lines.insert(code, index);
                }
            }
        }
        kept.extend(last_lines.into_values());
        let mut before = 0;
        let (mut times, mut new_codes, mut new_lines) = (vec![], vec![], vec![]);
        for (index, &(at, code, line)) in rows.iter().enumerate() {
            if kept.contains(&index) {
                times.push(at.saturating_sub(before));
                new_codes.push(code);
                new_lines.push(line);
                before = at;
            }
        }
        let tid = thread.get("tid").and_then(Value::as_i64).unwrap_or(-1);
        threads.push(json!({"tid": tid, "time_ns": times, "code": new_codes, "line": new_lines}));
    }
    let paths: Vec<String> = file.iter().map(|&it| strings.old(it).to_owned()).collect();
    let files: Vec<i64> = file.iter().map(|&it| strings.renamed(it, ReplacedNames::path)).collect();
    let functions: Vec<i64> = function
        .iter()
        .zip(&paths)
        .map(|(&it, path)| strings.renamed(it, |names, function| names.function(path, function)))
        .collect();
    let until = lines.get("until_ns").cloned().unwrap_or_default();
    json!({
        "until_ns": until.as_i64(),
        "codes": {"file": files, "function": functions, "first": first, "last": last},
        "threads": threads,
    })
}

/// Which events of Python were written, and which of them have their row.
struct WrittenEvents<'a> {
    starts: &'a FxHashMap<String, Vec<i64>>,
    /// Up to where those of a name are taken.
    taken: FxHashMap<&'a str, usize>,
}

impl WrittenEvents<'_> {
    /// Whether an event of this name that begins at `at` has no row yet; it has one then. Rows come in the order of their starts,
    /// thread by thread.
    fn take(&mut self, name: &str, at: i64) -> bool {
        let Some((name, starts)) = self.starts.get_key_value(name) else { return false };
        let taken = self.taken.entry(name).or_default();
        let earliest = starts.partition_point(|&it| it < at.saturating_sub(TOLERANCE));
        // The rows of another thread begin anew.
        let next = if *taken < starts.len() && starts[*taken] <= at.saturating_add(TOLERANCE) {
            earliest.max(*taken)
        } else {
            earliest
        };
        let is_there = starts.get(next).is_some_and(|&it| it <= at.saturating_add(TOLERANCE));
        if is_there {
            *taken = next + 1;
        }
        is_there
    }
}

/// The strings of the file, and those of the new one.
struct Strings<'a> {
    old: Vec<&'a str>,
    new: Vec<String>,
    index: FxHashMap<String, i64>,
    names: &'a mut ReplacedNames,
}

impl<'a> Strings<'a> {
    fn old(&self, index: i64) -> &'a str {
        usize::try_from(index).ok().and_then(|it| self.old.get(it)).copied().unwrap_or_default()
    }

    /// The index of the replacement of a string; -1 stays.
    fn renamed(
        &mut self,
        index: i64,
        rename: impl FnOnce(&mut ReplacedNames, &str) -> String,
    ) -> i64 {
        if index < 0 {
            return -1;
        }
        let new = rename(self.names, self.old(index));
        if let Some(&known) = self.index.get(&new) {
            return known;
        }
        let at = self.new.len() as i64;
        self.index.insert(new.clone(), at);
        self.new.push(new);
        at
    }
}

fn array<'a>(object: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    object.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn integers(object: &Map<String, Value>, key: &str) -> Vec<i64> {
    array(object, key).map(|it| it.as_i64().unwrap_or(-1)).collect()
}
