//! `workspace/executeCommand`: the commands of `ext.rs`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ide::{Charge, HotLine, Metric, Period, Source};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::{ExecuteCommandParams, Url};

use crate::document::Document;
use crate::loaded::Loaded;
use crate::loader::{self, Failure};
use crate::session::{Mode, Session, Snapshot};
use crate::{ext, paths, publish, to_proto};

/// Lines that `hotLines` lists, if it is not told how many.
const HOT_LINES: usize = 20;

pub(crate) async fn handle(
    session: &Arc<Session>,
    params: ExecuteCommandParams,
) -> Result<Option<Value>> {
    let arguments = Arguments(params.arguments);
    let value = match params.command.as_str() {
        ext::LOAD => load(session, &arguments).await?,
        ext::UNLOAD => unload(session),
        ext::SET_METRIC => set_metric(session, &arguments)?,
        ext::SET_STEP => set_step(session, &arguments)?,
        ext::SET_RANK => set_rank(session, &arguments)?,
        ext::HOT_LINES => hot_lines(session, &arguments).await?,
        unknown => {
            let commands = ext::COMMANDS.join(", ");
            return Err(invalid(format!("{unknown:?} is no command; it is one of: {commands}")));
        }
    };
    Ok(Some(value))
}

/// The arguments of a command: in their order, or by name in one object.
struct Arguments(Vec<Value>);

impl Arguments {
    fn get(&self, place: usize, name: &str) -> Option<&Value> {
        let value = match self.0.first() {
            Some(Value::Object(object)) => object.get(name),
            _ => self.0.get(place),
        };
        value.filter(|value| !value.is_null())
    }

    fn need(&self, name: &str, allowed: &str) -> Result<&Value> {
        self.get(0, name)
            .ok_or_else(|| invalid(format!("{name} is missing; it is one of: {allowed}")))
    }
}

fn invalid(message: String) -> Error {
    Error { code: ErrorCode::InvalidParams, message: message.into(), data: None }
}

/// Stops a load whose request was cancelled.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Loads the named files, or the newest recording, and answers when it is there.
async fn load(session: &Arc<Session>, arguments: &Arguments) -> Result<Value> {
    let paths = match arguments.get(0, "paths") {
        None => Vec::new(),
        Some(Value::Array(paths)) => {
            paths.iter().map(|it| path(session, it)).collect::<Result<_>>()?
        }
        Some(_) => {
            let all = if arguments.0.iter().all(Value::is_string) { &arguments.0[..] } else { &[] };
            if all.is_empty() {
                return Err(invalid("paths is no list of paths".to_owned()));
            }
            all.iter().map(|it| path(session, it)).collect::<Result<_>>()?
        }
    };
    let mode = if paths.is_empty() { Mode::Newest } else { Mode::Named(paths) };
    let Some(target) = loader::find(session, mode).await else {
        let message = "no recording was found in the workspace; name one with paths";
        return Err(invalid(message.to_owned()));
    };
    let (task, cancelled) = loader::start(session, target);
    // What was named may have to be looked at again and again.
    session.look_for_recordings();
    let guard = StopOnDrop(cancelled);
    let result = task.await;
    drop(guard);
    match result {
        Ok(Ok(loaded)) => Ok(described(&loaded, &session.snapshot())),
        Ok(Err(Failure::Cancelled)) => Err(Error {
            code: ErrorCode::RequestCancelled,
            message: "loading was stopped".into(),
            data: None,
        }),
        Ok(Err(Failure::Unusable(message))) => {
            Err(Error { code: ErrorCode::ServerError(-32803), message: message.into(), data: None })
        }
        Err(error) => Err(Error {
            code: ErrorCode::InternalError,
            message: error.to_string().into(),
            data: None,
        }),
    }
}

/// A path or `file:` URI; a relative path is one below the first workspace folder.
fn path(session: &Session, value: &Value) -> Result<PathBuf> {
    let text = value.as_str().ok_or_else(|| invalid(format!("{value} is no path")))?;
    if let Some(path) = Url::parse(text).ok().and_then(|uri| paths::of_uri(&uri)) {
        return Ok(path);
    }
    let folder = session.state().folders.first().cloned();
    Ok(folder.map_or_else(|| PathBuf::from(text), |folder| folder.join(text)))
}

fn unload(session: &Session) -> Value {
    {
        let mut state = session.state();
        state.mode = Mode::Off;
        state.loaded = None;
        state.failed = None;
        state.generation += 1;
        if let Some(loading) = state.loading.take() {
            loading.cancelled.store(true, Ordering::SeqCst);
        }
    }
    session.refresh();
    json!({"loaded": false})
}

fn set_metric(session: &Session, arguments: &Arguments) -> Result<Value> {
    let names = ["auto"].into_iter().chain(Metric::ALL.map(Metric::name));
    let metric = arguments.need("metric", &names.collect::<Vec<_>>().join(", "))?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let metric = Metric::parse(&text(metric)).map_err(|error| invalid(error.to_string()))?;
    let charge = arguments.get(1, "charge").map(|value| Charge::parse(&text(value)));
    let charge = charge.transpose().map_err(|error| invalid(error.to_string()))?;
    {
        let mut state = session.state();
        state.choice.metric = Some(metric);
        state.choice.charge = charge.or(state.choice.charge);
    }
    session.refresh();
    Ok(view(&session.snapshot()))
}

fn set_step(session: &Session, arguments: &Arguments) -> Result<Value> {
    let snapshot = session.snapshot();
    let steps: Vec<u32> =
        snapshot.ledger().map(|it| it.steps.keys().copied().collect()).unwrap_or_default();
    let allowed = || {
        let steps = steps.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        format!("\"mean\", \"run\", or a step of the recording: {steps}")
    };
    let value = arguments.need("step", &allowed())?;
    let number = value
        .as_u64()
        .and_then(|step| u32::try_from(step).ok())
        .filter(|step| steps.contains(step));
    let period = match (value.as_str(), number) {
        (Some("mean"), _) => Period::Mean,
        (Some("run"), _) => Period::Run,
        (_, Some(step)) => Period::Step(step),
        _ => return Err(invalid(format!("{value} is no step; it is one of: {}", allowed()))),
    };
    session.state().choice.period = Some(period);
    session.refresh();
    Ok(view(&session.snapshot()))
}

fn set_rank(session: &Session, arguments: &Arguments) -> Result<Value> {
    let snapshot = session.snapshot();
    let ranks = ranks(&snapshot);
    let allowed = || {
        let ranks = ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        format!("\"all\", or a rank of the recording: {ranks}")
    };
    let value = arguments.need("rank", &allowed())?;
    let number = value
        .as_u64()
        .and_then(|rank| u32::try_from(rank).ok())
        .filter(|rank| ranks.contains(rank));
    let rank = match (value.as_str(), number) {
        (Some("all"), _) => None,
        (_, Some(rank)) => Some(rank),
        _ => return Err(invalid(format!("{value} is no rank; it is one of: {}", allowed()))),
    };
    session.state().choice.rank = rank;
    session.refresh();
    Ok(view(&session.snapshot()))
}

fn ranks(snapshot: &Snapshot) -> Vec<u32> {
    snapshot
        .loaded
        .as_ref()
        .map(|it| it.run.ranks.iter().map(|rank| rank.rank).collect())
        .unwrap_or_default()
}

/// What is shown, and what else could be.
fn view(snapshot: &Snapshot) -> Value {
    let view = &snapshot.view;
    let steps: Vec<u32> =
        snapshot.ledger().map(|it| it.steps.keys().copied().collect()).unwrap_or_default();
    json!({
        "metric": view.metric.map_or("auto", Metric::name),
        "charge": view.charge.name(),
        "step": match view.period {
            Period::Mean => json!("mean"),
            Period::Run => json!("run"),
            Period::Step(step) => json!(step),
        },
        "rank": snapshot.rank.map_or(json!("all"), |rank| json!(rank)),
        "steps": steps,
        "ranks": ranks(snapshot),
    })
}

/// What was loaded.
fn described(loaded: &Loaded, snapshot: &Snapshot) -> Value {
    let inputs = loaded.run.inputs.iter().map(|input| {
        let warnings: Vec<&str> = input.warnings.iter().map(|it| it.message.as_str()).collect();
        json!({
            "path": input.path,
            "kind": input.kind.name(),
            "rank": input.rank,
            "events": input.events,
            "bytes": input.bytes,
            "complete": input.complete,
            "warnings": warnings,
        })
    });
    json!({
        "inputs": inputs.collect::<Vec<_>>(),
        "failures": loaded.run.failures,
        "lines": loaded.run.merged.lines.len(),
        "view": view(snapshot),
    })
}

/// The lines with most of the metric.
async fn hot_lines(session: &Arc<Session>, arguments: &Arguments) -> Result<Value> {
    let number = |place, name| match arguments.get(place, name).map(|value| (value, value.as_u64()))
    {
        None => Ok(None),
        Some((_, Some(number))) => Ok(Some(number)),
        Some((value, None)) => Err(invalid(format!("{name}: {value} is no number"))),
    };
    let limit =
        number(0, "limit")?.map_or(HOT_LINES, |it| usize::try_from(it).unwrap_or(usize::MAX));
    let lines = number(2, "firstLine")?.unwrap_or(0)..=number(3, "lastLine")?.unwrap_or(u64::MAX);
    let uri = match arguments.get(1, "uri") {
        None => None,
        Some(value) => {
            let uri = value.as_str().and_then(|text| Url::parse(text).ok());
            Some(uri.ok_or_else(|| invalid(format!("uri: {value} is no URI")))?)
        }
    };
    let documents = session.documents();
    let work = session.background(move |snapshot, token| {
        let Some(loaded) = &snapshot.loaded else {
            return json!({"view": view(snapshot), "lines": []});
        };
        let places = Places { snapshot, loaded, documents: &documents };
        let wanted = uri.map(|uri| places.lines_of(&uri, &lines));
        let is_wanted = |file: &str, line| {
            wanted
                .as_ref()
                .is_none_or(|(key, lines)| key.as_deref() == Some(file) && lines.contains(&line))
        };
        let hot = ide::hot_lines(loaded.ledger(snapshot.rank), &snapshot.view, limit, is_wanted);
        let lines =
            hot.iter().take_while(|_| !token.is_cancelled()).map(|line| places.described(line));
        json!({"view": view(snapshot), "lines": lines.collect::<Vec<_>>()})
    });
    work.await
}

/// Where lines are now.
struct Places<'a> {
    snapshot: &'a Snapshot,
    loaded: &'a Loaded,
    documents: &'a [Arc<Document>],
}

impl Places<'_> {
    /// The key of a file and its recorded lines that are now among `lines`.
    fn lines_of(
        &self,
        uri: &Url,
        lines: &std::ops::RangeInclusive<u64>,
    ) -> (Option<String>, Vec<u32>) {
        let key = match self.documents.iter().find(|it| it.uri == *uri) {
            Some(document) => {
                self.loaded.key_of(document, &self.snapshot.folders).map(str::to_owned)
            }
            None => paths::of_uri(uri)
                .and_then(|path| self.loaded.key_of_path(&path))
                .map(str::to_owned),
        };
        let Some(key) = key else { return (None, Vec::new()) };
        let current = |source: &Source<'_>| {
            let lines =
                source.lines().into_iter().filter(|&(now, _)| lines.contains(&u64::from(now)));
            lines.map(|(_, recorded)| recorded).collect()
        };
        let recorded = self.with_source(&key, current).unwrap_or_default();
        (Some(key), recorded)
    }

    fn with_source<T>(&self, key: &str, work: impl FnOnce(&Source<'_>) -> T) -> Option<T> {
        match self.document(key) {
            Some(document) => self.snapshot.with_document(document, work),
            None => self.loaded.with_file(self.snapshot.rank, key, work),
        }
    }

    fn document(&self, key: &str) -> Option<&Arc<Document>> {
        self.documents.iter().find(|it| self.loaded.key_of(it, &self.snapshot.folders) == Some(key))
    }

    fn described(&self, hot: &HotLine) -> Value {
        let place = self.with_source(&hot.file, |source| {
            let (line, is_stale) = source.current(hot.line)?;
            let range = source.index.line_range(line)?;
            let text = source.text.get(range.clone()).unwrap_or("").trim();
            let range =
                to_proto::range(source.index, range.start, range.end, self.snapshot.encoding());
            Some(json!({"line": line, "stale": is_stale, "source": text, "range": range}))
        });
        let uri = match self.document(&hot.file) {
            Some(document) => Some(document.uri.clone()),
            None => self.loaded.path_of(&hot.file).and_then(publish::uri_of_path),
        };
        let mut described = json!({
            "file": hot.file,
            "uri": uri,
            "recordedLine": hot.line,
            "function": hot.function,
            "evidence": hot.evidence.name(),
            "value": hot.value,
            "text": hot.text,
            "share": hot.share,
        });
        if let (Some(described), Some(Value::Object(place))) =
            (described.as_object_mut(), place.flatten())
        {
            described.extend(place);
        }
        described
    }
}
