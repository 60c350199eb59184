//! `perfline.details`: all that is known of a line.

use std::sync::Arc;

use ide::{Details, LineRow, LineSection, ReplayRow, RichText, RunKnowledge, Unit};
use ledger::{LineKey, Ns};
use metrics::numbers::{self, bytes, duration, percent};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::arguments::{CommandArguments, invalid, with_metric};
use super::current_files::{CurrentFiles, count, extend, mark, whole};
use super::findings::finding;
use super::status::view;
use crate::session::Session;

pub(super) async fn handle(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let uri = arguments.uri(0, "uri")?.ok_or_else(|| invalid("uri is missing".to_owned()))?;
    let line = arguments.number(1, "line")?.ok_or_else(|| invalid("line is missing".to_owned()))?;
    let metric = arguments.metric(2)?;
    let documents = session.documents();
    let at = uri.clone();
    let work = session.background_of(&at, move |snapshot, token| {
        let loaded = snapshot.loaded.as_ref().filter(|_| !token.is_cancelled())?;
        let places = CurrentFiles::new(snapshot, loaded, &documents, Some(&uri));
        let shown = with_metric(&snapshot.view, metric);
        let code = snapshot.shown_code();
        let (findings, path) = (snapshot.findings(), snapshot.critical_path());
        let run = RunKnowledge { findings: &findings, path: path.as_deref() };
        let (key, (details, messages)) = places.keys(&uri).into_iter().find_map(|key| {
            let known = places.with_source(key, |source| {
                let is_shown = code.as_ref().is_none_or(|it| it.lines_of(source).contains(&line));
                let details = is_shown.then(|| ide::details(source, &shown, run, line))??;
                let mut messages = ide::current_messages(source, &findings);
                messages.retain(|(place, _)| findings[*place].place.line == details.recorded);
                Some((details, messages))
            });
            Some((key, known??))
        })?;
        let found = messages.iter().map(|(place, message)| finding(&findings[*place], message));
        let mut described = json!({
            "view": view(snapshot),
            "place": place(&places, key, &details),
            "findings": found.collect::<Vec<_>>(),
        });
        extend(&mut described, tables(&places, details));
        Some(described)
    });
    Ok(work.await?.unwrap_or_default())
}

fn place(places: &CurrentFiles<'_>, key: &str, details: &Details) -> Value {
    let line = LineKey { file: key.to_owned(), line: details.recorded };
    let mut place = places.of([line]).pop().unwrap_or_default();
    let known = json!({
        "function": details.function,
        "evidence": details.evidence.name(),
        "mark": mark(&place, details.evidence),
    });
    extend(&mut place, known);
    place
}

fn tables(places: &CurrentFiles<'_>, details: Details) -> Value {
    let Details { tables, text, .. } = details;
    let numbers = tables.numbers.iter().map(|it| {
        let value = if it.unit == Unit::Count { count(it.value) } else { whole(it.value) };
        json!({
            "name": it.name,
            "label": it.label,
            "value": value,
            "unit": it.unit.name(),
            "text": it.text,
            "share": it.share,
            "shareText": it.share.map(percent),
        })
    });
    let kernels = tables.kernels.iter().map(|it| {
        json!({
            "name": it.key.name,
            "shortName": it.short_name,
            "class": it.class.name(),
            "calls": count(it.calls),
            "total": whole(it.total),
            "mean": whole(it.mean),
            "min": it.min.0,
            "max": it.max.0,
            "grid": it.key.grid,
            "block": it.key.block,
            "shapes": it.shapes,
            "occupancy": it.occupancy,
            "streams": it.streams,
            "bytes": whole(it.bytes),
            "text": it.text,
            "texts": {
                "calls": numbers::count(it.calls),
                "total": duration(it.total),
                "mean": duration(it.mean),
                // Of a part the longest run is not known.
                "max": if it.max == Ns::ZERO { String::new() } else { duration(it.max.as_f64()) },
                "occupancy": it.occupancy.map(percent),
                "bytes": (0.0 < it.bytes).then(|| bytes(it.bytes)),
            },
        })
    });
    let operators = tables.operators.iter().map(|it| {
        json!({
            "name": it.name,
            "calls": count(it.calls),
            "cpu": whole(it.cpu),
            "cuda": whole(it.cuda),
            "text": it.text,
            "texts": {
                "calls": numbers::count(it.calls),
                "cpu": duration(it.cpu),
                "cuda": duration(it.cuda),
            },
        })
    });
    let callees = tables.callees.iter().map(|it| {
        json!({
            "name": it.name,
            "place": it.place.clone().and_then(|it| places.of([it]).pop()),
            "calls": count(it.calls),
            "value": whole(it.value),
            "share": it.share,
            "text": it.text,
            "texts": {
                "calls": numbers::count(it.calls),
                "total": duration(it.value),
                "share": percent(it.share),
            },
        })
    });
    let allocations = tables.allocations.iter().map(|it| {
        json!({
            "memory": it.memory,
            "allocs": count(it.allocs),
            "alloc": whole(it.alloc),
            "peak": it.peak.0,
            "live": it.live.0,
            "text": it.text,
            "texts": {
                "allocs": numbers::count(it.allocs),
                "alloc": bytes(it.alloc),
                "peak": bytes(it.peak.as_f64()),
                "live": bytes(it.live.as_f64()),
            },
        })
    });
    let steps = tables
        .steps
        .iter()
        .map(|it| json!({"step": it.step, "value": whole(it.value), "text": it.text}));
    json!({
        "numbers": numbers.collect::<Vec<_>>(),
        "kernels": kernels.collect::<Vec<_>>(),
        "operators": operators.collect::<Vec<_>>(),
        "callers": lines(places, &tables.callers),
        "callees": callees.collect::<Vec<_>>(),
        "waits": lines(places, &tables.waits),
        "replays": replays(places, &tables.replays),
        "generated": lines(places, &tables.generated),
        "allocations": allocations.collect::<Vec<_>>(),
        "steps": steps.collect::<Vec<_>>(),
        "sections": text.0.iter().map(section).collect::<Vec<_>>(),
        "markdown": text.markdown(),
    })
}

fn section(section: &LineSection) -> Value {
    match section {
        LineSection::Title(text) => json!({"kind": "title", "text": text.plain()}),
        LineSection::Text(text) => json!({"kind": "text", "text": text.plain()}),
        LineSection::Table { head, rows } => {
            let row = |row: &Vec<RichText>| row.iter().map(RichText::plain).collect();
            let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
            json!({"kind": "table", "head": head, "rows": rows})
        }
    }
}

fn replays(places: &CurrentFiles<'_>, rows: &[ReplayRow]) -> Vec<Value> {
    let mut lines = lines(places, rows.iter().map(|row| &row.line));
    for (line, row) in lines.iter_mut().zip(rows) {
        extend(line, json!({"replays": count(row.replays)}));
    }
    lines
}

fn lines<'a>(
    places: &CurrentFiles<'_>,
    rows: impl IntoIterator<Item = &'a LineRow> + Clone,
) -> Vec<Value> {
    let mut lines = places.of(rows.clone().into_iter().map(|row| row.place.clone()));
    for (line, row) in lines.iter_mut().zip(rows) {
        let cost = json!({
            "function": row.function,
            "evidence": row.evidence.name(),
            "value": whole(row.value),
            "share": row.share,
            "shareText": percent(row.share),
            "mark": mark(line, row.evidence),
            "text": row.text,
        });
        extend(line, cost);
    }
    lines
}
