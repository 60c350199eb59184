//! `perfline list`: the recordings below a folder.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use loader::{RecordingText, Run, Watch};
use metrics::{Period, Scale};
use report::tables::{self, ListedRecording};
use report::terminal::{Terminal, clean};

use super::print::print_table;
use crate::args::{ListArgs, OutputFormat, RecordingArgs};
use crate::failure::Failure;
use crate::{inputs, pager};

/// Lists what is below the folder: of a table for people no more than it shows is looked at.
pub(super) fn run(args: &ListArgs, terminal: &Terminal) -> Result<ExitCode, Failure> {
    let root = Path::new(".");
    if args.files {
        return files(args, root);
    }
    let mut found = inputs::discover(&args.folder, root, &args.settings)?;
    let left_out = match args.table.format {
        OutputFormat::Text => found.len().saturating_sub(args.table.top),
        OutputFormat::Json => 0,
    };
    found.truncate(found.len() - left_out);
    // What other commands keep without options.
    let options = inputs::options(&RecordingArgs {
        root: root.to_owned(),
        settings: Arc::clone(&args.settings),
        ..RecordingArgs::default()
    });
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let now = SystemTime::now();
    let listed: Vec<ListedRecording> = found
        .iter()
        .map(|it| {
            let described = loader::describe(&it.inputs);
            let first = it.inputs.first().map(|it| loader::shown(it).into_owned());
            let kept = loader::load_kept(&it.inputs, &options, &watch);
            let steps =
                |run: &Run| (run.merged.steps.len(), Scale::new(&run.merged, Period::Mean).time());
            ListedRecording {
                name: first.unwrap_or_default(),
                files: it.inputs.len(),
                kinds: described.kinds.iter().map(|it| it.name()).collect(),
                ranks: described.ranks,
                bytes: described.bytes,
                age: now.duration_since(it.modified).unwrap_or_default(),
                steps: kept.as_ref().map(steps),
                commit: kept.and_then(|it| it.commit),
            }
        })
        .collect();
    let mut table = tables::recordings(&loader::shown(&args.folder), &listed);
    table.section.left_out = left_out;
    let mut out = pager::stdout();
    let code = print_table(&mut out, &table, &args.table, terminal)?;
    out.finish()?;
    Ok(code)
}

/// Prints the files by their names; a file that is named itself is one.
fn files(args: &ListArgs, root: &Path) -> Result<ExitCode, Failure> {
    let found = match loader::is_folder(&args.folder) {
        true => inputs::discover(&args.folder, root, &args.settings)?,
        false => Vec::new(),
    };
    let mut files: Vec<PathBuf> = found.into_iter().flat_map(|it| it.inputs).collect();
    if files.is_empty() {
        RecordingText::open(&args.folder)?;
        files.push(args.folder.clone());
    }
    let mut out = pager::stdout();
    for file in files {
        writeln!(out, "{}", clean(&loader::shown(&file)))?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
