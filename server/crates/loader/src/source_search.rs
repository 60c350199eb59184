//! The sources of a recording, with the texts that ran: those that the recording holds, those that were kept when it was first
//! loaded, else the files, which then are kept, else those of commits.

use std::path::Path;
use std::sync::Arc;

use recorded::{RecordedFile, RecordedSources, TextOrigin, TextThatRan, TextsByFile};

use crate::kept_texts::{KeptTexts, RecordingKey};
use crate::recorded_at::RecordedAt;
use crate::sources::Finder;

/// What sources are looked for with.
pub(crate) struct SourceSearch<'a> {
    pub(crate) finder: &'a Finder,
    /// Folder in which texts are kept.
    pub(crate) text_cache: Option<&'a Path>,
}

/// Whether texts were kept that had not been kept before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HasKeptMore(pub(crate) bool);

impl SourceSearch<'_> {
    /// The sources of `files`, of which `recorded` are the texts that the recording holds. `key` is `None` where no texts are
    /// kept.
    pub(crate) fn find(
        &self,
        files: &[RecordedFile],
        recorded: &TextsByFile,
        key: Option<RecordingKey>,
        at: RecordedAt,
    ) -> RecordedSources {
        self.finder.find(files, &with_kept(recorded, &self.kept(key)), at)
    }

    /// Likewise, when the recording is read: files that are not newer than it are kept.
    pub(crate) fn find_and_keep(
        &self,
        files: &[RecordedFile],
        recorded: &TextsByFile,
        key: Option<RecordingKey>,
        at: RecordedAt,
    ) -> (RecordedSources, HasKeptMore) {
        let (Some(folder), Some(key)) = (self.text_cache, key) else {
            return (self.finder.find(files, recorded, at), HasKeptMore(false));
        };
        let mut kept = self.kept(Some(key));
        let sources = self.finder.find(files, &with_kept(recorded, &kept), at);
        let n_kept = kept.len();
        for (file, source) in files.iter().filter_map(|it| Some((it, sources.get(&it.path)?))) {
            let (Some(text), Some(path)) = (&source.text, &source.path) else { continue };
            let is_worth = source.is_user_code && source.origin == TextOrigin::File;
            if is_worth && !kept.contains_key(&file.path) && !at.is_newer(path) {
                let text = TextThatRan { text: Arc::clone(text), origin: TextOrigin::Kept };
                kept.insert(file.path.clone(), text);
            }
        }
        let has_more = n_kept < kept.len();
        if has_more {
            KeptTexts::new(folder).keep(key, &kept);
        }
        (sources, HasKeptMore(has_more))
    }

    /// The texts that are kept of a recording, by the path as recorded.
    pub(crate) fn kept(&self, key: Option<RecordingKey>) -> TextsByFile {
        let read = |(folder, key)| KeptTexts::new(folder).read(key);
        self.text_cache.zip(key).map(read).unwrap_or_default()
    }

    /// The bytes in which they are kept.
    pub(crate) fn packed(&self, key: Option<RecordingKey>) -> Vec<u8> {
        let read = |(folder, key)| KeptTexts::new(folder).packed(key);
        self.text_cache.zip(key).map(read).unwrap_or_default()
    }
}

/// The texts that the recording holds count before those that were kept.
fn with_kept(recorded: &TextsByFile, kept: &TextsByFile) -> TextsByFile {
    let mut texts = kept.clone();
    texts.extend(recorded.iter().map(|(file, text)| (file.clone(), text.clone())));
    texts
}
