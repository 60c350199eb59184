//! `perfline.memoryTimeline`: what each line held on a device when, as memory over time is drawn from it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use report::memory_timeline::{MemoryTimelineRange, memory_timeline};
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
    let rank: Option<u32> = arguments.number(0, "rank")?;
    let device = arguments.get(1, "device").map(device).transpose()?;
    let (from, to) = (number(arguments, 2, "from")?, number(arguments, 3, "to")?);
    let moment = arguments.get(4, "moment").map(moment).transpose()?;
    if rank.is_some() != device.is_some() {
        return Err(invalid("rank and device: expected both or neither".to_owned()));
    }
    if from.is_some() != to.is_some() {
        return Err(invalid("from and to: expected both or neither".to_owned()));
    }
    if from.zip(to).is_some_and(|(from, to)| to <= from) {
        return Err(invalid("from and to: expected a range that is not empty".to_owned()));
    }
    let mut wanted = MemoryTimelineRange::EDITOR;
    wanted.device = rank.zip(device);
    wanted.history.range = from.zip(to);
    wanted.moment = moment;
    picture(session, move |loaded, _, recordings, cancelled| {
        draw(loaded, &wanted, recordings, cancelled)
    })
    .await
}

/// The ordinal of a device, or -1 for the host's memory.
fn device(value: &Value) -> Result<i32> {
    let number = value.as_i64().filter(|it| *it >= -1).and_then(|it| i32::try_from(it).ok());
    number.ok_or_else(|| {
        invalid(format!("device: expected the number of a device or -1, found {value}"))
    })
}

/// The number of an event, or -1 for before the first.
fn moment(value: &Value) -> Result<i64> {
    let number = value.as_i64().filter(|it| *it >= -1);
    number.ok_or_else(|| {
        invalid(format!("moment: expected the number of an event or -1, found {value}"))
    })
}

/// Nanoseconds, or the number of an event.
fn number(arguments: &CommandArguments, place: usize, name: &str) -> Result<Option<i64>> {
    let number = |value: &Value| {
        let number = value.as_i64().filter(|it| *it >= 0);
        number.ok_or_else(|| invalid(format!("{name}: expected a whole number, found {value}")))
    };
    arguments.get(place, name).map(number).transpose()
}

fn draw(
    loaded: &LoadedRecording,
    wanted: &MemoryTimelineRange,
    recordings: &dyn Recordings,
    cancelled: &AtomicBool,
) -> Drawn {
    let histories = loaded.histories(recordings, cancelled)?;
    let missing = if histories.is_empty() {
        "nothing that is loaded says when memory was in use; record a trace with profile_memory=True, or a memory snapshot with \
         torch.cuda.memory._record_memory_history() and torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")"
    } else {
        "there is no such device; an answer without rank and device lists the devices"
    };
    let recording = loaded.recording();
    let drawn = memory_timeline(&recording, &histories, &recording.title(), wanted);
    let mut drawn = drawn.ok_or_else(|| LoadFailure::Unusable(missing.to_owned()))?;
    drawn["files"] = files(&recording);
    Ok(drawn)
}
