//! `perfline.timeline`: what the threads and devices of a rank did in a range of time, as a timeline is drawn from it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ledger::Ns;
use report::timeline::{self, TimelineRange};
use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::arguments::{CommandArguments, invalid};
use super::flame::files;
use super::requested_load::{Drawn, picture};
use crate::config::Recordings;
use crate::load_failure::LoadFailure;
use crate::loaded::LoadedRecording;
use crate::session::Session;

pub(super) async fn handle(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let rank = arguments.number(0, "rank")?;
    let from = time(arguments, 2, "from")?;
    let to = time(arguments, 3, "to")?;
    let wanted = TimelineRange {
        range: from.zip(to),
        step: arguments.number(1, "step")?,
        resolution: time(arguments, 4, "resolution")?,
        ..TimelineRange::EDITOR
    };
    if from.is_some() != to.is_some() {
        return Err(invalid("from and to: expected both or neither".to_owned()));
    }
    picture(session, move |loaded, _, recordings, cancelled| {
        draw(loaded, rank, &wanted, recordings, cancelled)
    })
    .await
}

/// Nanoseconds.
fn time(arguments: &CommandArguments, place: usize, name: &str) -> Result<Option<Ns>> {
    let time = |value: &Value| {
        let time = value.as_i64().filter(|it| *it >= 0).map(Ns);
        time.ok_or_else(|| invalid(format!("{name}: expected whole nanoseconds, found {value}")))
    };
    arguments.get(place, name).map(time).transpose()
}

fn draw(
    loaded: &LoadedRecording,
    rank: Option<u32>,
    wanted: &TimelineRange,
    recordings: &dyn Recordings,
    cancelled: &AtomicBool,
) -> Drawn {
    let events = loaded.timeline(rank, recordings, cancelled)?;
    let unusable = |message: &str| LoadFailure::Unusable(message.to_owned());
    let missing = match rank {
        None => "no trace is loaded; only traces hold what threads and devices did when",
        Some(_) => "no trace of this rank is loaded; choose a rank that perfline.status lists",
    };
    let events = events.ok_or_else(|| unusable(missing))?;
    let recording = loaded.recording();
    let drawn = timeline::timeline(&recording, &events, &recording.title(), wanted);
    let empty = "there is no such step, or the range is empty; an answer without step, from and to lists the steps";
    let mut drawn = drawn.ok_or_else(|| unusable(empty))?;
    drawn["files"] = files(&recording);
    Ok(drawn)
}
