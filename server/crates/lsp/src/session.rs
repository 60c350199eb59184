//! What one client and its server know of each other.

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use ide::{Charge, Period, View, ViewMetric};
use loader::{RecordedCommit, Run, Signature};
use metrics::Scale;
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
use crate::part_books::ShownBooks;
use crate::session_snapshot::SessionSnapshot;
use crate::shown_recording::ShownRecording;
use crate::snapshots::Snapshots;

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
    /// What the client said of the settings last.
    pub(crate) section: Value,
    /// What the `perfline.toml` of each workspace folder says.
    pub(crate) projects: Vec<(PathBuf, ProjectFile)>,
    /// What is wrong with them, one line for each: reported when it changes.
    pub(crate) project_faults: Vec<String>,
    /// What is wrong with the settings that came with `initialize`, until it is reported.
    pub(crate) faults: Vec<String>,
    pub(crate) choice: ViewChoice,
    /// Nothing is shown until a recording is asked for.
    pub(crate) is_off: bool,
    /// The workspace folder that the client looks at.
    pub(crate) looked_at: Option<PathBuf>,
    /// What is shown of each folder of which something is.
    pub(crate) shown: Vec<ShownRecording>,
    /// The folder whose recording commands and views are about; the first that is shown where it has none.
    pub(crate) front: Option<PathBuf>,
    /// What counts of the settings while nothing is shown.
    settings: Arc<Settings>,
    /// Counts the loads.
    pub(crate) generation: u64,
    /// What is known of recordings by their files, as these were then; `None` where nothing is known without reading them.
    pub(crate) known_runs: HashMap<Vec<PathBuf>, (Signature, Option<RunFacts>)>,
}

impl SessionState {
    /// What commands and views are about.
    pub(crate) fn in_front(&self) -> Option<&ShownRecording> {
        let front = self.front.as_deref().and_then(|it| self.shown_of(it));
        front.or_else(|| self.shown.first())
    }

    /// The same to change it: what is chosen before a recording is there is kept for it.
    pub(crate) fn in_front_mut(&mut self, values: SectionValues) -> &mut ShownRecording {
        let folder = self.in_front().map(|it| it.folder.clone());
        let folder = folder.or_else(|| self.looked_at.clone());
        let folder = folder.or_else(|| self.folders.first().cloned()).unwrap_or_default();
        self.shown_of_mut(&folder, values)
    }

    /// What is shown of a folder.
    pub(crate) fn shown_of(&self, folder: &Path) -> Option<&ShownRecording> {
        self.shown.iter().find(|it| it.folder == folder)
    }

    /// The same to change it, where nothing was shown of the folder, too. Of folders that are not in the workspace there is one.
    pub(crate) fn shown_of_mut(
        &mut self,
        folder: &Path,
        values: SectionValues,
    ) -> &mut ShownRecording {
        let is_in_workspace = |it: &Path| self.folders.iter().any(|folder| folder == it);
        let is_it = |it: &ShownRecording| {
            it.folder == folder || !is_in_workspace(folder) && !is_in_workspace(&it.folder)
        };
        let place = self.shown.iter().position(is_it).unwrap_or(self.shown.len());
        let settings = Arc::new(self.settings_of(Some(folder), values).0);
        if place == self.shown.len() {
            self.shown.push(ShownRecording::default());
        }
        let shown = &mut self.shown[place];
        (shown.folder, shown.settings) = (folder.to_owned(), settings);
        shown
    }

    /// What a load is to be shown in, unless another one began there.
    pub(crate) fn shown_by(&mut self, generation: u64) -> Option<&mut ShownRecording> {
        self.shown.iter_mut().find(|it| it.generation == generation)
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

    /// Takes the settings of each folder as they are now: whether any changed, and what is wrong with what the client says.
    fn take_settings(&mut self, values: SectionValues) -> (bool, Vec<SettingFault>) {
        let (settings, faults) =
            self.settings_of(self.folders.first().map(PathBuf::as_path), values);
        let mut is_change = *self.settings != settings;
        self.settings = Arc::new(settings);
        for place in 0..self.shown.len() {
            let settings = self.settings_of(Some(&self.shown[place].folder), values).0;
            is_change |= *self.shown[place].settings != settings;
            self.shown[place].settings = Arc::new(settings);
        }
        (is_change, faults)
    }
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

/// What the user chose by commands; it goes before the settings.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ViewChoice {
    pub(crate) metric: Option<Option<ViewMetric>>,
    pub(crate) charge: Option<Charge>,
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

    /// What is shown of the folder in front.
    pub(crate) fn snapshot(&self) -> SessionSnapshot {
        let state = self.state();
        self.snapshot_of(&state, state.in_front())
    }

    /// What is shown of each folder.
    pub(crate) fn snapshots(&self) -> Snapshots {
        let state = self.state();
        let front = state.in_front().map(|it| it.folder.as_path());
        let (front, others): (Vec<_>, Vec<_>) =
            state.shown.iter().partition(|it| Some(it.folder.as_path()) == front);
        Snapshots {
            front: self.snapshot_of(&state, front.first().copied()),
            others: others.into_iter().map(|it| self.snapshot_of(&state, Some(it))).collect(),
        }
    }

    fn snapshot_of(&self, state: &SessionState, shown: Option<&ShownRecording>) -> SessionSnapshot {
        let none = ShownRecording::default();
        let folder = shown.map(|it| it.folder.clone());
        let settings = shown.map_or(&state.settings, |it| &it.settings);
        let shown = shown.unwrap_or(&none);
        let loaded = shown.loaded.as_ref().map(|it| it.generation);
        let comparison = shown.comparison.as_ref().filter(|it| Some(it.generation) == loaded);
        let part = shown.shown_part();
        // All of all ranks together is compared.
        let is_all = shown.rank.is_none() && part.is_none();
        let compared = comparison.filter(|_| is_all);
        let view = &settings.view;
        let view = View {
            baseline: compared.map(|it| Arc::clone(&it.lines)),
            part: part.as_ref().and_then(|it| Some(Arc::clone(&it.part.as_ref().ok()?.described))),
            so_far: shown.loaded.as_ref().and_then(|it| Some(it.so_far?.to_string().into())),
            metric: state.choice.metric.unwrap_or(view.metric),
            charge: state.choice.charge.unwrap_or(view.charge),
            period: shown.period.unwrap_or(view.period),
            ..view.clone()
        };
        SessionSnapshot {
            folders: Arc::clone(&state.folders),
            folder,
            pinned: shown.pinned.as_ref().map(|it| it.since),
            settings: Arc::clone(settings),
            view,
            books: ShownBooks { rank: shown.rank, part },
            filter: Arc::clone(&shown.filter),
            loaded: shown.loaded.clone(),
            baseline: shown.baseline.clone(),
            verdict: comparison.map(|it| Arc::clone(&it.verdict)),
            difference: compared
                .filter(|_| shown.filter.is_empty())
                .map(|it| Arc::clone(&it.difference)),
            loading: shown.loading.as_ref().map(|it| Arc::clone(&it.inputs)),
            failure: shown.failed.as_ref().and_then(|it| it.message.clone()),
            abilities: self.abilities(),
        }
    }

    /// Does the work of a request on a blocking thread: with what is shown of the folder in front, as it is now, before anything
    /// is awaited. A request that is cancelled cancels the token; a panic becomes an error reply.
    pub(crate) fn background<T, F>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&SessionSnapshot, &CancellationToken) -> T + Send + 'static,
    {
        let snapshot = self.snapshot();
        in_background(move |token| work(&snapshot, token))
    }

    /// The same with the recording that has numbers for a file, by its URI.
    pub(crate) fn background_of<T, F>(
        &self,
        uri: &Url,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&SessionSnapshot, &CancellationToken) -> T + Send + 'static,
    {
        let (snapshots, document, uri) = (self.snapshots(), self.document(uri), uri.clone());
        in_background(move |token| {
            let snapshot = match &document {
                Some(document) => snapshots.of_document(document),
                None => snapshots.of_file(&uri),
            };
            work(snapshot, token)
        })
    }

    /// The same with what is shown of each folder.
    pub(crate) fn background_of_all<T, F>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&Snapshots, &CancellationToken) -> T + Send + 'static,
    {
        let snapshots = self.snapshots();
        in_background(move |token| work(&snapshots, token))
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
            state.take_settings(self.abilities().settings)
        };
        if is_change {
            self.refresh();
            self.look_for_recordings();
        }
        faults.iter().map(|it| it.text("perfline.")).collect()
    }

    /// The settings by which what is shown of each folder was read.
    pub(crate) fn settings_of_shown(&self) -> Vec<(PathBuf, Arc<Settings>)> {
        let state = self.state();
        let shown = state.shown.iter().filter(|it| it.shows());
        shown.map(|it| (it.folder.clone(), Arc::clone(&it.settings))).collect()
    }

    /// The folders whose recordings are to be read in another way than by the settings `before`.
    pub(crate) fn read_otherwise(&self, before: &[(PathBuf, Arc<Settings>)]) -> Vec<PathBuf> {
        let state = self.state();
        let changed = before.iter().filter(|(folder, before)| {
            state.shown_of(folder).is_some_and(|it| !it.settings.reads_as(before))
        });
        changed.map(|(folder, _)| folder.clone()).collect()
    }

    /// Changes what is shown of the folder in front.
    pub(crate) fn change_front(&self, change: impl FnOnce(&mut ShownRecording)) {
        let values = self.abilities().settings;
        change(self.state().in_front_mut(values));
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
        self.state().shown.iter_mut().for_each(ShownRecording::stop);
    }
}

/// Does work on a blocking thread. Its token is cancelled when nobody waits for it any more; a panic becomes an error reply.
fn in_background<T, F>(work: F) -> impl Future<Output = Result<T>> + Send + use<T, F>
where
    T: Send + 'static,
    F: FnOnce(&CancellationToken) -> T + Send + 'static,
{
    let token = CancellationToken::new();
    let guard = token.clone().drop_guard();
    let task = tokio::task::spawn_blocking(move || work(&token));
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
