//! `textDocument/codeAction`.

use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse,
};

use crate::session::Session;
use crate::{from_proto, to_proto};

pub(crate) async fn handle(
    session: &Session,
    params: CodeActionParams,
) -> Result<Option<CodeActionResponse>> {
    let Some(document) = session.document(&params.text_document.uri) else { return Ok(None) };
    let uri = document.uri.clone();
    // Anywhere on the line: who looks for help need not have found the statement.
    let lines = from_proto::line(params.range.start)..=from_proto::line(params.range.end);
    let only = params.context.only;
    let is_asked = move |kind: &CodeActionKind| {
        only.as_ref().is_none_or(|only| only.iter().any(|it| covers(it, kind)))
    };
    if ![CodeActionKind::QUICKFIX, to_proto::IGNORE, to_proto::EXPLAIN].iter().any(&is_asked) {
        return Ok(None);
    }
    let work = session.background_of(&uri, move |snapshot, token| {
        let reported = snapshot.settings.diagnostics && snapshot.abilities.code_actions;
        if !reported || token.is_cancelled() {
            return None;
        }
        let actions = snapshot.with_document(&document, |source| {
            let findings = snapshot.findings();
            let uri_of = |key: &str| (key == source.key).then(|| document.uri.clone());
            let edits = ide::actions(source, &findings, &lines).into_iter();
            let mut actions: Vec<CodeActionOrCommand> =
                edits.map(|it| to_proto::code_action(&document, it, snapshot, uri_of)).collect();
            if snapshot.abilities.explain {
                let found = ide::diagnostics_on(source, &findings, &lines).into_iter();
                actions
                    .extend(found.map(|it| to_proto::explanation(&document, it, snapshot, uri_of)));
            }
            actions.retain(|action| match action {
                CodeActionOrCommand::CodeAction(action) => {
                    action.kind.as_ref().is_some_and(&is_asked)
                }
                CodeActionOrCommand::Command(_) => true,
            });
            actions
        });
        Some(actions.into_iter().flatten().collect())
    });
    work.await
}

/// Whether a kind of actions is another one, or a part of it: `quickfix` covers `quickfix.ignore`, "" covers all.
fn covers(kind: &CodeActionKind, other: &CodeActionKind) -> bool {
    let rest = other.as_str().strip_prefix(kind.as_str());
    kind.as_str().is_empty() || rest.is_some_and(|it| it.is_empty() || it.starts_with('.'))
}
