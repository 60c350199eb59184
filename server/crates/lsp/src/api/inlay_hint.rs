//! `textDocument/inlayHint` and `inlayHint/resolve`.

use ide::HoverText;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{InlayHint, InlayHintParams, Url};

use crate::session::Session;
use crate::{from_proto, to_proto};

pub(crate) async fn handle(
    session: &Session,
    params: &InlayHintParams,
) -> Result<Option<Vec<InlayHint>>> {
    let Some(document) = session.document(&params.text_document.uri) else { return Ok(None) };
    let uri = document.uri.clone();
    let lines = from_proto::line(params.range.start)..=from_proto::line(params.range.end);
    let work = session.background_of(&uri, move |snapshot, token| {
        if !snapshot.settings.hints || token.is_cancelled() {
            return None;
        }
        let hints = snapshot.with_document(&document, |source| {
            let is_markdown = snapshot.abilities.markdown_hover;
            let mut hints = ide::hints(source, &snapshot.view, lines.clone());
            if let Some(code) = snapshot.shown_code() {
                let shown = code.lines_of(source);
                hints.retain(|it| shown.contains(&it.line));
            }
            // Of all tooltips hardly one is ever looked at.
            let tooltips = if snapshot.abilities.resolve_tooltips {
                // Short, because a large file has thousands.
                let data = |line| json!([document.uri, document.version, line]);
                hints.iter().map(|hint| (None, Some(data(hint.line)))).collect()
            } else {
                let lines: Vec<u32> = hints.iter().map(|hint| hint.line).collect();
                let tooltips = ide::tooltips(source, &snapshot.view, &lines).into_iter();
                let tooltip = |text: HoverText| to_proto::tooltip(&text, is_markdown);
                tooltips.map(|text| (text.map(tooltip), None)).collect::<Vec<_>>()
            };
            let convert = |(hint, (tooltip, data))| InlayHint {
                data,
                ..to_proto::inlay_hint(source.index, hint, tooltip, snapshot.encoding())
            };
            hints.into_iter().zip(tooltips).map(convert).collect::<Vec<_>>()
        });
        Some(hints.into_iter().flatten().collect())
    });
    work.await
}

/// The hint with its tooltip, if the document is still the one that it was for.
pub(crate) async fn resolve(session: &Session, mut hint: InlayHint) -> Result<InlayHint> {
    let data = hint.data.clone().unwrap_or_default();
    let uri = data[0].as_str().and_then(|uri| Url::parse(uri).ok());
    let document = uri.and_then(|uri| session.document(&uri));
    let document = document.filter(|it| data[1] == json!(it.version));
    let line = data.get(2).and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
    let (Some(document), Some(line)) = (document, line) else { return Ok(hint) };
    let uri = document.uri.clone();
    let work = session.background_of(&uri, move |snapshot, _| {
        let tooltips =
            |source: &ide::PlacedSource<'_>| ide::tooltips(source, &snapshot.view, &[line]).pop();
        let text =
            snapshot.with_document(&document, tooltips).into_iter().flatten().flatten().next();
        text.map(|text| to_proto::tooltip(&text, snapshot.abilities.markdown_hover))
    });
    hint.tooltip = work.await?;
    Ok(hint)
}
