//! Long sessions of edits, loads, views, cancelled and malformed messages, made from a seed, against a server that begins anew.
//!
//! What a server shows at any moment must follow from what still counts: the recording that is loaded, the view, the text when it was
//! loaded and the edits since. So from time to time another server is started, gets only that, and must show the same, to the byte.
//! Whatever else was sent in between, each request is answered once, and the server ends when it is asked to.
//!
//! `PERFLINE_SESSIONS` sets how many sessions are tried; a seed that failed is added to [`KEPT`].

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

mod support;

use lsp::Ending;
use serde_json::{Value, json};
use support::{Client, Fake, TRAIN, all_capabilities, hint_params};

/// Seeds that are tried in each run: those that failed once.
const KEPT: [u64; 0] = [];

/// Messages of a session.
const MESSAGES: usize = 150;

/// Numbers that look random (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides as u64) as usize
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}

/// What of a session still counts.
#[derive(Clone, Default)]
struct Model {
    is_loaded: bool,
    /// Commands that say what is shown, with their arguments: the last of each.
    view: Vec<(&'static str, Value)>,
    /// The text when lines were first carried into it; `None` while the document is closed.
    first: Option<String>,
    /// Ranges and texts that replaced them since.
    edits: Vec<([u32; 4], String)>,
    /// The text as it is.
    text: String,
}

impl Model {
    /// Takes the text as it is for the first, as a load and opening the document do.
    fn begin_anew(&mut self) {
        self.first = self.first.as_ref().map(|_| self.text.clone());
        self.edits.clear();
    }

    fn edit(&mut self, range: [u32; 4], text: &str) {
        let offset = |line: u32, column: u32| {
            let before: usize =
                self.text.split_inclusive('\n').take(line as usize).map(str::len).sum();
            before + column as usize
        };
        let (start, end) = (offset(range[0], range[1]), offset(range[2], range[3]));
        self.text.replace_range(start..end, text);
        self.edits.push((range, text.to_owned()));
    }

    /// What a server shows that gets only what counts.
    async fn shown_by_another(&self, fake: &std::sync::Arc<Fake>) -> Value {
        let uri = fake.uri("train.py");
        let mut client = Client::start(fake.clone(), fake.folder(), all_capabilities()).await;
        client.command("perfline.load", json!([])).await.unwrap();
        for (command, argument) in &self.view {
            client.command(command, json!([argument])).await.unwrap();
        }
        if !self.is_loaded {
            client.command("perfline.unload", json!([])).await.unwrap();
        }
        if let Some(first) = &self.first {
            client.open(&uri, first).await;
            client.hints(&uri).await;
            for (index, (range, text)) in self.edits.iter().enumerate() {
                client.change(&uri, index as i32 + 2, *range, text).await;
            }
        }
        let shown = shown(&mut client, &uri).await;
        client.request("shutdown", Value::Null).await.unwrap();
        client.notify("exit", Value::Null).await;
        assert_eq!(client.end().await, Ending::Exit { after_shutdown: true });
        shown
    }
}

/// Hints and lenses of the program.
async fn shown(client: &mut Client, uri: &str) -> Value {
    let hints = client.request("textDocument/inlayHint", hint_params(uri)).await;
    let lenses =
        client.request("textDocument/codeLens", json!({"textDocument": {"uri": uri}})).await;
    json!([hints.unwrap_or_default(), lenses.unwrap_or_default()])
}

/// A place in the text that is one: line and column.
fn place(dice: &mut Dice, text: &str) -> [u32; 2] {
    let lines: Vec<&str> = text.split('\n').collect();
    let line = dice.roll(lines.len());
    [line as u32, dice.roll(lines[line].len() + 1) as u32]
}

/// Requests that change nothing, some of them with parameters that are none.
fn harmless(dice: &mut Dice, uri: &str) -> (&'static str, Value) {
    let document = json!({"uri": uri});
    let at = json!({"line": dice.roll(9), "character": dice.roll(30)});
    let command = |name: &str, arguments: Value| json!({"command": name, "arguments": arguments});
    match dice.roll(16) {
        0 => ("textDocument/inlayHint", hint_params(uri)),
        1 => ("textDocument/hover", json!({"textDocument": document, "position": at})),
        2 => ("textDocument/codeLens", json!({"textDocument": document})),
        3 => {
            let range = json!({"start": at, "end": at});
            let context = json!({"diagnostics": []});
            (
                "textDocument/codeAction",
                json!({"textDocument": document, "range": range, "context": context}),
            )
        }
        4 => ("workspace/executeCommand", command("perfline.hotLines", json!([]))),
        5 => ("workspace/executeCommand", command("perfline.status", json!([]))),
        6 => ("workspace/executeCommand", command("perfline.findings", json!([]))),
        7 => (
            "workspace/executeCommand",
            command("perfline.details", json!([{"uri": uri, "line": 2}])),
        ),
        8 => ("workspace/executeCommand", command("perfline.heat", json!([{"uri": uri}]))),
        9 => ("workspace/executeCommand", command("perfline.unknown", json!([1, 2]))),
        10 => {
            ("workspace/executeCommand", command("perfline.setMetric", json!([["no", "metric"]])))
        }
        11 => ("workspace/executeCommand", json!(5)),
        12 => (
            "textDocument/inlayHint",
            json!({"textDocument": {"uri": "file:///nowhere.py"}, "range": null}),
        ),
        13 => {
            ("textDocument/hover", json!({"textDocument": {"uri": "untitled:1"}, "position": at}))
        }
        14 => ("perfline/unknown", json!({})),
        _ => ("initialize", json!({"capabilities": {}})),
    }
}

/// Notifications that change nothing.
async fn useless_notification(dice: &mut Dice, client: &mut Client, uri: &str) {
    match dice.roll(7) {
        0 => client.notify("$/cancelRequest", json!({"id": 1_000_000})).await,
        1 => client.notify("$/unknown", json!([1])).await,
        2 => client.notify("textDocument/didSave", json!({"textDocument": {"uri": uri}})).await,
        3 => {
            client
                .notify(
                    "textDocument/didClose",
                    json!({"textDocument": {"uri": "file:///nowhere.py"}}),
                )
                .await
        }
        4 => {
            // A change of a document that is not open.
            client.change("file:///nowhere.py", 7, [0, 0, 0, 0], "x").await;
        }
        5 => client.notify("textDocument/didChange", json!("malformed")).await,
        _ => client.notify("workspace/didChangeWatchedFiles", json!({"changes": []})).await,
    }
}

async fn session(seed: u64) {
    let fake = Fake::new();
    let uri = fake.uri("train.py");
    let mut dice = Dice(seed);
    let mut client = Client::start(fake.clone(), fake.folder(), all_capabilities()).await;
    client.command("perfline.load", json!([])).await.unwrap();
    let mut model = Model { is_loaded: true, text: TRAIN.to_owned(), ..Model::default() };
    let mut version = 1;
    let mut asked = Vec::new();
    for message in 0..MESSAGES {
        match dice.roll(21) {
            0 if model.first.is_some() => {
                client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}})).await;
                model.first = None;
            }
            0..=2 if model.first.is_none() => {
                // Lines are carried from what is first looked at.
                model.first = Some(model.text.clone());
                model.edits.clear();
                version = 1;
                client.open(&uri, &model.text).await;
                client.hints(&uri).await;
            }
            1 => {
                let command = if dice.roll(3) == 0 { "perfline.unload" } else { "perfline.load" };
                client.command(command, json!([])).await.unwrap();
                model.is_loaded = command == "perfline.load";
                model.begin_anew();
                client.hints(&uri).await;
            }
            2 => {
                let metric = *dice.one(&["cuda", "cpu", "wait", "idle", "auto"]);
                if client.command("perfline.setMetric", json!([metric])).await.is_ok() {
                    model.view.retain(|it| it.0 != "perfline.setMetric");
                    model.view.push(("perfline.setMetric", json!(metric)));
                }
            }
            3 => {
                let step = *dice.one(&[1, 2]);
                if client.command("perfline.setStep", json!([step])).await.is_ok() {
                    model.view.retain(|it| it.0 != "perfline.setStep");
                    model.view.push(("perfline.setStep", json!(step)));
                }
            }
            4..=9 if model.first.is_some() => {
                let (a, b) = (place(&mut dice, &model.text), place(&mut dice, &model.text));
                let (start, mut end) = (a.min(b), a.max(b));
                if dice.roll(3) > 0 {
                    end = start;
                }
                let text = *dice.one(&[
                    "",
                    "x",
                    "\n",
                    "    y = 1\n",
                    "# no\n\n",
                    "    y = model(x)\n",
                    "()",
                ]);
                version += 1;
                let range = [start[0], start[1], end[0], end[1]];
                client.change(&uri, version, range, text).await;
                model.edit(range, text);
            }
            10..=14 => {
                let (method, params) = harmless(&mut dice, &uri);
                let id = client.ask(method, params).await;
                if dice.roll(4) == 0 {
                    client.notify("$/cancelRequest", json!({"id": id})).await;
                }
                asked.push(id);
            }
            15..=16 => useless_notification(&mut dice, &mut client, &uri).await,
            17 => {
                client.send_body(dice.one(&["", "{", "[]", "5", "{\"jsonrpc\": \"2.0\"}"])).await;
                client.refusal().await;
            }
            18 => {
                let filter = dice
                    .one(&[
                        json!({}),
                        json!({"files": ["other.py"]}),
                        json!({"functions": ["^step$"]}),
                    ])
                    .clone();
                if client.command("perfline.setFilter", json!([filter])).await.is_ok() {
                    model.view.retain(|it| it.0 != "perfline.setFilter");
                    model.view.push(("perfline.setFilter", filter));
                }
            }
            _ => {}
        }
        if message % 30 == 29 {
            let expected = model.shown_by_another(&fake).await;
            let found = shown(&mut client, &uri).await;
            assert_eq!(found, expected, "seed {seed}, message {message}\n{}", model.text);
        }
    }
    for &id in &asked {
        // That there is an answer counts; a request that makes no sense is refused.
        let _ = client.answer(id).await;
    }
    client.request("shutdown", Value::Null).await.unwrap();
    assert_eq!(
        client.request("textDocument/inlayHint", hint_params(&uri)).await.unwrap_err()["code"],
        -32600
    );
    for id in asked {
        assert!(!client.has_answer(id), "seed {seed}: request {id} was answered twice");
    }
    client.notify("exit", Value::Null).await;
    assert_eq!(client.end().await, Ending::Exit { after_shutdown: true });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_shows_what_a_server_shows_that_begins_anew() {
    let n = std::env::var("PERFLINE_SESSIONS").ok().and_then(|it| it.parse().ok()).unwrap_or(12);
    for seed in KEPT.into_iter().chain(0..n) {
        session(seed).await;
    }
}
