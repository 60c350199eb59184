//! Which recording a request means, and the recordings that are kept in memory.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use ide::View;
use loader::{DiscoveredRun, LoadOptions, Run, Signature, SourceFolders, StackChoice, Watch};
use report::{Recording, RecordingPart, StackFilter};
use settings::Settings;

/// Recordings that are kept: a comparison needs two.
const MAX_KEPT: usize = 2;

/// A folder with recordings and sources.
pub(crate) struct Workspace {
    /// Without links.
    root: PathBuf,
    options: LoadOptions,
    /// What requests mean that name no recording; empty for the newest below the root.
    inputs: Vec<PathBuf>,
    /// What is shown, and which recordings are found.
    settings: Arc<Settings>,
    /// Those that were asked for last, the last one at the end. Held while one is read, so that it is read once.
    kept: Mutex<VecDeque<Arc<KeptRecording>>>,
}

/// A recording in memory.
pub(crate) struct KeptRecording {
    inputs: Vec<PathBuf>,
    /// What the files were when reading began.
    signature: Signature,
    run: Run,
    root: PathBuf,
    sources: SourceFolders,
}

impl KeptRecording {
    /// Puts the part that its stacks are of in the place of the whole.
    pub(crate) fn take_part(&mut self, part: &StackFilter, filter: &StackFilter) -> RecordingPart {
        RecordingPart::take(&mut self.run, part, filter)
    }

    /// What answers are made from.
    pub(crate) fn recording(&self) -> Recording<'_> {
        let names = loader::display_names(&self.run.merged, &self.root);
        Recording { run: &self.run, names, sources: &self.sources }
    }
}

/// Whether amounts by whole stacks are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StackNeed {
    /// Those of lines are enough.
    Lines,
    /// They are.
    Stacks,
}

impl Workspace {
    /// # Errors
    /// If the root of `options` is not there.
    pub(crate) fn new(
        options: LoadOptions,
        inputs: Vec<PathBuf>,
        settings: Arc<Settings>,
    ) -> io::Result<Self> {
        let root = options.root.canonicalize().map_err(|error| {
            io::Error::other(format!("--root {}: {error}", options.root.display()))
        })?;
        Ok(Self { root, options, inputs, settings, kept: Mutex::default() })
    }

    /// The folder of the user's code, as it was named.
    pub(crate) fn root(&self) -> &Path {
        &self.options.root
    }

    /// What is shown.
    pub(crate) fn view(&self) -> &View {
        &self.settings.view
    }

    /// The recordings below a folder that the settings do not leave out, newest first.
    fn discover(&self, folder: &Path) -> Vec<DiscoveredRun> {
        let mut found = loader::discover(folder);
        for run in &mut found {
            // What the command line names may lie elsewhere; of that the settings of the project say nothing.
            run.inputs.retain(|it| {
                let below = it.strip_prefix(&self.root).ok();
                below.is_none_or(|it| self.settings.wants(&it.to_string_lossy().replace('\\', "/")))
            });
        }
        found.retain(|it| !it.inputs.is_empty());
        found
    }

    /// The recordings below `folder`, or below the root; newest first.
    ///
    /// # Errors
    /// If the folder is not below the root.
    pub(crate) fn recordings(&self, folder: Option<&str>) -> Result<Vec<DiscoveredRun>, String> {
        let folder = folder.map_or_else(|| Ok(self.root.clone()), |it| self.place(it))?;
        Ok(self.discover(&folder))
    }

    /// A path as it is called below the root.
    pub(crate) fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }

    /// Where a path that a request names leads to when all links are followed.
    ///
    /// # Errors
    /// If that is not below the root, or nothing is there.
    pub(crate) fn place(&self, named: &str) -> Result<PathBuf, String> {
        let place = self.root.join(named).canonicalize().map_err(|error| {
            format!(
                "{named}: {error}; paths are relative to {}, and the tool `recordings` lists what is there",
                self.root.display()
            )
        })?;
        if place.starts_with(&self.root) {
            return Ok(place);
        }
        Err(format!(
            "{named} lies outside of {}, the only folder that this server reads recordings and sources from; copy it there, or \
             start the server with --root of a folder that holds both",
            self.root.display()
        ))
    }

    /// The files of the newest recording below a folder.
    fn newest(&self, folder: &Path) -> Result<Vec<PathBuf>, String> {
        let found = self.discover(folder).into_iter().next().map(|it| it.inputs);
        found.ok_or_else(|| {
            format!(
                "there is no recording below {}: record the program with `perfline record SCRIPT` or torch.profiler \
                 (with_stack=True) into a folder below it, and see that recordings.exclude in perfline.toml does not leave it out",
                folder.display()
            )
        })
    }

    /// The files of the recording that a request means.
    ///
    /// # Errors
    /// If there is none, or it lies outside of the root.
    pub(crate) fn inputs(&self, named: Option<&str>) -> Result<Vec<PathBuf>, String> {
        let Some(named) = named else {
            return match &*self.inputs {
                [] => self.newest(&self.root),
                [folder] if folder.is_dir() => self.newest(folder),
                inputs => Ok(inputs.to_vec()),
            };
        };
        let place = self.place(named)?;
        if place.is_dir() {
            return self.newest(&place);
        }
        // A file stands for the recording that it belongs to: the other ranks, the snapshot beside the trace.
        let runs = place.parent().map(loader::discover).unwrap_or_default();
        let run = runs.into_iter().find(|run| run.inputs.contains(&place));
        Ok(run.map_or_else(|| vec![place], |run| run.inputs))
    }

    /// The recording before `inputs` among those below the root.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn inputs_before(&self, inputs: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
        let runs = self.discover(&self.root);
        let before = loader::recording_before(&runs, inputs).map(|it| it.inputs.clone());
        before.ok_or_else(|| {
            format!(
                "there is no recording below {} that is older than the one to compare: record the program before and after a \
                 change, or name the older one as `base`",
                self.root.display()
            )
        })
    }

    /// Reads `inputs`, unless they were among the last that were read and have not changed since.
    ///
    /// # Errors
    /// If nothing of them can be read, or after `cancelled` was set.
    pub(crate) fn open(
        &self,
        inputs: Vec<PathBuf>,
        need: StackNeed,
        cancelled: &AtomicBool,
    ) -> Result<Arc<KeptRecording>, String> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let signature = Signature::of(&inputs);
        let fits = |it: &Arc<KeptRecording>| {
            let has_stacks = need == StackNeed::Lines || it.run.stacks.is_some();
            it.inputs == inputs && it.signature == signature && has_stacks
        };
        if let Some(found) = kept.iter().position(fits).and_then(|it| kept.remove(it)) {
            kept.push_back(Arc::clone(&found));
            return Ok(found);
        }
        // Gone before the next one is read: both need memory.
        kept.retain(|it| it.inputs != inputs);
        while MAX_KEPT <= kept.len() {
            kept.pop_front();
        }
        let stacks = if need == StackNeed::Stacks { StackChoice::Always } else { StackChoice::No };
        let options = LoadOptions { stacks, ..self.options.clone() };
        let read = Arc::new(self.read(inputs, signature, &options, cancelled)?);
        kept.push_back(Arc::clone(&read));
        Ok(read)
    }

    /// Reads the stacks of `inputs` that pass `filter`, with `by_step` those of each step. They are not kept: the next question
    /// is about another part.
    ///
    /// # Errors
    /// If nothing of them can be read, if nothing passes, or after `cancelled` was set.
    pub(crate) fn open_part(
        &self,
        inputs: Vec<PathBuf>,
        filter: &StackFilter,
        by_step: bool,
        cancelled: &AtomicBool,
    ) -> Result<KeptRecording, String> {
        let mut options = LoadOptions { stacks: StackChoice::Always, ..self.options.clone() };
        options.stack_options.events = filter.events.clone();
        options.stack_options.by_step = by_step;
        let signature = Signature::of(&inputs);
        let mut read = self.read(inputs, signature, &options, cancelled)?;
        filter.leave(&mut read.run, &read.root)?;
        Ok(read)
    }

    fn read(
        &self,
        inputs: Vec<PathBuf>,
        signature: Signature,
        options: &LoadOptions,
        cancelled: &AtomicBool,
    ) -> Result<KeptRecording, String> {
        let watch = Watch { progress: &|_| {}, cancelled };
        let run = loader::load(&inputs, options, &watch).map_err(|error| error.to_string())?;
        if let Some(cache) = &options.ledger_cache {
            cache.write_pending();
        }
        let sources = loader::source_folders(options);
        Ok(KeptRecording { inputs, signature, run, root: self.options.root.clone(), sources })
    }
}
