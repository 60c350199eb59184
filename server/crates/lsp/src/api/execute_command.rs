//! `workspace/executeCommand`: the commands of `ext.rs`. Those that answer something have a file each.

mod arguments;
mod baseline;
mod current_files;
mod details;
mod filter_values;
mod findings;
mod flame;
mod heat;
mod hot_lines;
mod looked_at;
mod memory_timeline;
mod page;
mod place;
mod rank_steps;
mod recordings;
mod report;
mod requested_load;
mod roofline;
mod sources;
pub(crate) mod status;
mod timeline;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::loader::EventChoice;
use ::report::{CodeFilter, StackFilter};
use ide::{Charge, Period, ViewMetric};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::ExecuteCommandParams;

use crate::ext;
use crate::loader;
use crate::part_load;
use crate::service;
use crate::session::Session;
use crate::shown_recording::ShownRecording;
use arguments::{CommandArguments, invalid, metric, text};
use requested_load::{StopOnDrop, folder, paths, refused};
use status::{ranks, view};

pub(crate) async fn handle(
    session: &Arc<Session>,
    params: ExecuteCommandParams,
) -> Result<Option<Value>> {
    let arguments = CommandArguments(params.arguments);
    let value = match params.command.as_str() {
        ext::LOAD => load(session, &arguments).await?,
        ext::RECORDINGS => recordings::handle(session, &arguments).await?,
        ext::SET_BASELINE => baseline::set(session, &arguments).await?,
        ext::CLEAR_BASELINE => baseline::clear(session),
        ext::UNLOAD => unload(session),
        ext::SET_METRIC => set_metric(session, &arguments)?,
        ext::SET_STEP => set_step(session, &arguments)?,
        ext::SET_RANK => set_rank(session, &arguments).await?,
        ext::SET_FOLDER => looked_at::set(session, &arguments)?,
        ext::SET_FILTER => set_filter(session, &arguments).await?,
        ext::FILTER_VALUES => filter_values::handle(session).await?,
        ext::HOT_LINES => hot_lines::handle(session, &arguments).await?,
        ext::HEAT => heat::handle(session, &arguments).await?,
        ext::DETAILS => details::handle(session, &arguments).await?,
        ext::FINDINGS => findings::handle(session).await?,
        ext::REPORT => report::handle(session, &arguments).await?,
        ext::FLAME => flame::handle(session).await?,
        ext::TIMELINE => timeline::handle(session, &arguments).await?,
        ext::MEMORY_TIMELINE => memory_timeline::handle(session, &arguments).await?,
        ext::RANK_STEPS => rank_steps::handle(session).await?,
        ext::ROOFLINE => roofline::handle(session).await?,
        ext::PAGE => page::given(session).await?,
        ext::VIEW => page::handle(session, &arguments).await?,
        ext::PLACE => place::handle(session, &arguments).await?,
        ext::SOURCES => sources::list(session).await?,
        ext::LOCATE => sources::locate(session, &arguments).await?,
        ext::STATUS => status::handle(session).await?,
        ext::EXPLAIN => explain(&arguments)?,
        unknown => {
            let commands = ext::COMMANDS.join(", ");
            return Err(invalid(format!(
                "unknown command `{unknown}`, expected one of: {commands}"
            )));
        }
    };
    Ok(service::hand_over(value))
}

/// Loads the named files, or the newest recording, and answers when it is there.
async fn load(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let (paths, folder) = (paths(session, arguments)?, folder(session, arguments)?);
    // Which folders hold library code, and what is a recording, are settings: a client may ask before it has sent its own.
    session.settings_known().await;
    let is_for_front = folder.is_none();
    let Some(target) = loader::find(session, paths, folder).await else {
        let message = "no recording was found in the workspace; name one with paths";
        return Err(invalid(message.to_owned()));
    };
    let (task, cancelled) = loader::start(session, target, is_for_front);
    // What was named may have to be looked at again and again.
    session.look_for_recordings();
    let guard = StopOnDrop(cancelled);
    let result = task.await;
    drop(guard);
    match result {
        Ok(Ok(loaded)) => Ok(status::described(&loaded, &session.snapshots())),
        Ok(Err(failure)) => Err(refused(failure)),
        Err(error) => Err(Error {
            code: ErrorCode::InternalError,
            message: error.to_string().into(),
            data: None,
        }),
    }
}

fn unload(session: &Session) -> Value {
    {
        let mut state = session.state();
        state.is_off = true;
        state.shown.iter_mut().for_each(ShownRecording::clear);
    }
    session.refresh();
    json!({"loaded": false})
}

fn set_metric(session: &Session, arguments: &CommandArguments) -> Result<Value> {
    let names = ["auto"].into_iter().chain(ViewMetric::ALL.map(ViewMetric::name));
    let metric = arguments.need("metric", &names.collect::<Vec<_>>().join(", "))?;
    let metric = self::metric(metric)?;
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

/// Shows the lines of some files and functions alone, and the numbers of a part of the recording; without any of these, all.
/// Answers when the part was read.
async fn set_filter(session: &Session, arguments: &CommandArguments) -> Result<Value> {
    let phase = arguments.get(6, "phase").map(|it| text(it).parse()).transpose();
    let filter = StackFilter {
        code: CodeFilter {
            files: arguments.patterns(0, "files")?,
            functions: arguments.patterns(1, "functions")?,
        },
        phase: phase.map_err(|error| invalid(format!("phase: {error}")))?,
        events: EventChoice {
            modules: arguments.patterns(2, "modules")?,
            steps: arguments.patterns(3, "steps")?,
            threads: arguments.texts(4, "threads")?,
            streams: arguments.integers(5, "streams")?.into_iter().collect(),
        },
    };
    let rank = session.snapshot().books.rank;
    show_part(session, Arc::new(filter), rank).await
}

/// Shows what passes a filter, of a rank or of all, and answers with the view.
async fn show_part(
    session: &Session,
    filter: Arc<StackFilter>,
    rank: Option<u32>,
) -> Result<Value> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let guard = StopOnDrop(Arc::clone(&cancelled));
    part_load::show(session, filter, rank, cancelled).await.map_err(refused)?;
    drop(guard);
    session.refresh();
    Ok(view(&session.snapshot()))
}

/// The page of a rule.
fn explain(arguments: &CommandArguments) -> Result<Value> {
    let ids: Vec<&str> = ide::rules().map(|it| it.id).collect();
    let name = text(arguments.need("rule", &ids.join(", "))?);
    let Some(rule) = ide::rule(&name) else {
        return Err(invalid(format!("unknown rule `{name}`, expected one of: {}", ids.join(", "))));
    };
    Ok(json!({"rule": rule.id, "title": rule.title, "markdown": ide::explanation(rule)}))
}

fn set_step(session: &Session, arguments: &CommandArguments) -> Result<Value> {
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
        _ => {
            return Err(invalid(format!("unknown step `{value}`, expected one of: {}", allowed())));
        }
    };
    session.change_front(|it| it.period = Some(period));
    session.refresh();
    Ok(view(&session.snapshot()))
}

async fn set_rank(session: &Session, arguments: &CommandArguments) -> Result<Value> {
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
        _ => {
            return Err(invalid(format!("unknown rank `{value}`, expected one of: {}", allowed())));
        }
    };
    show_part(session, snapshot.filter, rank).await
}
