//! Workspaces of several folders: each shows its own recording.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use support::Client;
use support::programs::{capabilities, folder, status};

/// A client with workspace folders, ready to work.
async fn start(folders: &[&Path]) -> Client {
    let folders: Vec<Value> =
        folders.iter().map(|it| json!({"uri": support::uri(it), "name": "w"})).collect();
    let mut client = Client::new(Arc::new(lsp::Disk));
    client.settings = json!({});
    let parameters = json!({"capabilities": capabilities(), "workspaceFolders": folders});
    client.request("initialize", parameters).await.unwrap();
    client.notify("initialized", json!({})).await;
    client
}

async fn open(client: &mut Client, path: &Path) -> String {
    let uri = support::uri(path);
    client.open(&uri, &fs::read_to_string(path).unwrap()).await;
    uri
}

/// The status once a recording of a folder is shown, in front or not.
async fn shown(client: &mut Client, wanted: &[(&Path, &str)]) -> Value {
    let names = |it: &Value| {
        let front = (it["folder"].clone(), it["inputs"][0]["path"].clone());
        let others = it["others"].as_array().unwrap().iter();
        let others = others.map(|it| (it["folder"].clone(), it["paths"][0].clone()));
        std::iter::once(front).chain(others).collect::<Vec<_>>()
    };
    let wanted: Vec<_> =
        wanted.iter().map(|(folder, name)| (json!(folder), json!(folder.join(name)))).collect();
    status(client, |it| {
        let shown = names(it);
        shown.len() == wanted.len() && wanted.iter().all(|it| shown.contains(it))
    })
    .await
}

async fn look_at(client: &mut Client, uri: &str) -> Value {
    client.command("perfline.setFolder", json!([{"uri": uri}])).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_folder_shows_its_own_recording() {
    let (first, second) = (folder("slow_model", &["."]), folder("uploads", &["."]));
    let (first, second) = (first.path(), second.path());
    let mut client = start(&[first, second]).await;
    let model = open(&mut client, &first.join("slow_model.py")).await;
    let uploads = open(&mut client, &second.join("uploads.py")).await;
    let both = [(first, "slow_model.json.gz"), (second, "uploads.json.gz")];
    shown(&mut client, &both).await;
    // Both have their numbers, whichever is looked at.
    let mut of_model = Vec::new();
    for at in [&model, &uploads, &model] {
        look_at(&mut client, at).await;
        let (hints, others) = (client.hints(&model).await, client.hints(&uploads).await);
        assert!(!hints.is_empty() && !others.is_empty() && hints != others);
        assert!(of_model.is_empty() || of_model == hints);
        of_model = hints;
        for (uri, line) in [(&model, "slow_model.py"), (&uploads, "uploads.py")] {
            let heat = client.command("perfline.heat", json!([{"uri": uri}])).await.unwrap();
            assert!(!heat["lines"].as_array().unwrap().is_empty(), "{line}");
            let hot = json!([{"uri": uri, "limit": 1}]);
            let hot = client.command("perfline.hotLines", hot).await.unwrap();
            assert_eq!(hot["lines"][0]["file"], line);
        }
        let hot = client.command("perfline.hotLines", json!([{"limit": 1}])).await.unwrap();
        assert_eq!(hot["lines"][0]["uri"], json!(at), "views are about what is looked at");
    }
    let recordings = client.command("perfline.recordings", json!([])).await.unwrap();
    let is_loaded = |it: &Value| it["loaded"] == true && it["pinned"] == false;
    assert!(recordings["recordings"].as_array().unwrap().iter().all(is_loaded));
}

#[tokio::test(flavor = "multi_thread")]
async fn diagnostics_of_all_folders_are_published() {
    let (first, second) = (folder("slow_model", &["."]), folder("uploads", &["."]));
    let (first, second) = (first.path(), second.path());
    let mut client = start(&[first, second]).await;
    let model = open(&mut client, &first.join("slow_model.py")).await;
    let uploads = open(&mut client, &second.join("uploads.py")).await;
    for uri in [&model, &uploads] {
        let is_of = |it: &Value| {
            let found = it["diagnostics"].as_array().unwrap().iter();
            it["uri"] == json!(uri) && found.clone().any(|it| it["code"] != "possible-sync")
        };
        client.expect_that("textDocument/publishDiagnostics", is_of).await;
    }
    look_at(&mut client, &uploads).await;
    shown(&mut client, &[(first, "slow_model.json.gz"), (second, "uploads.json.gz")]).await;
    client.forget("");
    look_at(&mut client, &model).await;
    client.command("perfline.status", json!([])).await.unwrap();
    // Nothing of what was published is taken back.
    assert!(!client.forget("textDocument/publishDiagnostics"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_named_is_shown_of_its_folder_alone() {
    let (first, second) = (folder("slow_model", &["."]), folder("uploads", &["."]));
    let (first, second) = (first.path(), second.path());
    let other = first.join("kept").join("slow_model.json.gz");
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::rename(first.join("slow_model.json.gz"), &other).unwrap();
    fs::copy(&other, first.join("newer.json.gz")).unwrap();
    let mut client = start(&[first, second]).await;
    let model = open(&mut client, &first.join("slow_model.py")).await;
    let uploads = open(&mut client, &second.join("uploads.py")).await;
    look_at(&mut client, &uploads).await;
    let before = [(first, "newer.json.gz"), (second, "uploads.json.gz")];
    shown(&mut client, &before).await;
    let loaded = client.command("perfline.load", json!([{"paths": [other]}])).await.unwrap();
    assert_eq!(loaded["folder"], json!(first));
    let now = [(first, "kept/slow_model.json.gz"), (second, "uploads.json.gz")];
    let status = shown(&mut client, &now).await;
    assert_eq!((&status["folder"], &status["pinned"]), (&json!(first), &json!(true)));
    assert_eq!(status["others"][0]["pinned"], false);
    assert!(!client.hints(&uploads).await.is_empty());
    // For a folder that is not in front: that stays there.
    look_at(&mut client, &uploads).await;
    let newest = json!([{"folder": first}]);
    client.command("perfline.load", newest).await.unwrap();
    let status = client.command("perfline.status", json!([])).await.unwrap();
    assert_eq!((&status["folder"], &status["pinned"]), (&json!(second), &json!(false)));
    assert_eq!(status["others"][0]["paths"], json!([first.join("newer.json.gz")]));
    let elsewhere = json!([{"folder": "/elsewhere"}]);
    let refused = client.command("perfline.load", elsewhere).await.unwrap_err();
    assert_eq!(refused["message"], "folder: /elsewhere is no folder of the workspace");
    // All numbers go, and come again.
    client.forget("");
    client.command("perfline.unload", json!([])).await.unwrap();
    assert_eq!(client.hints(&model).await, client.hints(&uploads).await);
    // What was sent before may come yet, and says that all is there.
    let is_gone = |it: &Value| it["loaded"] == false && it["others"][0]["paths"] == json!([]);
    client.expect_that("perfline/status", is_gone).await;
    client.forget("");
    client.command("perfline.load", json!([])).await.unwrap();
    shown(&mut client, &before).await;
    assert!(!client.hints(&model).await.is_empty() && !client.hints(&uploads).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_baseline_is_that_of_its_folder() {
    let (first, second) = (folder("slow_model", &["."]), folder("uploads", &["."]));
    let (first, second) = (first.path(), second.path());
    let mut client = start(&[first, second]).await;
    open(&mut client, &first.join("slow_model.py")).await;
    let uploads = open(&mut client, &second.join("uploads.py")).await;
    look_at(&mut client, &uploads).await;
    let both = [(first, "slow_model.json.gz"), (second, "uploads.json.gz")];
    shown(&mut client, &both).await;
    let base = first.join("slow_model.json.gz");
    let set = json!([{"paths": [base], "folder": first}]);
    let baseline = client.command("perfline.setBaseline", set).await.unwrap();
    assert_eq!(baseline["paths"], json!([base]));
    let status = client.command("perfline.status", json!([])).await.unwrap();
    assert_eq!((&status["folder"], &status["baseline"]), (&json!(second), &Value::Null));
    look_at(&mut client, &support::uri(&first.join("slow_model.py"))).await;
    let status = client.command("perfline.status", json!([])).await.unwrap();
    assert_eq!(status["baseline"]["paths"], json!([base]));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_whose_recordings_are_in_another_folder_has_its_numbers() {
    let (code, runs) = (folder("slow_model", &["."]), folder("slow_model", &[]));
    let (code, runs) = (code.path(), runs.path());
    fs::remove_file(code.join("slow_model.json.gz")).unwrap();
    let mut client = start(&[code, runs]).await;
    let model = open(&mut client, &code.join("slow_model.py")).await;
    look_at(&mut client, &model).await;
    shown(&mut client, &[(runs, "slow_model.json.gz")]).await;
    assert!(!client.hints(&model).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recording_of_the_folder_that_is_looked_at_is_in_front() {
    let (first, second) = (folder("slow_model", &["."]), folder("uploads", &["."]));
    let empty = tempfile::tempdir().unwrap();
    let (first, second) = (first.path(), second.path());
    let mut client = start(&[first, second, empty.path()]).await;
    // The newest of all: which one was copied last says the system.
    status(&mut client, |_| true).await;
    let rows = [(first, "slow_model"), (second, "uploads"), (first, "slow_model")];
    for (folder, program) in rows {
        let document = support::uri(&folder.join(format!("{program}.py")));
        assert_eq!(look_at(&mut client, &document).await, json!({"folder": folder}));
        let is_it = |it: &Value| it["folder"] == json!(folder) && it["loaded"] == true;
        let now = client.command("perfline.status", json!([])).await.unwrap();
        if !is_it(&now) {
            status(&mut client, is_it).await;
        }
    }
    // A document in none of them changes nothing, nor does a folder without recordings what is shown.
    let answer = look_at(&mut client, "file:///elsewhere/train.py").await;
    assert_eq!(answer, json!({"folder": first}));
    let nothing = support::uri(&empty.path().join("train.py"));
    assert_eq!(look_at(&mut client, &nothing).await, json!({"folder": empty.path()}));
    let now = client.command("perfline.status", json!([])).await.unwrap();
    assert_eq!(now["folder"], json!(first));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_shown_of_a_folder_goes_with_it() {
    let (first, second) = (folder("slow_model", &["."]), folder("uploads", &["."]));
    let (first, second) = (first.path(), second.path());
    let mut client = start(&[first, second]).await;
    let model = open(&mut client, &first.join("slow_model.py")).await;
    let uploads = open(&mut client, &second.join("uploads.py")).await;
    look_at(&mut client, &model).await;
    let both = [(first, "slow_model.json.gz"), (second, "uploads.json.gz")];
    shown(&mut client, &both).await;
    let removed = json!([{"uri": support::uri(first), "name": "w"}]);
    let event = json!({"event": {"added": [], "removed": removed}});
    client.notify("workspace/didChangeWorkspaceFolders", event).await;
    shown(&mut client, &[(second, "uploads.json.gz")]).await;
    assert!(client.hints(&model).await.is_empty() && !client.hints(&uploads).await.is_empty());
}
