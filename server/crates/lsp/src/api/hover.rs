//! `textDocument/hover`.

use ide::RunKnowledge;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Hover, HoverParams};

use crate::session::Session;
use crate::{from_proto, to_proto};

pub(crate) async fn handle(session: &Session, params: &HoverParams) -> Result<Option<Hover>> {
    let at = &params.text_document_position_params;
    let Some(document) = session.document(&at.text_document.uri) else { return Ok(None) };
    let uri = document.uri.clone();
    let line = from_proto::line(at.position);
    let work =
        session.background_of(&uri, move |snapshot, token| {
            if token.is_cancelled() {
                return None;
            }
            let (findings, path) = (snapshot.findings(), snapshot.critical_path());
            let run = RunKnowledge { findings: &findings, path: path.as_deref() };
            let hover = snapshot.with_document(&document, |source| {
                snapshot
                    .shown_code()
                    .is_none_or(|code| code.is_around(source, line))
                    .then(|| ide::hover(source, &snapshot.view, run, line))
                    .flatten()
            });
            let is_markdown = snapshot.abilities.markdown_hover;
            hover.into_iter().flatten().next().map(|hover| {
                to_proto::hover(&document.index, &hover, snapshot.encoding(), is_markdown)
            })
        });
    work.await
}
