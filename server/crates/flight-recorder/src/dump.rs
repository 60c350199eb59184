//! The layout of a dump.

use std::collections::BTreeMap;

use serde_json::Value;

/// What the flight recorder of one rank held.
#[derive(Debug, Clone, Default)]
pub struct FlightDump {
    /// Of the layout: `2.10`.
    pub version: String,
    /// The ranks of process groups, by name. Of gloo, the name of the default group is empty here.
    pub group_ranks: BTreeMap<String, Vec<u32>>,
    /// How far process groups came, by the number of the group in this process. Absent in older dumps.
    pub progress: BTreeMap<String, GroupProgress>,
    /// The calls, oldest first; the recorder keeps the last some thousand.
    pub entries: Vec<CollectiveEntry>,
    /// What was not read, and why: one line each.
    pub warnings: Vec<String>,
}

/// How far a process group came on one rank, as sequence numbers of its collectives.
#[derive(Debug, Clone, Copy, Default)]
pub struct GroupProgress {
    /// The last that was called.
    pub called: Option<u64>,
    /// The last that is known to have begun on the device.
    pub started: Option<u64>,
    /// The last that ended.
    pub ended: Option<u64>,
}

/// One call of a collective, or of a send or receive.
#[derive(Debug, Clone, Default)]
pub struct CollectiveEntry {
    /// The number of the process group in this process.
    pub group_id: String,
    /// The name of the process group, which all of its ranks know it by.
    pub group: String,
    /// What the program calls it: `default_pg`, `TP`.
    pub description: String,
    /// The number of the collective in its group, from 1; of a send or receive, that of those.
    pub sequence: u64,
    /// Whether it is a send or a receive.
    pub is_point_to_point: bool,
    /// `all_reduce`, `send 0->1`.
    pub kind: String,
    /// Elements of each tensor that went in.
    pub input_elements: Vec<u64>,
    /// Their types, as PyTorch calls them in C++: `Float`.
    pub input_types: Vec<String>,
    /// Whether it is known that it began on the device: gloo does not say, NCCL with `TORCH_NCCL_ENABLE_TIMING` alone.
    pub has_started: bool,
    /// Whether it ended, as far as the entry itself says.
    pub has_ended: bool,
    /// When it was called, in nanoseconds since 1970.
    pub called_ns: u64,
    /// The stack of the call, innermost first. Dumps in JSON have none.
    pub frames: Vec<FlightFrame>,
}

/// A function on the stack of a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlightFrame {
    /// Path as recorded.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// Name of the function.
    pub function: String,
}

/// Why a file is no dump. The message is one line: what is wrong and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The pickle names code to run. Nothing was run.
    #[error(
        "the pickle asks to run code at byte {0}, which no dump of the flight recorder needs; nothing was run"
    )]
    Code(u64),
    /// The pickle is damaged at this byte, before the first whole entry.
    #[error("the pickle is damaged at byte {0}, before the first entry; copy the file again")]
    Pickle(u64),
    /// The JSON is damaged here.
    #[error("the JSON is damaged ({0}); copy the file again")]
    Json(String),
    /// It holds something else.
    #[error("this is no dump of the flight recorder: it has no `entries`")]
    Other,
}

/// Whether a file that begins with `prefix`, of some kilobytes, may be a dump.
#[must_use]
pub fn looks_like_dump(prefix: &[u8]) -> bool {
    let has = |name: &[u8]| prefix.windows(name.len()).any(|it| it == name);
    if snapshot_reader::looks_like_snapshot(prefix) {
        return has(b"pg_config") || has(b"collective_seq_id");
    }
    // Traces have a `pg_config`, too.
    prefix.trim_ascii_start().first() == Some(&b'{')
        && has(b"collective_seq_id")
        && !has(b"traceEvents")
}

/// Reads a dump from all of its bytes, as a pickle or as JSON. Of a pickle that is cut off, the entries before are read, with a
/// warning.
///
/// # Errors
/// If it holds something else, is damaged before the first entry, or asks to run code.
pub fn read_dump(bytes: &[u8]) -> Result<FlightDump, Error> {
    let mut warnings = Vec::new();
    let root = if bytes.trim_ascii_start().first() == Some(&b'{') {
        serde_json::from_slice(bytes).map_err(|error| Error::Json(error.to_string()))?
    } else {
        let pickle = snapshot_reader::read_plain(bytes).map_err(|error| match error {
            snapshot_reader::Error::Code { offset, .. } => Error::Code(offset),
            other => Error::Pickle(other.offset()),
        })?;
        if let Some(damage) = pickle.damage {
            let at = damage.offset();
            warnings
                .push(format!("the pickle is damaged at byte {at}; the calls before were read"));
        }
        if pickle.is_cut {
            warnings.push("it has more calls than are read; the last are left out".to_owned());
        }
        pickle.value
    };
    let entries = root.get("entries").and_then(Value::as_array).ok_or(Error::Other)?;
    let objects = |name: &str| root.get(name).and_then(Value::as_object).into_iter().flatten();
    let mut dump = FlightDump {
        version: text(&root, "version"),
        group_ranks: objects("pg_config").map(|(name, it)| (name.clone(), ranks(it))).collect(),
        progress: objects("pg_status").map(|(id, it)| (id.clone(), progress(it))).collect(),
        entries: entries.iter().filter_map(entry).collect(),
        warnings,
    };
    if dump.entries.len() < entries.len() {
        let n_left_out = entries.len() - dump.entries.len();
        dump.warnings.push(format!("{n_left_out} calls say neither their group nor their number"));
    }
    dump.entries.sort_by_key(|it| it.called_ns);
    Ok(dump)
}

/// An integer that is written as one, or as text (in the statuses of JSON).
fn integer(value: &Value, name: &str) -> Option<i64> {
    let value = value.get(name)?;
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

fn unsigned(value: &Value, name: &str) -> Option<u64> {
    integer(value, name).and_then(|it| u64::try_from(it).ok())
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// `"[0, 1, 2]"`.
fn ranks(group: &Value) -> Vec<u32> {
    let text = text(group, "ranks");
    text.split(|it: char| !it.is_ascii_digit()).filter_map(|it| it.parse().ok()).collect()
}

/// A number that is negative stands for none.
fn progress(status: &Value) -> GroupProgress {
    GroupProgress {
        called: unsigned(status, "last_enqueued_collective"),
        started: unsigned(status, "last_started_collective"),
        ended: unsigned(status, "last_completed_collective"),
    }
}

fn entry(value: &Value) -> Option<CollectiveEntry> {
    let is_point_to_point = value.get("is_p2p").and_then(Value::as_bool).unwrap_or(false);
    let number = if is_point_to_point { "p2p_seq_id" } else { "collective_seq_id" };
    let group = value.get("process_group").and_then(Value::as_array);
    let of_group = |at: usize| group.and_then(|it| it.get(at)).and_then(Value::as_str);
    let name = text(value, "profiling_name");
    let state = text(value, "state");
    let is_retired = value.get("retired").and_then(Value::as_bool).unwrap_or(false);
    Some(CollectiveEntry {
        group_id: integer(value, "pg_id")?.to_string(),
        group: of_group(0).unwrap_or_default().to_owned(),
        description: of_group(1).unwrap_or_default().to_owned(),
        sequence: unsigned(value, number)?,
        is_point_to_point,
        kind: name.rsplit_once(':').map_or(name.as_str(), |(_, kind)| kind).to_owned(),
        input_elements: elements(value, "input_sizes"),
        input_types: array(value, "input_dtypes")
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        has_started: unsigned(value, "time_discovered_started_ns").is_some_and(|it| it != 0)
            || state == "started",
        has_ended: state == "completed" || is_retired,
        called_ns: unsigned(value, "time_created_ns").unwrap_or_default(),
        frames: array(value, "frames").filter_map(frame).collect(),
    })
}

fn array<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// The product of the sizes of each tensor: 1 of a scalar.
fn elements(value: &Value, name: &str) -> Vec<u64> {
    let product = |sizes: &Value| {
        let sizes = sizes.as_array()?.iter().filter_map(Value::as_u64);
        Some(sizes.fold(1, u64::saturating_mul))
    };
    array(value, name).filter_map(product).collect()
}

fn frame(value: &Value) -> Option<FlightFrame> {
    Some(FlightFrame {
        file: text(value, "filename"),
        line: unsigned(value, "line").and_then(|it| u32::try_from(it).ok())?,
        function: text(value, "name"),
    })
}
