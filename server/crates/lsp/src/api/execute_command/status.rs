//! `perfline.status`: what is loaded and shown.

use std::path::PathBuf;
use std::sync::Arc;

use ide::{Period, View, ViewMetric};
use ledger::SourceFit;
use loader::Input;
use metrics::numbers::percent;
use report::StackFilter;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use crate::loaded::LoadedRecording;
use crate::session::Session;
use crate::session_snapshot::SessionSnapshot;
use crate::snapshots::Snapshots;

pub(super) async fn handle(session: &Arc<Session>) -> Result<Value> {
    session.background_of_all(|snapshots, _| status(snapshots, true)).await
}

/// What is loaded and shown; `with_warnings` of the inputs, which may be many.
pub(crate) fn status(snapshots: &Snapshots, with_warnings: bool) -> Value {
    let snapshot = &snapshots.front;
    let mut status = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "folder": snapshot.folder,
        "pinned": snapshot.pinned.is_some(),
        "others": snapshots.others.iter().map(other).collect::<Vec<_>>(),
        "view": view(snapshot),
        "loaded": snapshot.loaded.is_some(),
        "loading": snapshot.loading.is_some(),
        "baseline": baseline(snapshot),
        "inputs": [],
        "failures": snapshot.failure.as_deref().iter().collect::<Vec<_>>(),
        "soFar": null,
        "lines": 0,
        "withoutLines": null,
        "attributed": {"cpu": null, "cuda": null},
        "attributedText": {"cpu": null, "cuda": null},
        "evidence": {"exact": 0, "inferred": 0, "function": 0},
        "sources": {"found": 0, "edited": 0, "missing": 0, "ambiguous": 0},
        "sitePackages": [],
        "summary": ide::summary_of_nothing(&names(snapshot.loading.as_deref().unwrap_or(&[]))),
    });
    if let (Some(loaded), Some(status)) = (&snapshot.loaded, status.as_object_mut())
        && let Value::Object(found) = of_loaded(loaded, snapshot, with_warnings)
    {
        status.extend(found);
    }
    status
}

/// What is shown of a folder that is not in front.
fn other(snapshot: &SessionSnapshot) -> Value {
    let paths = snapshot.loaded.as_ref().map_or(&[][..], |it| it.inputs());
    json!({
        "folder": snapshot.folder,
        "pinned": snapshot.pinned.is_some(),
        "loading": snapshot.loading.is_some(),
        "paths": paths,
        "name": snapshot.loaded.as_ref().map(|it| it.name()),
    })
}

/// What the recording that is shown is compared with, and what came of it.
pub(super) fn baseline(snapshot: &SessionSnapshot) -> Value {
    let described = snapshot.baseline.as_ref().map(|it| {
        json!({"paths": it.inputs(), "name": it.name(), "verdict": snapshot.verdict.as_deref()})
    });
    described.unwrap_or_default()
}

fn of_loaded(loaded: &LoadedRecording, snapshot: &SessionSnapshot, with_warnings: bool) -> Value {
    let ledger = loaded.ledger(&snapshot.books);
    let coverage = ide::coverage(ledger);
    // That sources of libraries are not here is how it is on most machines, and takes no number away.
    let own = || ledger.files.values().filter(|it| it.is_user_code);
    let sources = |fit| own().filter(|it| it.fit == fit).count();
    // Side-cars belong to their trace.
    let inputs_of_its_own = loaded.run.inputs.iter().filter(|it| !it.kind.is_side_car());
    let paths: Vec<PathBuf> = inputs_of_its_own.map(|it| it.path.clone()).collect();
    let failures = loaded.run.failures.iter().map(String::as_str);
    let mut summary = ide::summary(ledger, &snapshot.view, &names(&paths), snapshot.books.rank);
    if !snapshot.filter.is_empty() {
        summary = format!("{summary} · {}", snapshot.filter.text());
    }
    let part = snapshot.books.part.as_ref();
    if let Some(Err(reason)) = part.map(|it| it.part.as_ref()) {
        summary = format!("{summary}: {reason}");
    }
    json!({
        "inputs": inputs(loaded, with_warnings),
        "failures": failures.chain(snapshot.failure.as_deref()).collect::<Vec<_>>(),
        "soFar": loaded.so_far.map(|it| json!({"steps": it.n_steps, "share": it.share, "text": it.to_string()})),
        "lines": ledger.lines.len(),
        "withoutLines": report::annotate::without_lines(&loaded.run),
        "attributed": {"cpu": coverage.cpu, "cuda": coverage.cuda},
        "attributedText": {"cpu": coverage.cpu.map(percent), "cuda": coverage.cuda.map(percent)},
        "evidence": {
            "exact": coverage.exact,
            "inferred": coverage.inferred,
            "function": coverage.function,
        },
        "sources": {
            "found": sources(SourceFit::Fits),
            "edited": sources(SourceFit::Edited),
            "missing": sources(SourceFit::Missing),
            "ambiguous": own().filter(|it| !it.others.is_empty()).count(),
        },
        "sitePackages": loaded.sites,
        "summary": summary,
    })
}

/// What was loaded.
pub(super) fn described(loaded: &LoadedRecording, snapshots: &Snapshots) -> Value {
    let of_folder = snapshots.all().find(|it| it.folder.as_deref() == Some(loaded.root()));
    let snapshot = of_folder.unwrap_or(&snapshots.front);
    json!({
        "folder": loaded.root(),
        "inputs": inputs(loaded, true),
        "failures": loaded.run.failures,
        "lines": loaded.run.merged.lines.len(),
        "view": view(snapshot),
    })
}

fn inputs(loaded: &LoadedRecording, with_warnings: bool) -> Vec<Value> {
    let input = |input: &Input| {
        let mut described = json!({
            "path": input.path,
            "kind": input.kind.name(),
            "rank": input.rank,
            "events": input.events,
            "bytes": input.bytes,
            "complete": input.complete,
        });
        if with_warnings {
            let warnings = input.warnings.iter().map(|it| it.message.as_str());
            described["warnings"] = warnings.collect();
        }
        described
    };
    loaded.run.inputs.iter().map(input).collect()
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    paths.iter().map(name).collect()
}

/// What is shown, and what else could be.
pub(super) fn view(snapshot: &SessionSnapshot) -> Value {
    view_of_answer(snapshot, &snapshot.view)
}

/// The same with the metric of an answer, which may be another one than that of what is shown.
pub(super) fn view_of_answer(snapshot: &SessionSnapshot, answer: &View) -> Value {
    let view = &snapshot.view;
    let steps: Vec<u32> =
        snapshot.ledger().map(|it| it.steps.keys().copied().collect()).unwrap_or_default();
    let chosen = view.metric.map_or("auto", ViewMetric::name);
    json!({
        "metric": chosen,
        "effectiveMetric":
            snapshot.ledger().map_or(chosen, |ledger| answer.effective_metric(ledger).name()),
        "charge": view.charge.name(),
        "step": match view.period {
            Period::Mean => json!("mean"),
            Period::Run => json!("run"),
            Period::Step(step) => json!(step),
        },
        "rank": snapshot.books.rank.map_or(json!("all"), |rank| json!(rank)),
        "filter": filter(&snapshot.filter),
        "part": view.part.as_ref().map(|it| json!({"filter": it.filter, "extent": it.extent})),
        "steps": steps,
        "ranks": ranks(snapshot),
    })
}

/// What the filter says; without any, lists that are empty.
fn filter(filter: &StackFilter) -> Value {
    let lists = ["files", "functions", "modules", "steps", "threads", "streams"];
    let none = || {
        let lists = lists.map(|it| (it.to_owned(), json!([]))).into_iter();
        Value::Object(lists.chain([("phase".to_owned(), Value::Null)]).collect())
    };
    match filter.json() {
        Value::Null => none(),
        filter => filter,
    }
}

pub(super) fn ranks(snapshot: &SessionSnapshot) -> Vec<u32> {
    snapshot
        .loaded
        .as_ref()
        .map(|it| it.run.ranks.iter().map(|rank| rank.rank).collect())
        .unwrap_or_default()
}
