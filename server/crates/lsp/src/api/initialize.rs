//! `initialize`: what the client can do, which process it is, where its code is, its first settings.

use std::path::PathBuf;

use tower_lsp::lsp_types::{InitializeParams, InitializeResult, ServerInfo, Url};

use crate::session::Session;
use crate::{api, capabilities, paths};

pub(crate) fn handle(session: &Session, params: &InitializeParams) -> InitializeResult {
    let abilities = session.set_abilities(&params.capabilities);
    if let Some(id) = params.process_id {
        session.parent.get_or_init(|| id);
    }
    session.state().folders = folders(params).into();
    if let Some(options) = &params.initialization_options {
        // Either the section itself or what holds it.
        let section = options.get("perfline").unwrap_or(options);
        // Nothing can be said to the client yet.
        session.state().faults = api::configuration::apply(session, section);
    }
    InitializeResult {
        capabilities: capabilities::server(&abilities),
        server_info: Some(ServerInfo {
            name: "perfline".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    }
}

/// The workspace folders; of clients that know none, the root.
fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    let of_uri = |uri: &Url| paths::of_uri(uri);
    let folders = params.workspace_folders.as_deref().unwrap_or(&[]);
    let mut folders: Vec<PathBuf> = folders.iter().filter_map(|it| of_uri(&it.uri)).collect();
    if folders.is_empty() {
        // Deprecated, and all that old clients have.
        #[allow(deprecated)]
        folders.extend(params.root_uri.as_ref().and_then(of_uri));
    }
    folders
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn folders_or_the_root() {
        let folders_of = |value: Value| folders(&serde_json::from_value(value).unwrap());
        let both = json!({"capabilities": {}, "rootUri": "file:///r", "workspaceFolders": [{"uri": "file:///a%20b", "name": "a"}]});
        assert_eq!(folders_of(both), [PathBuf::from("/a b")]);
        assert_eq!(
            folders_of(json!({"capabilities": {}, "rootUri": "file:///r"})),
            [PathBuf::from("/r")]
        );
        assert_eq!(folders_of(json!({"capabilities": {}})), Vec::<PathBuf>::new());
    }
}
