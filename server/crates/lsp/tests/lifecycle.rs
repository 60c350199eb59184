//! How sessions begin and end, and the hazards of tower-lsp 0.20 that `service.rs` lists.

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lsp::Ending;
use serde_json::{Value, json};
use support::{Client, Fake, all_capabilities, hint_params, shown};

#[tokio::test(flavor = "multi_thread")]
async fn only_what_works_is_announced() {
    let fake = Fake::new();
    let mut client = Client::new(fake.clone());
    let capabilities = client.initialize(fake.folder(), json!({})).await;
    let expected = json!({
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": false}},
        "inlayHintProvider": {"resolveProvider": false},
        "codeLensProvider": {"resolveProvider": false},
        "hoverProvider": true,
        "executeCommandProvider": {"commands": [
            "perfline.load", "perfline.recordings", "perfline.setBaseline", "perfline.clearBaseline", "perfline.unload", "perfline.setMetric", "perfline.setStep", "perfline.setRank", "perfline.setFolder", "perfline.setFilter", "perfline.filterValues", "perfline.hotLines", "perfline.heat", "perfline.details", "perfline.status", "perfline.explain", "perfline.findings", "perfline.report", "perfline.flame", "perfline.timeline", "perfline.memoryTimeline", "perfline.rankSteps", "perfline.roofline", "perfline.page", "perfline.view", "perfline.place", "perfline.sources", "perfline.locate",
        ]},
        "workspace": {"workspaceFolders": {"supported": true, "changeNotifications": true}},
    });
    assert_eq!(capabilities, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_encoding_is_negotiated() {
    let rows = [
        (json!(["utf-16", "utf-8"]), "utf-8"),
        (json!(["utf-16", "utf-32"]), "utf-32"),
        (json!(["utf-16"]), "utf-16"),
        (json!(["utf-7"]), "utf-16"),
    ];
    for (offered, chosen) in rows {
        let fake = Fake::new();
        let mut client = Client::new(fake.clone());
        let capabilities = json!({"general": {"positionEncodings": offered}});
        assert_eq!(
            client.initialize(fake.folder(), capabilities).await["positionEncoding"],
            chosen
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_ends_the_session_although_the_pipe_stays_open() {
    let fake = Fake::new();
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    assert_eq!(
        client.request("shutdown", Value::Null).await,
        Ok(Value::Null),
        "with parameters that are null"
    );
    client.send(&json!({"jsonrpc": "2.0", "method": "exit"})).await;
    assert_eq!(client.end().await, Ending::Exit { after_shutdown: true });
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_without_shutdown_is_distinguished() {
    let fake = Fake::new();
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    client.send(&json!({"jsonrpc": "2.0", "method": "exit"})).await;
    assert_eq!(client.end().await, Ending::Exit { after_shutdown: false });
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_under_way_get_out_before_the_end() {
    let fake = Fake::new();
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    let id = client.ask("shutdown", Value::Null).await;
    client.send(&json!({"jsonrpc": "2.0", "method": "exit"})).await;
    // tower-lsp cancels what `exit` finds unfinished; even so it is answered.
    let answer = client.answer(id).await;
    assert!(
        answer == Ok(Value::Null) || answer.as_ref().is_err_and(|it| it["code"] == -32800),
        "{answer:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_vanishes_ends_the_session() {
    let fake = Fake::new();
    let client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    assert_eq!(client.hang_up().await, Ending::EndOfInput { after_shutdown: false });

    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    client.request("shutdown", Value::Null).await.unwrap();
    assert_eq!(
        client.hang_up().await,
        Ending::EndOfInput { after_shutdown: true },
        "exit was left out"
    );

    let mut client = Client::start(fake.clone(), fake.folder(), all_capabilities()).await;
    for _ in 0..50 {
        client.ask("textDocument/inlayHint", hint_params(&fake.uri("train.py"))).await;
    }
    assert_eq!(client.vanish().await, Ending::EndOfInput { after_shutdown: false });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stops_reading_ends_the_session() {
    let fake = Fake::new();
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    client.stop_reading().await;
    // It is noticed when there is something to say.
    for _ in 0..20 {
        client.ask("textDocument/inlayHint", hint_params(&fake.uri("train.py"))).await;
    }
    assert_eq!(client.end().await, Ending::EndOfInput { after_shutdown: false });
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_process_that_started_the_server_ends_the_session() {
    let fake = Fake::new();
    let sleeping = || std::process::Command::new("sleep").arg("600").spawn().unwrap();

    let mut parent = sleeping();
    let mut client = Client::started_by(fake.clone(), parent.id()).await;
    client.request("shutdown", Value::Null).await.unwrap();
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert_eq!(client.end().await, Ending::ParentGone { after_shutdown: true });

    // Where it is not collected, as in many containers, it stays in the list of processes.
    #[cfg(target_os = "linux")]
    {
        let mut parent = sleeping();
        let client = Client::started_by(fake.clone(), parent.id()).await;
        parent.kill().unwrap();
        assert_eq!(client.end().await, Ending::ParentGone { after_shutdown: false });
        parent.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_while_the_process_that_started_the_server_runs() {
    let fake = Fake::new();
    // Our own process; and what is not the id of a process.
    for process in [std::process::id(), 0, u32::MAX] {
        let mut client = Client::started_by(fake.clone(), process).await;
        for _ in 0..5 {
            // As long as between two looks at the process.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(client.request("shutdown", Value::Null).await, Ok(Value::Null));
        assert_eq!(client.hang_up().await, Ending::EndOfInput { after_shutdown: true });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_an_error_reply_and_no_more() {
    let fake = Fake::new();
    fake.on_load(|_, _, _| panic!("of the test"));
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    let error = client.command("perfline.load", json!([])).await.unwrap_err();
    assert!(
        error["message"].as_str().unwrap().starts_with("internal error while loading"),
        "{error}"
    );
    assert_eq!(client.request("shutdown", Value::Null).await, Ok(Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_sees_the_edit_before_it() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    client.command("perfline.load", json!([])).await.unwrap();
    client.open(&uri, support::TRAIN).await;
    let mut ids = Vec::new();
    for version in 2..202 {
        client.change(&uri, version, [0, 0, 0, 0], "\n").await;
        ids.push((version, client.ask("textDocument/inlayHint", hint_params(&uri)).await));
    }
    for (version, id) in ids {
        let hints = shown(&client.answer(id).await.unwrap());
        // Line 2, 0-based 1, stands one line lower for each edit.
        assert!(hints[0].starts_with(&format!("{}:", version)), "version {version}: {hints:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_cancelled_stops_its_work_and_holds_nothing_up() {
    let fake = Fake::new();
    let (began, began_seen) = tokio::sync::oneshot::channel();
    let began = Mutex::new(Some(began));
    let saw_cancel = Arc::new(AtomicBool::new(false));
    let saw = Arc::clone(&saw_cancel);
    let (ended, ended_seen) = tokio::sync::oneshot::channel();
    let ended = Mutex::new(Some(ended));
    fake.on_load(move |_, _, watch| {
        if let Some(began) = began.lock().unwrap().take() {
            began.send(()).unwrap();
        }
        while !watch.cancelled.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        saw.store(true, Ordering::SeqCst);
        if let Some(ended) = ended.lock().unwrap().take() {
            ended.send(()).unwrap();
        }
        Err(loader::Error::Cancelled)
    });
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    let load = client
        .ask("workspace/executeCommand", json!({"command": "perfline.load", "arguments": []}))
        .await;
    began_seen.await.unwrap();
    // While it loads, others are answered.
    client.open(&fake.uri("train.py"), support::TRAIN).await;
    assert_eq!(client.hints(&fake.uri("train.py")).await, [""; 0]);
    client.notify("$/cancelRequest", json!({"id": load})).await;
    assert_eq!(client.answer(load).await.unwrap_err()["code"], -32800);
    ended_seen.await.unwrap();
    assert!(saw_cancel.load(Ordering::SeqCst));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_answers_holds_nothing_up() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = Client::new(fake.clone());
    client.silent_on = vec![
        "window/workDoneProgress/create",
        "workspace/inlayHint/refresh",
        "workspace/codeLens/refresh",
    ];
    client.initialize(fake.folder(), all_capabilities()).await;
    client.open(&uri, support::TRAIN).await;
    client.command("perfline.load", json!([])).await.unwrap();
    for version in 2..300 {
        client.change(&uri, version, [0, 0, 0, 0], "#").await;
    }
    assert_eq!(client.hints(&uri).await.len(), 3);
    assert_eq!(client.diagnostics(&uri).await.len(), 1);
}
