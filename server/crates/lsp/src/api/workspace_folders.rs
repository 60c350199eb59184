//! `workspace/didChangeWorkspaceFolders`.

use tower_lsp::lsp_types::{DidChangeWorkspaceFoldersParams, WorkspaceFolder};

use crate::paths;
use crate::session::Session;

pub(crate) fn handle(session: &Session, params: &DidChangeWorkspaceFoldersParams) {
    let paths = |folders: &[WorkspaceFolder]| -> Vec<_> {
        folders.iter().filter_map(|folder| paths::of_uri(&folder.uri)).collect()
    };
    let (added, removed) = (paths(&params.event.added), paths(&params.event.removed));
    {
        let mut state = session.state();
        let kept = state
            .folders
            .iter()
            .filter(|folder| !removed.contains(folder) && !added.contains(folder));
        state.folders = kept.cloned().chain(added.iter().cloned()).collect();
        for shown in state.shown.iter_mut().filter(|it| removed.contains(&it.folder)) {
            shown.stop();
        }
        state.shown.retain(|it| !removed.contains(&it.folder));
        state.looked_at.take_if(|it| removed.contains(it));
    }
    // Each folder has its own.
    session.change_settings(|_| ());
    session.refresh();
    session.look_for_recordings();
}
