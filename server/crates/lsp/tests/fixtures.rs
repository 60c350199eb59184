//! A session on a real recording, with the real loader.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

#[path = "../../loader/tests/repository/mod.rs"]
mod repository;
mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use loader::LedgerCache;
use serde_json::{Value, json};
use support::{Client, Kept, all_capabilities};

/// A folder with copies of recordings and programs, by what they are called there.
fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in files {
        std::fs::copy(fixtures.join(from), folder.path().join(to)).unwrap();
    }
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_whose_ledger_was_kept_gives_the_same_answers() {
    let folder = folder_with(&[
        ("simulated_cuda/torch2.15.0/slow_model.json.gz", "slow_model.json.gz"),
        ("workloads/slow_model.py", "slow_model.py"),
    ]);
    // A file that was written a moment ago is not kept.
    std::thread::sleep(Duration::from_millis(700));
    let cache = tempfile::tempdir().unwrap();
    let ledgers = Some(Arc::new(LedgerCache::with_least(cache.path().join("cache"), 0)));
    let recordings = Arc::new(Kept { ledgers, ..Kept::default() });
    let path = folder.path().join("slow_model.py");
    let text = std::fs::read_to_string(&path).unwrap();
    let uri = support::uri(&path);
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let mut client = Client::start(recordings.clone(), folder.path(), all_capabilities()).await;
        let mut answers: Vec<Value> = client.diagnostics(&uri).await;
        client.open(&uri, &text).await;
        answers.push(json!(client.hints(&uri).await));
        for line in 0..text.lines().count() {
            let document = json!({"uri": uri});
            let place =
                json!({"textDocument": document, "position": {"line": line, "character": 8}});
            answers.push(client.request("textDocument/hover", place).await.unwrap());
        }
        let document = json!({"textDocument": {"uri": uri}});
        answers.push(client.request("textDocument/codeLens", document).await.unwrap());
        for command in ["perfline.hotLines", "perfline.status", "perfline.report"] {
            answers.push(client.command(command, json!([{}])).await.unwrap());
        }
        sessions.push(answers);
    }
    assert_eq!(*recordings.n_kept.lock().unwrap(), [0, 1]);
    for (cold, warm) in sessions[0].iter().zip(&sessions[1]) {
        assert_eq!(cold, warm);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recordings_are_described_without_being_read() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    let old = SystemTime::now() - Duration::from_secs(3600);
    for (from, to) in [("slow_model", "runs/old"), ("uploads", "runs/middle"), ("starved", "new")] {
        let from = fixtures.join(format!("simulated_cuda/torch2.15.0/{from}.json.gz"));
        let to = folder.path().join(format!("{to}.json.gz"));
        std::fs::copy(from, &to).unwrap();
        let time =
            if to.ends_with("runs/old.json.gz") { old } else { old + Duration::from_secs(600) };
        let time = if to.ends_with("new.json.gz") {
            SystemTime::now() - Duration::from_secs(60)
        } else {
            time
        };
        std::fs::File::options().append(true).open(&to).unwrap().set_modified(time).unwrap();
    }
    let git = json!({"revision": "1a2b3c4d".repeat(5), "dirty": true});
    let sources = json!({"git": git, "files": []});
    let callers =
        json!({"schema": "perfline.callers/1", "strings": [], "threads": [], "sources": sources});
    std::fs::write(folder.path().join("runs/old.callers.json.gz"), callers.to_string()).unwrap();
    // A file that was written a moment ago is not kept.
    std::thread::sleep(Duration::from_millis(700));
    let cache = tempfile::tempdir().unwrap();
    let ledgers = Some(Arc::new(LedgerCache::with_least(cache.path().join("cache"), 0)));
    let recordings = Arc::new(Kept { ledgers, ..Kept::default() });
    let list = |answer: &Value| {
        let rows = answer["recordings"].as_array().unwrap().iter();
        let row = |it: &Value| {
            let text = |name: &str| it[name].as_str().unwrap_or("-").to_owned();
            let [name, time, commit] = ["name", "timeText", "commit"].map(text);
            let dirty = if it["dirty"] == true { "-dirty" } else { "" };
            format!("{name} {} {time} {commit}{dirty} {}", it["steps"], it["loaded"])
        };
        rows.map(row).collect::<Vec<_>>()
    };
    for mode in ["named", "newest"] {
        let mut client = Client::start(recordings.clone(), folder.path(), all_capabilities()).await;
        let paths = if mode == "named" { json!([["runs/old.json.gz"]]) } else { json!([]) };
        client.command("perfline.load", paths).await.unwrap();
        let answer = client.command("perfline.recordings", json!([])).await.unwrap();
        assert_eq!((&answer["mode"], &answer["leftOut"]), (&json!(mode), &json!(0)));
        let rows = list(&answer);
        // The newest was loaded by itself at first, if there was time.
        assert!(rows[0].starts_with("new.json.gz "), "{rows:#?}");
        assert_eq!(rows[0].ends_with("true"), mode == "newest", "{rows:#?}");
        assert_eq!(rows[1], "runs/middle.json.gz null - - false", "it was never read");
        let loaded = mode == "named";
        assert_eq!(rows[2], format!("runs/old.json.gz 3 19.2 ms 1a2b3c4-dirty {loaded}"));
        let old = &answer["recordings"][2];
        assert_eq!((&old["kinds"], &old["ranks"]), (&json!(["kineto"]), &json!(1)));
        let beside = old["beside"].as_array().unwrap();
        assert!(beside[0].as_str().unwrap().ends_with("old.callers.json.gz"), "{old:#}");
        let limited = client.command("perfline.recordings", json!([1])).await.unwrap();
        assert_eq!((list(&limited).len(), &limited["leftOut"]), (1, &json!(2)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_follow_the_text_that_ran_from_git() {
    // 2026-11-22, as the recording says.
    let began = 1_795_360_091;
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/comparison");
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str, time: i64| {
        let to = folder.path().join(to);
        std::fs::copy(data.join(from), &to).unwrap();
        repository::set_time(&to, time);
    };
    copy("base/trace.json.gz", "run.json.gz", began + 1);
    copy("faster/train.py", "train.py", began + 24 * 60 * 60);
    let now = std::fs::read_to_string(folder.path().join("train.py")).unwrap();
    let uri = support::uri(&folder.path().join("train.py"));
    let hints = async || {
        let recordings = Arc::new(Kept::default());
        let mut client = Client::start(recordings, folder.path(), all_capabilities()).await;
        client.command("perfline.load", json!([])).await.unwrap();
        client.open(&uri, &now).await;
        let hints = client.hints(&uri).await;
        client.hang_up().await;
        hints
    };
    // `parameter.detach().norm()` has no recorded line, `loss.backward()` has one that is another statement now.
    let [norm, backward] = ["norm())", "loss.backward()"]
        .map(|it| format!("{}:", now.lines().position(|line| line.contains(it)).unwrap()));
    // Without a mark.
    let is_there = |hints: &[String], line: &str| {
        hints.iter().any(|it| it.starts_with(line) && !it.contains('≈'))
    };
    let without = hints().await;
    assert!(without.iter().all(|it| it.contains('≈')), "{without:#?}");
    let ran = std::fs::read_to_string(data.join("base/train.py")).unwrap();
    let mut git = repository::Repository::new(folder.path());
    git.commit(&[("train.py", &ran)], began - 60);
    let with = hints().await;
    assert!(is_there(&with, &norm) && is_there(&with, &backward), "{with:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_is_compared_with_the_one_before() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/comparison");
    let folder = tempfile::tempdir().unwrap();
    let texts = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str, age: u64| {
        let to = folder.path().join(to);
        std::fs::copy(data.join(from), &to).unwrap();
        let time = SystemTime::now() - Duration::from_secs(age);
        std::fs::File::options().append(true).open(&to).unwrap().set_modified(time).unwrap();
    };
    copy("base/train.py", "train.py", 7200);
    copy("base/trace.json.gz", "old.json.gz", 3600);
    let recordings = Arc::new(Kept { texts: Some(texts.path().join("cache")), ..Kept::default() });
    // Whoever looked at it before the edit has the text that ran.
    let mut client = Client::start(recordings.clone(), folder.path(), all_capabilities()).await;
    client.command("perfline.load", json!([])).await.unwrap();
    let error = client.command("perfline.setBaseline", json!([])).await.unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("no recording"), "{error}");
    client.hang_up().await;
    copy("faster/train.py", "train.py", 1800);
    copy("faster/trace.json.gz", "new.json.gz", 600);

    let mut client = Client::start(recordings, folder.path(), all_capabilities()).await;
    client.command("perfline.load", json!([])).await.unwrap();
    let uri = support::uri(&folder.path().join("train.py"));
    client.open(&uri, &std::fs::read_to_string(folder.path().join("train.py")).unwrap()).await;
    let plain = client.hints(&uri).await;
    let baseline = client.command("perfline.setBaseline", json!([])).await.unwrap();
    assert_eq!(baseline["name"], "old.json.gz");
    let verdict = baseline["verdict"].as_str().unwrap();
    assert!(verdict.ends_with("2 lines are faster."), "{verdict}");
    let status = client.command("perfline.status", json!([])).await.unwrap();
    assert_eq!(status["baseline"], baseline);
    let listed = client.command("perfline.recordings", json!([])).await.unwrap();
    let row = &listed["recordings"][1];
    assert_eq!((&row["name"], &row["steps"]), (&json!("old.json.gz"), &json!(8)), "it was read");
    let hints = client.hints(&uri).await;
    let changed: Vec<&String> = hints.iter().filter(|it| !plain.contains(it)).collect();
    assert!(
        changed.iter().any(|it| it.starts_with("10:") && it.ends_with("cpu (−597)")),
        "{hints:#?}"
    );
    let at = json!({"textDocument": {"uri": uri}, "position": {"line": 10, "character": 8}});
    let hover = client.request("textDocument/hover", at).await.unwrap();
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.contains("beside old.json.gz") && text.contains("720 µs"), "{text}");
    let graph = client.command("perfline.flame", json!([])).await.unwrap();
    assert_eq!(graph["base"]["title"], "old.json.gz");
    assert_eq!(graph["base"]["steps"], json!([8, 8]));
    for metric in graph["metrics"].as_array().unwrap() {
        for column in [metric, &metric["base"]] {
            let amounts = column["amount"].as_array().unwrap().iter();
            let sum: i64 = amounts.filter_map(Value::as_i64).sum();
            assert_eq!(column["total"], sum, "{}", metric["id"]);
        }
        assert_eq!(metric["base"]["differs"] != json!([]), metric["id"] == "cpu");
    }
    let page = client.command("perfline.page", json!([])).await.unwrap();
    assert!(page["html"].as_str().unwrap().contains("\"title\":\"old.json.gz\""));
    // A part of what is shown has no counterpart in the baseline.
    client.command("perfline.setFilter", json!([{"phase": "backward"}])).await.unwrap();
    let graph = client.command("perfline.flame", json!([])).await.unwrap();
    assert_eq!(graph.get("base"), None);
    client.command("perfline.setFilter", json!([{}])).await.unwrap();
    let sorted = json!([{"sort": "difference"}]);
    let hot = client.command("perfline.hotLines", sorted.clone()).await.unwrap();
    let deltas: Vec<&Value> =
        hot["lines"].as_array().unwrap().iter().map(|it| &it["difference"]["deltaText"]).collect();
    assert_eq!(deltas[0], "−597 µs");
    assert!(deltas.len() < plain.len(), "those that differ alone: {deltas:#?}");

    client.command("perfline.load", json!([["old.json.gz"]])).await.unwrap();
    let status = client.command("perfline.status", json!([])).await.unwrap();
    let verdict = status["baseline"]["verdict"].as_str().unwrap();
    assert!(verdict.ends_with("no line differs by more than the noise."), "{verdict}");
    client.command("perfline.load", json!([["new.json.gz"]])).await.unwrap();
    client.command("perfline.clearBaseline", json!([])).await.unwrap();
    let graph = client.command("perfline.flame", json!([])).await.unwrap();
    assert_eq!(graph.get("base"), None);
    assert_eq!(client.hints(&uri).await, plain);
    let hot = client.command("perfline.hotLines", sorted).await.unwrap();
    assert_eq!(hot["lines"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flame_graph_leads_to_the_lines_as_they_are() {
    let folder = folder_with(&[
        ("simulated_cuda/torch2.15.0/slow_model.json.gz", "slow_model.json.gz"),
        ("workloads/slow_model.py", "slow_model.py"),
    ]);
    let mut client = Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
    let path = folder.path().join("slow_model.py");
    let uri = support::uri(&path);
    client.diagnostics(&uri).await;
    let text = std::fs::read_to_string(&path).unwrap();
    client.open(&uri, &format!("# A comment.\n{text}")).await;
    let graph = client.command("perfline.flame", json!([{}])).await.unwrap();
    assert_eq!(graph["schema"], "perfline.flame/1");
    assert_eq!(graph["title"], "slow_model.json.gz");
    for metric in graph["metrics"].as_array().unwrap() {
        let sum: i64 = metric["amount"].as_array().unwrap().iter().filter_map(Value::as_i64).sum();
        assert_eq!(metric["total"], sum, "{}", metric["id"]);
    }
    let file = &graph["files"]["slow_model.py"];
    let place =
        client.command("perfline.place", json!([{"file": file, "line": 46}])).await.unwrap();
    assert_eq!((&place["line"], &place["uri"]), (&json!(47), &json!(uri)));
    assert_eq!(place["source"], "if x.max().item() > 100:");
    let unknown = client.command("perfline.place", json!([{"file": "other.py", "line": 1}])).await;
    assert_eq!(unknown, Ok(Value::Null));
    client.command("perfline.unload", json!([])).await.unwrap();
    assert_eq!(client.command("perfline.flame", json!([])).await, Ok(Value::Null));
}

/// The answer of a page's server: status and body.
fn http(url: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    use std::io::{Read, Write};
    let (host, key) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let head = format!("{method} /{key}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    let kind = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    stream.write_all(format!("{head}{kind}\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_in_a_browser_opens_lines_in_the_editor_and_follows_it() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("slow_model.json.gz");
    let path = folder.path().join("slow_model.py");
    std::fs::copy(fixtures.join("simulated_cuda/torch2.15.0/slow_model.json.gz"), &recording)
        .unwrap();
    std::fs::copy(fixtures.join("workloads/slow_model.py"), &path).unwrap();
    let mut client = Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
    let uri = support::uri(&path);
    client.diagnostics(&uri).await;
    let text = std::fs::read_to_string(&path).unwrap();
    client.open(&uri, &format!("# A comment.\n{text}")).await;

    // The line as it is in the editor now; the page knows it as recorded.
    let wanted = json!([{"picture": "timeline", "uri": uri, "line": 47}]);
    let answer = client.command("perfline.view", wanted).await.unwrap();
    assert_eq!(answer["opened"], true);
    let shown = client.expect("window/showDocument").await;
    assert_eq!((&shown["uri"], &shown["external"]), (&answer["url"], &json!(true)));
    let url = answer["url"].as_str().unwrap();
    let (url, fragment) = url.split_once('#').unwrap();
    assert_eq!(fragment, "timeline:slow_model.py:46");
    // There is one page, and it is not opened where that is not wanted.
    let again = client.command("perfline.view", json!([{"open": false}])).await.unwrap();
    assert_eq!(again, json!({"url": url, "opened": false}));
    let unknown = client.command("perfline.view", json!([{"picture": "plot"}])).await.unwrap_err();
    let expected =
        "unknown picture `plot`, expected one of: timeline, flame, memory, ranks, roofline";
    assert_eq!(unknown["message"], expected);

    let ask = |method: &'static str, path: &'static str, body: &str| {
        let (url, body) = (url.to_owned(), body.to_owned());
        tokio::task::spawn_blocking(move || http(&url, method, path, &body))
    };
    let (status, page) = ask("GET", "", "").await.unwrap();
    assert_eq!(status, 200);
    for part in ["perfline.timeline/1", "perfline.flame/1", ">slow_model.py:46<", "data-served"] {
        assert!(page.contains(part), "{part}");
    }
    // The same page for a client that shows it, with places by the names that it shows.
    let given = client.command("perfline.page", json!([])).await.unwrap();
    assert_eq!(given, json!({"html": page}));
    let place = json!([{"file": "slow_model.py", "line": 46}]);
    let place = client.command("perfline.place", place).await.unwrap();
    assert_eq!((&place["uri"], &place["line"]), (&json!(uri), &json!(47)));
    let part = r#"{"picture": "timeline", "from": 0, "to": 1000000}"#;
    let (status, drawn) = ask("POST", "picture", part).await.unwrap();
    let drawn: Value = serde_json::from_str(&drawn).unwrap();
    assert_eq!((status, &drawn["to"]), (200, &json!(1_000_000)));
    let (status, drawn) = ask("POST", "picture", r#"{"picture": "memory"}"#).await.unwrap();
    let drawn: Value = serde_json::from_str(&drawn).unwrap();
    assert_eq!((status, &drawn["names"]), (200, &json!(["cuda:0"])));
    let missing = r#"{"picture": "memory", "rank": 0, "device": 7}"#;
    let (status, message) = ask("POST", "picture", missing).await.unwrap();
    assert_eq!(status, 422);
    assert!(message.contains("there is no such device"), "{message}");

    let click = ask("POST", "open", r#"{"file": "slow_model.py", "line": 46}"#);
    let opened = client.expect("window/showDocument").await;
    assert_eq!(opened["uri"], json!(uri));
    assert_eq!(
        (&opened["takeFocus"], &opened["selection"]["start"]["line"]),
        (&json!(true), &json!(46))
    );
    assert_eq!(click.await.unwrap().0, 200);
    let (status, message) =
        ask("POST", "open", r#"{"file": "other.py", "line": 1}"#).await.unwrap();
    assert_eq!((status, message.as_str()), (422, "other.py was not found here."));

    // Another load is another page.
    let version = page.split_once("data-served=\"").unwrap().1.split_once('"').unwrap().0;
    let url_of_change = format!("changed?from={version}");
    let change = {
        let url = url.to_owned();
        tokio::task::spawn_blocking(move || http(&url, "GET", &url_of_change, ""))
    };
    client.command("perfline.load", json!([{"paths": [recording]}])).await.unwrap();
    assert_ne!(change.await.unwrap(), (200, version.to_owned()));
    client.command("perfline.unload", json!([])).await.unwrap();
    let (status, page) = ask("GET", "", "").await.unwrap();
    assert_eq!(status, 503);
    assert!(page.contains("<p>no recording is loaded</p>"), "{page}");
    assert_eq!(client.command("perfline.page", json!([])).await, Ok(Value::Null));
    assert!(client.command("perfline.view", json!([])).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeline_is_asked_for_by_step_and_by_range() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    let recording = fixtures.join("simulated_cuda/torch2.15.0/slow_model.json.gz");
    std::fs::copy(recording, folder.path().join("slow_model.json.gz")).unwrap();
    std::fs::copy(fixtures.join("workloads/slow_model.py"), folder.path().join("slow_model.py"))
        .unwrap();
    let mut client = Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
    client.diagnostics(&support::uri(&folder.path().join("slow_model.py"))).await;
    let step = client.command("perfline.timeline", json!([{}])).await.unwrap();
    assert_eq!((&step["schema"], &step["step"]), (&json!("perfline.timeline/1"), &json!(3)));
    assert_eq!(step["files"]["slow_model.py"], "slow_model.py");
    let boxes = |drawn: &Value| {
        let lanes = drawn["lanes"].as_array().unwrap();
        lanes.iter().map(|it| it["start"].as_array().unwrap().len()).sum::<usize>()
    };
    let merged = json!([{"step": 3, "resolution": 5_000_000}]);
    let merged = client.command("perfline.timeline", merged).await.unwrap();
    assert!(boxes(&merged) < boxes(&step) / 4, "{} {}", boxes(&merged), boxes(&step));
    let range = json!([{"rank": 0, "from": 40_000_000, "to": 41_000_000}]);
    let range = client.command("perfline.timeline", range).await.unwrap();
    assert_eq!((&range["from"], &range["to"]), (&json!(40_000_000), &json!(41_000_000)));
    assert_eq!(range["step"], Value::Null);
    for (arguments, message) in [
        (json!([{"from": 5}]), "from and to: expected both or neither"),
        (json!([{"from": -5, "to": 7}]), "from: expected whole nanoseconds, found -5"),
        (
            json!([{"step": 99}]),
            "there is no such step, or the range is empty; an answer without step, from and to lists the steps",
        ),
        (
            json!([{"rank": 5}]),
            "no trace of this rank is loaded; choose a rank that perfline.status lists",
        ),
    ] {
        let refused = client.command("perfline.timeline", arguments.clone()).await.unwrap_err();
        assert!(refused.to_string().contains(message), "{arguments}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_over_time_is_asked_for_by_device_and_by_range() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = folder_with(&[
        ("simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz", "run.snapshot.pickle.gz"),
        ("workloads/slow_model.py", "slow_model.py"),
    ]);
    let mut client = Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
    client.diagnostics(&support::uri(&folder.path().join("slow_model.py"))).await;
    let whole = client.command("perfline.memoryTimeline", json!([{}])).await.unwrap();
    assert_eq!(whole["schema"], "perfline.memoryTimeline/1");
    assert_eq!(whole["title"], "run.snapshot.pickle.gz");
    assert_eq!(whole["devices"], json!([[0, 0]]));
    assert_eq!(whole["files"]["slow_model.py"], "slow_model.py");
    let amounts = |value: &Value| -> Vec<i64> {
        value.as_array().unwrap().iter().map(|it| it.as_i64().unwrap()).collect()
    };
    let sums = |drawn: &Value| {
        let mut sums = vec![0; amounts(&drawn["at"]).len()];
        for row in drawn["rows"].as_array().unwrap() {
            sums.iter_mut().zip(amounts(&row["bytes"])).for_each(|(sum, it)| *sum += it);
        }
        sums
    };
    assert_eq!((&whole["leftOut"], sums(&whole)), (&json!(0), amounts(&whole["inUse"])));
    assert_eq!(amounts(&whole["inUse"]).into_iter().max(), whole["peak"]["bytes"].as_i64());
    let (from, to) = (20_000_000, 21_000_000);
    let part = json!([{"rank": 0, "device": 0, "from": from, "to": to}]);
    let part = client.command("perfline.memoryTimeline", part).await.unwrap();
    assert_eq!((&part["from"], &part["to"]), (&json!(from), &json!(to)));
    assert_eq!(sums(&part), amounts(&part["inUse"]));
    let inside = |drawn: &Value| {
        amounts(&drawn["at"]).into_iter().filter(|it| (from..to).contains(it)).count()
    };
    assert!(inside(&whole) < inside(&part), "a part has more detail");
    // The segments are those of the peak, or of the moment that is asked for.
    let segments = &whole["segments"];
    assert_eq!(segments["event"], whole["peak"]["event"]);
    let in_use = |it: &Value| it["reserved"].as_i64().unwrap() - it["free"].as_i64().unwrap();
    assert_eq!(Some(in_use(segments)), whole["peak"]["bytes"].as_i64());
    let used: i64 = amounts(&segments["blocks"]["used"]).iter().sum();
    assert_eq!(used, in_use(segments));
    for (moment, event) in [(0, 0), (3, 3), (-1, -1)] {
        let wanted = json!([{"rank": 0, "device": 0, "moment": moment}]);
        let drawn = client.command("perfline.memoryTimeline", wanted).await.unwrap();
        assert_eq!(drawn["segments"]["event"], event);
        assert_eq!(drawn["inUse"], whole["inUse"], "all else is the same");
    }
    for (arguments, message) in [
        (json!([{"from": 5}]), "from and to: expected both or neither"),
        (json!([{"from": 7, "to": 7}]), "from and to: expected a range that is not empty"),
        (json!([{"rank": 5}]), "rank and device: expected both or neither"),
        (json!([{"from": "x", "to": 7}]), "from: expected a whole number, found"),
        (json!([{"moment": -2}]), "moment: expected the number of an event or -1, found -2"),
        (
            json!([{"rank": 0, "device": 3}]),
            "there is no such device; an answer without rank and device lists the devices",
        ),
    ] {
        let refused = client.command("perfline.memoryTimeline", arguments.clone()).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(message), "{arguments}: {refused}");
    }
    // Of a trace the memory of the host, too.
    let trace = fixtures.join("cuda/torch2.11.0/slow_model.json.gz");
    client.command("perfline.load", json!([{"paths": [trace]}])).await.unwrap();
    let drawn = client.command("perfline.memoryTimeline", json!([])).await.unwrap();
    assert_eq!((&drawn["names"], &drawn["device"]), (&json!(["cpu", "cuda:0"]), &json!(0)));
    let host = json!([{"rank": 0, "device": -1}]);
    let host = client.command("perfline.memoryTimeline", host).await.unwrap();
    assert_eq!(host["device"], -1);
    assert!(host["peak"]["bytes"].as_i64().unwrap() < drawn["peak"]["bytes"].as_i64().unwrap());
    let silent = fixtures.join("../tests/data/comparison/base/trace.json.gz");
    client.command("perfline.load", json!([{"paths": [silent]}])).await.unwrap();
    let refused = client.command("perfline.memoryTimeline", json!([])).await;
    let refused = refused.map(|it| it["schema"].clone()).unwrap_err();
    assert!(
        refused.to_string().contains("nothing that is loaded says when memory was in use"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_with_a_device() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    let copy =
        |from: &str, to: &str| std::fs::copy(fixtures.join(from), folder.path().join(to)).unwrap();
    for name in ["slow_model.json.gz", "slow_model.callers.json.gz"] {
        copy(&format!("simulated_cuda/torch2.15.0/{name}"), name);
    }
    copy("workloads/slow_model.py", "slow_model.py");
    copy("workloads/run.py", "run.py");

    let mut client = Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
    let path = folder.path().join("slow_model.py");
    let uri = support::uri(&path);
    let text = std::fs::read_to_string(&path).unwrap();
    let diagnostics = client.diagnostics(&uri).await;
    client.open(&uri, &text).await;
    let line_of = |needle: &str| text.lines().position(|line| line.contains(needle)).unwrap();

    let item = line_of("x.max().item()");
    let on_line = diagnostics.iter().filter(|it| it["range"]["start"]["line"] == item);
    let messages: Vec<_> = on_line.map(|it| it["message"].as_str().unwrap()).collect();
    let is_sync =
        |it: &&str| it.starts_with("sync: the CPU waits ") && it.contains("per step here");
    assert!(messages.iter().any(is_sync), "{messages:?}");

    let hints = client.hints(&uri).await;
    let on = |line: usize| hints.iter().find(|hint| hint.starts_with(&format!("{line}:"))).unwrap();
    assert!(on(item).contains(" wait ×"), "{}", on(item));
    let forward = line_of("torch.relu(layer(x))");
    assert!(on(forward).contains(" gpu +") && on(forward).contains(" bwd"), "{}", on(forward));

    let hover =
        json!({"textDocument": {"uri": uri}, "position": {"line": forward, "character": 20}});
    let hover = client.request("textDocument/hover", hover).await.unwrap();
    let text = hover["contents"]["value"].as_str().unwrap();
    for part in
        ["· `SlowModel.forward`", "| kernel ", "The recording names this line.", "On lines: "]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    let lenses = client
        .request("textDocument/codeLens", json!({"textDocument": {"uri": uri}}))
        .await
        .unwrap();
    let titles: Vec<_> = lenses
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["command"]["title"].as_str().unwrap())
        .collect();
    assert!(
        titles
            .iter()
            .any(|title| title.starts_with("forward: ") && title.contains("kernels launched here")),
        "{titles:?}"
    );
    assert!(titles.iter().any(|title| title.starts_with("loop: ")), "{titles:?}");

    let status = client.command("perfline.status", json!([])).await.unwrap();
    let summary = status["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("slow_model.json.gz · mean of 3 steps · "),
        "the side-car belongs to the trace: {summary}"
    );
    let inputs = status["inputs"].as_array().unwrap();
    let kinds: Vec<_> = inputs.iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["kineto", "callers"]);

    let details = client.command("perfline.details", json!([uri, forward + 1])).await.unwrap();
    let kernel = &details["kernels"][0];
    assert!(kernel["shortName"].is_string() && kernel["total"].is_i64(), "{kernel}");
    assert_eq!(details["steps"].as_array().unwrap().len(), 3);
    let heat = client.command("perfline.heat", json!([uri])).await.unwrap();
    let is_hot = |it: &serde_json::Value| it["line"] == item + 1;
    assert!(heat["lines"].as_array().unwrap().iter().any(is_hot), "{heat}");
}

/// A folder with a recording and the program that it is of.
fn slow_model() -> tempfile::TempDir {
    folder_with(&[
        ("simulated_cuda/torch2.15.0/slow_model.json.gz", "slow_model.json.gz"),
        ("simulated_cuda/torch2.15.0/slow_model.callers.json.gz", "slow_model.callers.json.gz"),
        ("workloads/slow_model.py", "slow_model.py"),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_recording_is_shown_everywhere() {
    let folder = slow_model();
    let path = folder.path().join("slow_model.py");
    let text = std::fs::read_to_string(&path).unwrap();
    let uri = support::uri(&path);
    let mut client =
        Client::start(Arc::new(Kept::default()), folder.path(), all_capabilities()).await;
    client.command("perfline.load", json!([])).await.unwrap();
    client.open(&uri, &text).await;
    let hints = client.hints(&uri).await;
    let values = client.command("perfline.filterValues", json!([])).await.unwrap();
    assert_eq!(values["files"], json!(["slow_model.py"]));
    assert_eq!((&values["steps"], &values["streams"]), (&json!([1, 2, 3]), &json!([7])));
    for (name, value) in [("modules", "Gate"), ("functions", "Gate.forward"), ("phases", "loader")]
    {
        assert!(values[name].as_array().unwrap().contains(&json!(value)), "{values}");
    }

    client.expect("workspace/codeLens/refresh").await;
    let view = client.command("perfline.setFilter", json!([{"phase": "backward"}])).await.unwrap();
    client.expect("workspace/codeLens/refresh").await;
    let extent = "20.9 ms of 58.1 ms of thread time, 12.6 ms of 29.7 ms of CUDA time";
    assert_eq!(view["part"], json!({"filter": "--phase backward", "extent": extent}));
    // What `perfline lines --phase backward` says, by its three steps.
    assert_eq!(client.hints(&uri).await, ["96:19 4.2 ms gpu", "123:49 ↳ 4.2 ms gpu"]);
    let hot = client.command("perfline.hotLines", json!([])).await.unwrap();
    let lines: Vec<&Value> =
        hot["lines"].as_array().unwrap().iter().map(|it| &it["line"]).collect();
    assert_eq!(lines, [97]);
    assert_eq!(hot["lines"][0]["value"], (12_595_355 + 1) / 3);
    let heat = client.command("perfline.heat", json!([uri])).await.unwrap();
    assert_eq!(heat["lines"].as_array().unwrap().len(), 1);
    let flame = client.command("perfline.flame", json!([])).await.unwrap();
    assert_eq!(flame["part"], format!("with --phase backward: {extent}"));
    let cuda = flame["metrics"].as_array().unwrap().iter().find(|it| it["id"] == "cuda");
    assert_eq!(cuda.unwrap()["total"], 12_595_355);
    let report = client.command("perfline.report", json!([])).await.unwrap();
    assert_eq!(report["filter"]["phase"], "backward");
    let totals = &report["sections"][0];
    assert_eq!(totals["id"], "totals");
    let amounts: Vec<&Value> =
        totals["rows"].as_array().unwrap().iter().map(|it| &it[1]["value"]).collect();
    assert!(amounts.contains(&&json!(12_595_355)), "{totals}");
    let document = json!({"textDocument": {"uri": uri}});
    let lenses = client.request("textDocument/codeLens", document).await.unwrap();
    let titles: Vec<&str> = lenses
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["command"]["title"].as_str().unwrap())
        .collect();
    assert!(titles.iter().all(|it| it.ends_with(" · --phase backward")), "{titles:?}");
    assert_eq!(titles[0], "train_step: 6.96 ms cpu · 4.2 ms gpu · --phase backward");
    let hover = async |client: &mut Client, line: u32| {
        let at =
            json!({"textDocument": {"uri": uri}, "position": {"line": line - 1, "character": 8}});
        client.request("textDocument/hover", at).await.unwrap()
    };
    let of_line = hover(&mut client, 97).await["contents"]["value"].as_str().unwrap().to_owned();
    assert!(of_line.contains("only `--phase backward`: 20.9 ms of 58.1 ms"), "{of_line}");
    assert!(of_line.contains("|   4.2 ms |  4.2 ms | 21.8 % |"), "{of_line}");
    assert!(of_line.contains("median 4.2 ms, 4.19 ms to 4.2 ms (step 3) in 3 steps"), "{of_line}");
    assert_eq!(hover(&mut client, 46).await, Value::Null);
    let details = json!([{"uri": uri, "line": 97}]);
    let details = client.command("perfline.details", details).await.unwrap();
    assert_eq!(details["steps"].as_array().unwrap().len(), 3);
    let most = &details["kernels"][0];
    assert_eq!(
        (&most["calls"], &most["shortName"]),
        (&json!(37), &json!("ampere_sgemm_32x32_sliced1x4_nn"))
    );
    let findings = client.command("perfline.findings", json!([])).await.unwrap();
    let findings = findings["findings"].as_array().unwrap();
    assert!(!findings.is_empty() && findings.iter().all(|it| it["line"] == 97), "{findings:?}");
    let status = client.command("perfline.status", json!([])).await.unwrap();
    let summary = status["summary"].as_str().unwrap();
    assert!(summary.ends_with("mean of 3 steps · 19.2 ms · --phase backward"), "{summary}");

    // One step, and the sum.
    client.command("perfline.setStep", json!([2])).await.unwrap();
    assert_eq!(client.hints(&uri).await, ["96:19 4.2 ms gpu"]);
    client.command("perfline.setStep", json!(["run"])).await.unwrap();
    assert_eq!(client.hints(&uri).await, ["96:19 12.6 ms gpu", "123:49 ↳ 12.6 ms gpu"]);
    client.command("perfline.setStep", json!(["mean"])).await.unwrap();

    // With a rank, a module, steps and lines of some functions.
    client.command("perfline.setRank", json!([0])).await.unwrap();
    let filter =
        json!([{"modules": ["Gate"], "steps": [2, "3"], "functions": ["^Gate"], "streams": [7]}]);
    client.command("perfline.setFilter", filter).await.unwrap();
    assert_eq!(client.hints(&uri).await, ["27:35 284 µs gpu", "28:48 ~321 µs gpu"]);
    client.command("perfline.setRank", json!(["all"])).await.unwrap();

    // Where nothing passes, what was shown stays.
    let error =
        client.command("perfline.setFilter", json!([{"threads": ["nope"]}])).await.unwrap_err();
    assert_eq!(error["message"], "nothing of the recording passes --thread 'nope'");
    assert_eq!(client.hints(&uri).await.len(), 2);
    // A recording that is loaded meanwhile is filtered, too.
    client.command("perfline.load", json!([{"paths": ["slow_model.json.gz"]}])).await.unwrap();
    assert_eq!(client.hints(&uri).await.len(), 2);
    client.command("perfline.setFilter", json!([])).await.unwrap();
    let flame = client.command("perfline.flame", json!([])).await.unwrap();
    assert_eq!(flame["part"], Value::Null);
    assert_eq!(client.hints(&uri).await, hints);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_flame_graph_is_of_the_rank_that_is_chosen() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    for (version, rank) in [("torch2.15.0", 0), ("torch2.11.0", 1)] {
        let from = format!("simulated_cuda/{version}/slow_model.json.gz");
        let to = folder.path().join(format!("model_rank{rank}.json.gz"));
        std::fs::copy(fixtures.join(from), to).unwrap();
    }
    let mut client =
        Client::start(Arc::new(Kept::default()), folder.path(), all_capabilities()).await;
    let paths = json!([{"paths": ["model_rank0.json.gz", "model_rank1.json.gz"]}]);
    client.command("perfline.load", paths).await.unwrap();
    let mut sums = Vec::new();
    for rank in [json!(0), json!(1), json!("all")] {
        client.command("perfline.setRank", json!([rank])).await.unwrap();
        let flame = client.command("perfline.flame", json!([])).await.unwrap();
        let part = rank.as_u64().map_or(Value::Null, |it| json!(format!("of rank {it}")));
        assert_eq!(flame["part"], part);
        let cpu = flame["metrics"].as_array().unwrap().iter().find(|it| it["id"] == "cpu");
        sums.push(cpu.unwrap()["total"].as_i64().unwrap());
    }
    assert!(0 < sums[0] && 0 < sums[1] && sums[0] != sums[1], "{sums:?}");
    assert_eq!(sums[0] + sums[1], sums[2]);
    // A part of a rank.
    client.command("perfline.setRank", json!([1])).await.unwrap();
    client.command("perfline.setFilter", json!([{"phase": "backward"}])).await.unwrap();
    let flame = client.command("perfline.flame", json!([])).await.unwrap();
    let part = flame["part"].as_str().unwrap();
    assert!(part.starts_with("of rank 1 with --phase backward: "), "{part}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ranks_by_step_lead_to_the_timeline_of_each() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    std::fs::create_dir(&traces).unwrap();
    for entry in std::fs::read_dir(fixtures.join("cpu/torch2.15.0/late_rank.slow_line")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, traces.join(path.file_name().unwrap())).unwrap();
    }
    let one = "cpu/torch2.15.0/slow_model.json.gz";
    std::fs::copy(fixtures.join(one), folder.path().join("one.json.gz")).unwrap();
    let mut client = Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
    client.command("perfline.load", json!([{"paths": ["traces"]}])).await.unwrap();
    let map = client.command("perfline.rankSteps", json!([])).await.unwrap();
    assert_eq!(map["schema"], "perfline.rankSteps/1");
    assert_eq!(map["ranks"], json!([0, 1, 2, 3]));
    assert_eq!(map["leftOut"], json!({"ranks": 0, "steps": 0}));
    let steps = map["steps"].as_array().unwrap();
    let waited_for = &map["metrics"][0];
    assert_eq!(waited_for["id"], "waitedFor");
    let amounts: Vec<i64> =
        waited_for["amount"].as_array().unwrap().iter().filter_map(Value::as_i64).collect();
    assert_eq!(amounts.len(), 4 * steps.len());
    let most = (0..amounts.len()).max_by_key(|it| amounts[*it]).unwrap();
    for place in [most, 0] {
        let (rank, step) = (place / steps.len(), &steps[place % steps.len()]);
        let wanted = json!([{"rank": rank, "step": step}]);
        let drawn = client.command("perfline.timeline", wanted).await.unwrap();
        assert_eq!((&drawn["rank"], &drawn["step"]), (&json!(rank), step));
    }
    let page = client.command("perfline.page", json!([])).await.unwrap();
    assert!(page["html"].as_str().unwrap().contains("id=\"ranks-data\""));
    client.command("perfline.load", json!([{"paths": ["one.json.gz"]}])).await.unwrap();
    let error = client.command("perfline.rankSteps", json!([])).await.unwrap_err();
    assert_eq!(error["code"], -32803, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hover_says_what_the_line_has_on_the_critical_path() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    let copied = fixtures.join("cpu/torch2.15.0/pipeline.slow_stage");
    let files: Vec<PathBuf> =
        copied.read_dir().unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_file()).collect();
    for path in files.iter().chain([&fixtures.join("workloads/pipeline.py")]) {
        std::fs::copy(path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let mut client = Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
    let path = folder.path().join("pipeline.py");
    let uri = support::uri(&path);
    let text = std::fs::read_to_string(&path).unwrap();
    client.diagnostics(&uri).await;
    client.open(&uri, &text).await;
    let slow = text.lines().position(|line| line.contains("torch.tanh(scores @ scores)")).unwrap();
    let hover = async |client: &mut Client| {
        let at = json!({"textDocument": {"uri": uri}, "position": {"line": slow, "character": 8}});
        let hover = client.request("textDocument/hover", at).await.unwrap();
        hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    let of_all = hover(&mut client).await;
    assert!(
        of_all.contains(" per step on the critical path (50.2 % of it: host 100 %; on r1)"),
        "{of_all}"
    );
    // By itself a rank waits for nobody, and the path is its own.
    client.command("perfline.setRank", json!([{"rank": 1}])).await.unwrap();
    let of_rank = hover(&mut client).await;
    assert!(of_rank.contains(" on the critical path ("), "{of_rank}");
    assert!(!of_rank.contains("on r1"), "{of_rank}");
    let line = client.command("perfline.details", json!([{"uri": uri, "line": slow + 1}])).await;
    let sections = line.unwrap()["sections"].to_string();
    assert!(sections.contains(" on the critical path ("), "{sections}");
}

#[tokio::test(flavor = "multi_thread")]
async fn quick_fixes_reach_the_constructor() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    let copy =
        |from: &str, to: &str| std::fs::copy(fixtures.join(from), folder.path().join(to)).unwrap();
    copy("cpu/torch2.15.0/losses_of_time.json.gz", "losses_of_time.json.gz");
    copy("workloads/losses_of_time.py", "losses_of_time.py");
    copy("workloads/run.py", "run.py");

    let mut client = Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
    let path = folder.path().join("losses_of_time.py");
    let uri = support::uri(&path);
    let text = std::fs::read_to_string(&path).unwrap();
    client.diagnostics(&uri).await;
    client.open(&uri, &text).await;
    let line_of = |needle: &str| text.lines().position(|line| line.contains(needle)).unwrap();
    // (where help is looked for, what is offered there, where it writes what)
    let rows = [
        ("opt.step()", "Set `fused=True` on line ", "foreach=False", "fused=True"),
        ("foreach=False", "Set `fused=True` on line ", "foreach=False", "fused=True"),
        ("next(source)", "Try `num_workers=4` on line ", "shuffle=False", ", num_workers=4"),
    ];
    for (line, title, target, written) in rows {
        let place = json!({"line": line_of(line), "character": 4});
        let params = json!({
            "textDocument": {"uri": uri},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": []},
        });
        let actions = client.request("textDocument/codeAction", params).await.unwrap();
        let actions = actions.as_array().unwrap();
        let titles: Vec<&str> = actions.iter().map(|it| it["title"].as_str().unwrap()).collect();
        let row = titles.iter().position(|it| it.starts_with(title));
        let row = row.unwrap_or_else(|| panic!("{title} is not in {titles:#?}"));
        assert!(titles[row].contains("saves up to ") && titles[row].contains(" per step"));
        let edits = actions[row]["edit"]["documentChanges"][0]["edits"].as_array().unwrap();
        let [edit] = &edits[..] else { panic!("{edits:?}") };
        assert_eq!(edit["range"]["start"]["line"], line_of(target));
        assert_eq!(edit["newText"], written);
    }
}

/// The kernel names the file of a cell by a hash of its text, so that a cell is known wherever its document says it is.
#[tokio::test(flavor = "multi_thread")]
async fn cells_of_a_notebook() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    let copy =
        |from: &str, to: &str| std::fs::copy(fixtures.join(from), folder.path().join(to)).unwrap();
    copy("cpu/torch2.15.0/notebook.json.gz", "notebook.json.gz");
    copy("workloads/notebook.ipynb", "notebook.ipynb");
    let notebook = std::fs::read_to_string(folder.path().join("notebook.ipynb")).unwrap();
    let cells = pysource::notebook_cells(&notebook);
    let text = |needle: &str| cells.iter().map(|it| &*it.text).find(|it| it.contains(needle));
    let (class, training) = (text("class Classifier").unwrap(), text("prof.step()").unwrap());

    let mut client = Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
    client.command("perfline.load", json!([])).await.unwrap();
    let path = support::uri(&folder.path().join("notebook.ipynb"));
    let uri = |id: &str| format!("{}#{id}", path.replacen("file:", "vscode-notebook-cell:", 1));
    client.open(&uri("W2sZmlsZQ%3D%3D"), class).await;
    client.open(&uri("W5sZmlsZQ%3D%3D"), training).await;
    client.open(&uri("W6sZmlsZQ%3D%3D"), "loss.backward()\n").await;
    let on = |hints: Vec<String>, line: usize| {
        hints.into_iter().find(|it| it.starts_with(&format!("{line}:")))
    };
    let block = class.lines().position(|it| it.contains("F.gelu")).unwrap();
    let hint = on(client.hints(&uri("W2sZmlsZQ%3D%3D")).await, block).unwrap();
    assert!(hint.contains(" ~") && hint.contains(" ms cpu"), "{hint}");
    let backward = training.lines().position(|it| it.contains("backward")).unwrap();
    let hint = on(client.hints(&uri("W5sZmlsZQ%3D%3D")).await, backward).unwrap();
    assert!(hint.contains(" ms cpu"), "{hint}");
    let none = client.hints(&uri("W6sZmlsZQ%3D%3D")).await;
    assert!(none.is_empty(), "this text never ran: {none:?}");

    // An edit is followed as in any other file.
    client.change(&uri("W2sZmlsZQ%3D%3D"), 2, [0, 0, 0, 0], "# new\n").await;
    let moved = on(client.hints(&uri("W2sZmlsZQ%3D%3D")).await, block + 1).unwrap();
    assert!(moved.contains(" ms cpu") && !moved.contains('≈'), "{moved}");

    // What is not open is named by its place in the notebook.
    client
        .notify("textDocument/didClose", json!({"textDocument": {"uri": uri("W5sZmlsZQ%3D%3D")}}))
        .await;
    let hot = client.command("perfline.hotLines", json!([{}])).await.unwrap();
    let place =
        hot["lines"].as_array().unwrap().iter().find(|it| it["source"] == "loss.backward()");
    let place = place.unwrap_or_else(|| panic!("{hot:#}"));
    assert_eq!(place["uri"], format!("{path}#cell=5"));
    assert_eq!((&place["file"], &place["line"]), (&json!("notebook.ipynb:cell 6"), &json!(7)));
}

/// A notebook as plain text has several files of the recording: each cell that ran, known by its hash.
#[tokio::test(flavor = "multi_thread")]
async fn notebooks_as_plain_text() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    // What is below the root, and what the editor calls the text of it that is open: `jupytext.nvim` shows a notebook file as
    // Python, under its own name.
    let rows = [
        ("workloads/notebook_texts/percent.py", "run.py", "workloads/notebook_texts/percent.py"),
        ("workloads/notebook_texts/light.py", "run.py", "workloads/notebook_texts/light.py"),
        ("workloads/notebook_texts/myst.md", "run.md", "workloads/notebook_texts/myst.md"),
        ("workloads/notebook.ipynb", "run.ipynb", "workloads/notebook_texts/percent.py"),
    ];
    for (on_disk, name, open) in rows {
        let folder = tempfile::tempdir().unwrap();
        let copy = |from: &str, to: &str| {
            std::fs::copy(fixtures.join(from), folder.path().join(to)).unwrap()
        };
        copy("cpu/torch2.15.0/notebook.json.gz", "notebook.json.gz");
        copy(on_disk, name);
        let text = std::fs::read_to_string(fixtures.join(open)).unwrap();
        let line_of = |it: &str| text.lines().position(|line| line.contains(it)).unwrap() as u32;
        let uri = support::uri(&folder.path().join(name));
        let mut client =
            Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
        client.command("perfline.load", json!([])).await.unwrap();
        let backward = |hot: Value| {
            let lines = hot["lines"].as_array().unwrap().clone();
            lines.into_iter().find(|it| it["source"] == "loss.backward()").unwrap()
        };
        if open == on_disk {
            let place = backward(client.command("perfline.hotLines", json!([{}])).await.unwrap());
            let line = line_of("loss.backward()") + 1;
            assert_eq!((&place["file"], &place["line"]), (&json!(name), &json!(line)), "{name}");
            assert_eq!(place["uri"], uri);
        }

        client.open(&uri, &text).await;
        let place = backward(client.command("perfline.hotLines", json!([{}])).await.unwrap());
        let line = line_of("loss.backward()") + 1;
        assert_eq!((&place["file"], &place["line"]), (&json!(name), &json!(line)), "{name}");
        assert_eq!((&place["uri"], &place["stale"]), (&json!(uri), &json!(false)));
        let on = |hints: &[String], line: u32| {
            hints.iter().find(|it| it.starts_with(&format!("{line}:"))).cloned()
        };
        let hints = client.hints(&uri).await;
        for (code, mark) in [("F.gelu", " ~"), ("loss.backward()", "")] {
            let hint = on(&hints, line_of(code)).unwrap_or_else(|| panic!("{code}: {hints:#?}"));
            assert!(hint.contains(" ms cpu") && hint.contains(mark), "{hint}");
        }
        let document = json!({"uri": uri});
        let lenses = client.request("textDocument/codeLens", json!({"textDocument": document}));
        let lenses = lenses.await.unwrap();
        let lenses = lenses.as_array().unwrap().iter();
        let mut titles =
            lenses.map(|it| (&it["range"]["start"]["line"], it["command"]["title"].as_str()));
        let forward = titles.find(|it| it.1.unwrap().contains("forward: ")).unwrap();
        assert_eq!(*forward.0, line_of("def forward"));
        let at = json!({"textDocument": document, "position": {"line": line - 1, "character": 8}});
        let hover = client.request("textDocument/hover", at).await.unwrap();
        let hover = hover["contents"]["value"].as_str().unwrap();
        assert!(hover.contains(&format!("**{name}:{line}**")), "{hover}");
        let heat = client.command("perfline.heat", json!([{"uri": uri}])).await.unwrap();
        let hot = heat["lines"].as_array().unwrap().iter().map(|it| it["line"].clone());
        let hot: Vec<Value> = hot.collect();
        assert!(hot.contains(&json!(line)) && hot.contains(&json!(line_of("F.gelu") + 1)));
        let details = json!([{"uri": uri, "line": line}]);
        let details = client.command("perfline.details", details).await.unwrap();
        assert_eq!(details["place"]["line"], line);

        // A cell that is edited is another one by its hash, and is followed while it is open; the others stay as they are.
        let (gelu, moved) = (line_of("F.gelu"), line_of("loss.backward()"));
        client.change(&uri, 2, [gelu, 16, gelu, 17], "y").await;
        let hints = client.hints(&uri).await;
        assert!(on(&hints, gelu).unwrap().contains('≈'), "{hints:#?}");
        assert!(!on(&hints, moved).unwrap().contains('≈'));
        client.change(&uri, 3, [line_of("import os"), 0, line_of("import os"), 0], "\n\n").await;
        assert!(on(&client.hints(&uri).await, moved + 2).unwrap().contains(" ms cpu"));
        // What is no cell any more has no numbers.
        client.change(&uri, 4, [0, 0, 10_000, 0], "loss.backward()\n").await;
        let none = client.hints(&uri).await;
        assert!(none.is_empty(), "{none:?}");
    }
}

/// A cell that was edited before anybody opened its text, of which the recording holds what ran.
#[tokio::test(flavor = "multi_thread")]
async fn edited_cells_of_plain_text_are_followed_where_the_recording_has_their_texts() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let trace = fixtures.join("cpu/torch2.15.0/notebook.json.gz");
    std::fs::copy(trace, at("notebook.json.gz")).unwrap();
    let notebook = std::fs::read_to_string(fixtures.join("workloads/notebook.ipynb")).unwrap();
    let cells = pysource::notebook_cells(&notebook);
    let ran = cells.iter().map(|it| &it.text).find(|it| it.contains("prof.step()")).unwrap();
    let recorded = format!("/tmp/ipykernel_16805/{}.py", pysource::cell_hash(ran));
    let side_car = |text: &str| {
        json!({
            "schema": "perfline.callers/1",
            "strings": [recorded],
            "threads": [],
            "sources": {"git": null, "files": [{"file": 0, "sha256": "0", "text": text}]},
        })
    };
    let text = std::fs::read_to_string(fixtures.join("workloads/notebook_texts/percent.py"));
    let text = text.unwrap().replace("        opt.zero_grad()\n", "");
    let text = text.replace("loss.backward()", "loss.backward(retain_graph=True)");
    std::fs::write(at("run.py"), &text).unwrap();
    let uri = support::uri(&at("run.py"));
    let line_of = |it: &str| text.lines().position(|line| line.contains(it)).unwrap();
    for (has_text, expected) in [(true, [Some(true), Some(false)]), (false, [None, None])] {
        let side_car = if has_text { side_car(ran) } else { side_car("x = 1\n") };
        std::fs::write(at("notebook.callers.json"), side_car.to_string()).unwrap();
        let mut client =
            Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
        client.command("perfline.load", json!([])).await.unwrap();
        client.open(&uri, &text).await;
        let hints = client.hints(&uri).await;
        let is_stale = |code: &str| {
            let line = format!("{}:", line_of(code));
            hints.iter().find(|it| it.starts_with(&line)).map(|it| it.contains('≈'))
        };
        assert_eq!(["loss.backward", "opt.step()"].map(is_stale), expected, "{hints:#?}");
        assert_eq!(is_stale("F.gelu"), Some(false), "a cell that was not edited");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_launches_limit_the_run_the_metric_that_fits_is_idle_time() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("slow_model.json.gz");
    std::fs::copy(fixtures.join("workloads/slow_model.py"), folder.path().join("slow_model.py"))
        .unwrap();
    // The one of an H200 is launch-bound; that with a made-up device is not.
    for (of, own, total) in [
        ("cuda/torch2.11.0/slow_model.json.gz", "idle", "cuda"),
        ("simulated_cuda/torch2.15.0/slow_model.json.gz", "cuda", "cuda"),
    ] {
        std::fs::copy(fixtures.join(of), &recording).unwrap();
        let recordings = Arc::new(Kept::default());
        let mut client = Client::start(recordings, folder.path(), all_capabilities()).await;
        client.command("perfline.load", json!([["slow_model.json.gz"]])).await.unwrap();
        for (charge, expected) in [("own", own), ("total", total)] {
            let metric = json!([{"metric": "auto", "charge": charge}]);
            client.command("perfline.setMetric", metric).await.unwrap();
            let status = client.command("perfline.status", json!([])).await.unwrap();
            assert_eq!(status["view"]["effectiveMetric"], expected, "{of}, {charge}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_roofline_has_the_arithmetic_of_lines_and_of_their_kernels() {
    let folder = folder_with(&[
        ("cuda/torch2.11.0/slow_model.json.gz", "slow_model.json.gz"),
        ("workloads/slow_model.py", "slow_model.py"),
    ]);
    let mut client = Client::start(Arc::new(lsp::Disk), folder.path(), all_capabilities()).await;
    client.command("perfline.load", json!([{"paths": ["slow_model.json.gz"]}])).await.unwrap();
    let drawn = client.command("perfline.roofline", json!([])).await.unwrap();
    assert_eq!(
        (&drawn["schema"], &drawn["isDevice"]),
        (&json!("perfline.roofline/1"), &json!(true))
    );
    let points = drawn["points"].as_array().unwrap();
    let sum = |of: &str| -> u64 {
        let points = points.iter().filter(|it| it["of"] == of);
        points.filter_map(|it| it["flops"].as_u64()).sum()
    };
    assert!(sum("line") > 0);
    assert_eq!(sum("line"), sum("kernel"), "each of its operators launches a kernel");
    assert_eq!(drawn["files"]["slow_model.py"], "slow_model.py");
}
