//! A client over a pipe, and recordings that come from memory.

#![allow(dead_code, reason = "each session uses a part of it")]
#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, reason = "a module of tests")]

pub mod programs;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use ledger::{Ledger, LineBooks, LineKey, Ns, PerStep, SourceFile};
use loader::{DiscoveredRun, Error, LedgerCache, LoadOptions, PartialRun, Rank, Run, Watch};
use lsp::{Config, Ending, Recordings};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

/// Longer than anything takes on the slowest machine; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

pub const TRAIN: &str = "\
def step(model, x):
    y = model(x)
    if y.max().item() > 100:
        y = y / 100
    y.backward()
";

/// A client.
pub struct Client {
    writer: DuplexStream,
    messages: UnboundedReceiver<Value>,
    /// What came and was not asked for yet.
    inbox: VecDeque<Value>,
    last_id: i64,
    server: JoinHandle<Ending>,
    reading: JoinHandle<()>,
    /// What `workspace/configuration` is answered with.
    pub settings: Value,
    /// Methods that are not answered.
    pub silent_on: Vec<&'static str>,
}

impl Client {
    /// A client that said nothing yet. If it watches files, the server relies on that.
    pub fn new(recordings: Arc<dyn Recordings>) -> Self {
        Self::polled(recordings, Duration::from_secs(3600))
    }

    /// A client for which the server looks for recordings after each `poll_watched`, even if it watches files.
    pub fn polled(recordings: Arc<dyn Recordings>, poll_watched: Duration) -> Self {
        let (writer, input) = tokio::io::duplex(1 << 20);
        let (output, reader) = tokio::io::duplex(1 << 20);
        let config = Config {
            recordings,
            poll: Duration::from_millis(20),
            poll_watched,
            quiet_period: Duration::from_millis(30),
            gather: Duration::from_millis(5),
            poll_parent: Duration::from_millis(20),
            text_cache: None,
            ledger_cache: None,
        };
        let server = tokio::spawn(lsp::serve(input, output, config));
        let (sender, messages) = unbounded_channel();
        let reading = tokio::spawn(async move {
            let mut reader = BufReader::new(reader);
            while let Some(message) = read(&mut reader).await {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            writer,
            messages,
            inbox: VecDeque::new(),
            last_id: 0,
            server,
            reading,
            settings: Value::Null,
            silent_on: Vec::new(),
        }
    }

    /// A client with a workspace folder, ready to work.
    pub async fn start(
        recordings: Arc<dyn Recordings>,
        folder: &Path,
        capabilities: Value,
    ) -> Self {
        let mut client = Self::new(recordings);
        client.initialize(folder, capabilities).await;
        client
    }

    /// A client that says which process started the server.
    pub async fn started_by(recordings: Arc<dyn Recordings>, process: u32) -> Self {
        let mut client = Self::new(recordings);
        let params = json!({"capabilities": {}, "processId": process});
        client.request("initialize", params).await.unwrap();
        client.notify("initialized", json!({})).await;
        client
    }

    /// Says hello; gives the server's capabilities.
    pub async fn initialize(&mut self, folder: &Path, capabilities: Value) -> Value {
        let folders = json!([{"uri": uri(folder), "name": "workspace"}]);
        let params = json!({"capabilities": capabilities, "workspaceFolders": folders});
        let result = self.request("initialize", params).await.unwrap();
        self.notify("initialized", json!({})).await;
        result["capabilities"].clone()
    }

    pub async fn send_raw(&mut self, bytes: impl AsRef<[u8]>) {
        // A server that has ended shows in what is waited for.
        let _ = self.writer.write_all(bytes.as_ref()).await;
    }

    /// Sends what need not be JSON as the body of a message.
    pub async fn send_body(&mut self, body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        self.send_raw(format!("Content-Length: {}\r\n\r\n", body.len())).await;
        self.send_raw(body).await;
    }

    pub async fn send(&mut self, message: &Value) {
        self.send_body(message.to_string()).await;
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Sends a request and does not wait; gives its id.
    pub async fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// The result of a request, or its error.
    pub async fn answer(&mut self, id: i64) -> Result<Value, Value> {
        let is_it = |message: &Value| message.get("method").is_none() && message["id"] == json!(id);
        let message = self.wait(&format!("the answer to request {id}"), is_it).await;
        match message.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(message["result"].clone()),
        }
    }

    /// Whether an answer to the request is there that nobody asked for yet.
    pub fn has_answer(&self, id: i64) -> bool {
        let mut inbox = self.inbox.iter();
        inbox.any(|message| message.get("method").is_none() && message["id"] == json!(id))
    }

    /// The next error that belongs to no request.
    pub async fn refusal(&mut self) -> Value {
        let is_it = |message: &Value| message["id"].is_null() && message.get("error").is_some();
        self.wait("an error without a request", is_it).await["error"].clone()
    }

    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.ask(method, params).await;
        self.answer(id).await
    }

    /// The parameters of the next notification or request of a method.
    pub async fn expect(&mut self, method: &str) -> Value {
        let message = self.wait(method, |message| message["method"] == json!(method)).await;
        message["params"].clone()
    }

    /// Of a method, the first whose parameters are wanted.
    pub async fn expect_that(&mut self, method: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let is_it =
            |message: &Value| message["method"] == json!(method) && wanted(&message["params"]);
        self.wait(method, is_it).await["params"].clone()
    }

    /// The next diagnostics of a file.
    pub async fn diagnostics(&mut self, uri: &str) -> Vec<Value> {
        let params =
            self.expect_that("textDocument/publishDiagnostics", |it| it["uri"] == json!(uri)).await;
        params["diagnostics"].as_array().unwrap().clone()
    }

    /// Forgets what came, and says whether something of a method was there.
    pub fn forget(&mut self, method: &str) -> bool {
        while let Ok(message) = self.messages.try_recv() {
            self.inbox.push_back(message);
        }
        let any = self.inbox.iter().any(|message| message["method"] == json!(method));
        self.inbox.clear();
        any
    }

    /// The first message that is wanted, of those that came and will come. Requests of the server are answered.
    async fn wait(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.inbox.iter().position(&wanted) {
            return self.inbox.remove(at).unwrap();
        }
        loop {
            let next = tokio::time::timeout(PATIENCE, self.messages.recv()).await;
            let Ok(Some(message)) = next else {
                panic!("{what} did not come; there is {:#?}", self.inbox);
            };
            self.reply(&message).await;
            if wanted(&message) {
                return message;
            }
            self.inbox.push_back(message);
        }
    }

    async fn reply(&mut self, message: &Value) {
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            return;
        };
        if self.silent_on.contains(&method) {
            return;
        }
        let result = match method {
            "workspace/configuration" => json!([self.settings]),
            "window/showDocument" => json!({"success": true}),
            _ => Value::Null,
        };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    pub async fn open(&mut self, uri: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": "python", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document})).await;
    }

    /// Changes a range, given as line, column, line, column.
    pub async fn change(&mut self, uri: &str, version: i32, range: [u32; 4], text: &str) {
        let [start_line, start, end_line, end] = range;
        let range = json!({"start": {"line": start_line, "character": start}, "end": {"line": end_line, "character": end}});
        self.change_with(uri, version, json!([{"range": range, "text": text}])).await;
    }

    pub async fn change_with(&mut self, uri: &str, version: i32, changes: Value) {
        let document = json!({"uri": uri, "version": version});
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": changes}),
        )
        .await;
    }

    /// The hints of a whole file as `line:column label`, with the protocol's 0-based line.
    pub async fn hints(&mut self, uri: &str) -> Vec<String> {
        let result = self.request("textDocument/inlayHint", hint_params(uri)).await.unwrap();
        shown(&result)
    }

    /// The titles of the lenses of a file, by line (from 1); of several on one line the last.
    pub async fn lenses(&mut self, uri: &str) -> BTreeMap<u32, String> {
        let params = json!({"textDocument": {"uri": uri}});
        let lenses = self.request("textDocument/codeLens", params).await.unwrap();
        let lens = |it: &Value| {
            let line = it["range"]["start"]["line"].as_u64().unwrap() as u32 + 1;
            (line, it["command"]["title"].as_str().unwrap_or_default().to_owned())
        };
        lenses.as_array().unwrap().iter().map(lens).collect()
    }

    pub async fn command(&mut self, command: &str, arguments: Value) -> Result<Value, Value> {
        self.request(
            "workspace/executeCommand",
            json!({"command": command, "arguments": arguments}),
        )
        .await
    }

    /// Closes the pipe to the server without a word.
    pub async fn hang_up(self) -> Ending {
        drop(self.writer);
        end(self.server).await
    }

    /// Waits for the server's end; the pipe stays open.
    pub async fn end(self) -> Ending {
        let _open = self.writer;
        end(self.server).await
    }

    /// Closes the end that the server writes to.
    pub async fn stop_reading(&mut self) {
        self.reading.abort();
        let _ = (&mut self.reading).await;
    }

    /// Vanishes: neither reads nor writes any more.
    pub async fn vanish(mut self) -> Ending {
        self.stop_reading().await;
        drop(self.writer);
        end(self.server).await
    }
}

async fn end(server: JoinHandle<Ending>) -> Ending {
    tokio::time::timeout(PATIENCE, server)
        .await
        .expect("the server ends")
        .expect("the server does not panic")
}

pub fn hint_params(uri: &str) -> Value {
    let range =
        json!({"start": {"line": 0, "character": 0}, "end": {"line": 1000, "character": 0}});
    json!({"textDocument": {"uri": uri}, "range": range})
}

/// `line:column label` of each hint.
pub fn shown(hints: &Value) -> Vec<String> {
    let hints = hints.as_array().cloned().unwrap_or_default();
    let text = |hint: &Value| {
        let at = &hint["position"];
        format!("{}:{} {}", at["line"], at["character"], hint["label"].as_str().unwrap())
    };
    hints.iter().map(text).collect()
}

async fn read(reader: &mut BufReader<DuplexStream>) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(number) = line.strip_prefix("Content-Length: ") {
            length = Some(number.parse::<usize>().unwrap());
        }
    }
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).await.ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}

pub fn uri(path: &Path) -> String {
    tower_lsp::lsp_types::Url::from_file_path(path).unwrap().to_string()
}

type Load = dyn Fn(&[PathBuf], &LoadOptions, &Watch<'_>) -> Result<Run, Error> + Send + Sync;

/// A folder with a program and a file that stands for a recording; what is loaded comes from memory.
pub struct Fake {
    folder: tempfile::TempDir,
    /// What loading does.
    pub load: Mutex<Arc<Load>>,
    /// What is known of the recording before all of it is read.
    pub first_steps: Mutex<Option<PartialRun>>,
    /// How often something was loaded.
    pub loads: AtomicUsize,
    /// How often recordings were looked for.
    pub searches: AtomicUsize,
    /// Open, unless a session closes it: looking for recordings waits there.
    pub search_gate: Gate,
}

impl Fake {
    /// With `train.py` and one recording of it.
    pub fn new() -> Arc<Self> {
        Self::with("train.py", TRAIN)
    }

    pub fn with(name: &str, text: &str) -> Arc<Self> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), text).unwrap();
        std::fs::write(folder.path().join("trace.json"), "1").unwrap();
        let run = run_of(name, &folder.path().join(name));
        Arc::new(Self {
            folder,
            load: Mutex::new(Arc::new(move |_, _, _| Ok(run.clone()))),
            first_steps: Mutex::default(),
            loads: AtomicUsize::new(0),
            searches: AtomicUsize::new(0),
            search_gate: Gate(Mutex::new(true), Condvar::new()),
        })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn uri(&self, name: &str) -> String {
        uri(&self.path(name))
    }

    pub fn on_load(
        &self,
        load: impl Fn(&[PathBuf], &LoadOptions, &Watch<'_>) -> Result<Run, Error>
        + Send
        + Sync
        + 'static,
    ) {
        *self.load.lock().unwrap() = Arc::new(load);
    }

    pub fn n_loads(&self) -> usize {
        self.loads.load(Ordering::SeqCst)
    }
}

impl Recordings for Fake {
    fn discover(&self, folder: &Path) -> Vec<DiscoveredRun> {
        self.searches.fetch_add(1, Ordering::SeqCst);
        self.search_gate.pass();
        let path = folder.join("trace.json");
        let Ok(modified) = path.metadata().and_then(|it| it.modified()) else { return Vec::new() };
        vec![DiscoveredRun { inputs: vec![path], modified }]
    }

    fn load(
        &self,
        inputs: &[PathBuf],
        options: &LoadOptions,
        watch: &Watch<'_>,
    ) -> Result<Run, Error> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        let load = Arc::clone(&self.load.lock().unwrap());
        load(inputs, options, watch)
    }

    fn load_kept(&self, _: &[PathBuf], _: &LoadOptions, _: &Watch<'_>) -> Option<Run> {
        None
    }

    fn load_first_steps(
        &self,
        _: &[PathBuf],
        _: &LoadOptions,
        _: &Watch<'_>,
    ) -> Option<PartialRun> {
        self.first_steps.lock().unwrap().clone()
    }
}

/// Recordings on disk, with their ledgers or the texts of their files kept.
#[derive(Default)]
pub struct Kept {
    pub ledgers: Option<Arc<LedgerCache>>,
    pub texts: Option<PathBuf>,
    /// Inputs of each load that were not read.
    pub n_kept: Mutex<Vec<usize>>,
}

impl Recordings for Kept {
    fn discover(&self, folder: &Path) -> Vec<DiscoveredRun> {
        loader::discover(folder)
    }

    fn load(
        &self,
        inputs: &[PathBuf],
        options: &LoadOptions,
        watch: &Watch<'_>,
    ) -> Result<Run, Error> {
        let (run, timing) = loader::load_timed(inputs, &self.with_caches(options), watch)?;
        self.ledgers.iter().for_each(|it| it.write_pending());
        self.n_kept.lock().unwrap().push(timing.kept.len());
        Ok(run)
    }

    fn load_kept(
        &self,
        inputs: &[PathBuf],
        options: &LoadOptions,
        watch: &Watch<'_>,
    ) -> Option<Run> {
        loader::load_kept(inputs, &self.with_caches(options), watch)
    }
}

impl Kept {
    fn with_caches(&self, options: &LoadOptions) -> LoadOptions {
        let (ledger_cache, text_cache) = (self.ledgers.clone(), self.texts.clone());
        LoadOptions { ledger_cache, text_cache, ..options.clone() }
    }
}

/// Two steps of 10 ms each on two ranks. In each, line 2 has 3 ms of device time; line 3 waits 2 ms for it; line 5 has
/// 1 ms, 2 ms on rank 1.
pub fn run_of(key: &str, path: &Path) -> Run {
    let ledgers = [1, 2].map(|times| ledger_of(key, path, times));
    let mut merged = Ledger::default();
    let file = Arc::default();
    let ranks = std::iter::zip(0.., ledgers);
    let ranks = ranks.map(|(rank, it)| Rank::new(rank, it, &file, |it| merged.merge(it)));
    let ranks = ranks.collect();
    Run {
        inputs: Vec::new(),
        failures: Vec::new(),
        ranks,
        merged,
        texts: loader::TextsByFile::new(),
        commit: None,
        stacks: None,
        timeline: None,
        histories: Vec::new(),
    }
}

fn ledger_of(key: &str, path: &Path, backward_ms: i64) -> Ledger {
    const MS: i64 = 1_000_000;
    let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
    ledger.steps.extend([(1, Ns(10 * MS)), (2, Ns(10 * MS))]);
    let file = SourceFile {
        recorded: key.to_owned(),
        path: Some(path.to_owned()),
        is_user_code: true,
        ..SourceFile::default()
    };
    ledger.files.insert(key.to_owned(), file);
    let place = |line| LineKey { file: key.to_owned(), line };
    let mut add = |line: u32, cuda: i64, sync: i64, waits: Option<u32>| {
        let mut books = LineBooks {
            function: "step".to_owned(),
            cuda_own: Ns(2 * cuda),
            cuda_total: Ns(2 * cuda),
            cpu_own: Ns(2 * MS),
            cpu_total: Ns(2 * MS),
            cpu_in_steps: Ns(2 * MS),
            elapsed: Ns(2 * MS),
            sync: Ns(2 * sync),
            syncs: if sync > 0 { 2 } else { 0 },
            ..LineBooks::default()
        };
        let step = PerStep { cuda: Ns(cuda), cpu: Ns(MS), sync: Ns(sync), ..PerStep::default() };
        books.steps.extend([(1, step), (2, step)]);
        books.waits.extend(waits.map(|line| (place(line), Ns(2 * sync))));
        ledger.totals.cuda += books.cuda_own;
        ledger.totals.cpu += books.cpu_own;
        ledger.totals.sync += books.sync;
        ledger.lines.insert(place(line), Box::new(books));
    };
    add(2, 3 * MS, 0, None);
    add(3, 0, 2 * MS, Some(2));
    add(5, backward_ms * MS, 0, None);
    ledger.in_steps = ledger.totals;
    ledger
}

/// What Neovim and VS Code can, as far as it matters here.
pub fn all_capabilities() -> Value {
    json!({
        "general": {"positionEncodings": ["utf-8", "utf-16"]},
        "window": {"workDoneProgress": true, "showDocument": {"support": true}},
        "workspace": {
            "configuration": true,
            "didChangeConfiguration": {"dynamicRegistration": true},
            "didChangeWatchedFiles": {"dynamicRegistration": true},
            "inlayHint": {"refreshSupport": true},
            "codeLens": {"refreshSupport": true},
            "workspaceEdit": {"documentChanges": true},
        },
        "textDocument": {
            "codeAction": {
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}},
            },
            "hover": {"contentFormat": ["markdown"]},
            "publishDiagnostics": {"relatedInformation": true},
        },
    })
}

/// A gate that loading waits at.
#[derive(Default)]
pub struct Gate(Mutex<bool>, Condvar);

impl Gate {
    pub fn close(&self) {
        *self.0.lock().unwrap() = false;
    }

    pub fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    pub fn pass(&self) {
        let mut is_open = self.0.lock().unwrap();
        while !*is_open {
            is_open = self.1.wait(is_open).unwrap();
        }
    }
}

/// A client that has loaded the recording and opened the program.
pub async fn ready(fake: &Arc<Fake>) -> Client {
    let mut client = Client::start(fake.clone(), fake.folder(), all_capabilities()).await;
    client.command("perfline.load", json!([])).await.unwrap();
    client.open(&fake.uri("train.py"), TRAIN).await;
    client
}
