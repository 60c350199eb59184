//! Recordings with the stacks that pass a filter.

use ::report::StackFilter;
use loader::{LoadOptions, Run, StackChoice, Timing};

use crate::args;
use crate::failure::Failure;
use crate::inputs;

/// A recording with the stacks that pass a filter.
pub(super) struct FilteredRecording {
    pub(super) options: LoadOptions,
    pub(super) run: Run,
    pub(super) timing: Timing,
}

/// Loads a recording with the stacks that pass `filter`; where none does, says so and gives `None`.
pub(super) fn load_stacks(
    args: &args::RecordingArgs,
    options: LoadOptions,
    filter: &StackFilter,
) -> Result<Option<FilteredRecording>, Failure> {
    let mut options = LoadOptions { stacks: StackChoice::Always, ..options };
    options.stack_options.events = filter.events.clone();
    let (mut run, timing) = inputs::load(args, &options).map_err(|failure| match failure {
        Failure::Load(loader::Error::NoStacks { path }) if !filter.is_empty() => {
            Failure::NoStacks(path, filter.text())
        }
        other => other,
    })?;
    if let Err(nothing) = filter.leave(&mut run, &args.root) {
        inputs::report(&nothing);
        return Ok(None);
    }
    Ok(Some(FilteredRecording { options, run, timing }))
}
