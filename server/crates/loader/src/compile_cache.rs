//! The cache of `torch.compile` on this machine. It holds the graph of operations that a file was generated for, so that compiled code has
//! lines where nobody had the compiler log anything.
//!
//! A trace names the generated file by a hash of its text. Inductor's cache knows by what name it keeps what was made of which
//! graph, and AOTAutograd's cache has the graph with these names.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use compile_log::{CacheEntry, CachedFile, log_by_graphs};
use ledger::SourceFit;
use profile::Profile;
use recorded::{
    RecordedFile, RecordedSource, RecordedSources, TextsByFile, compiled_graph, is_inductor_file,
};

use crate::compile_logs::join_with_texts;
use crate::{Input, InputKind, Run, places, plain_file};

/// Entries of a cache that are looked at, at most, the newest first, and the bytes of each.
const MAX_ENTRIES: usize = 1024;
const MAX_ENTRY: u64 = 64 << 20;

/// Bytes of all.
const MAX_BYTES: u64 = 512 << 20;

/// Files in a folder of Inductor's cache: one for each set of sizes that it holds for.
const MAX_VARIANTS: usize = 64;

/// Begin of the name of the folder below that for temporary files in which PyTorch puts its cache, if nothing else is set.
const FOLDER: &str = "torchinductor_";

/// Joins what the cache says of the generated files of the trace at `trace` of which no log said anything; the caches that say something as inputs.
///
/// A recording does not decide which folders are read: the cache lies where PyTorch puts that of this user, below `root`, or
/// in the folder of the trace.
pub(crate) fn join_cached_graphs(
    profile: &mut Profile,
    texts: &mut TextsByFile,
    root: &Path,
    trace: &Path,
    rank: u32,
) -> Vec<Input> {
    let allowed = AllowedFolders::new(root, folder_of(trace));
    let mut inputs = Vec::new();
    for (folder, wanted) in unknown_files(profile) {
        let Some(folder) = allowed.find(&folder, &wanted) else { continue };
        let mut cache = Cache { folder, bytes: 0 };
        let files = cache.files(wanted, &compiled_names(profile));
        let log = log_by_graphs(&files);
        join_with_texts(profile, &log, texts);
        let calls: usize = log.files.iter().map(|it| it.calls.len()).sum();
        if calls > 0 {
            inputs.push(Input {
                path: cache.folder,
                kind: InputKind::CompileCache,
                rank,
                events: calls as u64,
                bytes: cache.bytes,
                complete: true,
                warnings: Vec::new(),
            });
        }
    }
    inputs
}

/// Notes where the generated files that the trace at `trace` names are, for readers who want to see them: those in a cache that may be read.
pub(crate) fn find_generated_files(
    files: &[RecordedFile],
    sources: &mut RecordedSources,
    root: &Path,
    trace: &Path,
) {
    let by_folder = by_folder(files.iter().map(|it| it.path.as_str()));
    if by_folder.is_empty() {
        return;
    }
    let allowed = AllowedFolders::new(root, folder_of(trace));
    for (folder, wanted) in by_folder {
        let Some(folder) = allowed.find(&folder, &wanted) else { continue };
        for (stem, recorded) in wanted {
            let path = generated_file(&folder, &stem);
            if path.is_file()
                && let Some(source) = sources.get(&recorded)
            {
                let source =
                    RecordedSource { path: Some(path), fit: SourceFit::Fits, ..source.clone() };
                sources.insert(&recorded, source);
            }
        }
    }
}

/// The folders of caches that hold generated files of `run`, of those that may be read: their texts are not among the sources.
#[must_use]
pub fn compile_caches(run: &Run, root: &Path) -> BTreeSet<PathBuf> {
    let files = run.merged.files.values().filter(|it| is_inductor_file(&it.recorded));
    let folders: BTreeSet<&Path> =
        files.filter_map(|it| it.path.as_ref()?.parent()?.parent()).collect();
    if folders.is_empty() {
        return BTreeSet::new();
    }
    // A ledger file may name any folder.
    let beside: BTreeSet<&Path> = run.inputs.iter().filter_map(|it| it.path.parent()).collect();
    let allowed: Vec<AllowedFolders<'_>> =
        beside.into_iter().map(|it| AllowedFolders::new(root, it)).collect();
    let folders = folders.into_iter().filter_map(|it| it.canonicalize().ok());
    folders.filter(|folder| allowed.iter().any(|it| it.is_allowed(folder))).collect()
}

/// By folder of a cache, as the trace spells it: the stems of its generated files that no log names, with their paths as recorded.
fn unknown_files(profile: &Profile) -> BTreeMap<PathBuf, BTreeMap<String, String>> {
    let known: BTreeSet<&str> =
        profile.generated.iter().map(|it| profile.strings.get(it.path)).collect();
    let paths =
        profile.strings.iter().filter_map(|(_, text)| Some(&text[..text.find(".py(")? + 3]));
    by_folder(paths.filter(|it| !known.contains(it)))
}

/// The generated files among `paths`: by folder of their cache, the paths by stem.
fn by_folder<'a>(
    paths: impl Iterator<Item = &'a str>,
) -> BTreeMap<PathBuf, BTreeMap<String, String>> {
    let mut found: BTreeMap<PathBuf, BTreeMap<String, String>> = BTreeMap::new();
    for path in paths.filter(|it| is_inductor_file(it)) {
        let mut parts = path.rsplitn(3, ['/', '\\']);
        let (Some(file), Some(_), Some(cache)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let stem = file.strip_suffix(".py").unwrap_or(file);
        found.entry(PathBuf::from(cache)).or_default().insert(stem.to_owned(), path.to_owned());
    }
    found
}

/// The names by which the trace says what compiled graphs run; none before PyTorch 2.9.
fn compiled_names(profile: &Profile) -> BTreeSet<String> {
    let texts = profile.strings.iter().map(|(_, text)| text);
    texts.filter_map(compiled_graph).map(str::to_owned).collect()
}

/// The folder of a trace.
fn folder_of(trace: &Path) -> &Path {
    trace.parent().unwrap_or(Path::new(""))
}

/// Where a cache may be read.
struct AllowedFolders<'a> {
    root: &'a Path,
    /// The folder of the trace.
    beside: &'a Path,
    /// The folder that `TORCHINDUCTOR_CACHE_DIR` names.
    set: Option<PathBuf>,
    /// All below these.
    below: Vec<PathBuf>,
    /// The folder for temporary files.
    temporary: Option<PathBuf>,
}

impl<'a> AllowedFolders<'a> {
    /// Of a trace that lies in `beside`.
    fn new(root: &'a Path, beside: &'a Path) -> Self {
        let is_here = beside.as_os_str().is_empty();
        let beside = if is_here { Path::new(".") } else { beside };
        let set = std::env::var_os("TORCHINDUCTOR_CACHE_DIR").map(PathBuf::from);
        let below = [Some(root), Some(beside), set.as_deref()].into_iter().flatten();
        let below = below.filter_map(|it| it.canonicalize().ok()).collect();
        Self { root, beside, set, below, temporary: std::env::temp_dir().canonicalize().ok() }
    }

    /// The folder of a cache with all links followed, if it is one that may be read and holds one of the files that are wanted: the
    /// folder that the trace names, or that which was set for PyTorch. Their names are hashes, so that it is the same file.
    fn find(&self, folder: &Path, wanted: &BTreeMap<String, String>) -> Option<PathBuf> {
        // The trace may have left out the folder that the program ran in.
        let named = [self.root, self.beside].into_iter().map(|it| it.join(folder));
        let places = named.chain(self.set.clone()).filter_map(|it| it.canonicalize().ok());
        places.into_iter().find(|place| {
            let holds_one = || wanted.keys().any(|it| generated_file(place, it).is_file());
            self.is_allowed(place) && holds_one()
        })
    }

    fn is_allowed(&self, place: &Path) -> bool {
        let name = place.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        let is_temporary = name.starts_with(FOLDER) && place.parent() == self.temporary.as_deref();
        (is_temporary || self.below.iter().any(|it| place.starts_with(it)))
            && place.metadata().is_ok_and(|it| plain_file::has_known_owner(&it, self.root))
    }
}

/// Where a generated file lies in a cache.
fn generated_file(cache: &Path, stem: &str) -> PathBuf {
    cache.join(&stem[1..3]).join(format!("{stem}.py"))
}

/// The cache in a folder.
struct Cache {
    folder: PathBuf,
    /// Bytes that were read.
    bytes: u64,
}

impl Cache {
    /// Those of `wanted`, paths by stem, of which the cache has a graph. `compiled` are the names that the trace has; none if it has no names.
    fn files(
        &mut self,
        mut wanted: BTreeMap<String, String>,
        compiled: &BTreeSet<String>,
    ) -> Vec<CachedFile> {
        let mut found = Vec::new();
        for path in self.entries() {
            if wanted.is_empty() {
                break;
            }
            let Some(bytes) = self.read(&path) else { continue };
            let entry = CacheEntry::read(&bytes);
            let is_named = |it: &&&str| compiled.is_empty() || compiled.contains(**it);
            let of_entry: BTreeSet<&str> =
                entry.compiled.iter().filter(is_named).copied().collect();
            let mut stems: Vec<String> = entry.generated.iter().map(|&it| it.to_owned()).collect();
            for name in of_entry {
                stems.extend(self.generated(name));
            }
            for stem in stems {
                let Some(path) = wanted.remove(&stem) else { continue };
                let code = self
                    .read(&generated_file(&self.folder, &stem))
                    .and_then(|it| String::from_utf8(it).ok());
                let graphs = entry.graphs.iter().map(|&it| it.to_owned()).collect();
                found.extend(code.map(|code| CachedFile { path, code, graphs }));
            }
        }
        found
    }

    /// The files of AOTAutograd's cache, the newest first.
    fn entries(&self) -> Vec<PathBuf> {
        let folders = places::entries(&self.folder.join("aotautograd")).1;
        let files = folders.iter().flat_map(|it| places::entries(it).0);
        let mut files: Vec<(SystemTime, PathBuf)> =
            files.filter_map(|it| Some((places::modified(&it).ok()?, it))).collect();
        files.sort_by(|a, b| b.cmp(a));
        files.truncate(MAX_ENTRIES);
        files.into_iter().map(|it| it.1).collect()
    }

    /// The names of the files that Inductor generated for what it keeps as `name`.
    fn generated(&mut self, name: &str) -> Vec<String> {
        let folder = self.folder.join("fxgraph").join(&name[1..3]).join(name);
        let mut found = Vec::new();
        for path in places::entries(&folder).0.into_iter().take(MAX_VARIANTS) {
            let Some(bytes) = self.read(&path) else { continue };
            found.extend(CacheEntry::read(&bytes).generated.iter().map(|&it| it.to_owned()));
        }
        found
    }

    /// The bytes of a regular file that no link leads out of the cache to; `None` if too much was read.
    fn read(&mut self, path: &Path) -> Option<Vec<u8>> {
        if self.bytes > MAX_BYTES {
            return None;
        }
        let mut bytes = Vec::new();
        let place = path.canonicalize().ok().filter(|it| it.starts_with(&self.folder))?;
        plain_file::open(&place, MAX_ENTRY)?.read_to_end(&mut bytes).ok()?;
        self.bytes += bytes.len() as u64;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_recording_does_not_decide_which_folders_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        let (root, runs, outside) = (at.join("root"), at.join("runs"), at.join("outside"));
        let stem = format!("cab{}", "2".repeat(49));
        for it in [&root, &runs, &outside] {
            std::fs::create_dir_all(it.join("cache/ab")).unwrap();
            std::fs::write(generated_file(&it.join("cache"), &stem), "text").unwrap();
        }
        let wanted = BTreeMap::from([(stem, "c.py".to_owned())]);
        std::os::unix::fs::symlink(outside.join("cache"), root.join("link")).unwrap();
        let allowed = AllowedFolders::new(&root, &runs);
        let find = |it: &Path| allowed.find(it, &wanted);
        assert_eq!(find(&root.join("cache")), Some(root.join("cache")));
        assert_eq!(find(&runs.join("cache")), Some(runs.join("cache")));
        assert_eq!(find(Path::new("cache")), Some(root.join("cache")));
        assert_eq!(find(&outside.join("cache")), None);
        assert_eq!(find(Path::new("../outside/cache")), None);
        assert_eq!(find(Path::new("link")), None);
        std::fs::create_dir_all(root.join("empty")).unwrap();
        assert_eq!(find(&root.join("empty")), None);
        // Nor do links in the cache.
        std::fs::write(outside.join("secret"), "text").unwrap();
        std::fs::write(root.join("cache/entry"), "text").unwrap();
        std::os::unix::fs::symlink(outside.join("secret"), root.join("cache/linked")).unwrap();
        let mut cache = Cache { folder: root.join("cache"), bytes: 0 };
        assert_eq!(cache.read(&root.join("cache/entry")), Some(b"text".to_vec()));
        assert_eq!(cache.read(&root.join("cache/linked")), None);
    }
}
