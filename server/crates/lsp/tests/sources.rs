//! Which files the sources of a recording are, and in which folder of the workspace somebody works.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use support::{Client, all_capabilities};

const RECORDINGS: &str = "simulated_cuda/torch2.15.0";

/// A folder with a recording, and the program that was recorded in each of `places`.
fn folder(program: &str, places: &[&str]) -> tempfile::TempDir {
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
async fn status(client: &mut Client, wanted: impl Fn(&Value) -> bool) -> Value {
    client.expect_that("perfline/status", |it| it["loaded"] == true && wanted(it)).await
}

async fn map(client: &mut Client, mapping: &Value) {
    let mappings = json!({mapping["recorded"].as_str().unwrap(): mapping["folder"]});
    client.settings = json!({"sources": {"map": mappings}});
    client.notify("workspace/didChangeConfiguration", json!({"settings": null})).await;
}

/// Those of a client that is sent the status.
fn capabilities() -> Value {
    let mut capabilities = all_capabilities();
    capabilities["experimental"]["perfline"]["status"] = json!(true);
    capabilities
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_copies_the_one_is_shown_that_the_client_chooses() {
    let folder = folder("slow_model", &["a", "b"]);
    let at = folder.path().canonicalize().unwrap();
    let mut client = Client::start(Arc::new(lsp::Disk), &at, capabilities()).await;
    status(&mut client, |it| it["sources"]["ambiguous"] == 1).await;
    let sources = client.command("perfline.sources", json!([])).await.unwrap();
    let choice = |place: &str| {
        let path = at.join(place).join("slow_model.py");
        let folder = format!("{place}/slow_model.py");
        json!({"path": path, "mapping": {"recorded": "slow_model.py", "folder": folder}})
    };
    let ambiguous = json!([{"recorded": "slow_model.py", "choices": [choice("a"), choice("b")]}]);
    assert_eq!(sources, json!({"root": at, "missing": [], "ambiguous": ambiguous}));
    map(&mut client, &choice("b")["mapping"]).await;
    status(&mut client, |it| it["sources"]["ambiguous"] == 0).await;
    let hot = client.command("perfline.hotLines", json!([{}])).await.unwrap();
    assert_eq!(hot["lines"][0]["file"], "b/slow_model.py");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_elsewhere_are_found_in_the_folder_that_the_client_names() {
    let folder = folder("slow_model", &[]);
    let at = folder.path().canonicalize().unwrap();
    let elsewhere = self::folder("slow_model", &["code"]);
    let elsewhere = elsewhere.path().canonicalize().unwrap().join("code");
    let mut client = Client::start(Arc::new(lsp::Disk), &at, capabilities()).await;
    // The program that called it is not there either.
    status(&mut client, |it| it["sources"]["missing"] == 2).await;
    let refused = client.command("perfline.locate", json!([{"folder": at}])).await.unwrap_err();
    let expected =
        format!("{} has no file of the recording, which names run.py and 1 more", at.display());
    assert_eq!(refused["message"], expected);
    let located = client.command("perfline.locate", json!([{"folder": elsewhere}])).await.unwrap();
    let file = elsewhere.join("slow_model.py");
    let mapping = json!({"recorded": "slow_model.py", "folder": file});
    assert_eq!(located, json!({"root": at, "mapping": mapping, "files": 1}));
    map(&mut client, &mapping).await;
    // A program that is not there is not known to be the user's where other code is.
    status(&mut client, |it| it["sources"]["missing"] == 0).await;
    let hot = client.command("perfline.hotLines", json!([{}])).await.unwrap();
    assert_eq!(hot["lines"][0]["uri"], json!(support::uri(&file)));
    let text = fs::read_to_string(&file).unwrap();
    client.open(&support::uri(&file), &text).await;
    assert!(!client.hints(&support::uri(&file)).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_folders_the_recording_of_the_one_that_is_looked_at_is_shown() {
    let (first, second) = (folder("slow_model", &["."]), folder("uploads", &["."]));
    let empty = tempfile::tempdir().unwrap();
    let uri = |it: &tempfile::TempDir, file: &str| support::uri(&it.path().join(file));
    let folders = [&first, &second, &empty].map(|it| json!({"uri": uri(it, ""), "name": "w"}));
    let mut client = Client::new(Arc::new(lsp::Disk));
    client.settings = json!({});
    let parameters = json!({"capabilities": capabilities(), "workspaceFolders": folders});
    client.request("initialize", parameters).await.unwrap();
    client.notify("initialized", json!({})).await;
    let is_of = |name: &'static str| {
        move |it: &Value| it["inputs"][0]["path"].as_str().is_some_and(|it| it.ends_with(name))
    };
    // The newest of all: which one was copied last says the system.
    status(&mut client, |_| true).await;
    let rows = [(&first, "slow_model"), (&second, "uploads"), (&first, "slow_model")];
    for (folder, program) in rows {
        let document = json!([{"uri": uri(folder, &format!("{program}.py"))}]);
        let answer = client.command("perfline.setFolder", document).await.unwrap();
        assert_eq!(answer, json!({"folder": folder.path()}));
        let shown = client.command("perfline.status", json!([])).await.unwrap();
        let name = if program == "uploads" { "uploads.json.gz" } else { "slow_model.json.gz" };
        if !is_of(name)(&shown) {
            status(&mut client, is_of(name)).await;
        }
    }
    // A document in none of them changes nothing.
    let document = json!([{"uri": "file:///elsewhere/train.py"}]);
    let answer = client.command("perfline.setFolder", document).await.unwrap();
    assert_eq!(answer, json!({"folder": first.path()}));
}
