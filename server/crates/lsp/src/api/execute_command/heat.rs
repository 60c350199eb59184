//! `perfline.heat`: how hot the lines of a file are.

use std::sync::Arc;

use ide::Scope;
use metrics::mark_in_text;
use metrics::numbers::percent;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::arguments::{CommandArguments, invalid, text};
use super::current_files::{CurrentFiles, whole};
use super::status::view;
use crate::session::Session;

pub(super) async fn handle(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let uri = arguments.uri(0, "uri")?.ok_or_else(|| invalid("uri is missing".to_owned()))?;
    let lines = arguments.number(1, "firstLine")?.unwrap_or(1)
        ..=arguments.number(2, "lastLine")?.unwrap_or(u32::MAX);
    let scope = arguments.get(3, "scope").map(|value| Scope::parse(&text(value))).transpose();
    let scope = scope.map_err(|error| invalid(error.to_string()))?.unwrap_or_default();
    let documents = session.documents();
    let work = session.background(move |snapshot, token| {
        let hot = snapshot.loaded.as_ref().filter(|_| !token.is_cancelled()).and_then(|loaded| {
            let places = CurrentFiles::new(snapshot, loaded, &documents);
            places.with_source(places.key(&uri)?, |source| {
                let mut heat = ide::heat(source, &snapshot.view, &lines, scope);
                if let Some(code) = snapshot.shown_code() {
                    let shown = code.lines_of(source);
                    heat.lines.retain(|it| shown.contains(&it.line));
                }
                let lines = heat.lines.iter().map(|it| {
                    json!({
                        "line": it.line,
                        "range": places.range(source, it.line),
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
                (whole(heat.total), lines.collect::<Vec<_>>())
            })
        });
        let (total, lines) = hot.unwrap_or((json!(0), Vec::new()));
        json!({"view": view(snapshot), "scope": scope.name(), "total": total, "lines": lines})
    });
    work.await
}
