//! A server for tests that gives files as S3 does, and over plain HTTP: parts of objects, lists in pages, and the faults of both.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::SystemTime;

/// The key that may read private buckets.
pub(crate) const KEY_ID: &str = "PERFLINETESTKEY";

/// Names on one page of a list.
const PAGE: usize = 2;

/// Files that are served, by the first part of the path.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    /// The folder on disk.
    pub(crate) folder: PathBuf,
    /// How requests are answered.
    pub(crate) manner: Manner,
}

/// How requests are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As S3 does, to those who sign with the key.
    Private,
    /// As S3 does, to everybody.
    Public,
    /// Objects to everybody, lists to nobody.
    Unlisted,
    /// Nothing behind the first bytes of an object arrives whole.
    Cut,
    /// Objects are given whole alone.
    Whole,
    /// Files over HTTP, to those whose URL is signed.
    Signed,
}

/// A server that runs until the process ends.
#[derive(Debug)]
pub(crate) struct ObjectServer {
    /// `http://127.0.0.1:PORT`.
    pub(crate) address: String,
    /// What was asked for: method and path, and the bytes that were sent.
    requests: Arc<Mutex<Vec<(String, usize)>>>,
}

impl ObjectServer {
    /// Serves these buckets.
    pub(crate) fn start(buckets: &[(&str, &Path, Manner)]) -> Self {
        let bucket = |&(name, folder, manner): &(&str, &Path, Manner)| {
            (name.to_owned(), Bucket { folder: folder.to_owned(), manner })
        };
        let buckets: Arc<BTreeMap<String, Bucket>> = Arc::new(buckets.iter().map(bucket).collect());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::default();
        let log: Arc<Mutex<Vec<(String, usize)>>> = Arc::clone(&requests);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (buckets, log) = (Arc::clone(&buckets), Arc::clone(&log));
                thread::spawn(move || serve(connection, &buckets, &log));
            }
        });
        Self { address, requests }
    }

    /// What was asked for since the last call.
    pub(crate) fn take_requests(&self) -> Vec<(String, usize)> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

struct Request {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
}

/// What is sent: status, headers, body, and how much of the body arrives.
struct Answer {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    arrives: usize,
}

impl Answer {
    fn new(status: &'static str, body: Vec<u8>) -> Self {
        Self { status, headers: Vec::new(), arrives: body.len(), body }
    }

    fn fault(status: &'static str, code: &str) -> Self {
        let body = format!(
            "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{code}, and a secret</Message></Error>"
        );
        Self::new(status, body.into_bytes())
    }
}

fn serve(
    mut connection: TcpStream,
    buckets: &BTreeMap<String, Bucket>,
    log: &Mutex<Vec<(String, usize)>>,
) -> Option<()> {
    let request = read(&connection)?;
    let answer = answer(&request, buckets);
    let named = format!("{} {}", request.method, request.path);
    log.lock().unwrap().push((named, answer.arrives));
    let mut head = format!("HTTP/1.1 {}\r\nConnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    write!(head, "Content-Length: {}\r\n\r\n", answer.body.len()).unwrap();
    connection.write_all(head.as_bytes()).ok()?;
    if request.method != "HEAD" {
        connection.write_all(&answer.body[..answer.arrives]).ok()?;
    }
    connection.flush().ok()
}

fn read(connection: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(connection.take(1 << 16)).lines().map_while(Result::ok);
    let first = lines.next()?;
    let mut parts = first.split(' ');
    let (method, target) = (parts.next()?, parts.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query = query.split('&').filter_map(|it| it.split_once('='));
    let headers = lines.take_while(|it| !it.is_empty());
    let headers = headers.filter_map(|it| {
        let (name, value) = it.split_once(':')?;
        Some((name.to_lowercase(), value.trim().to_owned()))
    });
    Some(Request {
        method: method.to_owned(),
        path: unescaped(path),
        query: query.map(|(name, value)| (name.to_owned(), unescaped(value))).collect(),
        headers: headers.collect(),
    })
}

/// The text that `%2F` and the like stand for.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |it: u8| char::from(it).to_digit(16).unwrap();
        bytes.push(match byte {
            b'%' => {
                u8::try_from(hex(rest.next().unwrap()) * 16 + hex(rest.next().unwrap())).unwrap()
            }
            it => it,
        });
    }
    String::from_utf8(bytes).unwrap()
}

fn answer(request: &Request, buckets: &BTreeMap<String, Bucket>) -> Answer {
    let path = request.path.trim_start_matches('/');
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    let Some(Bucket { folder, manner }) = buckets.get(bucket) else {
        return Answer::fault("404 Not Found", "NoSuchBucket");
    };
    let signed = request.headers.get("authorization").map_or("", String::as_str);
    let start = format!("AWS4-HMAC-SHA256 Credential={KEY_ID}/");
    let is_list = request.query.contains_key("list-type");
    let may = match manner {
        Manner::Private => signed.starts_with(&start) && signed.contains("Signature="),
        Manner::Unlisted => !is_list,
        Manner::Signed => request.query.get("signature").is_some_and(|it| it == "secret"),
        _ => signed.is_empty(),
    };
    if !may {
        return Answer::fault("403 Forbidden", "AccessDenied");
    }
    if is_list {
        return list(request, folder);
    }
    match fs::read(folder.join(key)) {
        Ok(bytes) if !key.is_empty() => object(request, &folder.join(key), &bytes, *manner),
        _ => Answer::fault("404 Not Found", "NoSuchKey"),
    }
}

fn object(request: &Request, file: &Path, bytes: &[u8], manner: Manner) -> Answer {
    let modified = file.metadata().unwrap().modified().unwrap();
    let headers = vec![
        ("ETag", format!("\"{:x}\"", bytes.len())),
        ("Last-Modified", Date::of(modified).in_header()),
        ("Accept-Ranges", "bytes".to_owned()),
    ];
    let range = request.headers.get("range").and_then(|it| it.strip_prefix("bytes="));
    let Some((from, to)) =
        range.filter(|_| manner != Manner::Whole).and_then(|it| it.split_once('-'))
    else {
        return Answer { headers, ..Answer::new("200 OK", bytes.to_vec()) };
    };
    let from: usize = from.parse().unwrap();
    if bytes.len() <= from {
        return Answer::fault("416 Range Not Satisfiable", "InvalidRange");
    }
    let end = to.parse::<usize>().unwrap().saturating_add(1).min(bytes.len());
    let mut answer =
        Answer { headers, ..Answer::new("206 Partial Content", bytes[from..end].to_vec()) };
    answer.headers.push(("Content-Range", format!("bytes {from}-{}/{}", end - 1, bytes.len())));
    if manner == Manner::Cut && 0 < from {
        answer.arrives /= 2;
    }
    answer
}

fn list(request: &Request, folder: &Path) -> Answer {
    let said = |name: &str| request.query.get(name).map_or("", String::as_str);
    let (prefix, delimiter) = (said("prefix"), said("delimiter"));
    let mut files = Vec::new();
    collect(folder, folder, &mut files);
    // Names of objects, and what they have in common up to the next delimiter.
    let mut names: BTreeMap<String, Option<PathBuf>> = BTreeMap::new();
    for (key, file) in files.into_iter().filter(|(key, _)| key.starts_with(prefix)) {
        let rest = &key[prefix.len()..];
        match rest.find(delimiter).filter(|_| !delimiter.is_empty()) {
            Some(end) => names.insert(key[..=prefix.len() + end].to_owned(), None),
            None => names.insert(key, Some(file)),
        };
    }
    let after = said("continuation-token");
    let mut left: Vec<_> = names.into_iter().filter(|(key, _)| after < key.as_str()).collect();
    let is_truncated = PAGE < left.len();
    left.truncate(PAGE);
    let mut body = format!(
        "<?xml version=\"1.0\"?><ListBucketResult><KeyCount>{}</KeyCount><IsTruncated>{is_truncated}</IsTruncated>",
        left.len()
    );
    if let Some((last, _)) = left.last().filter(|_| is_truncated) {
        write!(body, "<NextContinuationToken>{last}</NextContinuationToken>").unwrap();
    }
    for (key, file) in &left {
        match file {
            None => {
                write!(body, "<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>").unwrap()
            }
            Some(file) => {
                let metadata = file.metadata().unwrap();
                let modified = Date::of(metadata.modified().unwrap()).in_list();
                let size = metadata.len();
                write!(body, "<Contents><Key>{key}</Key><LastModified>{modified}</LastModified><ETag>\"{size:x}\"</ETag><Size>{size}</Size></Contents>").unwrap();
            }
        }
    }
    body.push_str("</ListBucketResult>");
    Answer::new("200 OK", body.into_bytes())
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            let key = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            found.push((key, path));
        }
    }
}

/// A moment in the calendar.
struct Date {
    days: u64,
    date: [u64; 3],
    time: [u64; 3],
}

impl Date {
    fn of(moment: SystemTime) -> Self {
        let seconds = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let is_leap = |year: u64| {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        };
        let (mut left, mut year, mut month) = (days, 1970, 1);
        let of_year = |year| 365 + u64::from(is_leap(year));
        while of_year(year) <= left {
            left -= of_year(year);
            year += 1;
        }
        let february = 28 + u64::from(is_leap(year));
        for n in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
            if left < n {
                break;
            }
            left -= n;
            month += 1;
        }
        let time = [second / 3600, second / 60 % 60, second % 60];
        Self { days, date: [year, month, left + 1], time }
    }

    fn in_header(&self) -> String {
        let Self { days, date: [year, month, day], time: [hour, minute, second] } = self;
        // The first day of 1970 was a Thursday.
        let weekday =
            ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][usize::try_from(days % 7).unwrap()];
        let months = "JanFebMarAprMayJunJulAugSepOctNovDec";
        let month = &months[usize::try_from(month * 3 - 3).unwrap()..][..3];
        format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
    }

    fn in_list(&self) -> String {
        let Self { date: [year, month, day], time: [hour, minute, second], .. } = self;
        format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z")
    }
}
