//! The `perfline.toml` of each folder of the workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use loader::{PROJECT_FILE, leads_out};
use settings::ProjectFile;

use crate::session::Session;

/// Reads the files, makes what they say the settings of their projects, and reports what is wrong with them. Where that is as
/// before, nothing happens. Gives the folders of which what is shown is to be loaded again.
pub(crate) async fn follow(session: &Session) -> Vec<PathBuf> {
    let folders = Arc::clone(&session.state().folders);
    let read = move || {
        let read = |folder: &PathBuf| {
            let (file, faults) = read(folder);
            ((folder.clone(), file), faults)
        };
        folders.iter().map(read).unzip::<_, _, Vec<_>, Vec<_>>()
    };
    let Ok((files, faults)) = tokio::task::spawn_blocking(read).await else { return Vec::new() };
    let faults = faults.concat();
    let (is_other, is_news) = {
        let mut state = session.state();
        let is_news = state.project_faults != faults;
        state.project_faults.clone_from(&faults);
        (state.projects != files, is_news)
    };
    if is_news {
        session.report_faults(&faults).await;
    }
    if !is_other {
        return Vec::new();
    }
    let before = session.settings_of_shown();
    // What is wrong with what the client says was reported when it came.
    session.change_settings(|state| state.projects = files);
    session.read_otherwise(&before)
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
