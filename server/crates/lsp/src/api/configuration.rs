//! `workspace/didChangeConfiguration` and `workspace/configuration`: the settings.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::lsp_types::{ConfigurationItem, MessageType};

use crate::loader;
use crate::session::Session;

/// Settings changed: those that were sent, or those that the client has when asked.
pub(crate) fn did_change(session: &Arc<Session>, settings: Value) {
    let pulls = session.abilities().configuration;
    let before = session.settings_of_shown();
    let faults = if pulls {
        Vec::new()
    } else {
        apply(session, settings.get("perfline").unwrap_or(&settings))
    };
    let session = Arc::clone(session);
    tokio::spawn(async move {
        if pulls {
            pull(&session).await;
        }
        session.report_faults(&faults).await;
        let reload = session.read_otherwise(&before);
        loader::reload(&session, &reload, loader::SETTINGS_CHANGED).await;
    });
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
                let faults = apply(session, section);
                session.report_faults(&faults).await;
            }
        }
        Err(error) => {
            let text = format!("the client does not give its settings: {error}");
            session.client.log_message(MessageType::WARNING, text).await;
        }
    }
}

/// Makes a section what the client says; gives what is wrong with it, one line for each.
pub(crate) fn apply(session: &Session, section: &Value) -> Vec<String> {
    session.change_settings(|state| state.section = section.clone())
}
