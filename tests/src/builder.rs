//! A language for small traces, so that a test reads like a timeline.
//!
//! One event a line; `#` starts a comment. Times are microseconds with up to three decimals, `START..END` or an
//! instant; a name with spaces stands in double quotes.
//!
//! ```text
//! thread main                                     # the events below run here; `2/main` is in process 2
//! step 1 0..100                                   # ProfilerStep#1
//! note load 0..10                                 # an annotation
//! py train.py:3 main 0..100                       # a frame: definition line, function
//! py model.py:1 forward 5..60 from=train.py:9     # with its exact caller; also id=, parent=
//! call "nn.Module: Linear_0" 6..50 from=model.py:2  # a Python event that is not a frame
//! op aten::mm 7..20 ext=5 seq=3 fwd=1 stack="m.py(2): f;t.py(9): g"
//! run cudaLaunchKernel 8..9 corr=7 ext=5            # kernel=: what it launches, as ROCm records it
//! kernel gemm 12..45 corr=7 ext=5 graph=1 node=2 device=0 stream=7
//! kernel triton 45..46 stack="  File \"m.py\", line 2, in f\n    return x"   # Inductor provenance
//! copy "Memcpy HtoD (Pageable -> Device)" 50..60 corr=8
//! fill Memset 60..61 corr=9
//! mem +512 @0x10 5 cuda:0                         # or cpu; -512 is a release
//! flow 7 -> worker 30                             # fwdbwd: from this thread at 7 to that one at 30
//! ```

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The Chrome trace, as Kineto writes it, that `text` describes.
///
/// # Errors
/// If a line cannot be understood; names it.
pub fn render(text: &str) -> Result<String, String> {
    let mut builder = Builder::default();
    builder.enter("main");
    for (index, line) in text.lines().enumerate() {
        let words = words(line);
        if let Some((verb, rest)) = words.split_first() {
            builder.line(verb, rest).ok_or_else(|| format!("line {}: {line}", index + 1))?;
        }
    }
    Ok(format!("{{\"schemaVersion\": 1, \"traceEvents\": [\n{}\n]}}", builder.events.join(",\n")))
}

#[derive(Default)]
struct Builder {
    events: Vec<String>,
    /// Process and thread id by name.
    threads: BTreeMap<String, (u32, usize)>,
    current: (u32, usize),
    flows: usize,
}

impl Builder {
    fn line(&mut self, verb: &str, rest: &[String]) -> Option<()> {
        match (verb, rest) {
            ("thread", [name]) => self.enter(name),
            ("step", [number, span, args @ ..]) => {
                self.host("user_annotation", &format!("ProfilerStep#{number}"), span, args)?
            }
            ("note", [name, span, args @ ..]) => self.host("user_annotation", name, span, args)?,
            ("py", [line, function, span, args @ ..]) => {
                let (file, line) = line.rsplit_once(':')?;
                self.host("python_function", &format!("{file}({line}): {function}"), span, args)?;
            }
            ("call", [name, span, args @ ..]) => self.host("python_function", name, span, args)?,
            ("op", [name, span, args @ ..]) => self.host("cpu_op", name, span, args)?,
            ("run", [name, span, args @ ..]) => self.host("cuda_runtime", name, span, args)?,
            ("kernel", [name, span, args @ ..]) => self.device("kernel", name, span, args)?,
            ("copy", [name, span, args @ ..]) => self.device("gpu_memcpy", name, span, args)?,
            ("fill", [name, span, args @ ..]) => self.device("gpu_memset", name, span, args)?,
            ("mem", [bytes, address, at, device]) => self.memory(bytes, address, at, device)?,
            ("flow", [tail, arrow, thread, head]) if arrow == "->" => {
                self.flow(tail, thread, head)?
            }
            _ => return None,
        }
        Some(())
    }

    fn enter(&mut self, name: &str) {
        let pid = name.split_once('/').and_then(|(pid, _)| pid.parse().ok()).unwrap_or(1);
        let tid = 101 + self.threads.len();
        self.current = *self.threads.entry(name.to_owned()).or_insert((pid, tid));
    }

    fn host(&mut self, category: &str, name: &str, span: &str, args: &[String]) -> Option<()> {
        let args = arguments(args)?;
        let (pid, tid) = self.current;
        self.range(category, name, span, (&json!(pid), &json!(tid)), args)
    }

    fn device(&mut self, category: &str, name: &str, span: &str, args: &[String]) -> Option<()> {
        let mut args = arguments(args)?;
        let device = args.entry("device").or_insert_with(|| json!(0)).clone();
        let stream = args.entry("stream").or_insert_with(|| json!(7)).clone();
        self.range(category, name, span, (&device, &stream), args)
    }

    fn range(
        &mut self,
        category: &str,
        name: &str,
        span: &str,
        (pid, tid): (&Value, &Value),
        args: Map<String, Value>,
    ) -> Option<()> {
        let (start, end) = span.split_once("..")?;
        let (start, end) = (nanoseconds(start)?, nanoseconds(end)?);
        let (ts, dur) = (microseconds(start), microseconds(end.checked_sub(start)?));
        let (name, args) = (json!(name), Value::Object(args));
        self.events.push(format!(
            r#"{{"ph": "X", "cat": "{category}", "name": {name}, "pid": {pid}, "tid": {tid}, "ts": {ts}, "dur": {dur}, "args": {args}}}"#
        ));
        Some(())
    }

    fn memory(&mut self, bytes: &str, address: &str, at: &str, device: &str) -> Option<()> {
        let bytes: i64 = bytes.parse().ok()?;
        let address = u64::from_str_radix(address.strip_prefix("@0x")?, 16).ok()?;
        let (kind, ordinal) = match device.split_once(':') {
            Some(("cuda", ordinal)) => (1, ordinal.parse::<i64>().ok()?),
            None if device == "cpu" => (0, -1),
            _ => return None,
        };
        let ((pid, tid), ts) = (self.current, microseconds(nanoseconds(at)?));
        self.events.push(format!(
            r#"{{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": {pid}, "tid": {tid}, "ts": {ts}, "args": {{"Addr": {address}, "Bytes": {bytes}, "Device Type": {kind}, "Device Id": {ordinal}}}}}"#
        ));
        Some(())
    }

    fn flow(&mut self, tail: &str, thread: &str, head: &str) -> Option<()> {
        self.flows += 1;
        let here = self.current;
        self.enter(thread);
        let there = std::mem::replace(&mut self.current, here);
        for (phase, (pid, tid), at) in [("s", here, tail), ("f", there, head)] {
            let (id, ts) = (self.flows, microseconds(nanoseconds(at)?));
            self.events.push(format!(
                r#"{{"ph": "{phase}", "cat": "fwdbwd", "name": "fwdbwd", "id": {id}, "pid": {pid}, "tid": {tid}, "ts": {ts}, "bp": "e"}}"#
            ));
        }
        Some(())
    }
}

/// The words of a line, quotes and comment taken off.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = line.chars();
    let mut is_quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' if is_quoted => {
                let escaped = characters.next().map(|it| if it == 'n' { '\n' } else { it });
                words.last_mut().into_iter().for_each(|it| it.extend(escaped));
            }
            '"' => is_quoted = !is_quoted,
            // `ProfilerStep#1` is a name, so a comment starts after a space.
            '#' if !is_quoted && words.last().is_some_and(String::is_empty) => break,
            _ if character.is_whitespace() && !is_quoted => words.push(String::new()),
            _ => words.last_mut().into_iter().for_each(|it| it.push(character)),
        }
    }
    words.retain(|it| !it.is_empty());
    words
}

/// `key=value` words under the names that Kineto uses.
fn arguments(words: &[String]) -> Option<Map<String, Value>> {
    let mut arguments = Map::new();
    let is_device = |word: &str| word.starts_with("File ");
    for word in words {
        let (key, value) = word.split_once('=')?;
        let name = match key {
            "from" => "CallFrom",
            "id" => "Python id",
            "parent" => "Python parent id",
            "ext" => "External id",
            "seq" => "Sequence number",
            "fwd" => "Fwd thread id",
            "corr" => "correlation",
            "graph" => "graph id",
            "node" => "graph node id",
            "stack" if is_device(value) => "stack",
            "stack" => "Call stack",
            "device" | "stream" | "kernel" => key,
            _ => return None,
        };
        let value = value.parse::<i64>().map_or_else(|_| json!(value), |it| json!(it));
        arguments.insert(name.to_owned(), value);
    }
    Some(arguments)
}

fn nanoseconds(text: &str) -> Option<i64> {
    let text = text.strip_suffix("us").unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{fraction:0<3}").parse().ok().filter(|_| fraction.len() <= 3)
}

fn microseconds(ns: i64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_event() {
        let text = "py m.py:1 f 0..1.5us from=t.py:9 # call\nnote \"a \\\"b\" 2..3";
        let trace: Value = serde_json::from_str(&render(text).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        assert_eq!(events[0]["name"], "m.py(1): f");
        assert_eq!(events[0]["dur"], 1.5);
        assert_eq!(events[0]["args"]["CallFrom"], "t.py:9");
        assert_eq!(events[1]["name"], "a \"b");
    }

    #[test]
    fn a_line_that_means_nothing_is_named() {
        assert_eq!(render("py m.py:1 f 0..1\nkernel"), Err("line 2: kernel".to_owned()));
        assert_eq!(render("op f 0..1 colour=red"), Err("line 1: op f 0..1 colour=red".to_owned()));
    }
}
