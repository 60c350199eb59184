//! Finds recordings, sees them change, loads them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loader::{Error, Options, Watch};
use tokio::task::JoinHandle;
use tower_lsp::lsp_types::MessageType;

use crate::Recordings;
use crate::loaded::{Loaded, Signature};
use crate::paths;
use crate::progress::Reporter;
use crate::session::{Loading, Mode, Session};
use crate::settings::Settings;

/// A search for recordings takes this part of the time at most.
const SEARCH_SHARE: u32 = 20;

/// A recording to load.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) inputs: Vec<PathBuf>,
    /// Folder of the code that it is about.
    root: PathBuf,
    signature: Signature,
}

/// Why nothing was loaded.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// It was stopped, or something newer came.
    Cancelled,
    /// One line: what is wrong, and where.
    Unusable(String),
}

/// Loads what there is and what comes, until the session stops.
pub(crate) async fn watch(session: Arc<Session>) {
    // A recording that changed a moment ago, and when it was first seen like this.
    let mut unsettled: Option<(Signature, Instant)> = None;
    loop {
        let began = Instant::now();
        let target = find(&session).await;
        let took = began.elapsed();
        let mut wait = polls(&session).then(|| session.config.poll.max(took * SEARCH_SHARE));
        match target.filter(|target| is_news(&session, &target.signature)) {
            None => unsettled = None,
            Some(target) => {
                let settle = session.config.settle;
                let since = match unsettled.take() {
                    Some((signature, since)) if signature == target.signature => since,
                    _ => Instant::now(),
                };
                if target.signature.is_older_than(settle) || settle <= since.elapsed() {
                    drop(start(&session, target, "recording found"));
                } else {
                    wait =
                        Some(settle.saturating_sub(since.elapsed()).max(Duration::from_millis(1)));
                    unsettled = Some((target.signature, since));
                }
            }
        }
        tokio::select! {
            () = session.stopped.cancelled() => return,
            () = session.look.notified() => {}
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {}
        }
    }
}

/// Whether files must be looked at again and again: because the client does not watch them, or not those.
fn polls(session: &Session) -> bool {
    let mode = session.state().mode.clone();
    match mode {
        Mode::Newest => !session.abilities().register_watchers,
        Mode::Named(_) => true,
        Mode::Off => false,
    }
}

fn is_news(session: &Session, signature: &Signature) -> bool {
    let state = session.state();
    state.loaded.as_ref().is_none_or(|it| it.signature != *signature)
        && state.loading.as_ref().is_none_or(|it| it.signature != *signature)
        && state.failed.as_ref() != Some(signature)
}

/// The recording to be shown, if there is one.
pub(crate) async fn find(session: &Arc<Session>) -> Option<Target> {
    let (mode, folders, settings) = {
        let state = session.state();
        (state.mode.clone(), Arc::clone(&state.folders), Arc::clone(&state.settings))
    };
    let recordings = Arc::clone(&session.config.recordings);
    let search = move || match mode {
        Mode::Off => None,
        Mode::Newest => newest(&*recordings, &folders, &settings),
        Mode::Named(paths) => named(&*recordings, &paths, &folders),
    };
    tokio::task::spawn_blocking(search).await.ok().flatten()
}

fn newest(recordings: &dyn Recordings, folders: &[PathBuf], settings: &Settings) -> Option<Target> {
    let found = folders.iter().flat_map(|folder| {
        let wanted = |path: &PathBuf| {
            let below = path.strip_prefix(folder).unwrap_or(path);
            settings.wants(&below.to_string_lossy().replace('\\', "/"))
        };
        let of_folder = recordings.discover(folder).into_iter().filter_map(move |mut recording| {
            recording.inputs.retain(wanted);
            (!recording.inputs.is_empty()).then_some((recording, folder))
        });
        of_folder.collect::<Vec<_>>()
    });
    // Of several that are as new as each other, the first.
    let (recording, folder) =
        found.reduce(|best, it| if best.0.modified < it.0.modified { it } else { best })?;
    let signature = Signature::of(&recording.inputs);
    Some(Target { inputs: recording.inputs, root: folder.clone(), signature })
}

fn named(recordings: &dyn Recordings, paths: &[PathBuf], folders: &[PathBuf]) -> Option<Target> {
    let inputs = paths.iter().flat_map(|path| {
        if path.is_dir() {
            recordings.discover(path).into_iter().next().map(|it| it.inputs).unwrap_or_default()
        } else {
            vec![path.clone()]
        }
    });
    let inputs: Vec<PathBuf> = inputs.collect();
    let root = root_of(inputs.first()?, folders);
    let signature = Signature::of(&inputs);
    Some(Target { inputs, root, signature })
}

/// The folder of the code of a recording: the workspace folder that holds it, else the first, else its own.
fn root_of(input: &Path, folders: &[PathBuf]) -> PathBuf {
    let real = paths::real(input);
    let holding = folders.iter().find(|folder| Path::new(&real).starts_with(paths::real(folder)));
    let own = || input.parent().map(Path::to_owned).unwrap_or_default();
    holding.or(folders.first()).cloned().unwrap_or_else(own)
}

/// Begins to load, in place of what is being loaded.
pub(crate) fn start(
    session: &Arc<Session>,
    target: Target,
    reason: &'static str,
) -> (JoinHandle<Result<Arc<Loaded>, Failure>>, Arc<AtomicBool>) {
    let cancelled = Arc::new(AtomicBool::new(false));
    let generation = {
        let mut state = session.state();
        state.generation += 1;
        let loading =
            Loading { signature: target.signature.clone(), cancelled: Arc::clone(&cancelled) };
        if let Some(stale) = state.loading.replace(loading) {
            stale.cancelled.store(true, Ordering::SeqCst);
        }
        state.generation
    };
    let task = load(Arc::clone(session), target, reason, generation, Arc::clone(&cancelled));
    (tokio::spawn(task), cancelled)
}

async fn load(
    session: Arc<Session>,
    target: Target,
    reason: &'static str,
    generation: u64,
    cancelled: Arc<AtomicBool>,
) -> Result<Arc<Loaded>, Failure> {
    let began = Instant::now();
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
            session.refresh();
            tell_losses(&session, loaded).await;
        }
        Err(Failure::Cancelled) => {
            session
                .client
                .log_message(MessageType::INFO, format!("load {generation}: stopped"))
                .await;
            reporter.end("stopped".to_owned());
        }
        Err(Failure::Unusable(message)) => {
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
    target: Target,
    generation: u64,
    cancelled: &Arc<AtomicBool>,
    reporter: &Reporter,
) -> Result<Loaded, Failure> {
    let recordings = Arc::clone(&session.config.recordings);
    let (sites, before) = {
        let state = session.state();
        (state.settings.sites.clone(), state.loaded.clone())
    };
    let (cancelled, sender) = (Arc::clone(cancelled), reporter.sender());
    let work = move || {
        let Target { inputs, root, signature } = target;
        let options = Options { root, sites, ignore_exact: false };
        let watch = Watch { progress: &|progress| sender.send(progress), cancelled: &cancelled };
        let run = recordings.load(&inputs, &options, &watch).map_err(|error| match error {
            Error::Cancelled => Failure::Cancelled,
            error => Failure::Unusable(error.to_string()),
        })?;
        Ok(Loaded::new(generation, signature, run, before.as_deref()))
    };
    let result = tokio::task::spawn_blocking(work).await;
    result.unwrap_or_else(|error| {
        Err(Failure::Unusable(format!("internal error while loading: {error}")))
    })
}

/// Makes a loaded recording the one that is shown, unless another load began meanwhile.
fn keep(
    session: &Session,
    result: Result<Loaded, Failure>,
    generation: u64,
    signature: Signature,
) -> Result<Arc<Loaded>, Failure> {
    let mut state = session.state();
    if state.generation != generation {
        return Err(Failure::Cancelled);
    }
    state.loading = None;
    match result {
        Ok(loaded) => {
            let loaded = Arc::new(loaded);
            state.loaded = Some(Arc::clone(&loaded));
            state.failed = None;
            Ok(loaded)
        }
        Err(failure) => {
            state.failed = Some(signature);
            Err(failure)
        }
    }
}

/// Says what could not be read of a recording that was loaded all the same.
async fn tell_losses(session: &Session, loaded: &Loaded) {
    let run = &loaded.run;
    for input in &run.inputs {
        for warning in &input.warnings {
            let times = if warning.count > 1 {
                format!(" ({} times)", warning.count)
            } else {
                String::new()
            };
            let text = format!(
                "{}: {} (at byte {}){times}",
                input.path.display(),
                warning.message,
                warning.offset
            );
            session.client.log_message(MessageType::WARNING, text).await;
        }
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
