//! Finds recordings, sees them change, loads them.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loader::{DiscoveredRun, LoadOptions, Signature, TextsByFile, Watch};
use settings::Settings;
use tokio::task::JoinHandle;
use tower_lsp::lsp_types::MessageType;

use crate::load_failure::{LoadFailure, fault};
use crate::loaded::LoadedRecording;
use crate::part_load;
use crate::paths;
use crate::progress::Reporter;
use crate::session::{BaselineComparison, Failed, Loading, Mode, RunFacts, Session, SessionState};
use crate::{Config, Recordings, project_file};

/// A search for recordings takes this part of the time at most, and half of it for each search before it that found nothing new,
/// up to [`MAX_HALVINGS`]: a folder of a hundred thousand files is not walked for ever.
const SEARCH_SHARE: u32 = 20;

/// How often the part of the time is halved.
const MAX_HALVINGS: u32 = 4;

/// A new recording that the client does not report is found after this time, unless a search takes more than a [`SEARCH_SHARE`]th of it.
const MAX_PAUSE: Duration = Duration::from_secs(120);

/// Why what is shown is loaded again: the settings say otherwise what is decided while loading.
pub(crate) const SETTINGS_CHANGED: &str =
    "the folders of library code, what counts as yours, or the traces of captures changed";

/// A recording to load.
#[derive(Debug, Clone)]
pub(crate) struct LoadTarget {
    pub(crate) inputs: Vec<PathBuf>,
    /// Folder of the code that it is about.
    root: PathBuf,
    /// What was looked for.
    mode: Mode,
    signature: Signature,
}

/// Loads what there is and what comes, until the session stops.
pub(crate) async fn watch(session: Arc<Session>) {
    // A recording that changed a moment ago, and when it was first seen like this.
    let mut changing: Option<(Signature, Instant)> = None;
    // Searches in a row that found nothing new.
    let mut n_vain = 0;
    loop {
        if project_file::follow(&session).await {
            reload(&session, SETTINGS_CHANGED).await;
        }
        let began = Instant::now();
        let mode = session.state().mode.clone();
        let target = find(&session, mode).await;
        let took = began.elapsed();
        let mut wait = poll(&session).map(|least| pause(least, took, n_vain));
        match target.filter(|target| is_news(&session.state(), target)) {
            None => {
                changing = None;
                n_vain = n_vain.saturating_add(1);
            }
            Some(target) => {
                n_vain = 0;
                let quiet_period = session.config.quiet_period;
                let since = match changing.take() {
                    Some((signature, since)) if signature == target.signature => since,
                    _ => Instant::now(),
                };
                if target.signature.is_older_than(quiet_period) || quiet_period <= since.elapsed() {
                    start_if(&session, target, "recording found", is_news);
                } else {
                    wait = Some(
                        quiet_period.saturating_sub(since.elapsed()).max(Duration::from_millis(1)),
                    );
                    changing = Some((target.signature, since));
                }
            }
        }
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
    let mode = session.state().mode.clone();
    match mode {
        // Clients do not watch what they exclude or ignore, and recordings are often among that.
        Mode::Newest if session.abilities().register_watchers => Some(poll_watched),
        Mode::Newest | Mode::Named(_) => Some(poll),
        Mode::Off => None,
    }
}

/// Whether a recording is still looked for, and differs from what is shown, being loaded, or known to be broken.
fn is_news(state: &SessionState, target: &LoadTarget) -> bool {
    let signature = &target.signature;
    state.mode == target.mode
        && state.loaded.as_ref().is_none_or(|it| it.signature != *signature)
        && state.loading.as_ref().is_none_or(|it| it.signature != *signature)
        && state.failed.as_ref().is_none_or(|it| it.signature != *signature)
}

/// The recording that a mode shows, if there is one.
pub(crate) async fn find(session: &Session, mode: Mode) -> Option<LoadTarget> {
    let folders = session.folders();
    let before_others = session.state().folder.clone();
    let recordings = Arc::clone(&session.config.recordings);
    let search = move || {
        let (inputs, root) = match &mode {
            Mode::Off => return None,
            Mode::Newest => newest(&*recordings, &folders, before_others.as_deref())?,
            Mode::Named(paths) => {
                let folders: Vec<PathBuf> = folders.into_iter().map(|(it, _)| it).collect();
                named(&*recordings, paths, &folders)?
            }
        };
        let signature = Signature::of(&inputs);
        Some(LoadTarget { inputs, root, mode, signature })
    };
    tokio::task::spawn_blocking(search).await.ok().flatten()
}

/// The recording in the workspace that is next older than what is shown.
pub(crate) async fn find_before(session: &Session) -> Option<LoadTarget> {
    let folders = session.folders();
    let loaded = session.state().loaded.clone()?;
    let recordings = Arc::clone(&session.config.recordings);
    let search = move || {
        let found = all(&*recordings, &folders);
        let (runs, roots): (Vec<_>, Vec<_>) =
            found.into_iter().map(|it| (it.run, it.folder)).unzip();
        let before = loader::recording_before(&runs, loaded.inputs())?;
        let root = roots.get(runs.iter().position(|it| it == before)?)?.clone();
        let inputs = before.inputs.clone();
        let signature = Signature::of(&inputs);
        Some(LoadTarget { mode: Mode::Named(inputs.clone()), inputs, root, signature })
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

/// Compares what is shown with the baseline, if there is one.
pub(crate) async fn compare(session: &Session) {
    let (base, shown) = {
        let state = session.state();
        let (Some(base), Some(shown)) = (state.baseline.clone(), state.loaded.clone()) else {
            return;
        };
        (base, shown)
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
    if state.baseline.as_ref().is_some_and(|it| Arc::ptr_eq(it, &base)) {
        state.comparison = Some(comparison);
    }
}

/// The files of the newest recording, and the folder of its code: of one folder, if there are recordings in that.
fn newest(
    recordings: &dyn Recordings,
    folders: &[(PathBuf, Settings)],
    before_others: Option<&Path>,
) -> Option<(Vec<PathBuf>, PathBuf)> {
    let mut found = all(recordings, folders);
    // Of several that are as new as each other, the first.
    let is_before = |it: &WorkspaceRecording| Some(it.folder.as_path()) == before_others;
    let place = found.iter().position(is_before).unwrap_or(0);
    (place < found.len()).then(|| found.swap_remove(place)).map(|it| (it.run.inputs, it.folder))
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
    paths: &[PathBuf],
    folders: &[PathBuf],
) -> Option<(Vec<PathBuf>, PathBuf)> {
    let inputs = paths.iter().flat_map(|path| {
        if path.is_dir() {
            recordings.discover(path).into_iter().next().map(|it| it.inputs).unwrap_or_default()
        } else {
            // `-` is a file here: the standard input is the protocol's.
            vec![std::path::absolute(path).unwrap_or_else(|_| path.clone())]
        }
    });
    let inputs: Vec<PathBuf> = inputs.collect();
    let root = root_of(inputs.first()?, folders);
    Some((inputs, root))
}

/// The folder of the code of a recording: the workspace folder that holds it, else the first, else its own.
fn root_of(input: &Path, folders: &[PathBuf]) -> PathBuf {
    let real = paths::real(input);
    let holding = folders.iter().find(|folder| Path::new(&real).starts_with(paths::real(folder)));
    let own = || input.parent().map(Path::to_owned).unwrap_or_default();
    holding.or(folders.first()).cloned().unwrap_or_else(own)
}

/// Begins to load what the user asked for, in place of what is shown and what is being loaded.
pub(crate) fn start(
    session: &Arc<Session>,
    target: LoadTarget,
) -> (JoinHandle<Result<Arc<LoadedRecording>, LoadFailure>>, Arc<AtomicBool>) {
    let (generation, cancelled) = {
        let mut state = session.state();
        state.mode = target.mode.clone();
        begin(&mut state, &target)
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
        let mut state = session.state();
        if !wanted(&state, &target) {
            return;
        }
        begin(&mut state, &target)
    };
    tokio::spawn(load(Arc::clone(session), target, reason, generation, cancelled));
}

/// Loads what is shown once more.
pub(crate) async fn reload(session: &Arc<Session>, reason: &'static str) {
    let mode = session.state().mode.clone();
    if let Some(target) = find(session, mode).await {
        start_if(session, target, reason, |state, target| state.mode == target.mode);
    }
}

/// Makes a load the one that is under way.
fn begin(state: &mut SessionState, target: &LoadTarget) -> (u64, Arc<AtomicBool>) {
    let cancelled = Arc::new(AtomicBool::new(false));
    state.generation += 1;
    let loading = Loading {
        inputs: target.inputs.as_slice().into(),
        signature: target.signature.clone(),
        cancelled: Arc::clone(&cancelled),
    };
    if let Some(stale) = state.loading.replace(loading) {
        stale.cancelled.store(true, Ordering::SeqCst);
    }
    (state.generation, cancelled)
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
    let signature = target.signature.clone();
    let result = read(&session, target, generation, &cancelled, &reporter).await;
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
            session.take_settings_of_shown();
            part_load::follow(&session).await;
            compare(&session).await;
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

/// Reads the recording on a blocking thread.
async fn read(
    session: &Session,
    target: LoadTarget,
    generation: u64,
    cancelled: &Arc<AtomicBool>,
    reporter: &Reporter,
) -> Result<LoadedRecording, LoadFailure> {
    let recordings = Arc::clone(&session.config.recordings);
    let before = session.state().loaded.clone();
    let options = load_options(session, target.root.clone());
    let (cancelled, sender) = (Arc::clone(cancelled), reporter.sender());
    let work = move || {
        let LoadTarget { inputs, signature, .. } = target;
        let same = before.as_ref().filter(|it| it.signature == signature);
        let known_texts = same.map_or_else(TextsByFile::new, |it| it.known_texts());
        let options = LoadOptions { known_texts, ..options };
        let watch = Watch { progress: &|progress| sender.send(progress), cancelled: &cancelled };
        let run = recordings.load(&inputs, &options, &watch).map_err(LoadFailure::from)?;
        let run = (run, inputs);
        Ok(LoadedRecording::new(generation, signature, run, options, before.as_deref()))
    };
    let result = tokio::task::spawn_blocking(work).await;
    result.unwrap_or_else(|error| Err(fault(&error)))
}

/// How the settings want recordings to be read, with the code in `root`.
pub(crate) fn load_options(session: &Session, root: PathBuf) -> LoadOptions {
    let settings = session.settings_of(&root);
    let Config { text_cache, ledger_cache, .. } = &session.config;
    LoadOptions {
        mine: settings.mine,
        mappings: settings.mappings,
        captures: settings.captures.iter().map(|it| root.join(it)).collect(),
        git_texts: true,
        text_cache: text_cache.clone().filter(|_| settings.keeps_sources),
        ledger_cache: ledger_cache.clone().filter(|_| settings.keeps_ledgers),
        memory_limit: settings.memory_limit,
        ..LoadOptions::new(root, settings.sites)
    }
}

/// Makes a loaded recording the one that is shown, unless another load began meanwhile.
fn keep(
    session: &Session,
    result: Result<LoadedRecording, LoadFailure>,
    generation: u64,
    signature: Signature,
) -> Result<Arc<LoadedRecording>, LoadFailure> {
    let mut state = session.state();
    if state.generation != generation {
        return Err(LoadFailure::Cancelled);
    }
    state.loading = None;
    match result {
        Ok(loaded) => {
            let loaded = Arc::new(loaded);
            let known = (loaded.signature.clone(), Some(RunFacts::of(&loaded.run)));
            state.known_runs.insert(loaded.inputs().to_vec(), known);
            state.loaded = Some(Arc::clone(&loaded));
            state.failed = None;
            Ok(loaded)
        }
        Err(failure) => {
            let message = match &failure {
                LoadFailure::Cancelled => None,
                LoadFailure::Unusable(message) => Some(message.as_str().into()),
            };
            state.failed = Some(Failed { signature, message });
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
