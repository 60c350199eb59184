//! Finds recordings, sees them change, loads them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use loader::{DiscoveredRun, LoadOptions, PartialRun, Signature, TextsByFile, Watch};
use settings::{SectionValues, Settings};
use tokio::task::JoinHandle;
use tower_lsp::lsp_types::MessageType;

use crate::load_failure::{LoadFailure, fault};
use crate::loaded::LoadedRecording;
use crate::part_load;
use crate::paths;
use crate::progress::Reporter;
use crate::session::{RunFacts, Session, SessionState};
use crate::shown_recording::{BaselineComparison, Failed, Loading, Pinned, ShownRecording};
use crate::{Config, Recordings, project_file};

/// A search for recordings takes this part of the time at most, and half of it for each search before it that found nothing new,
/// up to [`MAX_HALVINGS`]: a folder of a hundred thousand files is not walked for ever.
const SEARCH_SHARE: u32 = 20;

/// How often the part of the time is halved.
const MAX_HALVINGS: u32 = 4;

/// A new recording that the client does not report is found after this time, unless a search takes more than a [`SEARCH_SHARE`]th of it.
const MAX_PAUSE: Duration = Duration::from_secs(120);

/// Why what is shown is loaded again: the settings say otherwise what is decided while loading.
pub(crate) const SETTINGS_CHANGED: &str = "the folders of library code, what counts as yours, or the traces of captures or without graphs changed";

/// A recording to load.
#[derive(Debug, Clone)]
pub(crate) struct LoadTarget {
    pub(crate) inputs: Vec<PathBuf>,
    /// Folder of the code that it is about.
    pub(crate) root: PathBuf,
    /// What the user named; `None` where it is the newest one.
    named: Option<Vec<PathBuf>>,
    signature: Signature,
}

/// Loads what there is and what comes, until the session stops.
pub(crate) async fn watch(session: Arc<Session>) {
    // Recordings that changed a moment ago, by their folder, and when they were first seen like this.
    let mut changing: HashMap<PathBuf, (Signature, Instant)> = HashMap::new();
    // Searches in a row that found nothing new.
    let mut n_vain = 0_u32;
    loop {
        let reload = project_file::follow(&session).await;
        self::reload(&session, &reload, SETTINGS_CHANGED).await;
        let began = Instant::now();
        let targets = find_shown(&session).await;
        let took = began.elapsed();
        let quiet_period = session.config.quiet_period;
        let (mut still_changing, mut quiet) = (HashMap::new(), None::<Duration>);
        let is_news = |it: &LoadTarget| is_news(&session.state(), it);
        let news: Vec<LoadTarget> = targets.into_iter().filter(is_news).collect();
        n_vain = if news.is_empty() { n_vain.saturating_add(1) } else { 0 };
        for target in news {
            let since = match changing.remove(&target.root) {
                Some((signature, since)) if signature == target.signature => since,
                _ => Instant::now(),
            };
            if target.signature.is_older_than(quiet_period) || quiet_period <= since.elapsed() {
                start_if(&session, target, "recording found", self::is_news);
            } else {
                let rest = quiet_period.saturating_sub(since.elapsed());
                quiet = Some(quiet.map_or(rest, |it| it.min(rest)));
                still_changing.insert(target.root, (target.signature, since));
            }
        }
        changing = still_changing;
        let wait = match quiet {
            Some(rest) => Some(rest.max(Duration::from_millis(1))),
            None => poll(&session).map(|least| pause(least, took, n_vain)),
        };
        tokio::select! {
            () = session.stopped.cancelled() => return,
            () = session.look.notified() => n_vain = 0,
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {}
        }
    }
}

/// How long to wait after a search that took `took`, with `n_vain` searches in a row before it that found nothing new.
fn pause(least: Duration, took: Duration, n_vain: u32) -> Duration {
    let shortest = took * SEARCH_SHARE;
    let rare = shortest * (1 << n_vain.min(MAX_HALVINGS));
    least.max(rare.min(MAX_PAUSE.max(shortest)))
}

/// How long to wait until files are looked at again, unless the client reports a change before.
fn poll(session: &Session) -> Option<Duration> {
    let Config { poll, poll_watched, .. } = session.config;
    let state = session.state();
    let is_any_named = state.shown.iter().any(|it| it.pinned.is_some());
    if state.is_off {
        return None;
    }
    // Clients do not watch what they exclude or ignore, and recordings are often among that.
    let is_watched = session.abilities().register_watchers && !is_any_named;
    Some(if is_watched { poll_watched } else { poll })
}

/// Whether a recording is still looked for, and differs from what is shown, being loaded, or known to be broken.
fn is_news(state: &SessionState, target: &LoadTarget) -> bool {
    is_wanted(state, target)
        && state.shown_of(&target.root).is_none_or(|it| it.is_news(&target.signature))
}

/// Whether a recording is still what is to be shown of its folder.
fn is_wanted(state: &SessionState, target: &LoadTarget) -> bool {
    let pinned = state.shown_of(&target.root).and_then(|it| it.pinned.as_ref());
    let is_there = || state.folders.contains(&target.root);
    !state.is_off
        && pinned.map(|it| &it.paths) == target.named.as_ref()
        && (pinned.is_some() || is_there())
}

/// The recording that files name, or the newest in the workspace: of a workspace folder, or of the one that is looked at.
pub(crate) async fn find(
    session: &Session,
    paths: Vec<PathBuf>,
    of: Option<PathBuf>,
) -> Option<LoadTarget> {
    let folders = session.folders();
    let looked_at = session.state().looked_at.clone();
    let recordings = Arc::clone(&session.config.recordings);
    let search = move || {
        if !paths.is_empty() {
            let folders: Vec<PathBuf> = folders.into_iter().map(|(it, _)| it).collect();
            return named(&*recordings, paths, |input| {
                of.unwrap_or_else(|| root_of(input, &folders, looked_at))
            });
        }
        let found = all(&*recordings, &folders);
        match of {
            Some(folder) => newest_of(&found, &folder),
            None => looked_at
                .and_then(|it| newest_of(&found, &it))
                .or_else(|| found.first().map(LoadTarget::newest)),
        }
    };
    tokio::task::spawn_blocking(search).await.ok().flatten()
}

/// What is to be shown: what the user named, and of other folders the newest recording, where a document of them is open. One is
/// in front: that of the folder which is looked at, else what was named last, else the newest of all.
async fn find_shown(session: &Session) -> Vec<LoadTarget> {
    let folders = session.folders();
    let (looked_at, pinned, front, generation) = {
        let state = session.state();
        if state.is_off {
            return Vec::new();
        }
        let pinned =
            state.shown.iter().filter_map(|it| Some((it.folder.clone(), it.pinned.clone()?)));
        let front = state.in_front().map(|it| it.folder.clone());
        (state.looked_at.clone(), pinned.collect::<Vec<_>>(), front, state.generation)
    };
    let documents: Vec<PathBuf> = match folders.len() {
        // That folder is in front.
        0 | 1 => Vec::new(),
        _ => session.documents().iter().filter_map(|it| paths::of_document(&it.uri)).collect(),
    };
    let recordings = Arc::clone(&session.config.recordings);
    let looked_at_then = looked_at.clone();
    let search = move || {
        let is_pinned = |folder: &Path| pinned.iter().any(|(it, _)| it == folder);
        let named = |(folder, it): &(PathBuf, Pinned)| {
            named(&*recordings, it.paths.clone(), |_| folder.clone())
        };
        let mut targets: Vec<LoadTarget> = pinned.iter().filter_map(named).collect();
        let names: Vec<PathBuf> = folders.iter().map(|(it, _)| it.clone()).collect();
        let mut wanted: Vec<&PathBuf> =
            documents.iter().filter_map(|it| paths::holding(&names, it)).collect();
        wanted.extend(&looked_at);
        wanted.sort_unstable();
        wanted.dedup();
        wanted.retain(|it| !is_pinned(it));
        let is_front_pinned = front.as_deref().is_some_and(is_pinned);
        if wanted.is_empty() && is_front_pinned {
            return (targets, None);
        }
        let found = all(&*recordings, &folders);
        targets.extend(wanted.iter().filter_map(|it| newest_of(&found, it)));
        let has =
            |targets: &[LoadTarget], folder: &Path| targets.iter().any(|it| it.root == folder);
        let front = looked_at.filter(|it| has(&targets, it)).or_else(|| {
            if is_front_pinned {
                return front;
            }
            let newest = found.first().map(LoadTarget::newest)?;
            let root = newest.root.clone();
            if !has(&targets, &root) {
                targets.push(newest);
            }
            Some(root)
        });
        (targets, front)
    };
    let found = tokio::task::spawn_blocking(search).await.unwrap_or_default();
    let (targets, Some(front)) = found else { return found.0 };
    {
        let mut state = session.state();
        // What was asked for meanwhile stays in front, and so does the folder that is looked at since.
        if state.generation == generation && state.looked_at == looked_at_then {
            let before = state.in_front().map(|it| it.folder.clone());
            state.front = Some(front);
            if state.in_front().map(|it| &it.folder) != before.as_ref() {
                drop(state);
                session.refresh();
            }
        }
    }
    targets
}

impl LoadTarget {
    fn newest(found: &WorkspaceRecording) -> Self {
        let inputs = found.run.inputs.clone();
        let signature = Signature::of(&inputs);
        Self { inputs, root: found.folder.clone(), named: None, signature }
    }
}

fn newest_of(found: &[WorkspaceRecording], folder: &Path) -> Option<LoadTarget> {
    found.iter().find(|it| it.folder == folder).map(LoadTarget::newest)
}

/// The recording in the folder of what is shown that is next older.
pub(crate) async fn find_before(
    session: &Session,
    loaded: Arc<LoadedRecording>,
) -> Option<LoadTarget> {
    let folders = session.folders();
    let recordings = Arc::clone(&session.config.recordings);
    let search = move || {
        let found = all(&*recordings, &folders).into_iter();
        let of_folder = found.filter(|it| it.folder == loaded.root());
        let runs: Vec<DiscoveredRun> = of_folder.map(|it| it.run).collect();
        let inputs = loader::recording_before(&runs, loaded.inputs())?.inputs.clone();
        let signature = Signature::of(&inputs);
        let (root, named) = (loaded.root().to_owned(), Some(inputs.clone()));
        Some(LoadTarget { inputs, root, named, signature })
    };
    tokio::task::spawn_blocking(search).await.ok().flatten()
}

/// Reads the recording that is to be compared with.
pub(crate) async fn load_baseline(
    session: &Session,
    target: LoadTarget,
    cancelled: Arc<AtomicBool>,
) -> Result<LoadedRecording, LoadFailure> {
    let recordings = Arc::clone(&session.config.recordings);
    let options = load_options(session, target.root.clone());
    let work = move || {
        let LoadTarget { inputs, signature, .. } = target;
        let watch = Watch { progress: &|_| (), cancelled: &cancelled };
        let run = recordings.load(&inputs, &options, &watch).map_err(LoadFailure::from)?;
        if let Some(cache) = &options.ledger_cache {
            cache.write_pending();
        }
        Ok(LoadedRecording::new(0, signature, (run, inputs), options, None))
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(fault(&error)))
}

/// Compares what is shown of a folder with the baseline, if there is one.
pub(crate) async fn compare(session: &Session, folder: &Path) {
    let (base, shown) = {
        let state = session.state();
        let of_folder = state.shown_of(folder);
        let both = of_folder.and_then(|it| Some((it.baseline.clone()?, it.loaded.clone()?)));
        let Some(both) = both else { return };
        both
    };
    let work = move || {
        let (difference, verdict) = report::diff::compare(&base.recording(), &shown.recording());
        let lines = Arc::new(ide::Baseline::new(base.name(), &difference));
        let comparison = BaselineComparison {
            generation: shown.generation,
            lines,
            difference: Arc::new(difference),
            verdict: verdict.into(),
        };
        (comparison, base)
    };
    let Ok((comparison, base)) = tokio::task::spawn_blocking(work).await else { return };
    let mut state = session.state();
    let is_it = |it: &&mut ShownRecording| {
        it.folder == folder && it.baseline.as_ref().is_some_and(|it| Arc::ptr_eq(it, &base))
    };
    if let Some(shown) = state.shown.iter_mut().find(is_it) {
        shown.comparison = Some(comparison);
    }
}

/// A recording in the workspace.
pub(crate) struct WorkspaceRecording {
    pub(crate) run: DiscoveredRun,
    /// The workspace folder that it is in.
    pub(crate) folder: PathBuf,
}

/// The recordings in the workspace folders that their settings do not leave out, newest first. Touches the disk.
pub(crate) fn all(
    recordings: &dyn Recordings,
    folders: &[(PathBuf, Settings)],
) -> Vec<WorkspaceRecording> {
    let found = folders.iter().flat_map(|(folder, settings)| {
        let wanted = |path: &PathBuf| {
            let below = path.strip_prefix(folder).unwrap_or(path);
            settings.wants(&below.to_string_lossy().replace('\\', "/"))
        };
        let of_folder = recordings.discover(folder).into_iter().filter_map(move |mut run| {
            run.inputs.retain(wanted);
            let folder = folder.clone();
            (!run.inputs.is_empty()).then_some(WorkspaceRecording { run, folder })
        });
        of_folder.collect::<Vec<_>>()
    });
    let mut found: Vec<_> = found.collect();
    // Each folder has an order of its own, in which captures of graphs do not stand by their age.
    if folders.len() > 1 {
        found.sort_by_key(|it| Reverse(it.run.modified));
    }
    found
}

fn named(
    recordings: &dyn Recordings,
    paths: Vec<PathBuf>,
    root_of: impl FnOnce(&Path) -> PathBuf,
) -> Option<LoadTarget> {
    let inputs = paths.iter().flat_map(|path| {
        if path.is_dir() {
            recordings.discover(path).into_iter().next().map(|it| it.inputs).unwrap_or_default()
        } else {
            // `-` is a file here: the standard input is the protocol's.
            vec![std::path::absolute(path).unwrap_or_else(|_| path.clone())]
        }
    });
    let inputs: Vec<PathBuf> = inputs.collect();
    let root = root_of(inputs.first()?);
    let signature = Signature::of(&inputs);
    Some(LoadTarget { inputs, root, named: Some(paths), signature })
}

/// The folder of the code of a recording: the workspace folder that holds it, else the one that is looked at, else the first,
/// else its own.
fn root_of(input: &Path, folders: &[PathBuf], looked_at: Option<PathBuf>) -> PathBuf {
    let holding = paths::holding(folders, input).cloned();
    let own = || input.parent().map(Path::to_owned).unwrap_or_default();
    holding.or(looked_at).or_else(|| folders.first().cloned()).unwrap_or_else(own)
}

/// Begins to load what the user asked for, in place of what is shown of its folder and what is being loaded for that. Unless
/// only that folder was meant, it is what commands and views are about then.
pub(crate) fn start(
    session: &Arc<Session>,
    target: LoadTarget,
    is_for_front: bool,
) -> (JoinHandle<Result<Arc<LoadedRecording>, LoadFailure>>, Arc<AtomicBool>) {
    let (generation, cancelled) = {
        let values = session.abilities().settings;
        let mut state = session.state();
        state.is_off = false;
        if is_for_front {
            if target.named.is_some() && state.looked_at.is_some() {
                state.looked_at = Some(target.root.clone());
            }
            let before = state.front.replace(target.root.clone());
            // Who asks for the newest recording does not want to see the old one any longer.
            let stale = before.filter(|it| target.named.is_none() && *it != target.root);
            let is_stale = |it: &&mut ShownRecording| {
                Some(&it.folder) == stale.as_ref() && it.pinned.is_some()
            };
            if let Some(stale) = state.shown.iter_mut().find(is_stale) {
                stale.clear();
            }
        }
        let begun = begin(&mut state, &target, values);
        let since = state.generation;
        let pinned = target.named.clone().map(|paths| Pinned { paths, since });
        state.shown_of_mut(&target.root, values).pinned = pinned;
        begun
    };
    let task = load(Arc::clone(session), target, "asked for", generation, Arc::clone(&cancelled));
    (tokio::spawn(task), cancelled)
}

/// Begins to load what was found, if it is `wanted` still: a command may have come since it was looked for.
fn start_if(
    session: &Arc<Session>,
    target: LoadTarget,
    reason: &'static str,
    wanted: impl FnOnce(&SessionState, &LoadTarget) -> bool,
) {
    let (generation, cancelled) = {
        let values = session.abilities().settings;
        let mut state = session.state();
        if !wanted(&state, &target) {
            return;
        }
        begin(&mut state, &target, values)
    };
    tokio::spawn(load(Arc::clone(session), target, reason, generation, cancelled));
}

/// Loads what is shown of some folders once more.
pub(crate) async fn reload(session: &Arc<Session>, folders: &[PathBuf], reason: &'static str) {
    for folder in folders {
        let pinned = session.state().shown_of(folder).and_then(|it| it.pinned.clone());
        let paths = pinned.map(|it| it.paths).unwrap_or_default();
        if let Some(target) = find(session, paths, Some(folder.clone())).await {
            start_if(session, target, reason, is_wanted);
        }
    }
}

/// Makes a load the one that is under way for its folder.
fn begin(
    state: &mut SessionState,
    target: &LoadTarget,
    values: SectionValues,
) -> (u64, Arc<AtomicBool>) {
    let cancelled = Arc::new(AtomicBool::new(false));
    state.generation += 1;
    let generation = state.generation;
    let loading = Loading {
        inputs: target.inputs.as_slice().into(),
        signature: target.signature.clone(),
        cancelled: Arc::clone(&cancelled),
    };
    let shown = state.shown_of_mut(&target.root, values);
    shown.generation = generation;
    if let Some(stale) = shown.loading.replace(loading) {
        stale.cancel();
    }
    (generation, cancelled)
}

async fn load(
    session: Arc<Session>,
    target: LoadTarget,
    reason: &'static str,
    generation: u64,
    cancelled: Arc<AtomicBool>,
) -> Result<Arc<LoadedRecording>, LoadFailure> {
    let began = Instant::now();
    session.notify_status();
    let names =
        target.inputs.iter().map(|path| path.file_name().unwrap_or_default().to_string_lossy());
    let names = names.collect::<Vec<_>>().join(", ");
    session
        .client
        .log_message(MessageType::INFO, format!("load {generation}: {names} ({reason})"))
        .await;
    let reporter = Reporter::start(&session, generation, &names, Arc::clone(&cancelled));
    let (signature, folder) = (target.signature.clone(), target.root.clone());
    let result = read(Arc::clone(&session), target, generation, &cancelled, &reporter).await;
    let result = keep(&session, result, generation, signature);
    session.notify_status();
    let seconds = began.elapsed().as_secs_f64();
    match &result {
        Ok(loaded) => {
            let merged = &loaded.run.merged;
            let what = format!("{} steps, {} lines", merged.steps.len(), merged.lines.len());
            session
                .client
                .log_message(
                    MessageType::INFO,
                    format!("load {generation}: {what} in {seconds:.2} s"),
                )
                .await;
            reporter.end(what);
            part_load::follow(&session, &folder).await;
            compare(&session, &folder).await;
            session.refresh();
            // Nobody waits for it.
            if let Some(cache) = session.config.ledger_cache.clone() {
                if let Some(fault) = cache.fault() {
                    session.client.log_message(MessageType::WARNING, fault).await;
                }
                tokio::task::spawn_blocking(move || cache.write_pending());
            }
            report_losses(&session, loaded).await;
        }
        Err(LoadFailure::Cancelled) => {
            session
                .client
                .log_message(MessageType::INFO, format!("load {generation}: stopped"))
                .await;
            reporter.end("stopped".to_owned());
        }
        Err(LoadFailure::Unusable(message)) => {
            reporter.end("failed".to_owned());
            session
                .client
                .log_message(MessageType::ERROR, format!("load {generation}: {message}"))
                .await;
            session.client.show_message(MessageType::ERROR, format!("Perfline: {message}")).await;
        }
    }
    result
}

/// Reads the recording on a blocking thread; of a long one shows its first steps meanwhile.
async fn read(
    session: Arc<Session>,
    target: LoadTarget,
    generation: u64,
    cancelled: &Arc<AtomicBool>,
    reporter: &Reporter,
) -> Result<LoadedRecording, LoadFailure> {
    let recordings = Arc::clone(&session.config.recordings);
    let before = session.state().shown_by(generation).and_then(|it| it.loaded.clone());
    let options = load_options(&session, target.root.clone());
    let (cancelled, sender) = (Arc::clone(cancelled), reporter.sender());
    let work = move || {
        let LoadTarget { inputs, signature, .. } = target;
        let same = before.as_ref().filter(|it| it.signature == signature);
        let known_texts = same.map_or_else(TextsByFile::new, |it| it.known_texts());
        let options = LoadOptions { known_texts, ..options };
        let watch = Watch { progress: &|progress| sender.send(progress), cancelled: &cancelled };
        // All of the recording is better than its first steps.
        if same.is_none()
            && let Some(first) = recordings.load_first_steps(&inputs, &options, &watch)
        {
            show_first_steps(&session, first, generation, (&signature, &inputs, &options));
        }
        let run = recordings.load(&inputs, &options, &watch).map_err(LoadFailure::from)?;
        let run = (run, inputs);
        Ok(LoadedRecording::new(generation, signature, run, options, before.as_deref()))
    };
    let result = tokio::task::spawn_blocking(work).await;
    result.unwrap_or_else(|error| Err(fault(&error)))
}

/// Shows the first steps of a recording until all of it is read, unless another load began there meanwhile.
fn show_first_steps(
    session: &Session,
    PartialRun { run, so_far }: PartialRun,
    generation: u64,
    (signature, inputs, options): (&Signature, &[PathBuf], &LoadOptions),
) {
    // Nothing that was computed of them counts for what is read later.
    let number = {
        let mut state = session.state();
        state.generation += 1;
        state.generation
    };
    let run = (run, inputs.to_vec());
    let mut first = LoadedRecording::new(number, signature.clone(), run, options.clone(), None);
    first.so_far = Some(so_far);
    if let Some(shown) = session.state().shown_by(generation) {
        shown.loaded = Some(Arc::new(first));
        shown.failed = None;
    }
    session.refresh();
}

/// How the settings want recordings to be read, with the code in `root`.
pub(crate) fn load_options(session: &Session, root: PathBuf) -> LoadOptions {
    let settings = session.settings_of(&root);
    let Config { text_cache, ledger_cache, .. } = &session.config;
    LoadOptions {
        mine: settings.mine,
        mappings: settings.mappings,
        captures: settings.captures.iter().map(|it| root.join(it)).collect(),
        lines_from: settings.lines_from.iter().map(|it| root.join(it)).collect(),
        step_ranges: settings.step_ranges,
        git_texts: true,
        text_cache: text_cache.clone().filter(|_| settings.keeps_sources),
        ledger_cache: ledger_cache.clone().filter(|_| settings.keeps_ledgers),
        memory_limit: settings.memory_limit,
        ..LoadOptions::new(root, settings.sites)
    }
}

/// Makes a loaded recording the one that is shown of its folder, unless another load began there meanwhile.
fn keep(
    session: &Session,
    result: Result<LoadedRecording, LoadFailure>,
    generation: u64,
    signature: Signature,
) -> Result<Arc<LoadedRecording>, LoadFailure> {
    let mut state = session.state();
    let Some(shown) = state.shown_by(generation) else { return Err(LoadFailure::Cancelled) };
    shown.loading = None;
    match result {
        Ok(loaded) => {
            let loaded = Arc::new(loaded);
            shown.loaded = Some(Arc::clone(&loaded));
            shown.failed = None;
            let known = (loaded.signature.clone(), Some(RunFacts::of(&loaded.run)));
            state.known_runs.insert(loaded.inputs().to_vec(), known);
            Ok(loaded)
        }
        Err(failure) => {
            let message = match &failure {
                LoadFailure::Cancelled => None,
                LoadFailure::Unusable(message) => Some(message.as_str().into()),
            };
            shown.failed = Some(Failed { signature, message });
            Err(failure)
        }
    }
}

/// Says what could not be read of a recording that was loaded all the same.
async fn report_losses(session: &Session, loaded: &LoadedRecording) {
    let run = &loaded.run;
    for input in &run.inputs {
        for warning in &input.warnings {
            let at = warning.offset.map_or(String::new(), |it| format!(" (at byte {it})"));
            let times = if warning.count > 1 {
                format!(" ({} times)", warning.count)
            } else {
                String::new()
            };
            let text = format!("{}: {}{at}{times}", input.path.display(), warning.message);
            session.client.log_message(MessageType::WARNING, text).await;
        }
    }
    if let Some(text) = run.texts_from_git() {
        session.client.log_message(MessageType::INFO, text).await;
    }
    for doubt in run.source_doubts() {
        session.client.log_message(MessageType::WARNING, doubt).await;
    }
    let incomplete = run.inputs.iter().filter(|input| !input.complete);
    let incomplete =
        incomplete.map(|input| format!("{} was not read completely", input.path.display()));
    let losses: Vec<String> = run.failures.iter().cloned().chain(incomplete).collect();
    if let Some((input, why)) = run.of_other_run() {
        let text = format!("Perfline: {}: {}", input.path.display(), why.message);
        session.client.show_message(MessageType::WARNING, text).await;
    }
    if !losses.is_empty() {
        let text = format!(
            "Perfline: {}. The numbers lack what is missing; see the log.",
            losses.join("; ")
        );
        session.client.show_message(MessageType::WARNING, text).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_that_take_long_and_find_nothing_become_rare() {
        let (least, took) = (Duration::from_secs(2), Duration::from_millis(200));
        let pauses = [0, 1, 2, 3, 4, 5, u32::MAX].map(|it| pause(least, took, it).as_secs());
        assert_eq!(pauses, [4, 8, 16, 32, 64, 64, 64]);
        let slow = Duration::from_secs(2);
        assert_eq!(
            [0, 1, 2, u32::MAX].map(|it| pause(least, slow, it).as_secs()),
            [40, 80, 120, 120]
        );
        assert_eq!(pause(least, 10 * slow, u32::MAX).as_secs(), 400);
        // What is found at once is looked for as often as ever.
        assert_eq!(pause(least, Duration::from_millis(1), u32::MAX), least);
    }
}
