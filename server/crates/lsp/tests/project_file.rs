//! The `perfline.toml` of the workspace: below what the editor says, followed, and reported where it cannot be used.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

mod support;

use std::time::{Duration, Instant};

use serde_json::json;
use support::{Client, Fake, TRAIN, all_capabilities, ready};

/// Writes the file, and says that it changed.
async fn write(fake: &Fake, client: &mut Client, text: &str) {
    std::fs::write(fake.path("perfline.toml"), text).unwrap();
    let change = json!({"uri": fake.uri("perfline.toml"), "type": 2});
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": [change]})).await;
}

/// Waits until a file has these hints.
async fn until_hints(client: &mut Client, uri: &str, expected: &[&str]) {
    let began = Instant::now();
    loop {
        let hints = client.hints(uri).await;
        if hints == expected {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{hints:?} in place of {expected:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

const CUDA: [&str; 3] = ["1:16 3 ms gpu", "2:28 2 ms wait ×1", "4:16 1.5 ms gpu"];
const WAIT: [&str; 1] = ["2:28 2 ms wait ×1"];

#[tokio::test(flavor = "multi_thread")]
async fn the_file_applies_and_the_editor_goes_before_it() {
    let fake = Fake::new();
    std::fs::write(fake.path("perfline.toml"), "[view]\nmetric = 'wait'\n").unwrap();
    let mut client = Client::new(fake.clone());
    // As VS Code sends what nobody set.
    client.settings = json!({"view": {"metric": "auto", "threshold": 0.5}});
    client.initialize(fake.folder(), all_capabilities()).await;
    client.command("perfline.load", json!([])).await.unwrap();
    let uri = fake.uri("train.py");
    client.open(&uri, TRAIN).await;
    assert_eq!(client.hints(&uri).await, WAIT);
    client.settings = json!({"view": {"metric": "cuda"}});
    client.notify("workspace/didChangeConfiguration", json!({"settings": null})).await;
    until_hints(&mut client, &uri, &CUDA).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_that_sends_what_was_set_alone_sets_a_default_back() {
    let fake = Fake::new();
    std::fs::write(fake.path("perfline.toml"), "[view]\nmetric = 'wait'\n").unwrap();
    let mut client = Client::new(fake.clone());
    client.settings = json!({"view.metric": "auto"});
    let mut capabilities = all_capabilities();
    capabilities["experimental"]["perfline"]["setSettings"] = json!(true);
    client.initialize(fake.folder(), capabilities).await;
    client.command("perfline.load", json!([])).await.unwrap();
    let uri = fake.uri("train.py");
    client.open(&uri, TRAIN).await;
    assert_eq!(client.hints(&uri).await, CUDA);
    client.settings = json!({});
    client.notify("workspace/didChangeConfiguration", json!({"settings": null})).await;
    until_hints(&mut client, &uri, &WAIT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_folder_has_its_file() {
    let fake = Fake::new();
    let mut folders = Vec::new();
    for (name, text) in [("one", "[view]\nper = 'run'\n"), ("two", "[view]\nmetric = 'wait'\n")] {
        let folder = fake.path(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("perfline.toml"), text).unwrap();
        std::fs::write(folder.join("trace.json"), "{}").unwrap();
        folders.push(json!({"uri": support::uri(&folder), "name": name}));
    }
    let mut client = Client::new(fake.clone());
    client.settings = json!({});
    let params = json!({"capabilities": all_capabilities(), "workspaceFolders": folders});
    client.request("initialize", params).await.unwrap();
    client.notify("initialized", json!({})).await;
    for (name, metric, step) in [("one", "auto", "run"), ("two", "wait", "mean")] {
        let paths = json!([{"paths": [fake.path(name).join("trace.json")]}]);
        client.command("perfline.load", paths).await.unwrap();
        let view = client.command("perfline.status", json!([])).await.unwrap()["view"].take();
        assert_eq!((&view["metric"], &view["step"]), (&json!(metric), &json!(step)), "{name}");
    }
    // What one folder leaves out, the other lists.
    let two = fake.path("two").join("perfline.toml");
    std::fs::write(&two, "[recordings]\nexclude = ['**']\n").unwrap();
    let change = json!({"uri": support::uri(&two), "type": 2});
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": [change]})).await;
    let began = Instant::now();
    loop {
        let listed = client.command("perfline.recordings", json!([])).await.unwrap();
        let listed = listed["recordings"].as_array().unwrap();
        if listed.len() == 1 {
            assert_eq!(listed[0]["paths"], json!([fake.path("one").join("trace.json")]));
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{listed:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_followed() {
    let fake = Fake::new();
    let mut client = ready(&fake).await;
    let uri = fake.uri("train.py");
    assert_eq!(client.hints(&uri).await, CUDA);
    let n_loads = fake.n_loads();
    write(&fake, &mut client, "[hints]\nenabled = false\n").await;
    until_hints(&mut client, &uri, &[]).await;
    write(&fake, &mut client, "[view]\nmetric = 'wait'\n").await;
    until_hints(&mut client, &uri, &WAIT).await;
    std::fs::remove_file(fake.path("perfline.toml")).unwrap();
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": []})).await;
    until_hints(&mut client, &uri, &CUDA).await;
    assert_eq!(fake.n_loads(), n_loads);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_decided_while_loading_is_loaded_again() {
    let fake = Fake::new();
    let mut client = ready(&fake).await;
    let expected = fake.path("env");
    let run = support::run_of("train.py", &fake.path("train.py"));
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    fake.on_load(move |_, options, _| {
        let _ = sender.send(options.sites.clone());
        Ok(run.clone())
    });
    write(&fake, &mut client, "[python]\nsitePackages = ['env']\n").await;
    assert_eq!(receiver.recv().await, Some(Some(vec![expected])));
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_reported_once() {
    let fake = Fake::new();
    std::fs::write(fake.path("perfline.toml"), "[view]\nmetric = 'gpu'\nper = 'run'\n").unwrap();
    let mut client = ready(&fake).await;
    let shown = client.expect("window/showMessage").await;
    let message = shown["message"].as_str().unwrap();
    let path = fake.path("perfline.toml");
    let start = format!(
        "Perfline: {}:2: view.metric: unknown metric `gpu`, expected one of: ",
        path.display()
    );
    assert!(message.starts_with(&start), "{message}");
    // The rest of the file counts.
    let status = client.command("perfline.status", json!([])).await.unwrap();
    assert_eq!(status["view"]["step"], json!("run"), "{status}");
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": []})).await;
    client.command("perfline.setMetric", json!(["wait"])).await.unwrap();
    assert!(!client.forget("window/showMessage"));
    write(&fake, &mut client, "[python]\nsitePackages = ['/env']\n").await;
    let shown = client.expect("window/showMessage").await;
    let message = shown["message"].as_str().unwrap();
    assert!(
        message.contains("perfline.toml:2: python.sitePackages: `/env` is not below"),
        "{message}"
    );
}
