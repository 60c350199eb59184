//! `textDocument/inlayHint`.

use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{InlayHint, InlayHintParams};

use crate::session::Session;
use crate::{from_proto, to_proto};

pub(crate) async fn handle(
    session: &Session,
    params: &InlayHintParams,
) -> Result<Option<Vec<InlayHint>>> {
    let Some(document) = session.document(&params.text_document.uri) else { return Ok(None) };
    let lines = from_proto::line(params.range.start)..=from_proto::line(params.range.end);
    let work = session.background(move |snapshot, token| {
        if !snapshot.settings.hints || token.is_cancelled() {
            return None;
        }
        snapshot.with_document(&document, |source| {
            let hints = ide::hints(source, &snapshot.view, lines);
            let convert = |hint| to_proto::inlay_hint(source.index, hint, snapshot.encoding());
            hints.into_iter().map(convert).collect()
        })
    });
    work.await
}
