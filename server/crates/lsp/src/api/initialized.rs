//! `initialized`: from now on we may ask the client.

use std::sync::Arc;

use serde_json::json;
use tower_lsp::lsp_types::notification::{
    DidChangeConfiguration, DidChangeWatchedFiles, Notification,
};
use tower_lsp::lsp_types::{MessageType, Registration};

use crate::session::{SETTINGS_PATIENCE, Session};
use crate::{api, loader, project_file, publish};

/// Every file that may be a recording, by its name.
const RECORDINGS: &str = "**/*.{json,gz,zst,pickle,pkl}";

/// The file with the settings of the project.
const PROJECT: &str = "**/perfline.toml";

pub(crate) fn handle(session: &Arc<Session>) {
    tokio::spawn(publish::run(Arc::clone(session)));
    let other = Arc::clone(session);
    tokio::spawn(async move {
        let faults = std::mem::take(&mut other.state().faults);
        other.report_faults(&faults).await;
        register(&other).await;
    });
    let session = Arc::clone(session);
    tokio::spawn(async move {
        project_file::follow(&session).await;
        let other = Arc::clone(&session);
        let pull = tokio::spawn(async move { api::configuration::pull(&other).await });
        // A client may never answer.
        let _ = tokio::time::timeout(SETTINGS_PATIENCE, pull).await;
        session.set_settings_known();
        loader::watch(session).await;
    });
}

/// Asks to be notified of changed settings and files.
async fn register(session: &Session) {
    let abilities = session.abilities();
    let mut registrations = Vec::new();
    let mut add = |method: &str, options| {
        let id = format!("perfline/{method}");
        registrations.push(Registration {
            id,
            method: method.to_owned(),
            register_options: Some(options),
        });
    };
    if abilities.register_configuration {
        add(DidChangeConfiguration::METHOD, json!({"section": "perfline"}));
    }
    if abilities.register_watchers {
        let watchers = [RECORDINGS, PROJECT].map(|it| json!({"globPattern": it}));
        add(DidChangeWatchedFiles::METHOD, json!({"watchers": watchers}));
    }
    if !registrations.is_empty()
        && let Err(error) = session.client.register_capability(registrations).await
    {
        let text = format!("the client refused to report changes: {error}");
        session.client.log_message(MessageType::WARNING, text).await;
    }
}
