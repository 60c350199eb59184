//! Names this build: a hash of the sources of this crate and of those that it uses. What one build keeps of a recording
//! (`src/ledger_cache.rs`) must not be read by another that attributes otherwise.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The crates that a ledger goes through, all of which this one is built after, and the versions of others.
const PARTS: [&str; 21] = [
    "crates/attribution/src",
    "crates/call-sites/src",
    "crates/compile-log/src",
    "crates/critical-path/src",
    "crates/device-memory/src",
    "crates/event-timeline/src",
    "crates/flight-recorder/src",
    "crates/ledger-file/src",
    "crates/ledger/src",
    "crates/line-stacks/src",
    "crates/loader/src",
    "crates/profile/src",
    "crates/pysource/src",
    "crates/recorded/data",
    "crates/recorded/src",
    "crates/remote-files/src",
    "crates/run-summary/src",
    "crates/snapshot-reader/src",
    "crates/stack-books/src",
    "crates/trace-reader/src",
    "crates/units/src",
];

fn main() -> io::Result<()> {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let versions = server.join("../Cargo.lock");
    println!("cargo:rerun-if-changed={}", versions.display());
    let mut files = BTreeSet::from([versions]);
    for part in PARTS {
        collect(&server.join(part), &mut files)?;
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for path in files {
        let name = path.strip_prefix(&server).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        // FNV-1a.
        for byte in name.bytes().chain(fs::read(&path)?) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    println!("cargo:rustc-env=PERFLINE_BUILD={hash:016x}");
    Ok(())
}

/// The files below `folder`; Cargo runs this again when one of them changes.
fn collect(folder: &Path, files: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.insert(path);
        }
    }
    Ok(())
}
