//! `workspace/didChangeConfiguration` and `workspace/configuration`: the settings.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::lsp_types::{ConfigurationItem, MessageType};

use crate::loader;
use crate::session::Session;
use crate::settings::Settings;

/// Settings changed: those that were sent, or those that the client has when asked.
pub(crate) fn did_change(session: &Arc<Session>, settings: Value) {
    let pulls = session.abilities().configuration;
    let which_code = |settings: &Settings| {
        (settings.sites.clone(), settings.mine.clone(), settings.captures.clone())
    };
    let before = which_code(&session.state().settings);
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
        report(&session, &faults).await;
        // Which library lines are found, which lines are the user's, and what graphs captured, is decided while loading.
        if which_code(&session.state().settings) != before {
            loader::reload(
                &session,
                "the folders of library code, what counts as yours, or the traces of captures changed",
            )
            .await;
        }
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
                report(session, &faults).await;
            }
        }
        Err(error) => {
            let text = format!("the client does not give its settings: {error}");
            session.client.log_message(MessageType::WARNING, text).await;
        }
    }
}

/// Makes a section the settings; gives what is wrong with it, one line for each.
pub(crate) fn apply(session: &Session, section: &Value) -> Vec<String> {
    let (settings, faults) = Settings::read(section);
    let is_change = {
        let mut state = session.state();
        let is_change = *state.settings != settings;
        state.settings = Arc::new(settings);
        is_change
    };
    if is_change {
        session.refresh();
        session.look_for_recordings();
    }
    faults
}

/// Shows what is wrong with the settings.
pub(crate) async fn report(session: &Session, faults: &[String]) {
    if !faults.is_empty() {
        let text = format!("Perfline: {}", faults.join("\n"));
        session.client.show_message(MessageType::WARNING, text).await;
    }
}
