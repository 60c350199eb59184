//! Folders with a recorded program, and a client that is sent the status.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Client, all_capabilities};

const RECORDINGS: &str = "simulated_cuda/torch2.15.0";

/// A folder with a recording, and the program that was recorded in each of `places`.
pub fn folder(program: &str, places: &[&str]) -> tempfile::TempDir {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    let recording = format!("{program}.json.gz");
    fs::copy(fixtures.join(RECORDINGS).join(&recording), folder.path().join(&recording)).unwrap();
    for place in places {
        let place = folder.path().join(place);
        fs::create_dir_all(&place).unwrap();
        let program = format!("{program}.py");
        fs::copy(fixtures.join("workloads").join(&program), place.join(&program)).unwrap();
    }
    folder
}

/// Waits for a status that is as wanted.
pub async fn status(client: &mut Client, wanted: impl Fn(&Value) -> bool) -> Value {
    client.expect_that("perfline/status", |it| it["loaded"] == true && wanted(it)).await
}

/// Those of a client that is sent the status.
pub fn capabilities() -> Value {
    let mut capabilities = all_capabilities();
    capabilities["experimental"]["perfline"]["status"] = json!(true);
    capabilities
}
