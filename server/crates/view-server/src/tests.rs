//! HTTP over a socket, as a browser and as others who should get nothing.

use std::sync::Arc;
use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::{Picture, PicturePart, ViewPlace, ViewServer, ViewSource};

struct Shown {
    version: watch::Sender<u64>,
    opened: Mutex<Vec<ViewPlace>>,
}

impl ViewSource for Shown {
    fn version(&self) -> u64 {
        *self.version.borrow()
    }

    async fn page(&self) -> Result<String, String> {
        match self.version() {
            0 => Err("<nothing> is loaded".to_owned()),
            _ => Ok("<p>a page</p>".to_owned()),
        }
    }

    async fn picture(&self, picture: Picture, part: PicturePart) -> Result<String, String> {
        let range = part.range().ok_or("There is no such part.")?;
        Ok(format!("[\"{picture:?}\", {}, {}, {}]", range.0, range.1, part.rank.unwrap_or(9)))
    }

    async fn open(&self, place: ViewPlace) -> Result<(), String> {
        self.opened.lock().unwrap().push(place);
        Ok(())
    }

    async fn changed(&self, version: u64) {
        let mut versions = self.version.subscribe();
        drop(versions.wait_for(|it| *it != version).await);
    }
}

/// A server of its own, and where it is: host and the path with the key.
async fn serving() -> (Arc<Shown>, String, String) {
    let shown = Arc::new(Shown { version: watch::Sender::new(4), opened: Mutex::default() });
    let server = ViewServer::bind(0).await.unwrap();
    let url = server.url();
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let place = (host.to_owned(), format!("/{path}"));
    tokio::spawn(server.serve(Arc::clone(&shown)));
    (shown, place.0, place.1)
}

/// Status, head and body of the answer.
async fn ask(address: &str, request: String) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), body.to_owned())
}

async fn get(address: &str, host: &str, path: &str) -> (u16, String, String) {
    ask(address, format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")).await
}

async fn post(address: &str, path: &str, kind: &str, body: &str) -> (u16, String, String) {
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    let rest = format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}");
    ask(address, head + &rest).await
}

#[tokio::test]
async fn the_page_is_there_with_the_key() {
    let (_, address, path) = serving().await;
    let (status, head, body) = get(&address, &address, &path).await;
    assert_eq!((status, body.as_str()), (200, "<p>a page</p>"));
    for line in ["frame-ancestors 'none'", "referrer-policy: no-referrer", "no-store"] {
        assert!(head.contains(line), "{head}");
    }
    // Through a tunnel, the port is another one.
    assert_eq!(get(&address, "localhost:9", &path).await.0, 200);
}

#[tokio::test]
async fn where_there_is_no_page_the_browser_asks_again() {
    let (shown, address, path) = serving().await;
    shown.version.send_replace(0);
    let (status, _, body) = get(&address, &address, &path).await;
    assert_eq!(status, 503);
    for part in ["&lt;nothing> is loaded", "http-equiv=\"refresh\"", "default-src 'none'"] {
        assert!(body.contains(part), "{body}");
    }
}

#[tokio::test]
async fn nobody_else_gets_an_answer() {
    let (shown, address, path) = serving().await;
    let other = format!("/{}/", "0".repeat(32));
    let half = &path[..path.len() / 2];
    for (host, path) in [
        (address.as_str(), "/"),
        (&address, &other),
        (&address, half),
        ("rebound.example:80", &path),
        ("127.0.0.1.example", &path),
    ] {
        let (status, _, body) = get(&address, host, path).await;
        assert_eq!(status, 403, "{host} {path}");
        assert!(!body.contains("a page"));
    }
    // What a page of another site can send without being allowed to.
    let place = r#"{"file": "train.py", "line": 3}"#;
    let (status, ..) = post(&address, &format!("{path}open"), "text/plain", place).await;
    assert_eq!(status, 415);
    assert!(shown.opened.lock().unwrap().is_empty());
}

#[tokio::test]
async fn lines_are_opened_and_parts_are_drawn() {
    let (shown, address, path) = serving().await;
    let place = r#"{"file": "train.py", "line": 3}"#;
    let (status, ..) = post(&address, &format!("{path}open"), "application/json", place).await;
    assert_eq!(status, 200);
    let expected = ViewPlace { file: "train.py".to_owned(), line: 3 };
    assert_eq!(*shown.opened.lock().unwrap(), [expected]);

    let picture = format!("{path}picture");
    let wanted = r#"{"picture": "timeline", "from": 5, "to": 9}"#;
    let (status, _, body) = post(&address, &picture, "application/json", wanted).await;
    assert_eq!((status, body.as_str()), (200, r#"["Timeline", 5, 9, 9]"#));
    let wanted = r#"{"picture": "memory", "from": 0, "to": 7, "rank": 1, "device": 0}"#;
    let (_, _, body) = post(&address, &picture, "application/json", wanted).await;
    assert_eq!(body, r#"["Memory", 0, 7, 1]"#);
    for wanted in [r#"{"picture": "timeline", "from": 9, "to": 5}"#, r#"{"picture": "memory"}"#] {
        let (status, _, body) = post(&address, &picture, "application/json", wanted).await;
        assert_eq!((status, body.as_str()), (422, "There is no such part."));
    }
}

#[tokio::test]
async fn what_cannot_be_understood_is_refused() {
    let (_, address, path) = serving().await;
    let long = format!("{{\"file\": \"{}\", \"line\": 1}}", "x".repeat(70_000));
    for (name, body) in [
        ("picture", r#"{"picture": "flame"}"#),
        ("picture", "["),
        ("open", r#"{"file": "train.py"}"#),
        ("open", &long),
    ] {
        let (status, ..) = post(&address, &format!("{path}{name}"), "application/json", body).await;
        assert_eq!(status, 400, "{name}");
    }
    assert_eq!(get(&address, &address, &format!("{path}changed")).await.0, 400);
    assert_eq!(get(&address, &address, &format!("{path}other")).await.0, 404);
    assert_eq!(post(&address, &path, "application/json", "{}").await.0, 404);
}

#[tokio::test]
async fn a_change_is_answered_when_it_comes() {
    let (shown, address, path) = serving().await;
    let known = format!("{path}changed?from=3");
    assert_eq!(get(&address, &address, &known).await.2, "4");
    let waiting = format!("{path}changed?from=4");
    let (answer, ()) = tokio::join!(get(&address, &address, &waiting), async {
        tokio::task::yield_now().await;
        shown.version.send_replace(5);
    });
    assert_eq!(answer.2, "5");
}
