//! Recordings that are loaded once for what a command prints.

use std::io::{self, Write};
use std::process::ExitCode;

use ::report::{Recording, RecordingPart, StackFilter};
use loader::{LoadOptions, Run, SourceFolders, Timing};

use super::filtered::load_stacks;
use crate::failure::Failure;
use crate::{args, inputs, pager};

/// What was loaded.
pub(super) struct CommandInput<'a> {
    pub(super) recording: Recording<'a>,
    pub(super) timing: Timing,
    /// Where source text comes from.
    pub(super) sources: &'a SourceFolders,
}

/// Loads a recording and prints what `write` makes of it.
pub(super) fn print(
    args: &args::RecordingArgs,
    write: impl FnOnce(&mut dyn Write, &CommandInput<'_>) -> io::Result<ExitCode>,
) -> Result<ExitCode, Failure> {
    print_loaded(args, inputs::options(args), write)
}

/// Like [`print()`], with what `options` ask for beyond the command line.
pub(super) fn print_loaded(
    args: &args::RecordingArgs,
    options: LoadOptions,
    write: impl FnOnce(&mut dyn Write, &CommandInput<'_>) -> io::Result<ExitCode>,
) -> Result<ExitCode, Failure> {
    let (run, timing) = inputs::load(args, &options)?;
    print_run(args, &options, run, timing, write)
}

/// Prints what `write` makes of a loaded recording.
fn print_run(
    args: &args::RecordingArgs,
    options: &LoadOptions,
    run: Run,
    timing: Timing,
    write: impl FnOnce(&mut dyn Write, &CommandInput<'_>) -> io::Result<ExitCode>,
) -> Result<ExitCode, Failure> {
    let sources: SourceFolders = loader::source_folders(options);
    let names = loader::display_names(&run.merged, &args.root);
    let recording = Recording { run: &run, names, sources: &sources };
    let loaded = CommandInput { recording, timing, sources: &sources };
    let mut out = pager::stdout();
    let code = write(&mut out, &loaded)?;
    out.finish()?;
    inputs::keep(options);
    let code = if inputs::is_whole(args, &run) { code } else { ExitCode::from(2) };
    drop_aside(run);
    Ok(code)
}

/// Drops a run on a thread of its own. With a million lines that takes seconds, for which nobody who waits for the command has to
/// wait: the process ends meanwhile, and with `--watch` it goes on.
fn drop_aside(run: Run) {
    // If there can be no thread, `spawn` has dropped the closure, and the run with it.
    let _ = std::thread::Builder::new().spawn(move || drop(run));
}

/// Loads a recording with the stacks that pass `filter`, and prints what `write` makes of it.
pub(super) fn print_stacks(
    args: &args::RecordingArgs,
    options: LoadOptions,
    filter: &StackFilter,
    write: impl FnOnce(&mut dyn Write, &CommandInput<'_>) -> io::Result<ExitCode>,
) -> Result<ExitCode, Failure> {
    match load_stacks(args, options, filter)? {
        Some(it) => print_run(args, &it.options, it.run, it.timing, write),
        None => Ok(ExitCode::from(2)),
    }
}

/// Like [`print_loaded()`], of the part of a recording that passes `filter`, if it leaves anything out; `whole_filter` is all that was
/// asked for, lines that are shown included.
pub(super) fn print_part(
    args: &args::RecordingArgs,
    options: LoadOptions,
    filter: &StackFilter,
    whole_filter: &StackFilter,
    write: impl FnOnce(
        &mut dyn Write,
        &CommandInput<'_>,
        Option<&RecordingPart>,
    ) -> io::Result<ExitCode>,
) -> Result<ExitCode, Failure> {
    if filter.is_empty() {
        return print_loaded(args, options, |out, it| write(out, it, None));
    }
    let mut options = options;
    options.stack_options.by_step = true;
    let Some(mut it) = load_stacks(args, options, filter)? else {
        return Ok(ExitCode::from(2));
    };
    let part = RecordingPart::take(&mut it.run, filter, whole_filter);
    print_run(args, &it.options, it.run, it.timing, |out, it| write(out, it, Some(&part)))
}

/// Whether it is known when things happened; says what is needed where it is not.
pub(super) fn has_timeline(run: &Run) -> bool {
    if run.timeline.is_none() {
        inputs::report("none of the inputs has events with times; name a trace of torch.profiler");
    }
    run.timeline.is_some()
}
