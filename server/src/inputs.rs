//! From the command line to a loaded recording: which files, the progress bar, Ctrl-C, and what is reported on stderr.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use loader::{
    DiscoveredRun, LedgerCache, LoadOptions, Progress, RankChoice, RecordingText, Run, StackChoice,
    Stage, TimelineChoice, Timing, Watch,
};
use report::terminal::clean;
use settings::Settings;

use crate::args::{RecordingArgs, project_file};
use crate::failure::Failure;
use crate::pager;

/// Loads what the command line names. The time that loading took comes with it.
///
/// # Errors
/// If nothing was found or nothing could be read, or after Ctrl-C.
pub(crate) fn load(args: &RecordingArgs, options: &LoadOptions) -> Result<(Run, Timing), Failure> {
    let inputs = resolve(args)?;
    let cancelled = Arc::new(AtomicBool::new(false));
    on_interrupt(&cancelled);
    let bar = bar();
    let loaded = loader::load_timed(
        &inputs,
        options,
        &Watch { progress: &|it| show(&bar, it), cancelled: &cancelled },
    );
    bar.finish_and_clear();
    let (run, timing) = loaded?;
    let faults = report::faults(&run);
    let losses = report::losses(&run);
    for line in
        run.failures.iter().chain(&report::inputs_to_check(&run)).chain(&losses).chain(&faults)
    {
        self::report(line);
    }
    Ok((run, timing))
}

/// Whether no input is missing, and with `--strict` no part of one: other numbers are printed, but never taken for whole.
pub(crate) fn is_whole(args: &RecordingArgs, run: &Run) -> bool {
    run.failures.is_empty() && !(args.strict && report::has_losses(run))
}

/// What the command line says of how to load, and what the settings of the project say where it says nothing.
pub(crate) fn options(args: &RecordingArgs) -> LoadOptions {
    let settings = &args.settings;
    let named = |named: &[PathBuf]| (!named.is_empty()).then(|| named.to_vec());
    LoadOptions {
        root: args.root.clone(),
        sites: named(&args.sites).or_else(|| settings.sites.clone()),
        mine: if args.mine.is_empty() { settings.mine.clone() } else { args.mine.clone() },
        mappings: settings.mappings.iter().chain(&args.mappings).cloned().collect(),
        captures: named(&args.captures).unwrap_or_else(|| settings.captures.clone()),
        lines_from: named(&args.lines_from).unwrap_or_else(|| settings.lines_from.clone()),
        step_ranges: match args.step_ranges.is_empty() {
            true => settings.step_ranges.clone(),
            false => args.step_ranges.clone(),
        },
        ignore_exact: args.ignore_exact,
        memory_limit: args.memory_limit.unwrap_or(settings.memory_limit),
        ranks: RankChoice {
            ranks: args.ranks.iter().copied().collect(),
            groups: args.groups.clone(),
        },
        git_texts: true,
        text_cache: loader::cache_folder().filter(|_| settings.keeps_sources),
        ledger_cache: loader::cache_folder()
            .filter(|_| settings.keeps_ledgers)
            .map(|it| Arc::new(LedgerCache::new(it))),
        ..LoadOptions::new(&args.root, None)
    }
}

/// The same, with what the pictures of a recording are drawn from.
pub(crate) fn with_pictures(options: LoadOptions) -> LoadOptions {
    LoadOptions {
        stacks: StackChoice::WherePossible,
        timeline: TimelineChoice::First,
        histories: true,
        ..options
    }
}

/// Writes what is to be kept of what was loaded, for the next time, and says where it cannot be kept.
pub(crate) fn keep(options: &LoadOptions) {
    if let Some(cache) = &options.ledger_cache {
        if let Some(fault) = cache.fault() {
            report(&fault);
        }
        cache.write_pending();
    }
}

/// One line on stderr. If stderr is closed, there is nowhere to report to.
pub(crate) fn report(message: &str) {
    let _ = writeln!(std::io::stderr(), "perfline: {}", clean(message));
}

/// Files and the standard input as they are, folders as the newest recording below them.
fn resolve(args: &RecordingArgs) -> Result<Vec<PathBuf>, Failure> {
    if args.inputs.is_empty() {
        return newest(args, Path::new("."));
    }
    let mut inputs = Vec::new();
    for path in &args.inputs {
        if path != Path::new(loader::STANDARD_INPUT) && loader::is_folder(path) {
            inputs.extend(newest(args, path)?);
        } else {
            inputs.push(path.clone());
        }
    }
    Ok(inputs)
}

/// How many of the files that were found in a folder are named.
const MAX_NAMED: usize = 2;

/// The recordings below a folder that the settings of the project in `root` do not leave out, newest first.
///
/// # Errors
/// If there is none.
pub(crate) fn discover(
    folder: &Path,
    root: &Path,
    settings: &Settings,
) -> Result<Vec<DiscoveredRun>, Failure> {
    let mut found = loader::discover(folder);
    if found.is_empty() {
        if loader::is_url(folder) && !loader::is_folder(folder) {
            // Why it cannot be listed.
            RecordingText::open(folder)?;
        }
        return Err(Failure::NothingFound(folder.to_owned()));
    }
    // Of recordings outside of the root the settings of the project say nothing.
    let real = |path: &Path| path.canonicalize().ok();
    let within = real(folder)
        .zip(real(root))
        .and_then(|(folder, root)| folder.strip_prefix(root).map(Path::to_owned).ok());
    if let Some(within) = within {
        let is_wanted = |path: &PathBuf| {
            let below = path.strip_prefix(folder).unwrap_or(path);
            settings.wants(&within.join(below).to_string_lossy().replace('\\', "/"))
        };
        for run in &mut found {
            run.inputs.retain(is_wanted);
        }
        found.retain(|it| !it.inputs.is_empty());
    }
    if found.is_empty() {
        return Err(Failure::LeftOut(folder.to_owned(), project_file(root)));
    }
    Ok(found)
}

fn newest(args: &RecordingArgs, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let found = discover(folder, &args.root, &args.settings)?.into_iter().next();
    let recording = found.ok_or_else(|| Failure::NothingFound(folder.to_owned()))?;
    let names = recording.inputs.iter().map(|it| it.display().to_string());
    let named: Vec<String> = names.take(MAX_NAMED).collect();
    let more = match recording.inputs.len() - named.len() {
        0 => String::new(),
        n => format!(" and {n} more of this run"),
    };
    report(&format!("reading {}{more}", named.join(" ")));
    Ok(recording.inputs)
}

/// The first Ctrl-C ends loading at its next check; a second one, or one after loading, ends the process at once. One
/// that is for a pager does nothing here.
fn on_interrupt(cancelled: &Arc<AtomicBool>) {
    let mine = Arc::clone(cancelled);
    let handled = ctrlc::set_handler(move || {
        if pager::is_open() {
            return;
        }
        // `load` holds the flag while it loads.
        let is_loading = 1 < Arc::strong_count(&mine);
        if mine.swap(true, Ordering::Relaxed) || !is_loading {
            std::process::exit(130);
        }
    });
    // Without a handler Ctrl-C ends the process at once, which is good enough.
    drop(handled);
}

/// Drawn on stderr if it is a terminal, else not at all.
fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {wide_msg}") {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar
}

fn show(bar: &ProgressBar, progress: &Progress) {
    let name = progress.path.file_name().map_or(&*progress.path, Path::new);
    let name = loader::shown(name);
    let stage = match progress.stage {
        Stage::Reading => "reading",
        Stage::Attributing => "charging events to lines of",
    };
    bar.set_length(progress.total);
    bar.set_position(progress.done);
    bar.set_message(format!("{stage} {}", clean(&name)));
}
