//! What the client sends, made fit for tower-lsp 0.20, which stops at the first message that it cannot read.
//!
//! [`pass_on`] reads the client's bytes and writes each message anew, as tower-lsp expects it. In place of what is not
//! a message of the protocol it writes a request of the method [`REFUSED`], which carries the error that answers it
//! (`service.rs` does that). So answers to good and bad messages go out through one writer, whole and in order.
//!
//! JSON-RPC 2.0 defines the answers: -32700 for bytes that are not JSON, -32600 for JSON that is not a request. Where
//! bytes were lost, reading goes on at the next `Content-Length` header. Nothing is allocated for a length that a header
//! only claims, and what is not a message is not kept.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
};
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

/// The method of the request that stands for a refused message: its parameters are the [`Error`] to answer with.
pub(crate) const REFUSED: &str = "perfline/refused";

/// The longest message that is read, in bytes. Editors do not send larger documents: VS Code stops at 50 MB.
const MAX_BODY: usize = 256 << 20;

/// A longer header line, in bytes, is cut. It comes from a message whose length is not known.
const MAX_LINE: usize = 4096;

/// What is kept of the end of a line that is cut, in bytes: room for the header of the next message.
const LINE_END: usize = 256;

/// How much of a faulty header value an error message quotes, in characters.
const QUOTED: usize = 40;

const CONTENT_LENGTH: &[u8] = b"content-length:";

/// The version of JSON-RPC.
const VERSION: &str = "2.0";

/// Passes on messages, until the input ends or the output is no longer read.
pub(crate) async fn pass_on<I, O>(input: I, mut output: O)
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin,
{
    let mut input = BufReader::new(input);
    // Between a fault and the next good header: what stands there is answered once.
    let mut is_lost = false;
    while let Some(header) = read_header(&mut input).await {
        let length = header.length();
        if let Some(fault) = header.noise.or_else(|| length.as_ref().err().cloned())
            && !std::mem::replace(&mut is_lost, true)
            && write(&mut output, &refused(Id::Null, parse_error(&fault))).await.is_err()
        {
            return;
        }
        let Ok(length) = length else { continue };
        let Some(body) = read_body(&mut input, length).await else { return };
        let message = match header.charset {
            None => check(body),
            Some(charset) => {
                let fault = format!("the message is in {charset}, not in UTF-8");
                Some(refused(Id::Null, parse_error(&fault)))
            }
        };
        if let Some(message) = message
            && write(&mut output, &message).await.is_err()
        {
            return;
        }
        is_lost = false;
    }
}

/// What stands before a message.
#[derive(Debug, Default, PartialEq, Eq)]
struct MessageHeader {
    /// The value of the last `Content-Length`.
    content_length: Option<String>,
    /// The character set, where it is not UTF-8.
    charset: Option<String>,
    /// What is wrong with a line that is not a header.
    noise: Option<String>,
}

impl MessageHeader {
    /// The length of the body in bytes, or why it is not known.
    fn length(&self) -> Result<usize, String> {
        let Some(text) = &self.content_length else {
            return Err("a message has no Content-Length header".to_owned());
        };
        match text.parse() {
            Ok(length) if length <= MAX_BODY => Ok(length),
            Err(_) if text.is_empty() || !text.bytes().all(|it| it.is_ascii_digit()) => {
                Err(format!("the Content-Length {text:?} is not a number"))
            }
            _ => Err(format!("the Content-Length {text} is above the limit of {MAX_BODY} bytes")),
        }
    }

    /// Adds a line.
    fn add(&mut self, line: &[u8]) {
        // The last place: the rest of a message whose length was not known may stand before it.
        let at = line
            .windows(CONTENT_LENGTH.len())
            .rposition(|it| it.eq_ignore_ascii_case(CONTENT_LENGTH));
        if let Some(at) = at {
            let value = String::from_utf8_lossy(&line[at + CONTENT_LENGTH.len()..]);
            self.content_length = Some(value.trim().chars().take(QUOTED).collect());
            if at > 0 {
                self.noise = Some("bytes before a header are not a message".to_owned());
            }
            return;
        }
        // As HTTP defines the name of a header.
        let is_letter = |it: &u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(it);
        let is_name = |name: &[u8]| !name.is_empty() && name.iter().all(is_letter);
        match line.iter().position(|&it| it == b':') {
            Some(colon) if is_name(&line[..colon]) => {
                if line[..colon].eq_ignore_ascii_case(b"content-type") {
                    self.charset = foreign_charset(&String::from_utf8_lossy(&line[colon + 1..]));
                }
            }
            _ => self.noise = Some("a line between messages is not a header".to_owned()),
        }
    }
}

/// The character set that a `Content-Type` names, where it is not UTF-8. Without one it is UTF-8.
fn foreign_charset(content_type: &str) -> Option<String> {
    let charset = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    })?;
    let is_utf8 = ["utf-8", "utf8"].iter().any(|it| charset.eq_ignore_ascii_case(it));
    (!is_utf8).then(|| charset.chars().take(QUOTED).collect())
}

/// Reads to the empty line that ends a header; `None` at the end of the input. Empty lines before it mean nothing.
async fn read_header(input: &mut (impl AsyncBufRead + Unpin)) -> Option<MessageHeader> {
    let mut header = None;
    loop {
        let line = read_line(input).await?;
        if !line.is_empty() {
            header.get_or_insert_with(MessageHeader::default).add(&line);
        } else if header.is_some() {
            return header;
        }
    }
}

/// Reads a line, and gives it without its end; `None` at the end of the input. Of a line above [`MAX_LINE`] only the
/// end is kept.
async fn read_line(input: &mut (impl AsyncBufRead + Unpin)) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        let buffer = input.fill_buf().await.ok()?;
        if buffer.is_empty() {
            return None;
        }
        let end = buffer.iter().position(|&it| it == b'\n');
        line.extend_from_slice(&buffer[..end.unwrap_or(buffer.len())]);
        let used = end.map_or(buffer.len(), |end| end + 1);
        input.consume(used);
        if line.len() > MAX_LINE {
            line.drain(..line.len() - LINE_END);
        }
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Some(line);
        }
    }
}

/// Reads a body, whose memory grows with what arrives; `None` where the input ends in it.
async fn read_body(input: &mut (impl AsyncBufRead + Unpin), length: usize) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    input.take(u64::try_from(length).ok()?).read_to_end(&mut body).await.ok()?;
    (body.len() == length).then_some(body)
}

async fn write(output: &mut (impl AsyncWrite + Unpin), message: &str) -> std::io::Result<()> {
    let header = format!("Content-Length: {}\r\n\r\n", message.len());
    output.write_all(header.as_bytes()).await?;
    output.write_all(message.as_bytes()).await
}

/// The message to pass on for a body: itself, written anew, or the request that stands for a refused one. `None` for a
/// response that belongs to nothing: responses are never answered.
fn check(mut body: Vec<u8>) -> Option<String> {
    mend_surrogates(&mut body);
    let refuse = |error| Some(refused(Id::Null, error));
    match serde_json::from_slice(&body) {
        Ok(Value::Object(message)) if message.contains_key("method") => Some(request(message)),
        Ok(Value::Object(message)) => response(message),
        Ok(Value::Array(_)) => refuse(invalid_request(
            "a batch of messages: the language server protocol has none, send one at a time",
        )),
        Ok(_) => refuse(invalid_request("the message is not a JSON object")),
        Err(error) => refuse(parse_error(&format!("the message is not JSON: {error}"))),
    }
}

/// A request or notification, with what tower-lsp looks at and no more: it takes all that has a result for a response.
fn request(mut message: Map<String, Value>) -> String {
    let id = match message.get("id").map(id_of) {
        Some(None) => {
            let fault = "the id of a request must be an integer or a string";
            return refused(Id::Null, invalid_request(fault));
        }
        id => id.flatten(),
    };
    let refuse = |id: Option<Id>, fault| refused(id.unwrap_or_default(), invalid_request(fault));
    if message.get("jsonrpc").and_then(Value::as_str) != Some(VERSION) {
        return refuse(id, "the message is not of version 2.0 of JSON-RPC");
    }
    let Some(Value::String(method)) = message.remove("method") else {
        return refuse(id, "the method is not a string");
    };
    let mut request = Request::build(method);
    if let Some(params) = message.remove("params") {
        request = request.params(params);
    }
    if let Some(id) = id {
        request = request.id(id);
    }
    request.finish().to_string()
}

/// A response. What is wrong in it is reported to the one who waits for it, as an error.
fn response(message: Map<String, Value>) -> Option<String> {
    if !message.contains_key("result") && !message.contains_key("error") {
        // Not answered with its id: it may be a response that lacks its result, and the id that of a request of ours.
        let fault = "the message has no method, result or error";
        return Some(refused(Id::Null, invalid_request(fault)));
    }
    let id = message.get("id").and_then(id_of)?;
    let response = serde_json::from_value(Value::Object(message)).unwrap_or_else(|error| {
        Response::from_error(id, invalid_request(&format!("the response is not valid: {error}")))
    });
    Some(json!(response).to_string())
}

/// An id of the protocol, an integer or a string. JSON-RPC alone has fractions and `null`, too.
fn id_of(value: &Value) -> Option<Id> {
    match value {
        Value::Number(number) => number.as_i64().map(Id::Number),
        Value::String(text) => Some(Id::String(text.clone())),
        _ => None,
    }
}

/// The request that stands for a refused message.
fn refused(id: Id, error: Error) -> String {
    Request::build(REFUSED).id(id).params(json!(error)).finish().to_string()
}

/// The answer to a request of the method [`REFUSED`]. A client that sends one itself gets an error, too.
pub(crate) fn answer(refused: Request) -> Option<Response> {
    let (_, id, params) = refused.into_parts();
    let error = params.and_then(|it| serde_json::from_value(it).ok());
    Some(Response::from_error(id?, error.unwrap_or_else(Error::invalid_request)))
}

fn parse_error(message: &str) -> Error {
    Error { code: ErrorCode::ParseError, message: message.to_owned().into(), data: None }
}

fn invalid_request(message: &str) -> Error {
    Error { code: ErrorCode::InvalidRequest, message: message.to_owned().into(), data: None }
}

/// Replaces each escaped half of a surrogate pair that stands alone by U+FFFD, in place.
///
/// Editors whose texts are UTF-16 send such halves in documents. Refusing them would put the document here out of step
/// with the editor's; U+FFFD is as long as the half, in each of the three encodings of positions.
fn mend_surrogates(body: &mut [u8]) {
    const HIGH: RangeInclusive<u16> = 0xd800..=0xdbff;
    const LOW: RangeInclusive<u16> = 0xdc00..=0xdfff;
    let mut at = 0;
    while let Some(found) = body.get(at..).and_then(|it| it.iter().position(|&it| it == b'\\')) {
        at += found;
        let pair = (escaped_unit(&body[at..]), body.get(at + 6..).and_then(escaped_unit));
        at += match pair {
            (Some(high), Some(low)) if HIGH.contains(&high) && LOW.contains(&low) => 12,
            (Some(half), _) if HIGH.contains(&half) || LOW.contains(&half) => {
                body[at..at + 6].copy_from_slice(br"\ufffd");
                6
            }
            // Another escape. It may be a backslash, so both its bytes are passed over.
            _ => 2,
        };
    }
}

/// The code unit of an escape `\uXXXX` at the beginning of `bytes`.
fn escaped_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(br"\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(digit).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll};

    use tokio::io::ReadBuf;

    use super::*;

    /// What is passed on, as JSON; a refused message as its code, and its id where that is known.
    fn passed_on(input: &[u8]) -> Vec<Value> {
        let mut output = Vec::new();
        run(pass_on(input, &mut output));
        let mut messages = Vec::new();
        let mut rest = output.as_slice();
        while let Some(after) = rest.strip_prefix(b"Content-Length: ") {
            let end = after.iter().position(|&it| it == b'\r').unwrap();
            let length: usize = std::str::from_utf8(&after[..end]).unwrap().parse().unwrap();
            let body = after[end..].strip_prefix(b"\r\n\r\n").unwrap();
            let message: Value = serde_json::from_slice(&body[..length]).unwrap();
            messages.push(match message["method"] == REFUSED {
                true if message["id"].is_null() => message["params"]["code"].clone(),
                true => json!([message["params"]["code"], message["id"]]),
                false => message,
            });
            rest = &body[length..];
        }
        assert!(rest.is_empty());
        messages
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    fn framed(body: impl AsRef<[u8]>) -> Vec<u8> {
        let body = body.as_ref();
        [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
    }

    const GOOD: &str = r#"{"jsonrpc":"2.0","method":"good"}"#;

    fn good() -> Value {
        serde_json::from_str(GOOD).unwrap()
    }

    #[test]
    fn headers_are_read_in_any_case_and_company() {
        let length = GOOD.len();
        for header in [
            format!("content-length: {length}\r\n"),
            format!("CONTENT-LENGTH:{length}\r\n"),
            format!("Content-Length:  {length} \r\n"),
            format!("Content-Length: {length}\n"),
            format!("\r\n\r\nContent-Length: {length}\r\n"),
            format!("X-One: 1\r\nx_two.b: a:b\r\nContent-Length: {length}\r\nX-Three:\r\n"),
            format!("content-type: application/vscode-jsonrpc\r\ncontent-length: {length}\r\n"),
            format!("Content-Length: {length}\r\nContent-Type: a/b; charset=utf8\r\n"),
            format!("Content-Length: {length}\r\nContent-Type: a/b; Charset=\"UTF-8\"; x=y\r\n"),
        ] {
            let input = format!("{header}\r\n{GOOD}").repeat(2);
            assert_eq!(passed_on(input.as_bytes()), [good(), good()], "{header:?}");
        }
    }

    #[test]
    fn a_fault_between_messages_is_answered_once_and_the_next_message_is_read() {
        let next = String::from_utf8(framed(GOOD)).unwrap();
        for fault in [
            format!("Content-Length: abc\r\n\r\n{GOOD}"),
            "Content-Length: -5\r\n\r\n".to_owned(),
            "Content-Length: 1e3\r\n\r\n{".to_owned(),
            "Content-Length:\r\n\r\n{}".to_owned(),
            format!("Content-Length: 99999999999999999999\r\n\r\n{GOOD}"),
            format!("Content-Length: {}\r\n\r\n{GOOD}", MAX_BODY + 1),
            format!("Content-Type: text\r\n\r\n{GOOD}"),
            format!("X-Other: 1\r\n\r\n{GOOD}\r\n\r\n{GOOD}\r\n"),
            "GET / HTTP/1.1\r\nHost: here\r\n\r\n".to_owned(),
            GOOD.to_owned(),
            format!("{GOOD}\n"),
            "noise ".repeat(5_000),
            "\u{0}\u{1}\n".repeat(5_000),
        ] {
            let expected = [json!(-32700), good(), good()];
            let input = format!("{fault}{next}{next}");
            assert_eq!(passed_on(input.as_bytes()), expected, "{:.60}", fault);
        }
    }

    #[test]
    fn a_length_that_is_wrong_costs_no_more_than_what_it_covers() {
        let next = framed(GOOD);
        let short = format!("Content-Length: {}\r\n\r\n{GOOD}", GOOD.len() - 1);
        let input = [short.as_bytes(), &next].concat();
        assert_eq!(passed_on(&input).last(), Some(&good()));
        let long = format!("Content-Length: {}\r\n\r\n{GOOD}", GOOD.len() + 5);
        let input = [long.as_bytes(), &next, &next].concat();
        assert_eq!(passed_on(&input).last(), Some(&good()));
    }

    #[test]
    fn what_is_not_json_is_a_parse_error() {
        let deep = "[".repeat(100_000);
        let not_utf8 = b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}";
        for body in [&b""[..], b" ", b"{not json", b"{} {}", b"{\"a\":1", not_utf8, deep.as_bytes()]
        {
            let input = [framed(body), framed(GOOD)].concat();
            assert_eq!(passed_on(&input), [json!(-32700), good()]);
        }
        let input = "Content-Length: 2\r\nContent-Type: a/b; charset=utf-16\r\n\r\n{}";
        assert_eq!(passed_on(input.as_bytes()), [-32700]);
    }

    #[test]
    fn what_is_not_a_request_is_an_invalid_request() {
        let rows = [
            ("[]", json!(-32600)),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"a"}]"#, json!(-32600)),
            ("5", json!(-32600)),
            ("null", json!(-32600)),
            ("\"text\"", json!(-32600)),
            ("{}", json!(-32600)),
            (r#"{"jsonrpc":"2.0","id":7}"#, json!(-32600)),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, json!(-32600)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, json!(-32600)),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"a"}"#, json!(-32600)),
            (r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"a"}"#, json!(-32600)),
            (r#"{"jsonrpc":"1.0","id":7,"method":"a"}"#, json!([-32600, 7])),
            (r#"{"id":"x","method":"a"}"#, json!([-32600, "x"])),
            (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, json!([-32600, 7])),
            (r#"{"jsonrpc":"2.0","method":null}"#, json!(-32600)),
        ];
        for (body, expected) in rows {
            let input = [framed(body), framed(GOOD)].concat();
            assert_eq!(passed_on(&input), [expected, good()], "{body}");
        }
    }

    #[test]
    fn requests_are_passed_on_with_what_belongs_to_them() {
        for body in [
            r#"{"id":1,"jsonrpc":"2.0","method":"a","params":{"deep":[1,2.5,null,"é\u0000"]}}"#,
            r#"{"id":"x","jsonrpc":"2.0","method":"a","params":null}"#,
            r#"{"jsonrpc":"2.0","method":"a","params":[]}"#,
        ] {
            assert_eq!(passed_on(&framed(body)), [serde_json::from_str::<Value>(body).unwrap()]);
        }
        // Of a member that stands twice the last counts, and what would make a response of it is left out.
        let repeated = r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a","result":5,"more":6}"#;
        assert_eq!(
            passed_on(&framed(repeated)),
            [json!({"jsonrpc": "2.0", "id": 2, "method": "a"})]
        );
    }

    #[test]
    fn responses_are_passed_on_and_never_answered() {
        for body in [
            r#"{"id":1,"jsonrpc":"2.0","result":null}"#,
            r#"{"id":"x","jsonrpc":"2.0","error":{"code":-1,"message":"no"}}"#,
        ] {
            assert_eq!(passed_on(&framed(body)), [serde_json::from_str::<Value>(body).unwrap()]);
        }
        for body in [
            r#"{"jsonrpc":"2.0","id":1.5,"result":null}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","result":null}"#,
        ] {
            assert_eq!(passed_on(&framed(body)), [Value::Null; 0], "{body}");
        }
        // Somebody waits for it.
        for body in [r#"{"id":1,"jsonrpc":"2.0","error":"no"}"#, r#"{"id":1,"result":5}"#] {
            let passed = passed_on(&framed(body));
            assert_eq!(
                (&passed[0]["id"], &passed[0]["error"]["code"]),
                (&json!(1), &json!(-32600))
            );
        }
    }

    #[test]
    fn half_a_surrogate_pair_becomes_a_replacement_character() {
        let rows = [
            (r"\ud83d", "\u{fffd}"),
            (r"\uDE00", "\u{fffd}"),
            (r"a\ud83dz", "a\u{fffd}z"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}\u{1f600}"),
            (r"\ud83d\ude00\ude00", "\u{1f600}\u{fffd}"),
            (r"\ud83d\n\ude00", "\u{fffd}\n\u{fffd}"),
            (r"\\ud83d", "\\ud83d"),
            (r"\\\ud83d", "\\\u{fffd}"),
            (r"\u00e9\\", "é\\"),
        ];
        for (escaped, text) in rows {
            let body = format!(r#"{{"jsonrpc":"2.0","method":"a","params":["{escaped}"]}}"#);
            assert_eq!(passed_on(&framed(body))[0]["params"], json!([text]), "{escaped}");
        }
        for cut in [r#"{"a":"\ud83"#, r#"{"a":"\ud83d"#, r#"{"a":"\ud83d\u"#, r#"{"a":"\"#] {
            assert_eq!(passed_on(&framed(cut)), [-32700], "{cut}");
        }
    }

    #[test]
    fn messages_may_come_in_pieces_of_any_size() {
        let faults = [&b"Content-Length: x\r\n\r\nnoise"[..], &framed("[]"), &framed("{")].concat();
        let input = [framed(GOOD), faults, framed(GOOD)].concat();
        let codes = [json!(-32700), json!(-32600), json!(-32700)];
        assert_eq!(passed_on(&input)[1..4], codes);
        let mut whole = Vec::new();
        run(pass_on(input.as_slice(), &mut whole));
        for size in 1..input.len() {
            let (mut sender, receiver) = tokio::io::duplex(size);
            let mut output = Vec::new();
            run(async {
                let send = async {
                    sender.write_all(&input).await.unwrap();
                    drop(sender);
                };
                tokio::join!(send, pass_on(receiver, &mut output))
            });
            assert_eq!(output, whole, "pieces of {size} bytes");
        }
    }

    #[test]
    fn nothing_is_allocated_for_a_length_that_is_only_claimed() {
        /// Gives what it has, and notes the largest buffer that it was offered.
        struct Noting(&'static [u8], Arc<AtomicUsize>);
        impl AsyncRead for Noting {
            fn poll_read(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<std::io::Result<()>> {
                self.1.fetch_max(buffer.remaining(), Ordering::SeqCst);
                Pin::new(&mut self.0).poll_read(context, buffer)
            }
        }
        let largest = Arc::new(AtomicUsize::new(0));
        let input = Noting(b"Content-Length: 200000000\r\n\r\n{", Arc::clone(&largest));
        run(pass_on(input, Vec::new()));
        assert!((1..=1 << 16).contains(&largest.load(Ordering::SeqCst)), "{largest:?}");
    }
}
