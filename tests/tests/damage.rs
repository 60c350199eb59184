//! Damaged recordings: whatever was done to a file, it either loads with books that balance and says what is lost, or is
//! refused with one line that names the file.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ledger::Ledger;
use loader::{Error, LoadOptions, Run, Watch, load};
use tests::fixtures::{self, gzip};
use tests::random::Random;

/// What a loaded file must admit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Admits {
    /// Whatever it is, in a warning or as incomplete, if the text is no JSON and the books are not those of the whole.
    Fault,
    /// That it was not read to its end without loss.
    Loss,
    /// Nothing: the file is whole, if strange.
    Nothing,
}

struct Damaged {
    title: String,
    bytes: Vec<u8>,
    name: &'static str,
    admits: Admits,
}

#[test]
fn damaged_traces_load_or_are_refused() {
    let (mut variants, mut wrong) = (0, Vec::new());
    for name in ["cpu/torch2.11.0/scheduled.0.json.gz", "cpu/torch1.13.1/two_ranks.rank1.json.gz"] {
        let text = fixtures::read_gz(&fixtures::repository().join("fixtures").join(name)).unwrap();
        let whole = load_bytes("t.json", &text).unwrap().merged;
        for variant in damage(&text) {
            variants += 1;
            if let Some(fault) = fault(&variant, &whole) {
                wrong.push(format!("{name} {}: {fault}", variant.title));
            }
        }
    }
    assert!(variants >= 100, "{variants}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// As Windows PowerShell writes it.
#[test]
fn text_in_utf_16_is_read() {
    let path = fixtures::repository().join("fixtures/cpu/torch2.11.0/scheduled.0.json.gz");
    let text = String::from_utf8(fixtures::read_gz(&path).unwrap()).unwrap();
    let whole = load_bytes("t.json", text.as_bytes()).unwrap();
    let units = || std::iter::once(0xfeff).chain(text.encode_utf16());
    let (little, big): (Vec<u8>, Vec<u8>) = (
        units().flat_map(u16::to_le_bytes).collect(),
        units().flat_map(u16::to_be_bytes).collect(),
    );
    for (name, bytes) in
        [("t.json", &little), ("t.json", &big), ("t.json.gz", &gzip(&little).unwrap())]
    {
        let run = load_bytes(name, bytes).unwrap();
        assert_eq!(run.merged, whole.merged, "{name}");
        assert!(run.inputs[0].complete && run.inputs[0].warnings.is_empty(), "{name}");
    }
}

/// One event that cannot be true changes no number, and is reported with its offset.
#[test]
fn one_event_does_not_drown_the_others() {
    let path =
        fixtures::repository().join("fixtures/simulated_cuda/torch2.15.0/slow_model.json.gz");
    let text = String::from_utf8(fixtures::read_gz(&path).unwrap()).unwrap();
    let whole = load_bytes("t.json", text.as_bytes()).unwrap().merged;
    let kernel = |start: i64, duration: i64| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {start}, "dur": {duration}, "args": {{"device": 0, "stream": 7}}}}"#
        )
    };
    let memory = |bytes: i64| {
        format!(
            r#"{{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 0, "args": {{"Bytes": {bytes}, "Addr": 64, "Device Type": 1, "Device Id": 0}}}}"#
        )
    };
    let first = text.find("\"ts\": ").unwrap() + 6;
    let start: f64 = text[first..].split(',').next().unwrap().trim().parse().unwrap();
    let (start, centuries) = (start as i64, i64::MAX / 1000);
    let mut wrong = Vec::new();
    for event in [
        kernel(start, centuries),
        kernel(start, centuries / 5),
        kernel(start, 2 * 86_400_000_000),
        kernel(centuries, 1),
        kernel(-centuries, 1),
        memory(i64::MAX),
        memory(i64::MIN),
        memory(1 << 52),
    ] {
        let head = "\"traceEvents\": [";
        let place = text.find(head).unwrap() + head.len();
        let text = format!("{} {event},{}", &text[..place], &text[place..]);
        let run = load_bytes("t.json", text.as_bytes()).unwrap();
        let offset = u64::try_from(place).unwrap() + 1;
        let is_reported = run.inputs[0].warnings.iter().any(|it| {
            it.kind == profile::WarningKind::NotCredible
                && it.offset == Some(offset)
                && it.count == 1
        });
        if run.merged != whole || !is_reported {
            wrong.push((event, run.merged.totals, run.inputs[0].warnings.clone()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_no_recording_is_refused() {
    let snapshot = b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00]\x94(K\x01K\x02e.".to_vec();
    let files: [(&str, Vec<u8>); 9] = [
        ("empty", Vec::new()),
        ("blank", b" \n\t ".to_vec()),
        ("prose", b"epoch 1 loss 2.31\nepoch 2 loss 2.02\n".to_vec()),
        ("another object", br#"{"name": "model", "layers": [1, 2, 3]}"#.to_vec()),
        ("number", b"42".to_vec()),
        ("zeros", vec![0; 4096]),
        ("empty gzip", gzip(b"").unwrap()),
        ("a pickle that is no snapshot", snapshot),
        ("an image", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR".to_vec()),
    ];
    for name in ["file.json", "file.json.gz", "file.pickle"] {
        for (title, bytes) in &files {
            match load_bytes(name, bytes) {
                Err(error) => {
                    assert!(is_one_line_about(&error, name), "{title} as {name}: {error}")
                }
                Ok(run) => panic!("{title} as {name} was loaded: {:?}", run.inputs),
            }
        }
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = load_file(&folder.path().join("gone.json"), folder.path()).unwrap_err();
    assert!(is_one_line_about(&error, "gone.json"), "{error}");
    assert!(matches!(error, Error::Io { .. }));
}

/// Mutilates the text of a trace in many ways.
fn damage(text: &[u8]) -> Vec<Damaged> {
    let mut variants = Vec::new();
    let mut random = Random::new(0);
    let mut add = |title: String, bytes: Vec<u8>, file: &'static str, admits: Admits| {
        variants.push(Damaged { title, bytes, name: file, admits });
    };
    let position = |random: &mut Random| random.below(text.len());

    add("whole".to_owned(), text.to_vec(), "t.json", Admits::Nothing);
    add("byte order mark".to_owned(), [b"\xef\xbb\xbf", text].concat(), "t.json", Admits::Nothing);
    for part in 1..12 {
        let end = text.len() * part / 12;
        add(format!("cut at {end}"), text[..end].to_vec(), "t.json", Admits::Loss);
    }
    for missing in 1..6 {
        add(
            format!("cut {missing} before its end"),
            text[..text.trim_ascii_end().len() - missing].to_vec(),
            "t.json",
            Admits::Fault,
        );
    }
    for _ in 0..10 {
        let at = position(&mut random);
        let mut bytes = text.to_vec();
        bytes[at] ^= 1 << random.below(8);
        add(format!("bit flipped at {at}"), bytes, "t.json", Admits::Fault);
    }
    for _ in 0..10 {
        let at = position(&mut random);
        let length = random.below(5000).min(text.len() - at);
        add(
            format!("{length} deleted at {at}"),
            [&text[..at], &text[at + length..]].concat(),
            "t.json",
            Admits::Fault,
        );
    }
    for _ in 0..6 {
        let at = position(&mut random);
        let length = random.below(5000).min(text.len() - at);
        add(
            format!("{length} repeated at {at}"),
            [&text[..at + length], &text[at..]].concat(),
            "t.json",
            Admits::Fault,
        );
    }
    for _ in 0..4 {
        let at = position(&mut random);
        let end = (at + 4096).min(text.len());
        let mut bytes = text.to_vec();
        bytes[at..end].fill(0);
        add(format!("zeros at {at}"), bytes, "t.json", Admits::Fault);
    }
    for (title, from, to) in [
        ("NaN", &b"\"dur\": "[..], &b"\"dur\": NaN, \"was\": "[..]),
        ("infinity", b"\"dur\": ", b"\"dur\": -Infinity, \"was\": "),
        ("bare word", b"\"args\": {", b"\"args\": {\"a\": N/A, "),
        ("bytes that are not UTF-8", b"\"name\": \"", b"\"name\": \"\xff\xfe\xc0"),
        ("half of a character", b"\"name\": \"", b"\"name\": \"\xe2\x82"),
        ("a newline in a name", b"\"name\": \"", b"\"name\": \"a\nb"),
        ("a control character in a name", b"\"name\": \"", b"\"name\": \"\x01"),
        ("an unescaped backslash", b"\"name\": \"", b"\"name\": \"C:\\Users\\x\\"),
        ("half of a surrogate pair", b"\"name\": \"", b"\"name\": \"\\ud83d"),
        ("a duration of centuries", b"\"dur\": ", b"\"dur\": 9223372036854775, \"was\": "),
        ("a time of centuries", b"\"ts\": ", b"\"ts\": -9223372036854775, \"was\": "),
        ("a huge number", b"\"ts\": ", b"\"ts\": 999999999999999999999999999999, \"was\": "),
        ("a negative duration", b"\"dur\": ", b"\"dur\": -5, \"was\": "),
        ("text for a time", b"\"ts\": ", b"\"ts\": \"soon\", \"was\": "),
        ("a missing comma", b", \"ts\"", b" \"ts\""),
        ("a missing quote", b"\"ts\"", b"ts\""),
    ] {
        for nth in [0, 7] {
            if let Some(bytes) = replace_nth(text, from, to, nth) {
                add(format!("{title} in event {nth}"), bytes, "t.json", Admits::Fault);
            }
        }
    }
    let zipped = gzip(text).unwrap();
    for part in [1, 3, 7] {
        let end = zipped.len() * part / 8;
        add(format!("gzip cut at {end}"), zipped[..end].to_vec(), "t.json.gz", Admits::Loss);
    }
    add(
        "gzip without its checksum".to_owned(),
        zipped[..zipped.len() - 8].to_vec(),
        "t.json.gz",
        Admits::Loss,
    );
    for part in [1, 4, 7] {
        let at = zipped.len() * part / 8;
        let mut bytes = zipped.clone();
        bytes[at..at + 64].iter_mut().for_each(|it| *it ^= 0x55);
        add(format!("gzip damaged at {at}"), bytes, "t.json.gz", Admits::Loss);
    }
    add("gzip with a wrong name".to_owned(), zipped, "t.json", Admits::Nothing);
    add("two in one file".to_owned(), [text, text].concat(), "t.json", Admits::Fault);
    variants
}

/// What is wrong with how a damaged file was taken.
fn fault(damaged: &Damaged, whole: &Ledger) -> Option<String> {
    let run = match load_bytes(damaged.name, &damaged.bytes) {
        Ok(run) => run,
        Err(error) if damaged.admits == Admits::Nothing => {
            return Some(format!("refused: {error}"));
        }
        Err(error) => {
            return (!is_one_line_about(&error, damaged.name)).then(|| format!("says {error}"));
        }
    };
    let ledgers = run.ranks.iter().map(|it| run.ledger_of(it).unwrap());
    for ledger in ledgers.chain([Cow::Borrowed(&run.merged)]) {
        if let Some(balance) = ledger.balances().into_iter().find(|it| !it.is_balanced()) {
            return Some(format!("{balance:?}"));
        }
    }
    let input = &run.inputs[0];
    let is_json = || serde_json::from_slice::<serde_json::Value>(&damaged.bytes).is_ok();
    match damaged.admits {
        Admits::Loss => input.complete.then(|| "calls itself complete".to_owned()),
        Admits::Nothing => {
            (!input.complete).then(|| format!("calls itself incomplete: {:?}", input.warnings))
        }
        Admits::Fault => {
            let is_silent = input.complete && input.warnings.is_empty();
            (is_silent && run.merged != *whole && !is_json()).then(|| "says nothing".to_owned())
        }
    }
}

fn load_bytes(name: &str, bytes: &[u8]) -> Result<Run, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    load_file(&path, folder.path())
}

fn load_file(path: &Path, root: &Path) -> Result<Run, Error> {
    let options = LoadOptions::new(root.to_owned(), Some(Vec::new()));
    let watch = Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    load(&[path.to_owned()], &options, &watch)
}

fn is_one_line_about(error: &Error, name: &str) -> bool {
    let text = error.to_string();
    let says_where = match error {
        Error::Unreadable { .. } => text.contains("(at byte "),
        _ => true,
    };
    text.lines().count() == 1 && text.contains(name) && says_where
}

/// Puts `to` in place of the nth `from` in the list of events.
fn replace_nth(text: &[u8], from: &[u8], to: &[u8], nth: usize) -> Option<Vec<u8>> {
    let events = text.windows(13).position(|it| it == b"\"traceEvents\"")?;
    let mut found = text[events..].windows(from.len()).enumerate().filter(|(_, it)| *it == from);
    let at = events + found.nth(nth)?.0;
    Some([&text[..at], to, &text[at + from.len()..]].concat())
}
