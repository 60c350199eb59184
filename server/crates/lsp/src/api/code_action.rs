//! `textDocument/codeAction`.

use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{CodeActionKind, CodeActionParams, CodeActionResponse};

use crate::session::Session;
use crate::{from_proto, to_proto};

pub(crate) async fn handle(
    session: &Session,
    params: CodeActionParams,
) -> Result<Option<CodeActionResponse>> {
    let Some(document) = session.document(&params.text_document.uri) else { return Ok(None) };
    // Anywhere on the line: who looks for help need not have found the statement.
    let lines = from_proto::line(params.range.start)..=from_proto::line(params.range.end);
    let only = params.context.only;
    // `quickfix` is asked for by its name, or by "" for all kinds.
    let is_asked = |kind: &CodeActionKind| matches!(kind.as_str(), "" | "quickfix");
    if only.is_some_and(|kinds| !kinds.iter().any(is_asked)) {
        return Ok(None);
    }
    let work = session.background(move |snapshot, token| {
        let reported = snapshot.settings.diagnostics && snapshot.abilities.code_actions;
        if !reported || token.is_cancelled() {
            return None;
        }
        snapshot.with_document(&document, |source| {
            let actions = ide::actions(source, &snapshot.findings(), &lines);
            let uri_of = |key: &str| (key == source.key).then(|| document.uri.clone());
            let convert = |action| to_proto::code_action(&document, action, snapshot, uri_of);
            actions.into_iter().map(convert).collect()
        })
    });
    work.await
}
