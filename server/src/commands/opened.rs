//! Recordings of commands that keep them: those that look at two, and those that show one for long.

use std::path::Path;

use ::report::{Recording, RecordingPart, StackFilter};
use loader::{EventTimeline, LoadOptions, Run, SourceFolders, StackChoice, TimelineChoice};

use super::filtered::{FilteredRecording, load_stacks};
use crate::args::RecordingArgs;
use crate::failure::Failure;
use crate::inputs;

/// A recording, with what it was loaded by.
pub(super) struct OpenedRecording {
    args: RecordingArgs,
    options: LoadOptions,
    run: Run,
    sources: SourceFolders,
}

impl OpenedRecording {
    /// Loads what `args` name.
    ///
    /// # Errors
    /// If nothing was found or nothing could be read, or after Ctrl-C.
    pub(super) fn load(args: RecordingArgs) -> Result<Self, Failure> {
        let options = inputs::options(&args);
        Self::load_with(args, options)
    }

    /// The same, with what `options` ask for beyond the command line.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub(super) fn load_with(args: RecordingArgs, options: LoadOptions) -> Result<Self, Failure> {
        let (run, _) = inputs::load(&args, &options)?;
        let sources = loader::source_folders(&options);
        Ok(Self { args, options, run, sources })
    }

    /// The part of what `args` name, loaded with `options`, that passes `filter`, if that leaves anything out, in the place of the whole; `None` where
    /// nothing passes, which is said. `whole_filter` is all that was asked for, lines that are shown included.
    pub(super) fn load_part(
        args: &RecordingArgs,
        mut options: LoadOptions,
        filter: &StackFilter,
        whole_filter: &StackFilter,
    ) -> Result<Option<(Self, Option<RecordingPart>)>, Failure> {
        let (opened, part) = if filter.is_empty() {
            (Self::load_with(args.clone(), options)?, None)
        } else {
            options.stack_options.by_step = true;
            let Some(it) = load_stacks(args, options, filter)? else { return Ok(None) };
            let FilteredRecording { options, mut run, .. } = it;
            let part = RecordingPart::take(&mut run, filter, whole_filter);
            let sources = loader::source_folders(&options);
            (Self { args: args.clone(), options, run, sources }, Some(part))
        };
        if let Some(nothing) = whole_filter.code.without_match(&opened.recording()) {
            inputs::report(&nothing);
            return Ok(None);
        }
        Ok(Some((opened, part)))
    }

    /// What threads and devices of a rank did when, read once more for it; `None` where there is no trace of the rank.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub(super) fn timeline_of(&self, rank: u32) -> Result<Option<EventTimeline>, Failure> {
        let options = LoadOptions {
            stacks: StackChoice::No,
            timeline: TimelineChoice::Rank(rank),
            histories: false,
            ledger_cache: None,
            ..self.options.clone()
        };
        Ok(inputs::load(&self.args, &options)?.0.timeline)
    }

    /// What is printed from.
    pub(super) fn recording(&self) -> Recording<'_> {
        let names = loader::display_names(&self.run.merged, &self.args.root);
        Recording { run: &self.run, names, sources: &self.sources }
    }

    /// The files that were read.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.args.paths(&self.run)
    }

    /// Writes what is to be kept of the recording for the next time.
    pub(super) fn keep(&self) {
        inputs::keep(&self.options);
    }

    /// Whether no input is missing, and with `--strict` no part of one.
    pub(super) fn is_whole(&self) -> bool {
        inputs::is_whole(&self.args, &self.run)
    }
}
