//! `workspace/didChangeConfiguration` and `workspace/configuration`: the settings.

use std::sync::Arc;

use serde_json::Value;
use settings::{ProjectFile, Settings};
use tower_lsp::lsp_types::{ConfigurationItem, MessageType};

use crate::loader;
use crate::session::{Session, SessionState};

/// Settings changed: those that were sent, or those that the client has when asked.
pub(crate) fn did_change(session: &Arc<Session>, settings: Value) {
    let pulls = session.abilities().configuration;
    let before = Arc::clone(&session.state().settings);
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
        reload_where_needed(&session, &before).await;
    });
}

/// Loads once more what is shown if the settings, which were `before`, now say otherwise what is decided while loading: which
/// library lines are found, which lines are the user's, and what graphs captured.
pub(crate) async fn reload_where_needed(session: &Arc<Session>, before: &Settings) {
    let now = Arc::clone(&session.state().settings);
    let which_code = |it: &Settings| (it.sites.clone(), it.mine.clone(), it.captures.clone());
    if which_code(&now) != which_code(before) {
        loader::reload(
            session,
            "the folders of library code, what counts as yours, or the traces of captures changed",
        )
        .await;
    }
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

/// Makes a section what the client says; gives what is wrong with it, one line for each.
pub(crate) fn apply(session: &Session, section: &Value) -> Vec<String> {
    change(session, |state| state.section = section.clone())
}

/// Makes a file what the project says.
pub(crate) fn apply_project(session: &Session, file: ProjectFile) {
    // What is wrong with the section was reported when it came.
    change(session, |state| state.project = file);
}

/// The settings after a change of what the client or the project says; gives what is wrong with the section.
fn change(session: &Session, change: impl FnOnce(&mut SessionState)) -> Vec<String> {
    let (is_change, faults) = {
        let mut state = session.state();
        change(&mut state);
        let (settings, faults) = state.project.settings_below(&state.section);
        let is_change = *state.settings != settings;
        state.settings = Arc::new(settings);
        (is_change, faults)
    };
    if is_change {
        session.refresh();
        session.look_for_recordings();
    }
    faults.iter().map(|it| it.text("perfline.")).collect()
}

/// Shows what is wrong with the settings.
pub(crate) async fn report(session: &Session, faults: &[String]) {
    if !faults.is_empty() {
        let text = format!("Perfline: {}", faults.join("\n"));
        session.client.show_message(MessageType::WARNING, text).await;
    }
}
