//! `perfline.hotLines`: the lines that cost most.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ide::HotLine;
use ledger::LineKey;
use metrics::numbers::percent;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::Result;

use super::arguments::{CommandArguments, invalid, text, with_metric};
use super::current_files::{CurrentFiles, extend, mark, put_rows, whole};
use super::status::{view, view_of_answer};
use crate::session::Session;
use crate::session_snapshot::SessionSnapshot;

/// Lines that are listed if it is not said how many.
const LIMIT: u32 = 20;

pub(super) async fn handle(session: &Arc<Session>, arguments: &CommandArguments) -> Result<Value> {
    let limit = arguments.number(0, "limit")?.unwrap_or(LIMIT) as usize;
    let uri = arguments.uri(1, "uri")?;
    let lines = arguments.number(2, "firstLine")?.unwrap_or(0)
        ..=arguments.number(3, "lastLine")?.unwrap_or(u32::MAX);
    let metric = arguments.metric(4)?;
    let own_only = arguments.flag(5, "ownOnly")?;
    let notable = arguments.flag(6, "notable")?.unwrap_or(false);
    let by_difference = match arguments.get(7, "sort").map(text).as_deref() {
        None | Some("value") => false,
        Some("difference") => true,
        Some(other) => {
            let message = format!("unknown order `{other}`, expected one of: value, difference");
            return Err(invalid(message));
        }
    };
    let documents = session.documents();
    let at = uri.clone();
    let work = move |snapshot: &SessionSnapshot, token: &CancellationToken| {
        let Some(loaded) = &snapshot.loaded else {
            return json!({"view": view(snapshot), "lines": [], "sums": [], "rest": null});
        };
        let places = CurrentFiles::new(snapshot, loaded, &documents, uri.as_ref());
        let wanted = uri.as_ref().map(|uri| {
            let of = |key| {
                let recorded = places.with_source(key, |source| {
                    let lines = source.lines().into_iter().filter(|it| lines.contains(&it.line));
                    lines.map(|it| it.recorded).collect::<HashSet<u32>>()
                });
                Some((key, recorded?))
            };
            places.keys(uri).into_iter().filter_map(of).collect::<HashMap<&str, _>>()
        });
        let shown_code = snapshot.shown_code();
        let is_wanted = |file: &str, line| {
            wanted.as_ref().is_none_or(|it| it.get(file).is_some_and(|it| it.contains(&line)))
                && shown_code.as_ref().is_none_or(|it| it.has(file, line))
        };
        // Who asks for a file wants to see it, whether it is user code or not.
        let own_only = own_only.unwrap_or(uri.is_none());
        let shown = with_metric(&snapshot.view, metric);
        let ledger = loaded.ledger(&snapshot.books);
        let most = if by_difference { usize::MAX } else { limit };
        let mut hot = ide::hot_lines(ledger, &shown, most, own_only, is_wanted);
        if by_difference {
            hot.retain(exceeds_noise);
            let size = |it: &HotLine| it.difference.as_ref().map_or(0.0, |it| it.delta.abs());
            hot.sort_by(|a, b| size(b).total_cmp(&size(a)));
            hot.truncate(limit);
        } else if notable {
            hot.retain(|it| shown.threshold <= it.share);
        }
        let sums = ide::hot_sums(ledger, &shown, &hot).into_iter().map(|it| {
            // A cell of a text has a sum of its own; what its functions are called goes by the text, as their lines do.
            let file = match it.function {
                Some(_) => places.name(&it.file),
                None => it.file.as_str().into(),
            };
            json!({
                "file": file,
                "function": it.function,
                "lines": it.lines,
                "value": whole(it.value),
                "text": it.text,
                "share": it.share,
                "shareText": percent(it.share),
            })
        });
        let sums: Vec<Value> = sums.collect();
        // Some files or functions leave all others, which nobody asked about.
        let is_all = uri.is_none() && shown_code.is_none() && !by_difference;
        let rest = is_all.then(|| ide::hot_rest(ledger, &shown, own_only)).flatten();
        let rest = rest.filter(|it| !notable || shown.threshold <= it.share).map(|it| {
            json!({
                "libraries": it.holds_libraries,
                "value": whole(it.value),
                "text": it.text,
                "share": it.share,
                "shareText": percent(it.share),
            })
        });
        if token.is_cancelled() {
            return Value::Null;
        }
        let keys = hot.iter().map(|it| LineKey { file: it.file.clone(), line: it.line });
        let mut lines = places.of(keys);
        for (line, hot) in lines.iter_mut().zip(hot) {
            let cost = json!({
                "function": hot.function,
                "evidence": hot.evidence.name(),
                "value": whole(hot.value),
                "text": hot.text,
                "share": hot.share,
                "shareText": percent(hot.share),
                "mark": mark(line, hot.evidence),
                "heat": hot.heat,
                "difference": hot.difference.map(|it| json!({
                    "base": whole(it.base),
                    "baseText": it.base_text,
                    "delta": whole(it.delta),
                    "deltaText": it.delta_text,
                    "significant": it.is_significant,
                })),
            });
            extend(line, cost);
        }
        let mut answer = json!({"view": view_of_answer(snapshot, &shown), "rest": rest});
        put_rows(&mut answer, "lines", lines);
        put_rows(&mut answer, "sums", sums);
        answer
    };
    match at {
        Some(uri) => session.background_of(&uri, work).await,
        None => session.background(work).await,
    }
}

/// Whether a line differs from the baseline by more than the noise.
fn exceeds_noise(line: &HotLine) -> bool {
    line.difference.as_ref().is_some_and(|it| it.is_significant == Some(true))
}
