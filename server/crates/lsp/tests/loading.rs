//! How recordings are found, loaded, seen to change, and lost.

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use loader::{Error, PartialRun, Progress, Stage, StepsSoFar};
use serde_json::{Value, json};
use support::{Client, Fake, Gate, TRAIN, all_capabilities, run_of};

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_recording_is_loaded_and_shown() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = Client::start(fake.clone(), fake.folder(), all_capabilities()).await;
    client.open(&uri, TRAIN).await;
    let registered = client.expect("client/registerCapability").await;
    let methods: Vec<_> = registered["registrations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["method"].clone())
        .collect();
    assert_eq!(methods, ["workspace/didChangeConfiguration", "workspace/didChangeWatchedFiles"]);
    client.expect("workspace/inlayHint/refresh").await;
    client.expect("workspace/codeLens/refresh").await;
    assert_eq!(client.hints(&uri).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_asked_of_a_client_that_cannot() {
    let fake = Fake::new();
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    client.diagnostics(&fake.uri("train.py")).await;
    client.command("perfline.setMetric", json!(["wait"])).await.unwrap();
    client.command("perfline.unload", json!([])).await.unwrap();
    client.diagnostics(&fake.uri("train.py")).await;
    for method in [
        "client/registerCapability",
        "workspace/configuration",
        "window/workDoneProgress/create",
        "workspace/inlayHint/refresh",
        "workspace/codeLens/refresh",
    ] {
        assert!(!client.forget(method), "{method}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_shown() {
    let fake = Fake::new();
    let gate = Arc::new(Gate::default());
    let (run, passed) = (run_of("train.py", &fake.path("train.py")), Arc::clone(&gate));
    fake.on_load(move |inputs, _, watch| {
        passed.pass();
        // Longer apart than reports are.
        for done in [50, 100] {
            std::thread::sleep(std::time::Duration::from_millis(150));
            let path = inputs[0].clone();
            (watch.progress)(&Progress { path, stage: Stage::Reading, done, total: 200 });
        }
        Ok(run.clone())
    });
    let mut client = Client::start(fake.clone(), fake.folder(), all_capabilities()).await;
    let token = client.expect("window/workDoneProgress/create").await["token"].clone();
    let begin = client.expect("$/progress").await;
    assert_eq!(begin["token"], token);
    let expected = json!({
        "kind": "begin", "title": "Loading recording", "message": "trace.json", "cancellable": true, "percentage": 0,
    });
    assert_eq!(begin["value"], expected);
    gate.open();
    for percentage in [25, 50] {
        let report = client.expect("$/progress").await["value"].clone();
        let expected = json!({"kind": "report", "message": "reading trace.json", "cancellable": true, "percentage": percentage});
        assert_eq!(report, expected);
    }
    let end = client.expect("$/progress").await["value"].clone();
    assert_eq!(end, json!({"kind": "end", "message": "2 steps, 3 lines"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_steps_of_a_long_recording_are_shown_until_all_is_read() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let gate = Arc::new(Gate::default());
    let (run, passed) = (run_of("train.py", &fake.path("train.py")), Arc::clone(&gate));
    let mut first = run.clone();
    first.merged.lines.retain(|key, _| key.line != 3);
    let so_far = StepsSoFar { n_steps: 2, share: 0.038 };
    *fake.first_steps.lock().unwrap() = Some(PartialRun { run: first, so_far });
    fake.on_load(move |_, _, _| {
        passed.pass();
        Ok(run.clone())
    });
    let mut capabilities = all_capabilities();
    capabilities["experimental"] = json!({"perfline": {"status": true}});
    let mut client = Client::start(fake.clone(), fake.folder(), capabilities).await;
    client.open(&uri, TRAIN).await;
    let is_loaded = |it: &Value| it["loaded"] == json!(true);
    let status = client.expect_that("perfline/status", is_loaded).await;
    let text = "first 2 steps, 3.8 % of the recording";
    assert_eq!(status["soFar"], json!({"steps": 2, "share": 0.038, "text": text}));
    assert_eq!(status["loading"], json!(true));
    let summary = status["summary"].as_str().unwrap();
    assert!(summary.ends_with(&format!(" · so far: {text}")), "{summary}");
    assert_eq!(client.hints(&uri).await.len(), 2);
    let place = json!({"textDocument": {"uri": uri}, "position": {"line": 1, "character": 4}});
    let hover = client.request("textDocument/hover", place).await.unwrap().to_string();
    assert!(hover.contains(&format!("so far: {text}")), "{hover}");
    let lenses = client.lenses(&uri).await;
    assert!(lenses.values().any(|it| it.ends_with(&format!("so far: {text}"))), "{lenses:?}");
    gate.open();
    let is_whole = |it: &Value| it["loading"] == json!(false);
    let status = client.expect_that("perfline/status", is_whole).await;
    assert_eq!((&status["loaded"], &status["soFar"]), (&json!(true), &json!(null)));
    assert_eq!(client.hints(&uri).await.len(), 3);
    // What is shown whole already stays whole while it is read again.
    gate.close();
    let again = client.ask("workspace/executeCommand", json!({"command": "perfline.load"})).await;
    let is_loading = |it: &Value| it["loading"] == json!(true);
    let status = client.expect_that("perfline/status", is_loading).await;
    assert_eq!((&status["loaded"], &status["soFar"]), (&json!(true), &json!(null)));
    gate.open();
    client.answer(again).await.unwrap();
    assert_eq!(client.hints(&uri).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_stops_a_load() {
    let fake = Fake::new();
    fake.on_load(|_, _, watch| {
        while !watch.cancelled.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        Err(Error::Cancelled)
    });
    let mut client = Client::start(fake.clone(), fake.folder(), all_capabilities()).await;
    let token = client.expect("window/workDoneProgress/create").await["token"].clone();
    client.expect("$/progress").await;
    client.notify("window/workDoneProgress/cancel", json!({"token": token})).await;
    assert_eq!(
        client.expect("$/progress").await["value"],
        json!({"kind": "end", "message": "stopped"})
    );
    // It is not begun again by itself, only when asked for.
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": []})).await;
    let run = run_of("train.py", &fake.path("train.py"));
    fake.on_load(move |_, _, _| Ok(run.clone()));
    client.command("perfline.load", json!([])).await.unwrap();
    assert_eq!(fake.n_loads(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_that_changes_is_loaded_again() {
    let cases = [
        (json!({}), false, Duration::from_secs(3600)),
        (all_capabilities(), true, Duration::from_secs(3600)),
        // A client does not see what it excludes or ignores.
        (all_capabilities(), false, Duration::from_millis(20)),
    ];
    for (capabilities, says, poll) in cases {
        let fake = Fake::new();
        let uri = fake.uri("train.py");
        let mut client = Client::polled(fake.clone(), poll);
        client.initialize(fake.folder(), capabilities).await;
        client.diagnostics(&uri).await;
        client.open(&uri, TRAIN).await;

        let mut run = run_of("train.py", &fake.path("train.py"));
        run.merged.lines.retain(|key, _| key.line != 3);
        fake.on_load(move |_, _, _| Ok(run.clone()));
        std::fs::write(fake.path("trace.json"), "22").unwrap();
        if says {
            let change = json!({"uri": fake.uri("trace.json"), "type": 2});
            client.notify("workspace/didChangeWatchedFiles", json!({"changes": [change]})).await;
        }
        assert_eq!(client.diagnostics(&uri).await, [""; 0]);
        assert_eq!(client.hints(&uri).await.len(), 2);
        assert_eq!(fake.n_loads(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_that_ran_is_kept_while_the_recording_stays() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    client.command("perfline.load", json!([])).await.unwrap();
    // Edited and saved, then loaded again: the recording is of the text before.
    let edited = format!("# New.\n{TRAIN}");
    std::fs::write(fake.path("train.py"), &edited).unwrap();
    client.command("perfline.load", json!([])).await.unwrap();
    client.open(&uri, &edited).await;
    assert_eq!(client.hints(&uri).await[0], "2:16 3 ms gpu");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_recording_is_reported_once_and_the_numbers_stay() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    client.diagnostics(&uri).await;
    client.open(&uri, TRAIN).await;
    let path = fake.path("trace.json");
    fake.on_load(move |_, _, _| {
        Err(Error::Unreadable { path: path.clone(), message: "not a trace".to_owned(), offset: 7 })
    });
    std::fs::write(fake.path("trace.json"), "broken").unwrap();
    let reported = client.expect("window/showMessage").await;
    let expected =
        format!("Perfline: {}: not a trace (at byte 7)", fake.path("trace.json").display());
    assert_eq!(reported, json!({"type": 1, "message": expected}));
    assert_eq!(client.hints(&uri).await.len(), 3);
    let error = client.command("perfline.load", json!([])).await.unwrap_err();
    assert_eq!(error["message"], expected.strip_prefix("Perfline: ").unwrap());
    assert_eq!(fake.n_loads(), 3, "not again and again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_while_loading_is_reported_and_the_numbers_stay() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    client.diagnostics(&uri).await;
    client.open(&uri, TRAIN).await;
    fake.on_load(|_, _, _| panic!("row 7 is broken"));
    std::fs::write(fake.path("trace.json"), "22").unwrap();
    let reported = client.expect("window/showMessage").await;
    let message = reported["message"].as_str().unwrap();
    assert!(message.contains("row 7 is broken") && message.contains("report"), "{message}");
    assert_eq!((&reported["type"], client.hints(&uri).await.len()), (&json!(1), 3));
    let error = client.command("perfline.load", json!([])).await.unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("row 7 is broken"), "{error}");
    // The next recording is loaded as if nothing had happened.
    let run = run_of("train.py", &fake.path("train.py"));
    fake.on_load(move |_, _, _| Ok(run.clone()));
    client.command("perfline.load", json!([])).await.unwrap();
    assert_eq!(client.hints(&uri).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dash_is_a_file_because_the_standard_input_is_the_protocols() {
    let fake = Fake::new();
    let (sender, mut loaded) = tokio::sync::mpsc::unbounded_channel();
    let run = run_of("train.py", &fake.path("train.py"));
    fake.on_load(move |inputs, _, _| {
        sender.send(inputs.to_vec()).unwrap();
        Ok(run.clone())
    });
    let mut client = Client::new(fake.clone());
    client.request("initialize", json!({"capabilities": {}})).await.unwrap();
    client.notify("initialized", json!({})).await;
    client.command("perfline.load", json!(["-"])).await.unwrap();
    assert!(loaded.recv().await.unwrap()[0].is_absolute());
}

#[tokio::test(flavor = "multi_thread")]
async fn losses_of_a_recording_are_reported() {
    let fake = Fake::new();
    let mut run = run_of("train.py", &fake.path("train.py"));
    run.failures.push("rank1.json: the file is empty".to_owned());
    fake.on_load(move |_, _, _| Ok(run.clone()));
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    let reported = client.expect("window/showMessage").await;
    let message =
        "Perfline: rank1.json: the file is empty. The numbers lack what is missing; see the log.";
    assert_eq!(reported, json!({"type": 2, "message": message}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_load_stops_for_a_newer_one() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    fake.on_load(|_, _, watch| {
        while !watch.cancelled.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        // A load that does not notice in time must not be shown either.
        Ok(loader::Run {
            inputs: vec![],
            failures: vec![],
            ranks: vec![],
            merged: ledger::Ledger::default(),
            texts: loader::TextsByFile::new(),
            commit: None,
            stacks: None,
            timeline: None,
            histories: Vec::new(),
        })
    });
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    client
        .expect_that("window/logMessage", |it| {
            it["message"].as_str().unwrap().starts_with("load 1:")
        })
        .await;
    let run = run_of("train.py", &fake.path("train.py"));
    // The first load must have begun before what loading does is exchanged.
    while fake.n_loads() == 0 {
        tokio::task::yield_now().await;
    }
    fake.on_load(move |_, _, _| Ok(run.clone()));
    client.command("perfline.load", json!([])).await.unwrap();
    client.expect_that("window/logMessage", |it| it["message"] == "load 1: stopped").await;
    client.open(&uri, TRAIN).await;
    assert_eq!(client.hints(&uri).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn recordings_are_included_and_excluded() {
    let fake = Fake::new();
    let mut client = Client::new(fake.clone());
    client.settings = json!({"recordings": {"include": ["runs/**"]}});
    client.initialize(fake.folder(), all_capabilities()).await;
    client.expect("workspace/inlayHint/refresh").await;
    let error = client.command("perfline.load", json!([])).await.unwrap_err();
    assert_eq!(error["message"], "no recording was found in the workspace; name one with paths");
    // What is named is loaded, whatever the settings say.
    let trace = fake.path("trace.json");
    for paths in
        [json!([["trace.json"]]), json!([fake.uri("trace.json")]), json!([{"paths": [trace]}])]
    {
        let loaded = client.command("perfline.load", paths).await.unwrap();
        assert_eq!((&loaded["lines"], &loaded["view"]["ranks"]), (&json!(3), &json!([0, 1])));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_library_folders_need_another_load() {
    let fake = Fake::new();
    let (sender, mut sites) = tokio::sync::mpsc::unbounded_channel();
    let run = run_of("train.py", &fake.path("train.py"));
    fake.on_load(move |_, options, _| {
        sender.send(options.sites.clone()).unwrap();
        Ok(run.clone())
    });
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    assert_eq!(sites.recv().await, Some(None));
    let settings = json!({"perfline": {"python": {"sitePackages": ["/env"]}}});
    client.notify("workspace/didChangeConfiguration", json!({"settings": settings})).await;
    assert_eq!(sites.recv().await, Some(Some(vec!["/env".into()])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_named_is_watched() {
    let fake = Fake::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let named = elsewhere.path().join("named.json");
    std::fs::write(&named, "1").unwrap();
    let (sender, mut loaded) = tokio::sync::mpsc::unbounded_channel();
    let run = run_of("train.py", &fake.path("train.py"));
    fake.on_load(move |inputs, _, _| {
        sender.send(inputs.to_vec()).unwrap();
        Ok(run.clone())
    });
    let mut client = Client::start(fake.clone(), fake.folder(), all_capabilities()).await;
    client.diagnostics(&fake.uri("train.py")).await;
    assert_eq!(loaded.recv().await, Some(vec![fake.path("trace.json")]));
    client.command("perfline.load", json!([named])).await.unwrap();
    assert_eq!(loaded.recv().await, Some(vec![named.clone()]));
    std::fs::write(&named, "22").unwrap();
    assert_eq!(loaded.recv().await, Some(vec![named]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_found_after_unloading_is_not_loaded() {
    let fake = Fake::new();
    fake.search_gate.close();
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    while fake.searches.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    client.command("perfline.unload", json!([])).await.unwrap();
    fake.search_gate.open();
    client.command("perfline.load", json!([])).await.unwrap();
    assert_eq!(fake.n_loads(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_added_is_searched() {
    let (empty, fake) = (tempfile::tempdir().unwrap(), Fake::new());
    let mut client = Client::start(fake.clone(), empty.path(), all_capabilities()).await;
    client.expect("client/registerCapability").await;
    let added = json!([{"uri": support::uri(fake.folder()), "name": "w"}]);
    client
        .notify(
            "workspace/didChangeWorkspaceFolders",
            json!({"event": {"added": added, "removed": []}}),
        )
        .await;
    client.diagnostics(&fake.uri("train.py")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_a_recording_is_loaded_the_text_shows_what_would_wait() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
    let uri = support::uri(&folder.path().join("train.py"));
    client.open(&uri, "import torch\nfor x in xs:\n    print(x.item())\n").await;
    let [it] = &client.diagnostics(&uri).await[..] else { panic!("one is expected") };
    assert_eq!((&it["code"], &it["severity"]), (&json!("possible-sync"), &json!(4)));
    assert_eq!(it["range"]["start"], json!({"line": 2, "character": 10}));
    assert!(it["message"].as_str().unwrap().ends_with("(not measured: no recording is loaded)"));
}
