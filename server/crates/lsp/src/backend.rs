//! The methods that are served, each by its file in `api/`.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CodeActionParams, CodeActionResponse, CodeLens, CodeLensParams, DidChangeConfigurationParams,
    DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
    ExecuteCommandParams, Hover, HoverParams, InitializeParams, InitializeResult,
    InitializedParams, InlayHint, InlayHintParams,
};
use tower_lsp::{Client, LanguageServer, async_trait};

use crate::session::Session;
use crate::{Config, api};

/// The server as tower-lsp sees it.
pub(crate) struct Backend {
    pub(crate) session: Arc<Session>,
}

impl Backend {
    pub(crate) fn new(client: Client, config: Config) -> Self {
        Self { session: Arc::new(Session::new(client, config)) }
    }
}

#[async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        Ok(api::initialize::handle(&self.session, &params))
    }

    async fn initialized(&self, _: InitializedParams) {
        api::initialized::handle(&self.session);
    }

    async fn shutdown(&self) -> Result<()> {
        self.session.stop();
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        api::text_document::did_open(&self.session, params);
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        api::text_document::did_change(&self.session, params);
    }

    async fn did_save(&self, _: DidSaveTextDocumentParams) {
        api::text_document::did_save(&self.session);
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        api::text_document::did_close(&self.session, &params);
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
        api::inlay_hint::handle(&self.session, &params).await
    }

    async fn inlay_hint_resolve(&self, hint: InlayHint) -> Result<InlayHint> {
        api::inlay_hint::resolve(&self.session, hint).await
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        api::code_lens::handle(&self.session, &params).await
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        api::code_action::handle(&self.session, params).await
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        api::hover::handle(&self.session, &params).await
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        api::execute_command::handle(&self.session, params).await
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        api::configuration::did_change(&self.session, params.settings);
    }

    async fn did_change_watched_files(&self, _: DidChangeWatchedFilesParams) {
        // Which files changed does not matter: what matters is what is there afterwards.
        self.session.look_for_recordings();
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        api::workspace_folders::handle(&self.session, &params);
    }
}
