//! `textDocument/codeLens`.

use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{CodeLens, CodeLensParams};

use crate::session::Session;
use crate::to_proto;

pub(crate) async fn handle(
    session: &Session,
    params: &CodeLensParams,
) -> Result<Option<Vec<CodeLens>>> {
    let Some(document) = session.document(&params.text_document.uri) else { return Ok(None) };
    let uri = document.uri.clone();
    let work = session.background_of(&uri, move |snapshot, token| {
        if !snapshot.settings.lenses || token.is_cancelled() {
            return None;
        }
        let lenses = snapshot.with_document(&document, |source| {
            let mut lenses = ide::lenses(source, &snapshot.view);
            if let Some(code) = snapshot.shown_code() {
                let shown = code.lines_of(source);
                lenses.retain(|it| shown.iter().any(|line| it.lines.contains(line)));
            }
            lenses
        });
        let lenses = lenses.into_iter().flatten();
        Some(lenses.map(|lens| to_proto::code_lens(&document.uri, lens)).collect())
    });
    work.await
}
