//! `textDocument/didOpen`, `didChange`, `didSave`, `didClose`. All of it happens before anything is awaited.

use tower_lsp::lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
};

use crate::document::Document;
use crate::session::Session;

pub(crate) fn did_open(session: &Session, params: DidOpenTextDocumentParams) {
    let document = params.text_document;
    let is_among_several = 1 < session.state().folders.len();
    session.put_document(Document::new(document.uri, document.version, document.text));
    if is_among_several {
        // The newest recording of its folder is to be shown with it.
        session.look_for_recordings();
    }
}

pub(crate) fn did_change(session: &Session, params: DidChangeTextDocumentParams) {
    // A change of what was never opened cannot be applied.
    let Some(document) = session.document(&params.text_document.uri) else { return };
    let encoding = session.abilities().encoding;
    session.put_document(document.changed(
        params.text_document.version,
        params.content_changes,
        encoding,
    ));
}

pub(crate) fn did_save(session: &Session) {
    // Diagnostics of files that are not open follow what is on disk.
    session.publish.notify_one();
}

pub(crate) fn did_close(session: &Session, params: &DidCloseTextDocumentParams) {
    session.remove_document(&params.text_document.uri);
}
