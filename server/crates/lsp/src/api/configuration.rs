//! `workspace/didChangeConfiguration` and `workspace/configuration`: the settings.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::lsp_types::{ConfigurationItem, MessageType};

use crate::session::Session;
use crate::settings::Settings;

/// Settings changed: those that were sent, or those that the client has when asked.
pub(crate) fn did_change(session: &Arc<Session>, settings: Value) {
    if session.abilities().configuration {
        let session = Arc::clone(session);
        tokio::spawn(async move { pull(&session).await });
        return;
    }
    let section = settings.get("perfline").unwrap_or(&settings);
    apply(session, section);
}

/// Asks the client for the settings, if it has any.
pub(crate) async fn pull(session: &Session) {
    if !session.abilities().configuration {
        return;
    }
    let item = ConfigurationItem { scope_uri: None, section: Some("perfline".to_owned()) };
    match session.client.configuration(vec![item]).await {
        // A client that knows nothing of us answers null; what came with `initialize` stays then.
        Ok(sections) => {
            if let Some(section) = sections.first().filter(|section| !section.is_null()) {
                apply(session, section);
            }
        }
        Err(error) => {
            let text = format!("the client does not tell its settings: {error}");
            session.client.log_message(MessageType::WARNING, text).await;
        }
    }
}

/// Makes a section the settings, and says what is wrong with it.
pub(crate) fn apply(session: &Session, section: &Value) {
    let (settings, faults) = Settings::read(section);
    {
        let mut state = session.state();
        if *state.settings == settings && faults.is_empty() {
            return;
        }
        state.settings = Arc::new(settings);
    }
    session.refresh();
    session.look_for_recordings();
    if !faults.is_empty() {
        let client = session.client.clone();
        let text = format!("Perfline: {}", faults.join("\n"));
        tokio::spawn(async move { client.show_message(MessageType::WARNING, text).await });
    }
}
