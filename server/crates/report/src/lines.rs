//! Every line with everything it is charged with: the machine-readable contract `perfline.lines/1` (docs/cli.md).

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use ledger::{Arithmetic, Books, Ledger, LineBooks, LineKey, Metric, Ns, SourceFit, TimesByRank};
use loader::Input;
use metrics::{Period, Quantity, Scale, StepSpread, Unit};
use profile::Warning;
use pysource::LineMap;
use ranks::{Comparison, Spread};

use crate::fields::{FieldValue, escaped, object, write_list};
use crate::filter::CodeFilter;
use crate::part::RecordingPart;
use crate::recording::Recording;
use crate::summary::warning;

/// Prints every line that passes `code`, and all that surrounds them, as one object. Of a `part` of the recording, whose amounts
/// are in the place of the whole, what stacks do not have is null.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_json(
    out: &mut dyn Write,
    recording: &Recording<'_>,
    code: &CodeFilter,
    part: Option<&RecordingPart>,
) -> io::Result<()> {
    write_head(out, recording, code, part)?;
    writeln!(out, ",")?;
    write!(out, " \"lines\": [")?;
    let mut separator = "";
    for_each_line(recording, code, part, |mut fields, ranks| {
        // What is not known of a line alone is left out; what no line of a part has is null.
        fields.retain(|(name, value)| {
            !matches!(value, FieldValue::Unknown) || !is_left_out_where_unknown(name)
        });
        if let Some(ranks) = ranks {
            let ranks: Vec<String> = ranks.iter().map(|it| object(it)).collect();
            fields.push(("ranks", FieldValue::Json(format!("[{}]", ranks.join(", ")))));
        }
        write!(out, "{separator}\n  {}", object(&fields))?;
        separator = ",";
        Ok(())
    })?;
    writeln!(out, "]}}")
}

/// Whether JSON leaves out the field of a line on which it has nothing to say.
fn is_left_out_where_unknown(name: &str) -> bool {
    name == "cell" || name.contains("_step_") || name.ends_with("_max_step")
}

/// Prints the object of `perfline.lines/1` up to the lines, which is left open.
fn write_head(
    out: &mut dyn Write,
    recording: &Recording<'_>,
    code: &CodeFilter,
    part: Option<&RecordingPart>,
) -> io::Result<()> {
    let run = recording.run;
    let ledger = &run.merged;
    writeln!(out, r#"{{"schema": "perfline.lines/1","#)?;
    write_list(out, "inputs", run.inputs.iter().map(|it| object(&input(it))))?;
    writeln!(out, ",")?;
    let failures: Vec<_> = run.failures.iter().map(|it| FieldValue::text(it).json()).collect();
    writeln!(out, r#" "failures": [{}],"#, failures.join(", "))?;
    let filter = part.map_or_else(|| code.json(), |it| it.filter.clone());
    writeln!(out, r#" "filter": {},"#, escaped(&filter).trim_end())?;
    writeln!(out, r#" "steps": {},"#, part.map_or(ledger.steps.len(), |it| it.steps))?;
    let mut totals = amounts(&ledger.totals, part);
    let idle_threads = part.is_none().then(|| FieldValue::number(ledger.idle_threads()));
    totals.push(("idle_threads".to_owned(), idle_threads.unwrap_or(FieldValue::Unknown)));
    writeln!(out, r#" "totals": {},"#, object(&totals))?;
    writeln!(out, r#" "unattributed": {},"#, object(&unattributed(ledger, part)))?;
    write!(out, r#" "books": {}"#, object(&books(ledger, part)))
}

/// The object of `perfline.lines/1` without its lines.
///
/// # Errors
/// As of all that is written; what is written to here is memory.
pub(crate) fn head(
    recording: &Recording<'_>,
    code: &CodeFilter,
    part: Option<&RecordingPart>,
) -> io::Result<String> {
    let mut head = Vec::new();
    write_head(&mut head, recording, code, part)?;
    head.push(b'}');
    String::from_utf8(head).map_err(io::Error::other)
}

/// A field of a line by name.
pub(crate) type LineField<'a> = (&'static str, FieldValue<'a>);

/// Hands out every line that passes `code` with its fields, what is not known included, and in a run of several ranks what it
/// costs on each of those where it costs anything.
///
/// # Errors
/// The first that `take` has.
pub(crate) fn for_each_line(
    recording: &Recording<'_>,
    code: &CodeFilter,
    part: Option<&RecordingPart>,
    mut take: impl FnMut(Vec<LineField<'_>>, Option<Vec<[LineField<'static>; 5]>>) -> io::Result<()>,
) -> io::Result<()> {
    let ranks = part.is_none().then(|| RanksOfLines::new(recording)).flatten();
    let scale = Scale::new(&recording.run.merged, Period::Mean);
    for LineOfOutput { key, now, books } in &rows(recording, code) {
        let mut fields = Vec::from(columns_of(key, *now, books, part));
        let cell = match pysource::split_cell_path(&key.file) {
            Some((notebook, index)) => {
                fields[0] = ("file", FieldValue::text(notebook));
                FieldValue::number(index as u64)
            }
            None => FieldValue::Unknown,
        };
        fields.insert(1, ("cell", cell));
        fields.extend(over_steps(&scale, books));
        take(fields, ranks.as_ref().map(|it| it.fields(key, books)))?;
    }
    Ok(())
}

/// What the lines cost each rank of a run of several.
struct RanksOfLines {
    /// The ranks of the run.
    ranks: BTreeSet<u32>,
    /// By line under the names of the output: the time in matched collectives before, and after, all ranks had begun.
    waits: BTreeMap<LineKey, BTreeMap<u32, (Ns, Ns)>>,
}

impl RanksOfLines {
    /// `None` of a run of one rank.
    fn new(recording: &Recording<'_>) -> Option<Self> {
        let ledger = &recording.run.merged;
        let compared = Comparison::new(ledger).filter(|it| 1 < it.ranks.len())?;
        let mut waits: BTreeMap<LineKey, BTreeMap<u32, (Ns, Ns)>> = BTreeMap::new();
        for (key, of_line) in compared.waits_by_line() {
            let file = recording.file(&key.file).to_owned();
            let mine = waits.entry(LineKey { file, line: key.line }).or_default();
            for (rank, (wait, transfer)) in of_line {
                let (my_wait, my_transfer) = mine.entry(rank).or_default();
                *my_wait = my_wait.saturating_add(wait);
                *my_transfer = my_transfer.saturating_add(transfer);
            }
        }
        let ranks = compared.ranks.iter().map(|it| it.rank).collect();
        Some(Self { ranks, waits })
    }

    /// In the order of [`AMOUNTS_BY_RANK`]: own time on threads and on devices, time in matched collectives before and after all
    /// ranks had begun.
    fn times(&self, key: &LineKey, books: &LineBooks) -> [TimesByRank; 4] {
        let waits = self.waits.get(key);
        let in_collectives = |of: fn(&(Ns, Ns)) -> Ns| {
            let times = waits.into_iter().flatten().map(|(&rank, times)| (rank, of(times)));
            let by_rank = times.filter(|(_, time)| *time != Ns::ZERO).collect();
            TimesByRank { by_rank, ..TimesByRank::default() }
        };
        let [wait, transfer] = [in_collectives(|it| it.0), in_collectives(|it| it.1)];
        [books.by_rank.host(), books.by_rank.device(), wait, transfer]
    }

    /// The ranks on which the line costs anything, and all together of which it is not kept what it costs on each.
    fn fields(&self, key: &LineKey, books: &LineBooks) -> Vec<[LineField<'static>; 5]> {
        let times = self.times(key, books);
        let ranks: BTreeSet<u32> = times.iter().flat_map(|it| it.by_rank.keys().copied()).collect();
        let row = |rank: FieldValue<'static>, amounts: [FieldValue<'static>; 4]| {
            let [cpu, cuda, wait, transfer] = amounts;
            [
                ("rank", rank),
                ("cpu_own_us", cpu),
                ("cuda_own_us", cuda),
                ("comm_wait_us", wait),
                ("comm_transfer_us", transfer),
            ]
        };
        let on = |times: &TimesByRank, rank: u32| match times.by_rank.get(&rank) {
            Some(time) => FieldValue::Time(*time),
            None if times.others.is_empty() => FieldValue::Time(Ns::ZERO),
            None => FieldValue::Unknown,
        };
        let each = |rank: u32| {
            row(FieldValue::number(rank), std::array::from_fn(|of| on(&times[of], rank)))
        };
        let mut rows: Vec<_> = ranks.into_iter().map(each).collect();
        if times.iter().any(|it| !it.others.is_empty()) {
            let of_others = |of: usize| FieldValue::Time(times[of].of_others);
            rows.push(row(FieldValue::Unknown, std::array::from_fn(of_others)));
        }
        rows
    }

    /// The columns that CSV has of runs of several ranks.
    fn names() -> impl Iterator<Item = String> {
        AMOUNTS_BY_RANK.iter().flat_map(|name| {
            ["min_us", "median_us", "max_us", "worst_rank"].map(|it| format!("{name}_{it}"))
        })
    }

    /// Of each amount the least, the median and the most over all ranks, and the rank with most, if any has some.
    fn columns(&self, key: &LineKey, books: &LineBooks) -> Vec<FieldValue<'static>> {
        let mut columns = Vec::new();
        for times in self.times(key, books) {
            let spread = Spread::of(&self.ranks, &times);
            columns.extend(match spread.filter(|it| Ns::ZERO < it.max) {
                Some(it) => [
                    FieldValue::Time(it.min),
                    FieldValue::Time(it.median),
                    FieldValue::Time(it.max),
                    FieldValue::number(it.worst),
                ],
                None => [
                    FieldValue::Time(Ns::ZERO),
                    FieldValue::Time(Ns::ZERO),
                    FieldValue::Time(Ns::ZERO),
                    FieldValue::text(""),
                ],
            });
        }
        columns
    }
}

/// What is said of a line on each rank, in the order of [`RanksOfLines::times`].
const AMOUNTS_BY_RANK: [&str; 4] = ["cpu_own", "cuda_own", "comm_wait", "comm_transfer"];

/// Prints every line that passes `code` as CSV, with a header; what is not known of a `part` is empty.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_csv(
    out: &mut dyn Write,
    recording: &Recording<'_>,
    code: &CodeFilter,
    part: Option<&RecordingPart>,
) -> io::Result<()> {
    let ranks = part.is_none().then(|| RanksOfLines::new(recording)).flatten();
    let scale = Scale::new(&recording.run.merged, Period::Mean);
    let (key, blank) = (LineKey { file: String::new(), line: 0 }, LineBooks::default());
    let names = columns(&key, LineNow::default(), &blank).into_iter();
    let names = names.chain(over_steps(&scale, &blank)).map(|(name, _)| name.to_owned());
    let of_ranks = ranks.iter().flat_map(|_| RanksOfLines::names());
    let names: Vec<String> = names.chain(of_ranks).collect();
    writeln!(out, "{}", names.join(","))?;
    for LineOfOutput { key, now, books } in &rows(recording, code) {
        let of_ranks = ranks.iter().flat_map(|it| it.columns(key, books));
        let named = columns_of(key, *now, books, part).into_iter();
        let named = named.chain(over_steps(&scale, books));
        let values = named.map(|(_, value)| value).chain(of_ranks);
        writeln!(out, "{}", values.map(|it| it.csv()).collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

/// The columns of a line by name, in the order of the contract.
fn columns<'a>(
    key: &'a LineKey,
    now: LineNow,
    it: &'a LineBooks,
) -> [(&'static str, FieldValue<'a>); 29] {
    [
        ("file", FieldValue::text(&*key.file)),
        ("line", FieldValue::number(key.line)),
        ("function", FieldValue::text(&*it.function)),
        ("evidence", FieldValue::text(it.evidence.name())),
        ("calls", FieldValue::number(it.calls)),
        ("ops", FieldValue::number(it.ops)),
        ("cpu_self_us", FieldValue::Time(it.cpu_self)),
        ("cpu_own_us", FieldValue::Time(it.cpu_own)),
        ("cpu_total_us", FieldValue::Time(it.cpu_total)),
        ("cpu_backward_us", FieldValue::Time(it.cpu_backward)),
        ("cuda_own_us", FieldValue::Time(it.cuda_own)),
        ("cuda_total_us", FieldValue::Time(it.cuda_total)),
        ("cuda_backward_us", FieldValue::Time(it.cuda_backward)),
        ("kernels", FieldValue::number(it.kernels)),
        ("sync_us", FieldValue::Time(it.sync)),
        ("syncs", FieldValue::number(it.syncs)),
        ("gpu_idle_us", FieldValue::Time(it.gpu_idle)),
        ("alloc_bytes", FieldValue::bytes(it.alloc)),
        ("freed_bytes", FieldValue::bytes(it.freed)),
        ("peak_bytes", FieldValue::bytes(it.peak)),
        ("comm_us", FieldValue::Time(it.comm)),
        ("comm_exposed_us", FieldValue::Time(it.comm_exposed)),
        ("flops", FieldValue::number(it.flops())),
        ("achieved_flops", achieved(it)),
        ("waiting_us", FieldValue::Time(it.waiting)),
        ("line_now", now.line.map_or(FieldValue::Unknown, FieldValue::number)),
        ("stale", FieldValue::Flag(now.is_stale)),
        ("cpu_recompute_us", FieldValue::Time(it.recompute.cpu)),
        ("cuda_recompute_us", FieldValue::Time(it.recompute.cuda)),
    ]
}

/// The columns of a line; of a part of the recording, those that its stacks have.
fn columns_of<'a>(
    key: &'a LineKey,
    now: LineNow,
    it: &'a LineBooks,
    part: Option<&RecordingPart>,
) -> [(&'static str, FieldValue<'a>); 29] {
    columns(key, now, it).map(|(name, value)| {
        let is_known = match name {
            "calls" | "ops" | "cpu_backward_us" | "cuda_backward_us" | "cpu_recompute_us"
            | "cuda_recompute_us" | "kernels" | "syncs" | "freed_bytes" | "peak_bytes"
            | "comm_us" | "comm_exposed_us" | "flops" | "achieved_flops" => part.is_none(),
            "alloc_bytes" => has(part, Metric::Alloc),
            _ => true,
        };
        (name, if is_known { value } else { FieldValue::Unknown })
    })
}

/// Whether a metric is known of what is printed.
fn has(part: Option<&RecordingPart>, metric: Metric) -> bool {
    part.is_none_or(|it| it.metrics.contains(&metric))
}

/// How much the line differs from step to step, by name. Without steps to compare nothing is known, of fewer than 100 no
/// percentile.
fn over_steps(scale: &Scale<'_>, it: &LineBooks) -> Vec<(&'static str, FieldValue<'static>)> {
    let table = [
        (
            Quantity::CpuOwn,
            [
                "cpu_own_step_median_us",
                "cpu_own_step_p99_us",
                "cpu_own_step_max_us",
                "cpu_own_max_step",
            ],
        ),
        (
            Quantity::CudaOwn,
            [
                "cuda_own_step_median_us",
                "cuda_own_step_p99_us",
                "cuda_own_step_max_us",
                "cuda_own_max_step",
            ],
        ),
    ];
    // A mean over ranks may have parts of a nanosecond.
    let time = |it: f64| FieldValue::Time(Ns(it.round() as i64));
    let columns = |(quantity, names): (Quantity, [&'static str; 4])| {
        let spread = StepSpread::new(scale, quantity, it);
        let values = [
            spread.map(|it| time(it.median)),
            spread.and_then(|it| it.p99).map(time),
            spread.map(|it| time(it.most)),
            spread.map(|it| FieldValue::number(it.most_in)),
        ];
        let values = values.map(|it| it.unwrap_or(FieldValue::Unknown));
        names.into_iter().zip(values)
    };
    table.into_iter().flat_map(columns).collect()
}

/// FLOP/s while the device (the host, without one) worked on it; 0 where no FLOPs are known.
fn achieved(it: &LineBooks) -> FieldValue<'static> {
    let rate = Arithmetic::sum(&it.arithmetic).rate().unwrap_or(0.0);
    FieldValue::number(rate.round() as u64)
}

/// A line of the output.
struct LineOfOutput<'a> {
    /// Under the name that its file has in the output.
    key: LineKey,
    now: LineNow,
    /// Those of the ledger, but where two lines of it are one here. Boxed as there: a place for books themselves is as large as they
    /// are, also where they are borrowed.
    books: Cow<'a, Box<LineBooks>>,
}

/// Where a recorded line is in the file as it is now.
#[derive(Debug, Clone, Copy, Default)]
struct LineNow {
    /// `None` where it is gone, where there is no file, or where it is not known what became of it.
    line: Option<u32>,
    /// Whether its text was changed since, or may have been.
    is_stale: bool,
}

impl LineNow {
    fn new(fit: SourceFit, map: Option<&LineMap>, line: u32) -> Self {
        match (fit, map.map(|map| map.current(line))) {
            (SourceFit::Missing, _) => Self::default(),
            (SourceFit::Fits, None) => Self { line: Some(line), is_stale: false },
            (SourceFit::Fits | SourceFit::Edited, Some(Some(at))) => {
                Self { line: Some(at.line), is_stale: at.is_edited }
            }
            (SourceFit::Fits | SourceFit::Edited, _) => Self { line: None, is_stale: true },
        }
    }
}

/// The lines that pass `code`, under the names of the output, by own CPU time, largest first; ties by file and line.
fn rows<'a>(recording: &Recording<'a>, code: &CodeFilter) -> Vec<LineOfOutput<'a>> {
    let ledger = &recording.run.merged;
    let mut maps: BTreeMap<&str, (SourceFit, Option<LineMap>)> = BTreeMap::new();
    let mut renamed = BTreeMap::<_, (LineNow, Cow<'_, _>)>::new();
    for (key, books) in &ledger.lines {
        let (fit, map) = maps.entry(&key.file).or_insert_with(|| {
            let file = ledger.files.get(&key.file);
            let fit = file.map_or(SourceFit::Missing, |file| file.fit);
            let path = file.and_then(|file| file.path.as_deref());
            let is_elsewhere =
                fit == SourceFit::Edited || path.and_then(pysource::split_text_cell_path).is_some();
            (fit, is_elsewhere.then(|| recording.present(&key.file)?.map).flatten())
        });
        let now = LineNow::new(*fit, map.as_ref(), key.line);
        let file = recording.file(&key.file).to_owned();
        match renamed.entry(LineKey { file, line: key.line }) {
            Entry::Vacant(entry) => {
                entry.insert((now, Cow::Borrowed(books)));
            }
            // Two spellings of one file (`train.py`, `/home/me/train.py`) may lead to one name: they are one line.
            Entry::Occupied(mut entry) => entry.get_mut().1.to_mut().merge(books),
        }
    }
    renamed.retain(|key, (_, books)| code.passes(&key.file, &books.function));
    let rows = renamed.into_iter().map(|(key, (now, books))| LineOfOutput { key, now, books });
    let mut rows: Vec<_> = rows.collect();
    // The map is in order of file and line, and the sort is stable.
    rows.sort_by_key(|row| std::cmp::Reverse(row.books.cpu_own));
    rows
}

fn input(input: &Input) -> Vec<(&'static str, FieldValue<'static>)> {
    let warnings =
        input.warnings.iter().map(|it| FieldValue::text(warning(it)).json()).collect::<Vec<_>>();
    let anomalies: Vec<_> = input.warnings.iter().map(anomaly).collect();
    vec![
        ("path", FieldValue::text(input.path.display().to_string())),
        ("kind", FieldValue::text(input.kind.name())),
        ("rank", FieldValue::number(input.rank)),
        ("events", FieldValue::number(input.events)),
        ("bytes", FieldValue::number(input.bytes)),
        ("complete", FieldValue::Json(input.complete.to_string())),
        ("warnings", FieldValue::Json(format!("[{}]", warnings.join(", ")))),
        ("anomalies", FieldValue::Json(format!("[{}]", anomalies.join(", ")))),
    ]
}

/// A warning for programs that decide by it.
fn anomaly(warning: &Warning) -> String {
    let offset = warning.offset.map_or_else(|| "null".to_owned(), |it| it.to_string());
    object(&[
        ("kind", FieldValue::text(warning.kind.name())),
        ("severity", FieldValue::text(warning.kind.severity().name())),
        ("count", FieldValue::number(warning.count)),
        ("offset", FieldValue::Json(offset)),
    ])
}

fn amounts(books: &Books, part: Option<&RecordingPart>) -> Vec<(String, FieldValue<'static>)> {
    let amount = |metric| match has(part, metric) {
        true => amount(metric, books.get(metric)),
        false => FieldValue::Unknown,
    };
    Metric::ALL.map(|metric| (field(metric), amount(metric))).into()
}

fn unattributed(
    ledger: &Ledger,
    part: Option<&RecordingPart>,
) -> Vec<(String, FieldValue<'static>)> {
    let mut fields = amounts(&ledger.unattributed.sum(), part);
    let reasons: Vec<_> = ledger
        .unattributed
        .iter()
        .map(|(reason, books)| {
            let there = Metric::ALL.into_iter().filter(|&metric| books.get(metric) != 0);
            let amounts: Vec<_> =
                there.map(|metric| (field(metric), amount(metric, books.get(metric)))).collect();
            (reason.name(), FieldValue::Json(object(&amounts)))
        })
        .collect();
    fields.push(("reasons".to_owned(), FieldValue::Json(object(&reasons))));
    fields
}

fn books(ledger: &Ledger, part: Option<&RecordingPart>) -> Vec<(String, FieldValue<'static>)> {
    let balances = ledger.balances();
    let mut fields =
        vec![("balanced".to_owned(), FieldValue::Json(ledger.adds_up_with(&balances).to_string()))];
    fields.extend(balances.map(|it| {
        let sides = [
            ("lines", amount(it.metric, it.lines)),
            ("unattributed", amount(it.metric, it.unattributed)),
            ("total", amount(it.metric, it.total)),
        ];
        let is_known = has(part, it.metric);
        let sides = if is_known { FieldValue::Json(object(&sides)) } else { FieldValue::Unknown };
        (field(it.metric), sides)
    }));
    fields
}

/// The name of a metric in the contract: its own, with the unit that amounts have there.
fn field(metric: Metric) -> String {
    let unit = match metric.unit() {
        Unit::Ns => "_us",
        Unit::Bytes => "_bytes",
        _ => "",
    };
    format!("{}{unit}", metric.id())
}

fn amount(metric: Metric, amount: i64) -> FieldValue<'static> {
    match metric.unit() {
        Unit::Ns => FieldValue::Time(Ns(amount)),
        _ => FieldValue::number(amount),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use expect_test::expect;
    use ledger::{HostDeviceTime, RankShare, RankShares, SourceFile};
    use loader::Run;

    use crate::testing::{recording, sources, training};

    fn json(run: &Run) -> String {
        let mut out = Vec::new();
        write_json(&mut out, &recording(run, &sources()), &CodeFilter::default(), None).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn csv(run: &Run) -> String {
        let mut out = Vec::new();
        write_csv(&mut out, &recording(run, &sources()), &CodeFilter::default(), None).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_is_the_contract_one_entry_a_line() {
        let text = json(&training());
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
        expect![[r#"
            {"schema": "perfline.lines/1",
             "inputs": [
              {"path": "trace.json.gz", "kind": "kineto", "rank": 0, "events": 1234, "bytes": 567890, "complete": false, "warnings": ["the file ends inside an event; everything before was read (at byte 12345)"], "anomalies": [{"kind": "truncated", "severity": "data_loss", "count": 1, "offset": 12345}]}],
             "failures": [],
             "filter": null,
             "steps": 2,
             "totals": {"cpu_us": 20500, "cuda_us": 24000.5, "gpu_idle_us": 4000, "sync_us": 5000, "alloc_bytes": 3145728, "comm_us": 1000, "comm_exposed_us": 400, "flops": 6000000, "waiting_us": 700, "idle_threads": 2},
             "unattributed": {"cpu_us": 600, "cuda_us": 0, "gpu_idle_us": 0, "sync_us": 0, "alloc_bytes": 0, "comm_us": 0, "comm_exposed_us": 0, "flops": 0, "waiting_us": 300, "reasons": {"no_python_frame": {"cpu_us": 600}, "idle_thread": {"waiting_us": 300}}},
             "books": {"balanced": true, "cpu_us": {"lines": 19900, "unattributed": 600, "total": 20500}, "cuda_us": {"lines": 24000.5, "unattributed": 0, "total": 24000.5}, "gpu_idle_us": {"lines": 4000, "unattributed": 0, "total": 4000}, "sync_us": {"lines": 5000, "unattributed": 0, "total": 5000}, "alloc_bytes": {"lines": 3145728, "unattributed": 0, "total": 3145728}, "comm_us": {"lines": 1000, "unattributed": 0, "total": 1000}, "comm_exposed_us": {"lines": 400, "unattributed": 0, "total": 400}, "flops": {"lines": 6000000, "unattributed": 0, "total": 6000000}, "waiting_us": {"lines": 400, "unattributed": 300, "total": 700}},
             "lines": [
              {"file": "train.py", "line": 25, "function": "train", "evidence": "exact", "calls": 6, "ops": 0, "cpu_self_us": 0, "cpu_own_us": 8000, "cpu_total_us": 19800, "cpu_backward_us": 0, "cuda_own_us": 12000, "cuda_total_us": 24000.5, "cuda_backward_us": 0, "kernels": 0, "sync_us": 0, "syncs": 0, "gpu_idle_us": 0, "alloc_bytes": 0, "freed_bytes": 0, "peak_bytes": 0, "comm_us": 0, "comm_exposed_us": 0, "flops": 0, "achieved_flops": 0, "waiting_us": 0, "line_now": 25, "stale": false, "cpu_recompute_us": 0, "cuda_recompute_us": 0, "cpu_own_step_median_us": 4000, "cpu_own_step_max_us": 4000, "cpu_own_max_step": 2, "cuda_own_step_median_us": 6000, "cuda_own_step_max_us": 6000, "cuda_own_max_step": 2},
              {"file": "train.py", "line": 17, "function": "Model.forward", "evidence": "exact", "calls": 40, "ops": 20, "cpu_self_us": 2000, "cpu_own_us": 6000, "cpu_total_us": 6000, "cpu_backward_us": 3000, "cuda_own_us": 12000.5, "cuda_total_us": 12000.5, "cuda_backward_us": 8000, "kernels": 84, "sync_us": 0, "syncs": 0, "gpu_idle_us": 1000, "alloc_bytes": 2097152, "freed_bytes": 1048576, "peak_bytes": 1048576, "comm_us": 1000, "comm_exposed_us": 400, "flops": 6000000, "achieved_flops": 3000000000, "waiting_us": 0, "line_now": 17, "stale": false, "cpu_recompute_us": 0, "cuda_recompute_us": 0, "cpu_own_step_median_us": 3000, "cpu_own_step_max_us": 3000, "cpu_own_max_step": 2, "cuda_own_step_median_us": 6000.25, "cuda_own_step_max_us": 6000.25, "cuda_own_max_step": 2},
              {"file": "train.py", "line": 18, "function": "Model.forward", "evidence": "inferred", "calls": 4, "ops": 4, "cpu_self_us": 0, "cpu_own_us": 5200, "cpu_total_us": 5200, "cpu_backward_us": 0, "cuda_own_us": 0, "cuda_total_us": 0, "cuda_backward_us": 0, "kernels": 2, "sync_us": 5000, "syncs": 2, "gpu_idle_us": 3000, "alloc_bytes": 1048576, "freed_bytes": 0, "peak_bytes": 0, "comm_us": 0, "comm_exposed_us": 0, "flops": 0, "achieved_flops": 0, "waiting_us": 0, "line_now": 18, "stale": false, "cpu_recompute_us": 0, "cuda_recompute_us": 0, "cpu_own_step_median_us": 2600, "cpu_own_step_max_us": 2600, "cpu_own_max_step": 2},
              {"file": "helper.py", "line": 4, "function": "load, \"fast\"", "evidence": "function", "calls": 0, "ops": 0, "cpu_self_us": 0, "cpu_own_us": 400, "cpu_total_us": 400, "cpu_backward_us": 0, "cuda_own_us": 0, "cuda_total_us": 0, "cuda_backward_us": 0, "kernels": 0, "sync_us": 0, "syncs": 0, "gpu_idle_us": 0, "alloc_bytes": 0, "freed_bytes": 0, "peak_bytes": 0, "comm_us": 0, "comm_exposed_us": 0, "flops": 0, "achieved_flops": 0, "waiting_us": 400, "line_now": null, "stale": false, "cpu_recompute_us": 0, "cuda_recompute_us": 0, "cpu_own_step_median_us": 200, "cpu_own_step_max_us": 200, "cpu_own_max_step": 2},
              {"file": "train.py", "line": 15, "function": "Model.forward", "evidence": "function", "calls": 0, "ops": 0, "cpu_self_us": 0, "cpu_own_us": 300, "cpu_total_us": 0, "cpu_backward_us": 0, "cuda_own_us": 0, "cuda_total_us": 0, "cuda_backward_us": 0, "kernels": 0, "sync_us": 0, "syncs": 0, "gpu_idle_us": 0, "alloc_bytes": 0, "freed_bytes": 0, "peak_bytes": 0, "comm_us": 0, "comm_exposed_us": 0, "flops": 0, "achieved_flops": 0, "waiting_us": 0, "line_now": 15, "stale": false, "cpu_recompute_us": 0, "cuda_recompute_us": 0, "cpu_own_step_median_us": 150, "cpu_own_step_max_us": 150, "cpu_own_max_step": 2},
              {"file": "torch/nn/functional.py", "line": 1700, "function": "relu", "evidence": "exact", "calls": 0, "ops": 0, "cpu_self_us": 3999.999, "cpu_own_us": 0, "cpu_total_us": 4000, "cpu_backward_us": 0, "cuda_own_us": 0, "cuda_total_us": 0, "cuda_backward_us": 0, "kernels": 0, "sync_us": 0, "syncs": 0, "gpu_idle_us": 0, "alloc_bytes": 0, "freed_bytes": 0, "peak_bytes": 0, "comm_us": 0, "comm_exposed_us": 0, "flops": 0, "achieved_flops": 0, "waiting_us": 0, "line_now": null, "stale": false, "cpu_recompute_us": 0, "cuda_recompute_us": 0}]}
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn an_empty_recording_is_valid_json_too() {
        let run = Run {
            inputs: Vec::new(),
            failures: Vec::new(),
            ranks: Vec::new(),
            merged: Ledger::default(),
            texts: loader::TextsByFile::new(),
            commit: None,
            stacks: None,
            timeline: None,
            histories: Vec::new(),
        };
        let value: serde_json::Value = serde_json::from_str(&json(&run)).unwrap();
        assert_eq!(value["lines"], serde_json::json!([]));
        assert_eq!(value["totals"]["cpu_us"], serde_json::json!(0));
    }

    #[test]
    fn csv_has_the_same_columns_and_quotes_what_needs_it() {
        let text = csv(&training());
        assert_eq!(
            text.lines().next(),
            Some(
                "file,line,function,evidence,calls,ops,cpu_self_us,cpu_own_us,cpu_total_us,cpu_backward_us,cuda_own_us,cuda_total_us,cuda_backward_us,kernels,sync_us,syncs,gpu_idle_us,alloc_bytes,freed_bytes,peak_bytes,comm_us,comm_exposed_us,flops,achieved_flops,waiting_us,line_now,stale,cpu_recompute_us,cuda_recompute_us,cpu_own_step_median_us,cpu_own_step_p99_us,cpu_own_step_max_us,cpu_own_max_step,cuda_own_step_median_us,cuda_own_step_p99_us,cuda_own_step_max_us,cuda_own_max_step"
            )
        );
        assert_eq!(
            text.lines().find(|it| it.starts_with("helper")),
            Some(
                "helper.py,4,\"load, \"\"fast\"\"\",function,0,0,0,400,400,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,400,,false,0,0,200,,200,2,,,,"
            )
        );
        assert_eq!(text.lines().count(), 1 + 6);
    }

    #[test]
    fn csv_of_several_ranks_says_which_is_the_worst() {
        let mut run = training();
        for rank in 0..3 {
            run.merged.overviews.entry(rank).or_default();
        }
        let key = LineKey { file: "train.py".to_owned(), line: 17 };
        let times = [(0, 1_000_000), (1, 4_500_000), (2, 500_000)];
        let books = run.merged.lines.get_mut(&key).unwrap();
        let shares = times.map(|(rank, time)| RankShare::of_thread(rank, Ns(time)));
        books.by_rank = shares.into_iter().collect();
        let text = csv(&run);
        let header = text.lines().next().unwrap();
        assert!(
            header.ends_with(
                ",cpu_own_min_us,cpu_own_median_us,cpu_own_max_us,cpu_own_worst_rank,cuda_own_min_us,cuda_own_median_us,cuda_own_max_us,cuda_own_worst_rank,comm_wait_min_us,comm_wait_median_us,comm_wait_max_us,comm_wait_worst_rank,comm_transfer_min_us,comm_transfer_median_us,comm_transfer_max_us,comm_transfer_worst_rank"
            ),
            "{header}"
        );
        let line = text.lines().find(|it| it.starts_with("train.py,17,")).unwrap();
        assert!(line.ends_with(",500,1000,4500,1,0,0,0,,0,0,0,,0,0,0,"), "{line}");
        let n = header.split(',').count();
        let plain = text.lines().filter(|it| !it.contains('"'));
        assert!(plain.clone().count() > 3 && plain.clone().all(|it| it.split(',').count() == n));
    }

    #[test]
    fn many_ranks_on_which_a_line_is_small_are_one_entry() {
        let mut run = training();
        let key = LineKey { file: "train.py".to_owned(), line: 17 };
        let mut books = run.merged.lines[&key].clone();
        for rank in 0..100 {
            run.merged.overviews.entry(rank).or_default();
            let time = if rank == 3 { 50_000_000 } else { 1_000 + 10 * i64::from(rank) };
            let share = RankShare::of_thread(rank, Ns(time));
            let by_rank = RankShares::of_rank(&share, Ns(100_000_000));
            books.merge(&LineBooks { by_rank, ..LineBooks::default() });
        }
        run.merged.lines.insert(key, books);
        let lines: serde_json::Value = serde_json::from_str(&json(&run)).unwrap();
        let lines = lines["lines"].as_array().unwrap().iter();
        let ranks: Vec<String> = lines
            .filter(|it| it["line"] == 17)
            .flat_map(|it| it["ranks"].as_array().unwrap())
            .map(|it| format!("{} {} {}", it["rank"], it["cpu_own_us"], it["cuda_own_us"]))
            .collect();
        // 98 ranks take 1 to 1.98 µs, rank 99 most of those on which it is small.
        assert_eq!(ranks, ["3 50000 0", "99 1.99 0", "null 146.48 0"]);
        let csv = csv(&run);
        let line = csv.lines().find(|it| it.starts_with("train.py,17,")).unwrap();
        assert!(line.ends_with(",1,1.504,50000,3,0,0,0,,0,0,0,,0,0,0,"), "{line}");
    }

    #[test]
    fn two_spellings_of_a_file_below_the_root_are_one() {
        let mut run = training();
        let twin = run.merged.files["train.py"].clone();
        let twin = SourceFile { recorded: "/home/me/train.py".to_owned(), ..twin };
        run.merged.files.insert(twin.recorded.clone(), twin);
        let mut books =
            run.merged.lines[&LineKey { file: "train.py".to_owned(), line: 17 }].clone();
        books.recompute = HostDeviceTime { cpu: Ns(1_000_000), cuda: Ns(2_000_500) };
        run.merged.lines.insert(LineKey { file: "/home/me/train.py".to_owned(), line: 17 }, books);
        let text = csv(&run);
        let mine: Vec<&str> = text.lines().filter(|it| it.contains("train.py,17,")).collect();
        assert_eq!(
            mine,
            [
                "train.py,17,Model.forward,exact,80,40,4000,12000,12000,6000,24001,24001,16000,168,0,0,2000,4194304,2097152,2097152,2000,800,12000000,3000000000,0,17,false,1000,2000.5,6000,,6000,2,12000.5,,12000.5,2"
            ]
        );
    }
}
