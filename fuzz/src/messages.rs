//! What a client sends to the language server, which has a recording loaded and its program open.

use std::collections::BTreeMap;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Once};
use std::time::{Duration, SystemTime};

use loader::{DiscoveredRun, LoadOptions, Run, Watch};
use lsp::{Config, Ending, Recordings};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// What a session that does not end may take: longer than any that does.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes under way in each direction. Less than what the server says of the program at once, so that it waits for the client.
const PIPE: usize = 1 << 12;

const PROGRAM: &str = "\
def step(model, x):
    y = model(x)
    if y.max().item() > 100:
        y = y / 100
    return y.sum()
";

const TRACE: &str = r#"{"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":900},
{"ph":"X","cat":"python_function","name":"train.py(1): step","pid":1,"tid":1,"ts":1,"dur":800,"args":{"Python id":1}},
{"ph":"X","cat":"python_function","name":"<built-in method max of Tensor object at 0x7f>","pid":1,"tid":1,"ts":10,"dur":50,"args":{"Python id":2,"Python parent id":1}},
{"ph":"X","cat":"cpu_op","name":"aten::max","pid":1,"tid":1,"ts":12,"dur":40,"args":{"External id":1}},
{"ph":"X","cat":"python_function","name":"<built-in method item of Tensor object at 0x7f>","pid":1,"tid":1,"ts":70,"dur":500,"args":{"Python id":3,"Python parent id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":14,"dur":5,"args":{"External id":1,"correlation":7}},
{"ph":"X","cat":"kernel","name":"reduce_kernel","pid":0,"tid":7,"ts":30,"dur":300,"args":{"External id":1,"correlation":7,"device":0,"stream":7}}
]}"#;

/// The program and its recording, as they were read once. Nothing else is read, whatever messages ask for.
struct RecordedProgram {
    folder: tempfile::TempDir,
    run: Run,
}

static RECORDED: LazyLock<Arc<RecordedProgram>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("room for the program");
        path
    };
    write("train.py", PROGRAM);
    let trace = write("trace.json", TRACE);
    let options = LoadOptions::new(folder.path(), Some(Vec::new()));
    let watch = Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    let run = loader::load(&[trace], &options, &watch).expect("the recording is one");
    Arc::new(RecordedProgram { folder, run })
});

impl Recordings for RecordedProgram {
    fn discover(&self, _: &Path) -> Vec<DiscoveredRun> {
        let inputs = vec![self.folder.path().join("trace.json")];
        vec![DiscoveredRun { inputs, modified: SystemTime::UNIX_EPOCH }]
    }

    fn load(&self, _: &[PathBuf], _: &LoadOptions, _: &Watch<'_>) -> Result<Run, loader::Error> {
        Ok(self.run.clone())
    }

    fn load_kept(&self, _: &[PathBuf], _: &LoadOptions, _: &Watch<'_>) -> Option<Run> {
        None
    }
}

/// Messages to the language server: each request is answered once, nothing panics, and the server ends when it is asked to.
///
/// Messages are separated by zero bytes. What begins with one is sent as it is instead, headers and all; only that the
/// server ends is asked of it then.
///
/// # Panics
/// If that does not hold.
pub fn messages(bytes: &[u8]) {
    static HOOK: Once = Once::new();
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    // A handler that panics is answered with an error, so that it would not be seen otherwise.
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |it| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            before(it);
        }));
    });
    let n_panics = PANICS.load(Ordering::SeqCst);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let session = async {
        match bytes.strip_prefix(b"\0") {
            Some(raw) => raw_session(raw).await,
            None => session(bytes).await,
        }
    };
    let ended = runtime.block_on(async { tokio::time::timeout(PATIENCE, session).await });
    runtime.shutdown_timeout(PATIENCE);
    assert!(ended.is_ok(), "a session did not end within {PATIENCE:?}");
    assert_eq!(PANICS.load(Ordering::SeqCst), n_panics, "a part of the server panicked");
}

/// A server, the end to write to, and what reads what it says.
fn start(answers: UnboundedSender<Value>) -> (JoinHandle<Ending>, DuplexStream, JoinHandle<()>) {
    let (writer, input) = tokio::io::duplex(PIPE);
    let (output, reader) = tokio::io::duplex(PIPE);
    let never = Duration::from_secs(3600);
    let config = Config {
        recordings: RECORDED.clone(),
        poll: never,
        poll_watched: never,
        quiet_period: Duration::ZERO,
        gather: Duration::ZERO,
        poll_parent: never,
        text_cache: None,
        ledger_cache: None,
    };
    let server = tokio::spawn(lsp::serve(input, output, config));
    let reading = tokio::spawn(async move {
        let mut reader = BufReader::new(reader);
        while let Some(message) = read(&mut reader).await {
            // Whoever waits for answers may have gone.
            let _ = answers.send(message);
        }
    });
    (server, writer, reading)
}

/// The next message; `None` at the end of the stream. A message that is none panics.
async fn read(reader: &mut BufReader<DuplexStream>) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await.expect("headers are ASCII") == 0 {
            assert_eq!(length, None, "the stream ends behind a header");
            return None;
        }
        match line.trim_end() {
            "" => break,
            header => {
                let number = header.strip_prefix("Content-Length: ");
                length = number.map(|it| it.parse::<usize>().expect("a number of bytes"));
            }
        }
    }
    let mut body = vec![0; length.expect("a length in the header")];
    // A server that ends because its client said so may leave the last message unfinished.
    reader.read_exact(&mut body).await.ok()?;
    Some(serde_json::from_slice(&body).expect("a body of JSON"))
}

async fn send(writer: &mut DuplexStream, body: &[u8]) {
    // A server that has ended shows in what is waited for.
    let _ = writer.write_all(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes()).await;
    let _ = writer.write_all(body).await;
}

async fn raw_session(bytes: &[u8]) {
    let (answers, _) = unbounded_channel();
    let (server, mut writer, reading) = start(answers);
    let _ = writer.write_all(bytes).await;
    drop(writer);
    server.await.expect("the server ends without a panic");
    reading.await.expect("the server writes messages");
}

async fn session(bytes: &[u8]) {
    if bytes.windows(3).any(|it| it.eq_ignore_ascii_case(b"\\ud")) {
        // Halves of pairs that stand alone are mended, so that what is JSON there is none here.
        return;
    }
    let uri = format!("file://{}", RECORDED.folder.path().join("train.py").display());
    let folder = format!("file://{}", RECORDED.folder.path().display());
    let document = json!({"uri": uri, "languageId": "python", "version": 1, "text": PROGRAM});
    let folders = json!([{"uri": folder, "name": "code"}]);
    let capabilities = json!({"textDocument": {"inlayHint": {}, "codeLens": {}}});
    let hello = json!({"capabilities": capabilities, "workspaceFolders": folders});
    let load = json!({"command": "perfline.load", "arguments": []});
    let mut client = Client::start();
    client.exchange([request("hello", "initialize", &hello)]).await;
    let opened = json!({"textDocument": document});
    let ready = [
        notification("initialized", &json!({})),
        notification("textDocument/didOpen", &opened),
        request("load", "workspace/executeCommand", &load),
    ];
    let answers = client.exchange(ready).await;
    assert!(answers[0].get("result").is_some(), "{answers:?}");
    // The program is where the folder of this process is.
    let text = String::from_utf8_lossy(bytes).replace("$URI", &uri);
    client.exchange(text.split('\0').map(str::to_owned)).await;
    client.exchange([request("bye", "shutdown", &Value::Null)]).await;
    client.exchange([notification("exit", &Value::Null)]).await;
    client.end().await;
}

/// A client that answers what it is asked.
struct Client {
    server: JoinHandle<Ending>,
    reading: JoinHandle<()>,
    writing: JoinHandle<()>,
    /// What the server says.
    said: UnboundedReceiver<Value>,
    /// Bodies to send. It is written and read at the same time: each side may wait for the other one to read.
    to_send: UnboundedSender<String>,
}

impl Client {
    fn start() -> Self {
        let (sender, said) = unbounded_channel();
        let (server, mut writer, reading) = start(sender);
        let (to_send, mut bodies) = unbounded_channel::<String>();
        let writing = tokio::spawn(async move {
            while let Some(body) = bodies.recv().await {
                send(&mut writer, body.as_bytes()).await;
            }
        });
        Self { server, reading, writing, said, to_send }
    }

    fn send(&self, body: String) {
        self.to_send.send(body).expect("bodies are sent until the end");
    }

    /// Sends bodies, and waits until each request among them was answered, or the server has ended: the answers.
    async fn exchange(&mut self, bodies: impl IntoIterator<Item = String>) -> Vec<Value> {
        let mut answers = Vec::new();
        let mut open: BTreeMap<String, usize> = BTreeMap::new();
        for body in bodies {
            if let Some(id) = id_of_request(&body) {
                *open.entry(id).or_default() += 1;
            }
            self.send(body);
        }
        while !open.is_empty() {
            // The channel ends with the server.
            let Some(message) = self.said.recv().await else { break };
            let Some(id) = message.get("id").filter(|it| !it.is_null()) else { continue };
            if let Some(method) = message["method"].as_str() {
                let result = match method {
                    "workspace/configuration" => json!([null]),
                    "window/showDocument" => json!({"success": true}),
                    _ => Value::Null,
                };
                self.send(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
                continue;
            }
            let left = open.get_mut(&id.to_string());
            let left = left.unwrap_or_else(|| panic!("nobody waits for this answer: {message}"));
            *left -= 1;
            open.retain(|_, left| *left > 0);
            answers.push(message);
        }
        answers
    }

    /// Waits for the end of the server, which was asked for.
    async fn end(self) {
        drop(self.to_send);
        let _ = self.writing.await;
        self.server.await.expect("the server ends without a panic");
        self.reading.await.expect("the server writes messages");
    }
}

fn request(id: &str, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn notification(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// The id of a body that is a request, as JSON. That it may be refused makes no difference.
fn id_of_request(body: &str) -> Option<String> {
    let message: Value = serde_json::from_str(body).ok()?;
    let id = message.get("id").filter(|it| it.is_i64() || it.is_string())?;
    message.get("method").is_some().then(|| id.to_string())
}
