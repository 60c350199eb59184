//! The `perfline.toml` of the workspace: that of its first folder.

use std::path::Path;
use std::sync::Arc;

use loader::{PROJECT_FILE, leads_out};
use settings::ProjectFile;

use crate::session::Session;

/// Reads the file, makes what it says the settings of the project, and reports what is wrong with it. Where that is as before,
/// nothing happens. Gives whether what is shown is to be loaded again.
pub(crate) async fn follow(session: &Session) -> bool {
    let folder = session.state().folders.first().cloned();
    let read = move || folder.as_deref().map(read).unwrap_or_default();
    let Ok((file, faults)) = tokio::task::spawn_blocking(read).await else { return false };
    let (before, is_other, is_news, shows) = {
        let mut state = session.state();
        let is_news = state.project_faults != faults;
        state.project_faults.clone_from(&faults);
        let shows = state.loaded.is_some() || state.loading.is_some();
        (Arc::clone(&state.settings), state.project != file, is_news, shows)
    };
    if is_news {
        session.report_faults(&faults).await;
    }
    if !is_other {
        return false;
    }
    // What is wrong with what the client says was reported when it came.
    session.change_settings(|state| state.project = file);
    let now = Arc::clone(&session.state().settings);
    shows && !now.reads_as(&before)
}

/// What the file in a folder says, and what is wrong with it, one line for each. Touches the disk.
fn read(folder: &Path) -> (ProjectFile, Vec<String>) {
    let path = folder.join(PROJECT_FILE);
    match loader::project_file(folder) {
        Ok(None) => Default::default(),
        Ok(Some(text)) => {
            let (file, faults) = ProjectFile::parse(&text, folder, |it| leads_out(folder, it));
            let fault = |it: &settings::ProjectFault| {
                format!("{}:{}: {}", path.display(), it.line, it.message)
            };
            (file, faults.iter().map(fault).collect())
        }
        Err(error) => (ProjectFile::default(), vec![format!("{}: {error}", path.display())]),
    }
}
