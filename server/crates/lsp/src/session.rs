//! What one client and its server know of each other.

use std::collections::HashMap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use ide::{Baseline, Charge, Finding, Period, View, ViewMetric};
use ledger::Ledger;
use loader::{RecordedCommit, Run, Signature};
use metrics::Scale;
use pysource::Encoding;
use report::StackFilter;
use report::diff::Difference;
use serde_json::Value;
use settings::{ProjectFile, SectionValues, SettingFault, Settings};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tower_lsp::Client;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::{ClientCapabilities, MessageType, ProgressToken, Url};

use crate::Config;
use crate::capabilities::Abilities;
use crate::document::Document;
use crate::loaded::LoadedRecording;
use crate::part_books::{PartBooks, PartKey, ShownBooks};
use crate::shown_code::ShownCode;

/// How long loads wait for the client's settings. Later ones are followed all the same.
pub(crate) const SETTINGS_PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) config: Config,
    abilities: OnceLock<Abilities>,
    /// The id of the process that started the server, if the client named it.
    pub(crate) parent: OnceLock<u32>,
    state: Mutex<SessionState>,
    /// The open documents, as the client spells them. What is taken out is an `Arc`, never a guard.
    documents: DashMap<Url, Arc<Document>>,
    /// Loads whose progress the client sees, and may stop.
    pub(crate) progress: Mutex<HashMap<ProgressToken, Arc<AtomicBool>>>,
    /// Whether the client has said which settings it has, or does not answer.
    settings_known: watch::Sender<bool>,
    /// Recordings are to be looked for.
    pub(crate) look: Notify,
    /// Something is to be published.
    pub(crate) publish: Notify,
    /// Hints and lenses changed for another reason than an edit.
    pub(crate) is_refresh_due: AtomicBool,
    /// What is loaded or shown may have changed.
    pub(crate) is_status_due: AtomicBool,
    /// Something else may be shown, for those who wait for that.
    pub(crate) shown: watch::Sender<()>,
    /// The address of the page for browsers, once it was asked for.
    pub(crate) page: tokio::sync::OnceCell<Url>,
    /// Ends the tasks of the session.
    pub(crate) stopped: CancellationToken,
}

/// What is changed by notifications, commands and loads. Locked for moments only.
#[derive(Default)]
pub(crate) struct SessionState {
    pub(crate) folders: Arc<[PathBuf]>,
    /// What counts of what the client and the project say.
    pub(crate) settings: Arc<Settings>,
    /// What the client said of the settings last.
    pub(crate) section: Value,
    /// What the `perfline.toml` of each workspace folder says.
    pub(crate) projects: Vec<(PathBuf, ProjectFile)>,
    /// What is wrong with them, one line for each: reported when it changes.
    pub(crate) project_faults: Vec<String>,
    /// What is wrong with the settings that came with `initialize`, until it is reported.
    pub(crate) faults: Vec<String>,
    pub(crate) choice: ViewChoice,
    /// Which lines are shown, and which part of the recording.
    pub(crate) filter: Arc<StackFilter>,
    /// The books of that part, once they were read.
    pub(crate) part: Option<Arc<PartBooks>>,
    pub(crate) mode: Mode,
    /// The workspace folder whose newest recording goes before those of others.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) loaded: Option<Arc<LoadedRecording>>,
    /// What is being loaded.
    pub(crate) loading: Option<Loading>,
    /// What cannot be loaded, or was stopped: not tried again until it changes.
    pub(crate) failed: Option<Failed>,
    /// Counts the loads.
    pub(crate) generation: u64,
    /// What the recording that is shown is compared with.
    pub(crate) baseline: Option<Arc<LoadedRecording>>,
    /// What came of it, once it was compared.
    pub(crate) comparison: Option<BaselineComparison>,
    /// What is known of recordings by their files, as these were then; `None` where nothing is known without reading them.
    pub(crate) known_runs: HashMap<Vec<PathBuf>, (Signature, Option<RunFacts>)>,
}

impl SessionState {
    /// The workspace folder of what is shown; without a recording, the first.
    fn shown_folder(&self) -> Option<PathBuf> {
        let loaded = self.loaded.as_ref().map(|it| it.root().to_owned());
        loaded.or_else(|| self.folders.first().cloned())
    }

    /// The settings of a workspace folder: what its `perfline.toml` says, below what the client says; with what is wrong with
    /// that.
    fn settings_of(
        &self,
        folder: Option<&Path>,
        values: SectionValues,
    ) -> (Settings, Vec<SettingFault>) {
        let mut projects = self.projects.iter();
        let project = projects.find(|(it, _)| Some(it.as_path()) == folder).map(|(_, it)| it);
        let none = ProjectFile::default();
        project.unwrap_or(&none).settings_below(&self.section, values)
    }

    /// What a filter leaves of the recording that is loaded, of a rank or of all; `None` where that is all of it, or nothing is
    /// loaded.
    pub(crate) fn part_key(&self, filter: &Arc<StackFilter>, rank: Option<u32>) -> Option<PartKey> {
        PartKey::new(self.loaded.as_ref()?.generation, rank, filter)
    }

    /// The part that is shown, nothing while it is being read; `None` where all of the recording is shown.
    fn shown_part(&self) -> Option<Arc<PartBooks>> {
        let key = self.part_key(&self.filter, self.choice.rank)?;
        let known = self.part.as_ref().filter(|it| it.of.as_ref() == Some(&key));
        Some(known.map_or_else(Arc::default, Arc::clone))
    }
}

/// A recording beside the baseline.
#[derive(Clone)]
pub(crate) struct BaselineComparison {
    /// Which load was compared.
    pub(crate) generation: u64,
    pub(crate) lines: Arc<Baseline>,
    pub(crate) difference: Arc<Difference>,
    /// Whether the steps differ and how many lines do, in a sentence.
    pub(crate) verdict: Arc<str>,
}

/// What a list says of a recording that was read once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunFacts {
    /// The steps of a rank; 0 where the recording has none.
    pub(crate) steps: usize,
    /// The mean step in nanoseconds, or the recording where it has none; 0 where no time was recorded.
    pub(crate) time: f64,
    /// The commit that it names.
    pub(crate) commit: Option<RecordedCommit>,
}

impl RunFacts {
    pub(crate) fn of(run: &Run) -> Self {
        let steps = run.merged.steps.len();
        let time = Scale::new(&run.merged, Period::Mean).time();
        Self { steps, time, commit: run.commit }
    }
}

/// A load that is under way.
pub(crate) struct Loading {
    pub(crate) inputs: Arc<[PathBuf]>,
    pub(crate) signature: Signature,
    pub(crate) cancelled: Arc<AtomicBool>,
}

/// A load that came to nothing.
#[derive(Clone)]
pub(crate) struct Failed {
    pub(crate) signature: Signature,
    /// Why, in one line; `None` where it was stopped.
    pub(crate) message: Option<Arc<str>>,
}

/// Which recording is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The newest one in the workspace.
    #[default]
    Newest,
    /// Files that the user named.
    Named(Vec<PathBuf>),
    /// None.
    Off,
}

/// What the user chose by commands; it goes before the settings.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ViewChoice {
    pub(crate) metric: Option<Option<ViewMetric>>,
    pub(crate) charge: Option<Charge>,
    pub(crate) period: Option<Period>,
    pub(crate) rank: Option<u32>,
}

/// What a request works on: a moment of the session.
pub(crate) struct SessionSnapshot {
    pub(crate) folders: Arc<[PathBuf]>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) view: View,
    pub(crate) books: ShownBooks,
    /// Which lines are shown, and which part of the recording.
    pub(crate) filter: Arc<StackFilter>,
    pub(crate) loaded: Option<Arc<LoadedRecording>>,
    /// What that is compared with.
    pub(crate) baseline: Option<Arc<LoadedRecording>>,
    /// What came of the comparison.
    pub(crate) verdict: Option<Arc<str>>,
    /// What differs, where all of what is loaded is shown.
    pub(crate) difference: Option<Arc<Difference>>,
    /// Files that are being loaded.
    pub(crate) loading: Option<Arc<[PathBuf]>>,
    /// Why the last load came to nothing.
    pub(crate) failure: Option<Arc<str>>,
    pub(crate) abilities: Abilities,
}

impl SessionSnapshot {
    /// The books that are shown.
    pub(crate) fn ledger(&self) -> Option<&Ledger> {
        self.loaded.as_ref().map(|loaded| loaded.ledger(&self.books))
    }

    /// A number of what is shown: another one where it is of another recording, rank or part.
    pub(crate) fn version(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.loaded.as_ref().map(|it| it.generation).hash(&mut hasher);
        (self.filter.text(), self.books.rank).hash(&mut hasher);
        self.base().map(|(base, _)| base.inputs()).hash(&mut hasher);
        self.books.loaded_part().is_ok().hash(&mut hasher);
        // Pages count in numbers that hold 53 bits.
        hasher.finish() >> 32
    }

    /// What is compared with, and what differs, where all of what is loaded is shown.
    pub(crate) fn base(&self) -> Option<(&LoadedRecording, &Difference)> {
        Some((self.baseline.as_deref()?, self.difference.as_deref()?))
    }

    /// What there is to find in the whole recording, or in the rank, on the lines that are shown.
    pub(crate) fn findings(&self) -> Arc<[Finding]> {
        let Some(loaded) = &self.loaded else { return Arc::default() };
        let found = loaded.findings(self.books.rank, &self.view);
        if self.filter.is_empty() {
            return found;
        }
        let code = self.shown_code();
        let is_shown = |it: &&Finding| {
            let (file, line) = (&it.place.file, it.place.line);
            self.books.part.as_ref().is_none_or(|part| part.ledger().lines.contains_key(&it.place))
                && code.as_ref().is_none_or(|code| code.has(file, line))
        };
        found.iter().filter(is_shown).cloned().collect()
    }

    /// Which lines are shown; `None` where all are.
    pub(crate) fn shown_code(&self) -> Option<ShownCode<'_>> {
        let code = &self.filter.code;
        let loaded = self.loaded.as_ref().filter(|_| !code.is_empty())?;
        Some(ShownCode::new(code, loaded.ledger(&self.books), loaded.names()))
    }

    /// What `work` gives with an open document: once, where it is one of the files that were recorded; for each cell, where it
    /// is a notebook as plain text. Nothing where nothing was recorded of it.
    pub(crate) fn with_document<T>(
        &self,
        document: &Document,
        mut work: impl FnMut(&ide::PlacedSource<'_>) -> T,
    ) -> Vec<T> {
        let Some(loaded) = &self.loaded else { return Vec::new() };
        let keys = loaded.keys_of(document, &self.folders).into_iter();
        let of = |key| loaded.with_document(&self.books, document, key, &self.folders, &mut work);
        keys.map(of).collect()
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.abilities.encoding
    }
}

impl Session {
    pub(crate) fn new(client: Client, config: Config) -> Self {
        Self {
            client,
            config,
            abilities: OnceLock::new(),
            parent: OnceLock::new(),
            state: Mutex::default(),
            documents: DashMap::new(),
            progress: Mutex::default(),
            look: Notify::new(),
            publish: Notify::new(),
            is_refresh_due: AtomicBool::new(false),
            is_status_due: AtomicBool::new(false),
            settings_known: watch::Sender::new(false),
            shown: watch::Sender::new(()),
            page: tokio::sync::OnceCell::new(),
            stopped: CancellationToken::new(),
        }
    }

    pub(crate) fn set_abilities(&self, client: &ClientCapabilities) -> Abilities {
        *self.abilities.get_or_init(|| Abilities::new(client))
    }

    /// What the client can do; nothing before `initialize`.
    pub(crate) fn abilities(&self) -> Abilities {
        let none = || Abilities::new(&ClientCapabilities::default());
        self.abilities.get().copied().unwrap_or_else(none)
    }

    /// The state, for a moment: not across an `.await`, and nothing that takes long meanwhile.
    pub(crate) fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn document(&self, uri: &Url) -> Option<Arc<Document>> {
        self.documents.get(uri).map(|it| Arc::clone(&it))
    }

    pub(crate) fn documents(&self) -> Vec<Arc<Document>> {
        self.documents.iter().map(|it| Arc::clone(&it)).collect()
    }

    pub(crate) fn put_document(&self, document: Document) {
        self.documents.insert(document.uri.clone(), Arc::new(document));
        self.publish.notify_one();
    }

    pub(crate) fn remove_document(&self, uri: &Url) {
        self.documents.remove(uri);
        self.publish.notify_one();
    }

    pub(crate) fn snapshot(&self) -> SessionSnapshot {
        let state = self.state();
        let loaded = state.loaded.as_ref().map(|it| it.generation);
        let comparison = state.comparison.as_ref().filter(|it| Some(it.generation) == loaded);
        let part = state.shown_part();
        // All of all ranks together is compared.
        let is_all = state.choice.rank.is_none() && part.is_none();
        let shown = comparison.filter(|_| is_all);
        let view = &state.settings.view;
        let view = View {
            baseline: shown.map(|it| Arc::clone(&it.lines)),
            part: part.as_ref().and_then(|it| Some(Arc::clone(&it.part.as_ref().ok()?.described))),
            metric: state.choice.metric.unwrap_or(view.metric),
            charge: state.choice.charge.unwrap_or(view.charge),
            period: state.choice.period.unwrap_or(view.period),
            ..view.clone()
        };
        SessionSnapshot {
            folders: Arc::clone(&state.folders),
            settings: Arc::clone(&state.settings),
            view,
            books: ShownBooks { rank: state.choice.rank, part },
            filter: Arc::clone(&state.filter),
            loaded: state.loaded.clone(),
            baseline: state.baseline.clone(),
            verdict: comparison.map(|it| Arc::clone(&it.verdict)),
            difference: shown
                .filter(|_| state.filter.is_empty())
                .map(|it| Arc::clone(&it.difference)),
            loading: state.loading.as_ref().map(|it| Arc::clone(&it.inputs)),
            failure: state.failed.as_ref().and_then(|it| it.message.clone()),
            abilities: self.abilities(),
        }
    }

    /// Does the work of a request on a blocking thread: with the session as it is now, before anything is awaited. A
    /// request that is cancelled cancels the token; a panic becomes an error reply.
    pub(crate) fn background<T, F>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&SessionSnapshot, &CancellationToken) -> T + Send + 'static,
    {
        let snapshot = self.snapshot();
        let token = CancellationToken::new();
        let guard = token.clone().drop_guard();
        let task = tokio::task::spawn_blocking(move || work(&snapshot, &token));
        async move {
            let result = task.await;
            drop(guard);
            result.map_err(|error| Error {
                code: ErrorCode::InternalError,
                message: format!("internal error: {error}").into(),
                data: None,
            })
        }
    }

    /// Shows the session's new state: hints, lenses, diagnostics, status.
    pub(crate) fn refresh(&self) {
        self.is_refresh_due.store(true, Ordering::SeqCst);
        self.notify_status();
    }

    /// Notifies the client of what is loaded and shown, if that changed.
    pub(crate) fn notify_status(&self) {
        self.is_status_due.store(true, Ordering::SeqCst);
        self.shown.send_replace(());
        self.publish.notify_one();
    }

    pub(crate) fn look_for_recordings(&self) {
        self.look.notify_one();
    }

    /// Changes what the client or the project says of the settings; gives what is wrong with what the client says, one line for
    /// each.
    pub(crate) fn change_settings(&self, change: impl FnOnce(&mut SessionState)) -> Vec<String> {
        let (is_change, faults) = {
            let mut state = self.state();
            change(&mut state);
            let values = self.abilities().settings;
            let folder = state.shown_folder();
            let (settings, faults) = state.settings_of(folder.as_deref(), values);
            let is_change = *state.settings != settings;
            state.settings = Arc::new(settings);
            (is_change, faults)
        };
        if is_change {
            self.refresh();
            self.look_for_recordings();
        }
        faults.iter().map(|it| it.text("perfline.")).collect()
    }

    /// Takes the settings of the folder of what is shown now.
    pub(crate) fn take_settings_of_shown(&self) {
        self.change_settings(|_| ());
    }

    /// The settings for recordings in a workspace folder.
    pub(crate) fn settings_of(&self, folder: &Path) -> Settings {
        self.state().settings_of(Some(folder), self.abilities().settings).0
    }

    /// The workspace folders, each with the settings for recordings in it.
    pub(crate) fn folders(&self) -> Vec<(PathBuf, Settings)> {
        let folders = Arc::clone(&self.state().folders);
        folders.iter().map(|it| (it.clone(), self.settings_of(it))).collect()
    }

    /// Shows what is wrong with the settings.
    pub(crate) async fn report_faults(&self, faults: &[String]) {
        if !faults.is_empty() {
            let text = format!("Perfline: {}", faults.join("\n"));
            self.client.show_message(MessageType::WARNING, text).await;
        }
    }

    /// The client has said which settings it has, or was waited for long enough.
    pub(crate) fn set_settings_known(&self) {
        self.settings_known.send_replace(true);
    }

    /// Comes back when the settings of the client are known, or it was waited for long enough.
    pub(crate) async fn settings_known(&self) {
        let mut is_known = self.settings_known.subscribe();
        // A client may send no `initialized`. The other error is that the session is gone.
        let _ = tokio::time::timeout(SETTINGS_PATIENCE, is_known.wait_for(|it| *it)).await;
    }

    /// Ends what works for the session.
    pub(crate) fn stop(&self) {
        self.stopped.cancel();
        if let Some(loading) = self.state().loading.take() {
            loading.cancelled.store(true, Ordering::SeqCst);
        }
    }
}
