//! What editors show: hints, lenses, hovers, diagnostics, and the commands and settings that change it.

mod support;

use serde_json::{Value, json};
use support::{Client, Fake, TRAIN, all_capabilities, ready};

#[tokio::test(flavor = "multi_thread")]
async fn hints_lenses_and_hover() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = ready(&fake).await;
    assert_eq!(client.hints(&uri).await, ["1:16 3 ms gpu", "2:28 2 ms wait ×1", "4:16 1.5 ms gpu"]);

    let lenses = client
        .request("textDocument/codeLens", json!({"textDocument": {"uri": uri}}))
        .await
        .unwrap();
    let lens = &lenses[0];
    assert_eq!(lens["range"]["start"], json!({"line": 0, "character": 0}));
    assert_eq!(lens["command"]["title"], "step: 30 % of the step (3 ms) · 4.5 ms gpu · 2 ms wait");
    assert_eq!(lens["command"]["command"], "perfline.hotLines");
    let hot =
        client.command("perfline.hotLines", lens["command"]["arguments"].clone()).await.unwrap();
    assert_eq!(hot["lines"].as_array().unwrap().len(), 2, "{hot:#}");

    let at =
        |line| json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": 5}});
    let hover = client.request("textDocument/hover", at(2)).await.unwrap();
    let range = json!({"start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 28}});
    assert_eq!((&hover["range"], &hover["contents"]["kind"]), (&range, &json!("markdown")));
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(
        text.starts_with("**train.py:3** · `step`")
            && text.contains("Waits for the kernels of line 2"),
        "{text}"
    );
    assert_eq!(
        client.request("textDocument/hover", at(3)).await,
        Ok(Value::Null),
        "nothing is known of the line"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn hints_of_a_part_of_the_file() {
    let fake = Fake::new();
    let mut client = ready(&fake).await;
    let range = json!({"start": {"line": 2, "character": 0}, "end": {"line": 3, "character": 0}});
    let params = json!({"textDocument": {"uri": fake.uri("train.py")}, "range": range});
    let hints = client.request("textDocument/inlayHint", params).await.unwrap();
    assert_eq!(support::shown(&hints), ["2:28 2 ms wait ×1"]);
    assert_eq!(hints[0]["paddingLeft"], true);
    assert_eq!(hints[0]["tooltip"]["kind"], "markdown");
}

#[tokio::test(flavor = "multi_thread")]
async fn tooltips_wait_until_somebody_looks() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = Client::new(fake.clone());
    let mut capabilities = all_capabilities();
    capabilities["textDocument"]["inlayHint"] =
        json!({"resolveSupport": {"properties": ["tooltip"]}});
    client.initialize(fake.folder(), capabilities).await;
    client.command("perfline.load", json!([])).await.unwrap();
    client.open(&uri, TRAIN).await;
    let params = support::hint_params(&uri);
    let hints = client.request("textDocument/inlayHint", params).await.unwrap();
    assert_eq!(hints[1].get("tooltip"), None);
    let hint = client.request("inlayHint/resolve", hints[1].clone()).await.unwrap();
    let tooltip = hint["tooltip"]["value"].as_str().unwrap();
    assert!(tooltip.starts_with("**train.py:3** · `step`"), "{tooltip}");
    assert_eq!((&hint["label"], &hint["position"]), (&hints[1]["label"], &hints[1]["position"]));
    client.change(&uri, 2, [0, 0, 0, 0], "# New.\n").await;
    let hint = client.request("inlayHint/resolve", hints[1].clone()).await.unwrap();
    assert_eq!(hint.get("tooltip"), None, "its line may be another one now");
}

#[tokio::test(flavor = "multi_thread")]
async fn diagnostics_are_published_and_follow_the_text() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = Client::start(fake.clone(), fake.folder(), all_capabilities()).await;
    // Of files that are not open, too.
    let diagnostics = client.diagnostics(&uri).await;
    let [diagnostic] = &diagnostics[..] else { panic!("{diagnostics:#?}") };
    let range = json!({"start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 28}});
    let related = json!([{
        "location": {"uri": uri, "range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 0}}},
        "message": "launched what was waited for (2 ms of device time meanwhile)",
    }]);
    let mut expected = json!({
        "range": range,
        "severity": 2,
        "code": "sync",
        "source": "perfline",
        "message": "sync: the CPU waits 2 ms per step here for kernels of line 2 (20 % of the step)",
        "relatedInformation": related,
    });
    expected["data"] = diagnostic["data"].clone();
    assert_eq!(*diagnostic, expected);
    assert_eq!(diagnostic["data"]["costNs"], 2_000_000);
    assert!(diagnostic["data"]["remedy"].is_string());

    client.open(&uri, &format!("import torch\n{TRAIN}")).await;
    assert_eq!(client.diagnostics(&uri).await[0]["range"]["start"]["line"], 3);
    client.change(&uri, 2, [3, 24, 3, 27], "10").await;
    assert_eq!(
        client.diagnostics(&uri).await,
        [""; 0],
        "it is not known whether the changed line still waits"
    );
    client.change(&uri, 3, [3, 24, 3, 26], "100").await;
    assert_eq!(client.diagnostics(&uri).await.len(), 1, "changed back");
    client.command("perfline.unload", json!([])).await.unwrap();
    assert_eq!(client.diagnostics(&uri).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn quick_fixes() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = ready(&fake).await;
    let diagnostics = client.diagnostics(&uri).await;
    let at = |line, only: Value| {
        let place = json!({"line": line, "character": 6});
        json!({
            "textDocument": {"uri": uri},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": [], "only": only},
        })
    };
    let actions = client.request("textDocument/codeAction", at(2, Value::Null)).await.unwrap();
    let end = json!({"line": 2, "character": 28});
    let edit = json!({
        "textDocument": {"uri": uri, "version": 1},
        "edits": [{"range": {"start": end, "end": end}, "newText": "  # perfline: ignore[sync]"}],
    });
    let expected = json!([{
        "title": "Ignore `sync` on this line",
        "kind": "quickfix.ignore",
        "diagnostics": diagnostics,
        "edit": {"documentChanges": [edit]},
        "isPreferred": false,
    }]);
    assert_eq!(actions, expected);
    for (line, only, n) in [
        (2, json!(["quickfix"]), 1),
        (2, json!(["quickfix.ignore"]), 1),
        (2, json!(["quickfix.explain"]), 0),
        (1, Value::Null, 0),
        (2, json!(["refactor"]), 0),
    ] {
        let actions = client.request("textDocument/codeAction", at(line, only)).await.unwrap();
        assert_eq!(actions.as_array().map_or(0, Vec::len), n, "{line}");
    }
    client.change(&uri, 2, [2, 28, 2, 28], "  # perfline: ignore[sync]").await;
    assert_eq!(client.diagnostics(&uri).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_can_show_a_page_is_offered_that_of_the_rule() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = Client::new(fake.clone());
    let mut capabilities = all_capabilities();
    capabilities["experimental"] = json!({"perfline": {"explain": true}});
    client.initialize(fake.folder(), capabilities).await;
    client.command("perfline.load", json!([])).await.unwrap();
    client.open(&uri, TRAIN).await;
    let place = json!({"line": 2, "character": 6});
    let actions = client
        .request(
            "textDocument/codeAction",
            json!({
                "textDocument": {"uri": uri},
                "range": {"start": place, "end": place},
                "context": {"diagnostics": [], "only": ["quickfix"]},
            }),
        )
        .await
        .unwrap();
    let titles: Vec<&Value> = actions.as_array().unwrap().iter().map(|it| &it["title"]).collect();
    assert_eq!(titles, ["Ignore `sync` on this line", "Explain `sync`"]);
    let command = &actions[1]["command"];
    assert_eq!(
        (&actions[1]["kind"], &command["command"], &command["arguments"]),
        (&json!("quickfix.explain"), &json!("perfline.explain"), &json!(["sync"]))
    );
    assert_eq!(actions[1]["diagnostics"][0]["code"], "sync");
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_of_every_severity() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = ready(&fake).await;
    let report = client.command("perfline.report", json!([])).await.unwrap();
    let answer = client.command("perfline.findings", json!([])).await.unwrap();
    let rules = |it: &Value| {
        let findings = it["findings"].as_array().unwrap().iter();
        findings.map(|it| it["rule"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(rules(&answer), rules(&report), "the order of the report");
    let sync = &answer["findings"].as_array().unwrap().iter().find(|it| it["rule"] == "sync");
    let mut sync = sync.unwrap().clone();
    assert!(sync["remedy"].as_str().is_some_and(|it| !it.is_empty()), "{sync:#}");
    sync["remedy"] = Value::Null;
    let range = json!({"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 28}});
    let expected = json!({
        "file": "train.py", "uri": uri, "line": 3, "recordedLine": 3, "range": range, "stale": false,
        "source": sync["source"], "function": "step", "evidence": "exact", "mark": "",
        "rule": "sync", "title": sync["title"], "severity": "warning",
        "value": 2_000_000, "text": "2 ms", "perStep": true, "share": 0.2, "shareText": "20 %",
        "message": "sync: the CPU waits 2 ms per step here for kernels of line 2 (20 % of the step)",
        "remedy": null,
    });
    assert_eq!(sync, expected);
    client.change(&uri, 2, [2, 24, 2, 27], "10").await;
    let answer = client.command("perfline.findings", json!([])).await.unwrap();
    let changed = answer["findings"].as_array().unwrap().iter().find(|it| it["rule"] == "sync");
    assert_eq!(
        (&changed.unwrap()["stale"], &changed.unwrap()["mark"]),
        (&json!(true), &json!("≈"))
    );
    client.change(&uri, 3, [2, 27, 2, 27], "  # perfline: ignore[sync]").await;
    let answer = client.command("perfline.findings", json!([])).await.unwrap();
    assert!(!rules(&answer).contains(&"sync".to_owned()), "{answer:#}");
    client.command("perfline.unload", json!([])).await.unwrap();
    let answer = client.command("perfline.findings", json!([])).await.unwrap();
    assert_eq!(answer["findings"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_related_information_gets_none() {
    let fake = Fake::new();
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    let diagnostics = client.diagnostics(&fake.uri("train.py")).await;
    assert_eq!(diagnostics[0].get("relatedInformation"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_move_hints_and_mark_them_stale() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = ready(&fake).await;
    assert_eq!(client.hints(&uri).await.len(), 3);
    client.change(&uri, 2, [0, 0, 0, 0], "import torch\n\n").await;
    client.change(&uri, 3, [6, 4, 6, 5], "loss").await;
    assert_eq!(
        client.hints(&uri).await,
        ["3:16 3 ms gpu", "4:28 2 ms wait ×1", "6:19 ≈1.5 ms gpu"]
    );
    client.change(&uri, 4, [4, 0, 6, 0], "").await;
    assert_eq!(
        client.hints(&uri).await,
        ["3:16 3 ms gpu", "4:19 ≈1.5 ms gpu"],
        "a line that is gone has none"
    );
    // A formatter that replaces everything: a diff.
    client.change_with(&uri, 5, json!([{"text": TRAIN.replace("    ", "  ")}])).await;
    assert_eq!(client.hints(&uri).await, ["1:14 3 ms gpu", "4:14 ≈1.5 ms gpu"]);
    client.change_with(&uri, 6, json!([{"text": TRAIN}])).await;
    assert_eq!(
        client.hints(&uri).await,
        ["1:16 3 ms gpu", "2:28 2 ms wait ×1", "4:16 1.5 ms gpu"],
        "as recorded"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_buffer_that_was_edited_before_the_recording_was_loaded() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    client
        .open(
            &uri,
            &TRAIN.replace("def step", "# New.\ndef step").replace("y.backward", "loss.backward"),
        )
        .await;
    client.command("perfline.load", json!([])).await.unwrap();
    assert_eq!(
        client.hints(&uri).await,
        ["2:16 3 ms gpu", "3:28 2 ms wait ×1", "5:19 ≈1.5 ms gpu"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn positions_are_in_the_clients_units() {
    let text = "def step(model, x):\n    y = model(x)  # é𝄞\n    y.item()\n";
    for (encoding, column) in [("utf-8", 26), ("utf-16", 23), ("utf-32", 22)] {
        let fake = Fake::with("train.py", text);
        let uri = fake.uri("train.py");
        let capabilities = json!({"general": {"positionEncodings": [encoding]}});
        let mut client = Client::start(fake.clone(), fake.folder(), capabilities).await;
        client.command("perfline.load", json!([])).await.unwrap();
        client.open(&uri, text).await;
        assert_eq!(client.hints(&uri).await[0], format!("1:{column} 3 ms gpu"), "{encoding}");
        // After the last character of the line.
        client.change(&uri, 2, [1, column, 1, column], "!").await;
        assert_eq!(client.hints(&uri).await[0], format!("1:{} 3 ms gpu", column + 1), "{encoding}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_known_by_other_spellings() {
    let fake = Fake::with("a ü.py", TRAIN);
    let link = fake.path("link");
    #[cfg(unix)]
    std::os::unix::fs::symlink(fake.folder(), &link).unwrap();
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    client.command("perfline.load", json!([])).await.unwrap();
    let uri = fake.uri("a ü.py");
    assert!(uri.ends_with("a%20%C3%BC.py"));
    let mut spellings =
        vec![uri.clone(), uri.replace("%C3%BC", "%c3%bc"), uri.replace("a%20", "%61%20")];
    if cfg!(unix) {
        spellings.push(support::uri(&link.join("a ü.py")));
    }
    for spelling in spellings {
        client.open(&spelling, TRAIN).await;
        assert_eq!(client.hints(&spelling).await.len(), 3, "{spelling}");
    }
    client.open("untitled:Untitled-1", TRAIN).await;
    assert_eq!(client.hints("untitled:Untitled-1").await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_not_found_is_known_by_the_end_of_its_path() {
    let fake = Fake::new();
    let mut run = support::run_of("/job/7/train.py", &fake.path("gone.py"));
    for file in run.merged.files.values_mut() {
        file.path = None;
        file.fit = ledger::SourceFit::Missing;
    }
    fake.on_load(move |_, _, _| Ok(run.clone()));
    let mut client = ready(&fake).await;
    let uri = fake.uri("train.py");
    assert_eq!(client.hints(&uri).await, ["1:16 3 ms gpu", "2:28 2 ms wait ×1", "4:16 1.5 ms gpu"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_change_the_view_and_say_what_is_allowed() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = ready(&fake).await;

    let view = client.command("perfline.setMetric", json!(["cpu"])).await.unwrap();
    let expected = json!({
        "metric": "cpu", "effectiveMetric": "cpu", "charge": "own", "step": "mean", "rank": "all", "steps": [1, 2],
        "ranks": [0, 1], "part": null,
        "filter": {
            "files": [], "functions": [], "modules": [], "steps": [], "threads": [], "streams": [], "phase": null,
        },
    });
    assert_eq!(view, expected);
    assert_eq!(client.hints(&uri).await[0], "1:16 1 ms cpu");
    client.expect("workspace/inlayHint/refresh").await;
    let arguments = json!([{"metric": "auto", "charge": "own"}]);
    let view = client.command("perfline.setMetric", arguments).await.unwrap();
    assert_eq!((&view["metric"], &view["effectiveMetric"]), (&json!("auto"), &json!("cuda")));

    client.command("perfline.setRank", json!([1])).await.unwrap();
    assert_eq!(client.hints(&uri).await[2], "4:16 2 ms gpu");
    client.command("perfline.setRank", json!(["all"])).await.unwrap();
    client.command("perfline.setStep", json!([2])).await.unwrap();
    assert_eq!(client.hints(&uri).await[1], "2:28 2 ms wait", "how often is not known by step");
    client.command("perfline.setStep", json!(["run"])).await.unwrap();
    assert_eq!(client.command("perfline.setStep", json!(["mean"])).await.unwrap()["step"], "mean");

    let counts = async |client: &mut Client| {
        let hot = client.command("perfline.hotLines", json!([])).await.unwrap();
        let heat = client.command("perfline.heat", json!([uri])).await.unwrap();
        let document = json!({"textDocument": {"uri": uri}});
        let lenses = client.request("textDocument/codeLens", document).await.unwrap();
        let lines = |it: &Value| it["lines"].as_array().unwrap().len();
        [
            client.hints(&uri).await.len(),
            lines(&hot),
            lines(&heat),
            lenses.as_array().unwrap().len(),
        ]
    };
    let all = counts(&mut client).await;
    assert!(all.iter().all(|it| 0 < *it), "{all:?}");
    let filter = json!([{"files": ["train.py"], "functions": ["^step$"]}]);
    let view = client.command("perfline.setFilter", filter).await.unwrap();
    assert_eq!(view["filter"]["files"], json!(["train.py"]));
    assert_eq!(view["filter"]["functions"], json!(["^step$"]));
    assert_eq!(counts(&mut client).await, all);
    for filter in [json!([{"functions": ["^train$"]}]), json!([["other.py", "a/*.py"]])] {
        client.command("perfline.setFilter", filter).await.unwrap();
        assert_eq!(counts(&mut client).await, [0; 4]);
    }
    let status = client.command("perfline.status", json!([])).await.unwrap();
    assert!(status["summary"].as_str().unwrap().ends_with(" · --file 'other.py' --file 'a/*.py'"));
    client.command("perfline.setFilter", json!([])).await.unwrap();
    assert_eq!(counts(&mut client).await, all);

    let rows = [
        (
            "perfline.setMetric",
            json!(["gpu"]),
            "unknown metric `gpu`, expected one of: auto, cpu, cuda, backward, wait, idle, comm, memory",
        ),
        (
            "perfline.setMetric",
            json!([]),
            "missing `metric`, expected one of: auto, cpu, cuda, backward, wait, idle, comm, memory",
        ),
        (
            "perfline.setMetric",
            json!(["cpu", "sum"]),
            "unknown charge `sum`, expected one of: own, total",
        ),
        (
            "perfline.setStep",
            json!([7]),
            "unknown step `7`, expected one of: \"mean\", \"run\", or a step of the recording: 1, 2",
        ),
        (
            "perfline.setRank",
            json!(["two"]),
            "unknown rank `\"two\"`, expected one of: \"all\", or a rank of the recording: 0, 1",
        ),
        (
            "perfline.setFilter",
            json!([{"functions": ["("]}]),
            "functions: `(` is no regular expression: unclosed group",
        ),
        (
            "perfline.setFilter",
            json!([{"phase": "warmup"}]),
            "phase: unknown phase `warmup`, expected one of: forward, backward, recompute, optimizer, loader",
        ),
        (
            "perfline.setFilter",
            json!([{"streams": ["seven"]}]),
            "streams: expected a list of numbers, found [\"seven\"]",
        ),
        (
            "perfline.setFilter",
            json!(["train.py"]),
            "files: expected a list of patterns, found \"train.py\"",
        ),
        ("perfline.hotLines", json!([{"limit": "all"}]), "limit: expected a number, found \"all\""),
        ("perfline.load", json!([7]), "paths: expected a list of paths"),
        (
            "perfline.sing",
            json!([]),
            "unknown command `perfline.sing`, expected one of: perfline.load, perfline.recordings, perfline.setBaseline, perfline.clearBaseline, perfline.unload, perfline.setMetric, \
             perfline.setStep, perfline.setRank, perfline.setFolder, perfline.setFilter, perfline.filterValues, perfline.hotLines, perfline.heat, perfline.details, perfline.status, perfline.explain, perfline.findings, perfline.report, perfline.flame, perfline.timeline, perfline.memoryTimeline, perfline.rankSteps, perfline.roofline, perfline.page, perfline.view, perfline.place, perfline.sources, perfline.locate",
        ),
        ("perfline.heat", json!([]), "uri is missing"),
        (
            "perfline.heat",
            json!([{"uri": uri, "scope": "class"}]),
            "unknown scope `class`, expected one of: step, file, range, function",
        ),
        ("perfline.details", json!([uri]), "line is missing"),
        ("perfline.details", json!(["nowhere", 1]), "uri: expected a URI, found \"nowhere\""),
        ("perfline.hotLines", json!([{"ownOnly": 1}]), "ownOnly: expected true or false, found 1"),
    ];
    let page = client.command("perfline.explain", json!(["sync"])).await.unwrap();
    assert!(page["markdown"].as_str().unwrap().starts_with("# `sync`: "), "{page}");
    let error = client.command("perfline.explain", json!(["wait"])).await.unwrap_err();
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("unknown rule `wait`, expected one of: sync, "), "{message}");
    for (command, arguments, message) in rows {
        let error = client.command(command, arguments).await.unwrap_err();
        assert_eq!(
            (error["code"].as_i64(), error["message"].as_str()),
            (Some(-32602), Some(message))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_markdown_gets_plain_text() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut capabilities = all_capabilities();
    capabilities["textDocument"]["hover"] = json!({"contentFormat": ["plaintext"]});
    let mut client = Client::start(fake.clone(), fake.folder(), capabilities).await;
    client.command("perfline.load", json!([])).await.unwrap();
    client.open(&uri, TRAIN).await;
    let at = json!({"textDocument": {"uri": uri}, "position": {"line": 2, "character": 5}});
    let hover = client.request("textDocument/hover", at).await.unwrap();
    assert_eq!(hover["contents"]["kind"], "plaintext");
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.starts_with("train.py:3 · step\n\nper step "), "{text}");
    assert!(!text.contains(['|', '*', '\\', '`']), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hot_lines() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = ready(&fake).await;
    client.change(&uri, 2, [0, 0, 0, 0], "# New.\n").await;
    let hot = client.command("perfline.hotLines", json!([{"limit": 1}])).await.unwrap();
    let range = json!({"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 16}});
    let expected = json!([{
        "file": "train.py", "uri": uri, "line": 3, "recordedLine": 2, "range": range, "stale": false,
        "source": "y = model(x)", "function": "step", "evidence": "exact", "value": 3_000_000, "text": "3 ms", "share": 0.3,
        "shareText": "30 %", "mark": "", "heat": hot["lines"][0]["heat"], "difference": null,
    }]);
    assert_eq!(hot["lines"], expected);
    assert_eq!(hundredths(&hot["lines"][0]["heat"]), 81);
    let sum = |function: Value| {
        json!({
            "file": "train.py", "function": function, "lines": 1, "value": 3_000_000, "text": "3 ms", "share": 0.3,
            "shareText": "30 %",
        })
    };
    assert_eq!(hot["sums"], json!([sum(Value::Null), sum(json!("step"))]));
    assert_eq!(hot["rest"], Value::Null, "all of it is on lines");
    let wait = client.command("perfline.hotLines", json!([{"metric": "wait"}])).await.unwrap();
    assert_eq!(
        (wait["lines"].as_array().unwrap().len(), &wait["lines"][0]["line"]),
        (1, &json!(4))
    );
    assert_eq!(wait["view"]["metric"], "auto", "another metric for this answer only");
    assert_eq!(wait["view"]["effectiveMetric"], "wait");
    let part = json!([{"uri": uri, "firstLine": 4, "lastLine": 9}]);
    let hot = client.command("perfline.hotLines", part).await.unwrap();
    let lines: Vec<_> =
        hot["lines"].as_array().unwrap().iter().map(|line| line["line"].clone()).collect();
    assert_eq!(lines, [6]);
    let elsewhere = client
        .command("perfline.hotLines", json!([{"uri": "file:///elsewhere.py"}]))
        .await
        .unwrap();
    assert_eq!(elsewhere["lines"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn hot_lines_say_what_no_line_of_yours_has() {
    let fake = Fake::new();
    let mut run = support::run_of("train.py", &fake.path("train.py"));
    // In two steps of two ranks.
    run.merged.totals.cuda += ledger::Ns(10_000_000);
    run.merged.in_steps = run.merged.totals;
    fake.on_load(move |_, _, _| Ok(run.clone()));
    let mut client = ready(&fake).await;
    let hot = client.command("perfline.hotLines", json!([{"limit": 1}])).await.unwrap();
    let rest = json!({
        "libraries": true, "value": 2_500_000, "text": "2.5 ms", "share": 0.25, "shareText": "25 %",
    });
    assert_eq!(hot["rest"], rest);
    let all = client.command("perfline.hotLines", json!([{"ownOnly": false}])).await.unwrap();
    assert_eq!(all["rest"]["libraries"], false, "no library has a line here");
    for arguments in [
        json!([{"uri": fake.uri("train.py")}]),
        json!([{"metric": "wait"}]),
        json!([{"sort": "difference"}]),
    ] {
        let hot = client.command("perfline.hotLines", arguments.clone()).await.unwrap();
        assert_eq!(hot["rest"], Value::Null, "{arguments}");
    }
}

/// A number as whole hundredths; -1 for what is none.
fn hundredths(number: &Value) -> i64 {
    number.as_f64().map_or(-1, |number| (number * 100.0).round() as i64)
}

#[tokio::test(flavor = "multi_thread")]
async fn heat() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = ready(&fake).await;
    client.change(&uri, 2, [0, 0, 0, 0], "# New.\n").await;
    let heat = client.command("perfline.heat", json!([uri])).await.unwrap();
    assert_eq!((&heat["scope"], &heat["total"]), (&json!("step"), &json!(10_000_000)));
    let range = json!({"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 16}});
    let expected = json!({
        "line": 3, "range": range, "quantity": "cuda_own", "value": 3_000_000, "text": "3 ms", "share": 0.3,
        "shareText": "30 %", "evidence": "exact", "mark": "", "stale": false, "function": "step", "heat": heat["lines"][0]["heat"],
    });
    assert_eq!(heat["lines"][0], expected);
    let mut shown = async |arguments: Value| -> Vec<[i64; 3]> {
        let heat = client.command("perfline.heat", json!([arguments])).await.unwrap();
        let lines = heat["lines"].as_array().unwrap().iter();
        lines
            .map(|it| {
                [it["line"].as_i64().unwrap(), hundredths(&it["share"]), hundredths(&it["heat"])]
            })
            .collect()
    };
    assert_eq!(shown(json!({"uri": uri})).await, [[3, 30, 81], [4, 20, 74], [6, 15, 69]]);
    assert_eq!(
        shown(json!({"uri": uri, "scope": "file"})).await,
        [[3, 46, 88], [4, 31, 81], [6, 23, 76]]
    );
    let range = json!({"uri": uri, "firstLine": 4, "lastLine": 6, "scope": "range"});
    assert_eq!(shown(range).await, [[4, 57, 91], [6, 43, 86]]);
    let function = json!({"uri": uri, "firstLine": 4, "scope": "function"});
    assert_eq!(shown(function).await, [[3, 46, 88], [4, 31, 81], [6, 23, 76]]);
    assert_eq!(shown(json!({"uri": "file:///elsewhere.py"})).await, [[0; 3]; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn details() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = ready(&fake).await;
    client.change(&uri, 2, [0, 0, 0, 0], "# New.\n").await;
    let details = client.command("perfline.details", json!([uri, 4])).await.unwrap();
    let range = json!({"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 28}});
    let place = json!({
        "file": "train.py", "uri": uri, "line": 4, "recordedLine": 3, "range": range, "stale": false,
        "source": "if y.max().item() > 100:", "function": "step", "evidence": "exact", "mark": "",
    });
    assert_eq!(details["place"], place);
    let number = |name: &str| {
        details["numbers"].as_array().unwrap().iter().find(|it| it["name"] == name).cloned()
    };
    let sync = json!({
        "name": "sync", "label": "wait for the GPU", "value": 2_000_000, "unit": "ns", "text": "2 ms", "share": 0.2,
        "shareText": "20 %",
    });
    assert_eq!(number("sync"), Some(sync));
    let syncs = json!({
        "name": "syncs", "label": "waits", "value": 1, "unit": "count", "text": "1", "share": null, "shareText": null,
    });
    assert_eq!((number("syncs"), number("alloc")), (Some(syncs), None));
    // Its own, of all that the view lists.
    let findings = client.command("perfline.findings", json!([])).await.unwrap();
    let findings = findings["findings"].as_array().unwrap();
    let here: Vec<_> = findings.iter().filter(|it| it["line"] == 4).collect();
    let said = |it: &Value| ["rule", "severity", "message", "remedy"].map(|name| it[name].clone());
    let found = details["findings"].as_array().unwrap();
    assert!(!here.is_empty(), "{findings:#?}");
    let other = client.command("perfline.details", json!([uri, 3])).await.unwrap();
    assert_eq!(other["findings"], json!([]));
    assert_eq!(
        found.iter().map(said).collect::<Vec<_>>(),
        here.into_iter().map(said).collect::<Vec<_>>()
    );
    let waited = &details["waits"][0];
    assert_eq!(
        (&waited["line"], &waited["source"], &waited["function"], &waited["text"]),
        (&json!(3), &json!("y = model(x)"), &json!("step"), &json!("2 ms"))
    );
    let title = json!({"kind": "title", "text": "train.py:4 · step"});
    assert_eq!(
        (&details["sections"][0], &details["sections"][1]["kind"]),
        (&title, &json!("table"))
    );
    let wait = json!([{"uri": uri, "line": 4, "metric": "wait"}]);
    let wait = client.command("perfline.details", wait).await.unwrap();
    let steps = json!([
        {"step": 1, "value": 2_000_000, "text": "2 ms"}, {"step": 2, "value": 2_000_000, "text": "2 ms"},
    ]);
    assert_eq!(wait["steps"], steps);
    assert_eq!(client.command("perfline.details", json!([uri, 1])).await, Ok(Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn status() {
    let fake = Fake::new();
    let mut client = Client::new(fake.clone());
    client.settings = json!({"python": {"sitePackages": ["/env"]}, "recordings": {"include": []}});
    let mut capabilities = all_capabilities();
    capabilities["experimental"] = json!({"perfline": {"status": true}});
    client.initialize(fake.folder(), capabilities).await;
    client.expect("workspace/configuration").await;
    let nothing = client.command("perfline.status", json!([])).await.unwrap();
    assert_eq!(
        (&nothing["loaded"], &nothing["summary"], &nothing["view"]["effectiveMetric"]),
        (&json!(false), &json!("no recording"), &json!("auto"))
    );

    let load = json!([{"paths": ["trace.json"]}]);
    client.command("perfline.load", load.clone()).await.unwrap();
    let is_done = |it: &Value| it["loaded"] == true && it["loading"] == false;
    let reported = client.expect_that("perfline/status", is_done).await;
    let status = client.command("perfline.status", json!([])).await.unwrap();
    assert_eq!(reported, status, "there are no inputs whose warnings could be left out");
    let expected = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "folder": fake.folder(),
        "pinned": true,
        "others": [],
        "view": status["view"],
        "loaded": true,
        "loading": false,
        "baseline": null,
        "inputs": [],
        "failures": [],
        "lines": 3,
        "soFar": null,
        "withoutLines": null,
        "attributed": {"cpu": 1.0, "cuda": 1.0},
        "attributedText": {"cpu": "100 %", "cuda": "100 %"},
        "evidence": {"exact": 3, "inferred": 0, "function": 0},
        "sources": {"found": 1, "edited": 0, "missing": 0, "ambiguous": 0},
        "sitePackages": ["/env"],
        "summary": "2 ranks · mean of 2 steps · 10 ms",
    });
    assert_eq!(status, expected);

    client.command("perfline.setStep", json!([2])).await.unwrap();
    let reported = client.expect_that("perfline/status", |it| it["view"]["step"] == 2).await;
    assert_eq!(reported["summary"], "2 ranks · step 2 · 10 ms");
    fake.on_load(|inputs, _, _| {
        let source = std::io::Error::other("gone");
        Err(loader::Error::Io { path: inputs[0].clone(), source })
    });
    client.command("perfline.load", load).await.unwrap_err();
    let reported = client.expect_that("perfline/status", |it| it["failures"] != json!([])).await;
    assert!(
        reported["failures"][0].as_str().unwrap().ends_with("trace.json: reading it failed: gone"),
        "{reported}"
    );
    assert_eq!(reported["loaded"], true, "what was there stays");
    client.command("perfline.unload", json!([])).await.unwrap();
    client.expect_that("perfline/status", |it| it["loaded"] == false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_did_not_ask_does_not_get_the_status() {
    let fake = Fake::new();
    let mut client = ready(&fake).await;
    client.expect("workspace/inlayHint/refresh").await;
    client.diagnostics(&fake.uri("train.py")).await;
    assert!(!client.forget("perfline/status"));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_asked_for_and_followed() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = Client::new(fake.clone());
    client.settings = json!({"view": {"metric": "cpu"}, "lenses": {"enabled": false}});
    client.initialize(fake.folder(), all_capabilities()).await;
    client.expect("workspace/configuration").await;
    client.command("perfline.load", json!([])).await.unwrap();
    client.open(&uri, TRAIN).await;
    client.expect("workspace/inlayHint/refresh").await;
    assert_eq!(client.hints(&uri).await[0], "1:16 1 ms cpu");
    let lenses =
        client.request("textDocument/codeLens", json!({"textDocument": {"uri": uri}})).await;
    assert_eq!(lenses, Ok(Value::Null));

    client.settings = json!({"hints": {"format": "{share}"}, "view": {"metric": "gpu"}});
    client.notify("workspace/didChangeConfiguration", json!({"settings": null})).await;
    let reported = client.expect("window/showMessage").await;
    assert!(
        reported["message"]
            .as_str()
            .unwrap()
            .starts_with("Perfline: perfline.view.metric: unknown metric `gpu`"),
        "{reported}"
    );
    assert_eq!(client.hints(&uri).await[0], "1:16 30 %");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_only_sends_settings() {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut client = Client::new(fake.clone());
    let options = json!({"perfline": {"view": {"threshold": 25, "charge": "net"}}});
    let folders = json!([{"uri": support::uri(fake.folder()), "name": "w"}]);
    let params =
        json!({"capabilities": {}, "workspaceFolders": folders, "initializationOptions": options});
    client.request("initialize", params).await.unwrap();
    client.notify("initialized", json!({})).await;
    let reported = client.expect("window/showMessage").await;
    let message =
        "Perfline: perfline.view.charge: unknown charge `net`, expected one of: own, total";
    assert_eq!(reported, json!({"type": 2, "message": message}));
    client.command("perfline.load", json!([])).await.unwrap();
    client.open(&uri, TRAIN).await;
    assert_eq!(client.hints(&uri).await, ["1:16 3 ms gpu"]);
    client
        .notify(
            "workspace/didChangeConfiguration",
            json!({"settings": {"perfline": {"hints": {"enabled": false}}}}),
        )
        .await;
    assert_eq!(client.hints(&uri).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_is_that_of_the_terminal() {
    let fake = Fake::new();
    let mut client = ready(&fake).await;
    let report = client.command("perfline.report", json!([{"top": 1}])).await.unwrap();
    assert_eq!(report["schema"], "perfline.report/1");
    let sections = report["sections"].as_array().unwrap();
    let section = sections.iter().find(|it| it["id"] == "lines-cuda").unwrap();
    assert_eq!(section["columns"][0]["unit"], "ns");
    assert_eq!(section["rows"].as_array().unwrap().len(), 1, "{section:#}");
    let cells = &section["rows"][0];
    assert_eq!(cells[0], json!({"text": "3 ms", "value": 3_000_000.0}));
    assert_eq!(cells[3]["places"], json!([{"file": "train.py", "line": 2}]));
    let text = client.command("perfline.report", json!([{"text": true}])).await.unwrap();
    let text = text["text"].as_str().unwrap();
    assert!(text.contains("\nLines by own CUDA time\n") && text.contains("train.py:2"), "{text}");
    client.command("perfline.unload", json!([])).await.unwrap();
    assert_eq!(client.command("perfline.report", json!([])).await, Ok(Value::Null));
}
