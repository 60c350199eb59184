//! Which files the sources of a recording are.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use support::Client;
use support::programs::{capabilities, folder, status};

async fn map(client: &mut Client, mapping: &Value) {
    let mappings = json!({mapping["recorded"].as_str().unwrap(): mapping["folder"]});
    client.settings = json!({"sources": {"map": mappings}});
    client.notify("workspace/didChangeConfiguration", json!({"settings": null})).await;
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
    // The folder says that it is.
    let runner = elsewhere.join("runner");
    fs::create_dir(&runner).unwrap();
    let at = runner.join("run.py");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    fs::copy(fixtures.join("workloads/run.py"), &at).unwrap();
    let located = client.command("perfline.locate", json!([{"folder": runner}])).await.unwrap();
    assert_eq!(located["mapping"], json!({"recorded": "run.py", "folder": at}));
}
