//! `perfline.heat`: how hot the lines of a file are.

use std::sync::Arc;

use ide::{PlacedSource, Scope};
use metrics::mark_in_text;
use metrics::numbers::percent;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::arguments::{CommandArguments, invalid, text};
use super::current_files::{CurrentFiles, put_rows, whole};
use super::status::view;
use crate::session::Session;

pub(super) async fn handle(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let uri = arguments.uri(0, "uri")?.ok_or_else(|| invalid("uri is missing".to_owned()))?;
    let lines = arguments.number(1, "firstLine")?.unwrap_or(1)
        ..=arguments.number(2, "lastLine")?.unwrap_or(u32::MAX);
    let scope = arguments.get(3, "scope").map(|value| Scope::parse(&text(value))).transpose();
    let scope = scope.map_err(|error| invalid(error.to_string()))?.unwrap_or_default();
    let documents = session.documents();
    let at = uri.clone();
    let work = session.background_of(&at, move |snapshot, token| {
        let loaded = snapshot.loaded.as_ref().filter(|_| !token.is_cancelled());
        let places = loaded.map(|it| CurrentFiles::new(snapshot, it, &documents, Some(&uri)));
        let hot = places.iter().flat_map(|places| {
            let of = |source: &PlacedSource<'_>| {
                let mut heat = ide::heat(source, &snapshot.view, &lines, scope);
                if let Some(code) = snapshot.shown_code() {
                    let shown = code.lines_of(source);
                    heat.lines.retain(|it| shown.contains(&it.line));
                }
                let lines = heat.lines.iter().map(|it| {
                    json!({
                        "line": it.line,
                        "range": places.range(source, it.line),
                        "quantity": it.quantity.id(),
                        "value": whole(it.value),
                        "text": it.text,
                        "share": it.share,
                        "shareText": percent(it.share),
                        "mark": mark_in_text(it.evidence, it.is_stale),
                        "heat": it.heat,
                        "evidence": it.evidence.name(),
                        "stale": it.is_stale,
                        "function": it.function,
                    })
                });
                (heat.total, lines.collect::<Vec<_>>())
            };
            places.keys(&uri).into_iter().filter_map(move |key| places.with_source(key, of))
        });
        let (totals, lines): (Vec<f64>, Vec<Vec<Value>>) = hot.unzip();
        let (total, lines) = (
            whole(totals.into_iter().fold(0.0, f64::max)),
            lines.into_iter().flatten().collect::<Vec<_>>(),
        );
        let mut answer = json!({"view": view(snapshot), "scope": scope.name(), "total": total});
        put_rows(&mut answer, "lines", lines);
        answer
    });
    work.await
}
