//! `perfline check`.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::report::budgets::{self, BudgetCheck};
use budget::Budget;

use super::opened::OpenedRecording;
use super::project;
use crate::args::{CheckArgs, RecordingArgs};
use crate::failure::Failure;
use crate::output;
use crate::terminal::Terminal;

/// Holds a recording against a budget.
///
/// # Errors
/// If the budget or a recording cannot be read, or the output cannot be written.
pub(crate) fn run(args: &CheckArgs, terminal: &Terminal) -> Result<ExitCode, Failure> {
    let path = args.budget();
    let text =
        fs::read_to_string(&path).map_err(|error| Failure::BudgetFile(path.clone(), error))?;
    let file = project::parse(&text, &path)?;
    let budget = file.budget().map_err(|error| Failure::Budget(path.clone(), error))?;
    let baseline = baseline(args, &budget, &path)?;
    let new = OpenedRecording::load(args.recording.clone())?;
    let base = baseline.map(OpenedRecording::load).transpose()?;
    let check = {
        let base = base.as_ref().map(OpenedRecording::recording);
        let rules = args.recording.settings.view.rules();
        budgets::build(&budget, &new.recording(), base.as_ref(), &rules)
    };
    let named = path.display().to_string();
    if let Some(sarif) = &args.sarif {
        let mut bytes = Vec::new();
        budgets::write_sarif(&mut bytes, &check, &named, &prefix(&args.recording.root))?;
        let read = new.paths().chain(base.iter().flat_map(OpenedRecording::paths));
        output::write(sarif, &bytes, read.chain([path.as_path()]))?;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    budgets::write_text(&mut out, &check, &named, terminal)?;
    out.flush()?;
    let loaded: Vec<&OpenedRecording> = [Some(&new), base.as_ref()].into_iter().flatten().collect();
    loaded.iter().for_each(|it| it.keep());
    Ok(exit_code(&check, loaded.iter().all(|it| it.is_whole())))
}

/// A recording that lacks an input is never taken for kept.
fn exit_code(check: &BudgetCheck, is_whole: bool) -> ExitCode {
    match (is_whole, check.exceeded.is_empty()) {
        (false, _) => ExitCode::from(2),
        (true, false) => ExitCode::from(1),
        (true, true) => ExitCode::SUCCESS,
    }
}

/// What to compare with, where the budget has limits against a baseline.
fn baseline(
    args: &CheckArgs,
    budget: &Budget,
    path: &Path,
) -> Result<Option<RecordingArgs>, Failure> {
    let Some(limits) = &budget.baseline else {
        return match &args.baseline {
            Some(_) => Err(Failure::NoBaselineLimits(path.to_owned())),
            None => Ok(None),
        };
    };
    // Paths in the budget are relative to it.
    let beside = |it: &String| path.parent().unwrap_or(Path::new("")).join(it);
    let recording = args.baseline.clone().or_else(|| limits.recording.as_ref().map(beside));
    let Some(recording) = recording else {
        return Err(Failure::NoBaseline(path.to_owned(), limits.line));
    };
    let root = args.baseline_root.clone().or_else(|| limits.root.as_ref().map(beside));
    let root = root.unwrap_or_else(|| args.recording.root.clone());
    Ok(Some(args.recording.of_other(vec![recording], &root)))
}

/// What leads from the current folder to the root, with a `/` at its end; nothing where it does not lie below.
fn prefix(root: &Path) -> String {
    let below = || -> io::Result<PathBuf> {
        let (root, current) = (root.canonicalize()?, Path::new(".").canonicalize()?);
        Ok(root.strip_prefix(current).map(Path::to_owned).unwrap_or_default())
    };
    match below() {
        Ok(below) if !below.as_os_str().is_empty() => format!("{}/", below.display()),
        _ => String::new(),
    }
}
