//! The recordings of the repository.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Root of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_owned)
}

/// Every trace under `fixtures/`, and under `../shared/data` where that is at hand, sorted by path: `*.json.gz` without the
/// side-cars.
///
/// # Errors
/// If a folder cannot be read.
pub fn traces() -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(&repository().join("fixtures"), &mut found)?;
    let shared = repository().join("../shared/data");
    if shared.is_dir() {
        collect(&shared, &mut found)?;
    }
    found.retain(|path| {
        // The folder of the repository may be named anything.
        let path = path.strip_prefix(repository()).unwrap_or(path);
        let name = path.to_string_lossy();
        name.ends_with(".json.gz")
            && !name.ends_with(".callers.json.gz")
            && !name.contains("timeline")
    });
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

/// The side-car of a trace, if there is one: `train.callers.json.gz` beside `train.json.gz`.
#[must_use]
pub fn callers(trace: &Path) -> Option<PathBuf> {
    let path = PathBuf::from(trace.to_string_lossy().replace(".json.gz", ".callers.json.gz"));
    path.exists().then_some(path)
}

/// The decompressed bytes of a `.gz` file.
///
/// # Errors
/// If the file cannot be read or is not gzip.
pub fn read_gz(path: &Path) -> io::Result<Vec<u8>> {
    unpacked(fs::File::open(path)?)
}

/// What gzip was made of.
///
/// # Errors
/// If it cannot be read or is not gzip.
pub fn unpacked(packed: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `bytes` as gzip.
///
/// # Errors
/// Never: memory does not refuse to be read.
pub fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    flate2::read::GzEncoder::new(bytes, flate2::Compression::fast()).read_to_end(&mut packed)?;
    Ok(packed)
}
