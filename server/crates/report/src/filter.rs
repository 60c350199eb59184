//! Which part of a recording is shown: code by file and function, stacks by what is on them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};
use ledger::{Ledger, LineKey, Metric};
use loader::{Run, StackBooks};
use metrics::numbers;
use regex::Regex;
use serde_json::{Value as Json, json};
use stack_books::{EventChoice, StackFrame, StepChoice, TrainingPhase};

use crate::model::Note;
use crate::recording::Recording;
use crate::tables::NamedTable;

/// A pattern of files, by what they are called in output: `*` within a folder, `**` over folders. One without a folder
/// (`model.py`) is of the last part of the name.
#[derive(Debug, Clone)]
pub struct FilePattern {
    text: String,
    matcher: GlobMatcher,
}

impl FromStr for FilePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        let glob =
            glob.map_err(|error| format!("`{text}` is no pattern of files: {}", error.kind()))?;
        Ok(Self { text: text.to_owned(), matcher: glob.compile_matcher() })
    }
}

impl fmt::Display for FilePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FilePattern {
    fn is_match(&self, name: &str) -> bool {
        let last = || name.rsplit(['/', '\\']).next().unwrap_or(name);
        if self.matcher.is_match(name)
            || (!self.text.contains('/') && self.matcher.is_match(last()))
        {
            return true;
        }
        // A notebook has all of its cells.
        pysource::split_cell_path(name).is_some_and(|(notebook, _)| self.is_match(notebook))
    }
}

/// A regular expression that is searched in qualified names of functions (`Model.forward`).
#[derive(Debug, Clone)]
pub struct FunctionPattern(Regex);

impl FromStr for FunctionPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The last line of the message says what is wrong; those before it draw where.
        let reason = |error: regex::Error| {
            let error = error.to_string();
            let last = error.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        };
        Regex::new(text)
            .map(Self)
            .map_err(|error| format!("`{text}` is no regular expression: {}", reason(error)))
    }
}

impl fmt::Display for FunctionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// Lines of code: those in one of the files and in one of the functions. Without patterns, all.
#[derive(Debug, Clone, Default)]
pub struct CodeFilter {
    /// Of which one fits the file.
    pub files: Vec<FilePattern>,
    /// Of which one fits the function.
    pub functions: Vec<FunctionPattern>,
}

impl CodeFilter {
    /// All lines.
    pub const ALL: &Self = &Self { files: Vec::new(), functions: Vec::new() };

    /// Whether all lines pass.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.functions.is_empty()
    }

    /// Whether the lines of a function pass, in a file by what it is called in output.
    #[must_use]
    pub fn passes(&self, file: &str, function: &str) -> bool {
        (self.files.is_empty() || self.files.iter().any(|it| it.is_match(file)))
            && (self.functions.is_empty()
                || self.functions.iter().any(|it| it.0.is_match(function)))
    }

    /// Whether a line of the books of a recording passes.
    #[must_use]
    pub fn has_line(&self, recording: &Recording<'_>, file: &str, line: u32) -> bool {
        let key = LineKey { file: file.to_owned(), line };
        let function = recording.run.merged.lines.get(&key).map_or("", |it| &it.function);
        self.is_empty() || self.passes(recording.file(file), function)
    }

    /// As it is written on the command line.
    #[must_use]
    pub fn text(&self) -> String {
        let files = self.files.iter().map(|it| format!("--file '{it}'"));
        let functions = self.functions.iter().map(|it| format!("--function '{it}'"));
        files.chain(functions).collect::<Vec<_>>().join(" ")
    }

    /// As contracts have it; null where all lines pass.
    #[must_use]
    pub fn json(&self) -> Json {
        StackFilter { code: self.clone(), ..StackFilter::default() }.json()
    }

    /// Says that no line of a recording passes; `None` where one does.
    #[must_use]
    pub fn without_match(&self, recording: &Recording<'_>) -> Option<String> {
        let lines = &recording.run.merged.lines;
        let passes = lines
            .iter()
            .any(|(key, books)| self.passes(recording.file(&key.file), &books.function));
        (!self.is_empty() && !passes)
            .then(|| format!("no line of the recording passes {}", self.text()))
    }
}

/// Stacks, by what is on them. Amounts are then of these stacks alone.
#[derive(Debug, Clone, Default)]
pub struct StackFilter {
    /// Of the lines on the stack one is there.
    pub code: CodeFilter,
    /// Which phase of training the stack is of; `None` for all.
    pub phase: Option<TrainingPhase>,
    /// The events that were loaded, on threads and streams, in modules and steps ([`loader::StackOptions`]).
    pub events: EventChoice,
}

impl StackFilter {
    /// Whether all stacks pass.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.code.is_empty() && self.phase.is_none() && self.events.is_all()
    }

    /// What numbers are of; which lines are shown is another matter.
    #[must_use]
    pub fn part(&self) -> Self {
        Self { code: CodeFilter::default(), ..self.clone() }
    }

    /// As it is written on the command line.
    #[must_use]
    pub fn text(&self) -> String {
        let phase = self.phase.map(|it| format!("--phase {}", it.name()));
        let code = Some(self.code.text()).filter(|it| !it.is_empty());
        let threads = self.events.threads.iter().map(|it| format!("--thread '{it}'"));
        let streams = self.events.streams.iter().map(|it| format!("--stream {it}"));
        let modules = self.events.modules.iter().map(|it| format!("--module '{it}'"));
        let steps = self.events.steps.iter().map(|it| format!("--step {it}"));
        let of_events = threads.chain(streams).chain(modules).chain(steps);
        code.into_iter().chain(phase).chain(of_events).collect::<Vec<_>>().join(" ")
    }

    /// As contracts have it; null where all stacks pass.
    #[must_use]
    pub fn json(&self) -> Json {
        if self.is_empty() {
            return Json::Null;
        }
        let Self { code, phase, events } = self;
        let texts = |it: &mut dyn Iterator<Item = String>| it.collect::<Vec<_>>();
        json!({
            "files": texts(&mut code.files.iter().map(ToString::to_string)),
            "functions": texts(&mut code.functions.iter().map(ToString::to_string)),
            "modules": texts(&mut events.modules.iter().map(ToString::to_string)),
            "steps": texts(&mut events.steps.iter().map(ToString::to_string)),
            "threads": events.threads,
            "streams": events.streams,
            "phase": phase.map(TrainingPhase::name),
        })
    }

    /// Leaves of a run the stacks that pass, if it was loaded with stacks; all, where nothing is left out. `root` is the folder of the code, by which files are
    /// called in output.
    ///
    /// # Errors
    /// If nothing passes: says so, and what there is to choose from.
    pub fn leave(&self, run: &mut Run, root: &Path) -> Result<(), String> {
        if self.is_empty() {
            return Ok(());
        }
        let names = loader::display_names(&run.merged, root);
        let passing = run.stacks.as_ref().map(|it| self.apply(it, &names));
        let nothing = passing.as_ref().and_then(|passing| self.without_match(run, passing));
        run.stacks = passing;
        nothing.map_or(Ok(()), Err)
    }

    /// The stacks that pass, with what files are called in output by their key in the ledger (`loader::display_names`).
    pub(crate) fn apply(&self, books: &StackBooks, names: &BTreeMap<&str, String>) -> StackBooks {
        let of_phase = self.phase.map(|phase| books.of_phase(phase));
        if self.code.is_empty() {
            return of_phase.unwrap_or_else(|| books.clone());
        }
        // By place in the books: names are few, stacks many.
        let passes = |frame: &StackFrame| {
            let StackFrame::Line(line) = frame else { return false };
            let file = names.get(&*line.key.file).map_or(&*line.key.file, String::as_str);
            self.code.passes(file, &line.function)
        };
        let wanted: HashSet<&StackFrame> =
            books.frames().map(|(frame, _)| frame).filter(|it| passes(it)).collect();
        of_phase.as_ref().unwrap_or(books).below(|frame| wanted.contains(frame))
    }

    /// Says that nothing of a recording passes; `None` where something does.
    fn without_match(&self, run: &Run, passing: &StackBooks) -> Option<String> {
        if let Some(unknown) = unknown_step(&run.merged, &self.events.steps) {
            return Some(unknown);
        }
        if passing.stacks().next().is_some() {
            return None;
        }
        let has_modules = self.events.modules.is_empty() || !run.merged.modules.is_empty();
        let reason = crate::annotate::without_lines(run)
            .or((!has_modules).then_some("It has no calls of modules (nn.Module)."));
        let reason = match (reason, self.phase, &run.stacks) {
            (Some(reason), _, _) => format!(". {reason}"),
            (None, Some(phase), Some(books)) => without_phase(books, phase),
            _ => String::new(),
        };
        Some(format!("nothing of the recording passes {}{reason}", self.text()))
    }

    /// Adds to a table how much of the recording it is of.
    #[must_use]
    pub fn noted_in(&self, mut table: NamedTable, run: &Run) -> NamedTable {
        if let (false, Some(books)) = (self.is_empty(), &run.stacks) {
            let parts = part_of(books, &run.merged);
            let text = format!("with {}: {parts}; shares are of that part", self.text());
            table.section.notes.push(Note::plain(text));
            table.filter = self.json();
        }
        table
    }
}

/// Which phases of training there are, where `phase` is none of them.
fn without_phase(books: &StackBooks, phase: TrainingPhase) -> String {
    let has_some = |it: &TrainingPhase| books.of_phase(*it).stacks().next().is_some();
    let phases: Vec<TrainingPhase> = TrainingPhase::ALL.into_iter().filter(has_some).collect();
    match &phases[..] {
        [] => "; it has no phase of training".to_owned(),
        _ if phases.contains(&phase) => String::new(),
        _ => {
            let names: Vec<&str> = phases.iter().map(|it| it.name()).collect();
            format!("; of the phases of training it has {}", names.join(", "))
        }
    }
}

/// Says which of `steps` is none of a recording; `None` where all are.
pub(crate) fn unknown_step(ledger: &Ledger, steps: &[StepChoice]) -> Option<String> {
    let (recorded, work) = (&ledger.steps, &ledger.step_work);
    let is_recorded =
        |it: &StepChoice| recorded.keys().any(|step| it.is_match(*step, work.get(step)));
    let unknown = steps.iter().find(|it| !is_recorded(it))?;
    let (Some((first, _)), Some((last, _))) =
        (recorded.first_key_value(), recorded.last_key_value())
    else {
        return Some(format!("unknown step `{unknown}`: the recording has no steps"));
    };
    let kinds: BTreeSet<&str> = work.values().map(|it| &*it.kind).collect();
    let kinds: String = kinds.into_iter().map(|it| format!(", or {it}")).collect();
    Some(format!(
        "unknown step `{unknown}`, expected one of the {} steps from {first} to {last}{kinds}",
        recorded.len()
    ))
}

/// `1.2 ms of 5 ms of thread time`: of each metric that the recording has.
pub(crate) fn part_of(books: &StackBooks, ledger: &Ledger) -> String {
    let part = |metric: Metric| {
        let whole = ledger.totals.get(metric);
        let [part, whole_text] =
            [books.total(metric), whole].map(|it| numbers::text(it as f64, metric.unit()));
        (whole != 0).then(|| format!("{part} of {whole_text} of {}", metric.label()))
    };
    [Metric::Cpu, Metric::Cuda].into_iter().filter_map(part).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(files: &[&str], functions: &[&str]) -> CodeFilter {
        CodeFilter {
            files: files.iter().map(|it| it.parse().unwrap()).collect(),
            functions: functions.iter().map(|it| it.parse().unwrap()).collect(),
        }
    }

    #[test]
    fn files_and_functions_are_chosen_by_pattern() {
        assert!(code(&[], &[]).passes("a/model.py", "Net.forward"));
        assert!(code(&["model.py"], &[]).passes("a/model.py", "Net.forward"));
        assert!(code(&["a/*.py"], &[]).passes("a/model.py", ""));
        assert!(!code(&["a/*.py"], &[]).passes("a/b/model.py", ""));
        assert!(code(&["a/**"], &["forward$"]).passes("a/b/model.py", "Net.forward"));
        assert!(!code(&["a/**"], &["^forward$"]).passes("a/b/model.py", "Net.forward"));
        assert!(code(&["x.py", "model.py"], &["step", "ward"]).passes("model.py", "forward"));
        assert!(code(&["run.ipynb"], &[]).passes("a/run.ipynb:cell 4", ""));
        assert!(code(&["run.py:cell 4"], &[]).passes("a/run.py:cell 4", ""));
        assert!(!code(&["run.py:cell 4"], &[]).passes("a/run.py:cell 5", ""));
        assert_eq!(code(&["a.py"], &["f|g"]).text(), "--file 'a.py' --function 'f|g'");
    }

    #[test]
    fn patterns_that_cannot_be_read_are_refused() {
        let error = "models/[a.py".parse::<FilePattern>().unwrap_err();
        assert!(error.starts_with("`models/[a.py` is no pattern of files: "), "{error}");
        let error = "for(".parse::<FunctionPattern>().unwrap_err();
        assert_eq!(error, "`for(` is no regular expression: unclosed group");
    }
}
