//! What is shown of all folders, and which of it a file has.

use std::cmp::Reverse;
use std::path::Path;

use tower_lsp::lsp_types::Url;

use crate::document::Document;
use crate::paths;
use crate::session_snapshot::SessionSnapshot;

/// A moment of what is shown of each folder.
pub(crate) struct Snapshots {
    /// Of the folder that commands and views are about.
    pub(crate) front: SessionSnapshot,
    pub(crate) others: Vec<SessionSnapshot>,
}

impl Snapshots {
    pub(crate) fn all(&self) -> impl Iterator<Item = &SessionSnapshot> {
        std::iter::once(&self.front).chain(&self.others)
    }

    /// What is shown of an open document. Touches the disk where several recordings are shown.
    pub(crate) fn of_document(&self, document: &Document) -> &SessionSnapshot {
        let found = |it: &SessionSnapshot| {
            it.loaded.as_deref().is_some_and(|loaded| loaded.has_document(document))
        };
        let named = |it: &SessionSnapshot| {
            it.loaded
                .as_deref()
                .is_some_and(|loaded| !loaded.keys_of(document, &it.folders).is_empty())
        };
        self.first_of(document.path().map(Path::new), &[&found, &named])
    }

    /// What is shown of a file that is not open. Touches the disk where several recordings are shown.
    pub(crate) fn of_file(&self, uri: &Url) -> &SessionSnapshot {
        let path = paths::of_uri(uri);
        let found = |it: &SessionSnapshot| {
            it.loaded.as_deref().is_some_and(|loaded| {
                path.as_deref().is_some_and(|it| !loaded.keys_of_path(it).is_empty())
            })
        };
        self.first_of(path.as_deref(), &[&found])
    }

    /// The first recording that has a file: by the first of `has` that any fulfils. What the user named goes before the newest
    /// of the folder that holds the file, and that before those of others. Where none has it, that of its folder.
    fn first_of(
        &self,
        path: Option<&Path>,
        has: &[&dyn Fn(&SessionSnapshot) -> bool],
    ) -> &SessionSnapshot {
        if self.others.is_empty() {
            return &self.front;
        }
        let path = path.map(paths::real).unwrap_or_default();
        let depth = |it: &SessionSnapshot| {
            let folder = it.folder.as_ref()?;
            let holds = Path::new(&path).starts_with(paths::real(folder));
            holds.then(|| folder.components().count())
        };
        let mut ordered: Vec<(_, &SessionSnapshot)> =
            self.all().map(|it| ((it.pinned, depth(it)), it)).collect();
        // Of equals, that in front stays first.
        ordered.sort_by_key(|(rank, _)| Reverse(*rank));
        let first = |has: &&dyn Fn(&SessionSnapshot) -> bool| {
            ordered.iter().map(|(_, it)| *it).find(|it| has(it))
        };
        let of_folder = || {
            let holding = ordered.iter().filter(|((_, depth), _)| depth.is_some());
            holding.max_by_key(|((_, depth), _)| *depth).map(|(_, it)| *it)
        };
        has.iter().find_map(first).or_else(of_folder).unwrap_or(&self.front)
    }
}
