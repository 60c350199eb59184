//! What inputs may be: damaged archives, pipes, the same recording twice, things that are no files.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use loader::{Error, Input, InputKind, LoadOptions, Run, Stage, Watch, discover, load};
use profile::WarningKind;
use tempfile::TempDir;

/// The first 700 events of `cpu/torch2.15.0/scheduled.0.json.gz` of the fixtures, compressed with `zstd -19`: one frame
/// of three blocks with a checksum.
const ZSTD: &[u8] = include_bytes!("data/small.json.zst");

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures").join(path)
}

fn try_load(inputs: &[PathBuf]) -> Result<Run, Error> {
    let root = PathBuf::from("no such folder");
    let options = LoadOptions::new(root, Some(Vec::new()));
    load(inputs, &options, &Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) })
}

/// Events and totals: what must never be silently other.
fn outcome(run: &Run) -> (u64, ledger::Books) {
    (run.inputs.iter().map(|it| it.events).sum(), run.merged.totals)
}

fn messages(input: &Input) -> Vec<&str> {
    input.warnings.iter().map(|it| &*it.message).collect()
}

/// Writes a file: its path.
fn write(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn unzip(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut text).unwrap();
    text
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let level = flate2::Compression::fast();
    flate2::read::GzEncoder::new(text, level).read_to_end(&mut packed).unwrap();
    packed
}

/// A frame with a checksum.
fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

/// The text of [`ZSTD`].
fn small() -> Vec<u8> {
    let mut text = Vec::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(ZSTD).unwrap();
    decoder.read_to_end(&mut text).unwrap();
    text
}

/// xorshift32: the same bits on every run.
struct Random(u32);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % limit
    }
}

// Damage.

#[test]
fn no_flipped_bit_of_a_zstd_file_gives_silently_other_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "t.json.zst", ZSTD);
    let whole = outcome(&try_load(std::slice::from_ref(&path)).unwrap());
    let mut random = Random(0x2545_f491);
    // All bits of the header and of the checksum, and some of the rest.
    let head = (0..12 * 8).chain(ZSTD.len() * 8 - 32..ZSTD.len() * 8);
    let bits: Vec<usize> = head.chain((0..300).map(|_| random.below(ZSTD.len() * 8))).collect();
    let (mut n_refused, mut n_reported, mut n_equal) = (0, 0, 0);
    for bit in bits {
        let mut bytes = ZSTD.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &bytes).unwrap();
        let verdict = match try_load(std::slice::from_ref(&path)) {
            Err(error) => {
                n_refused += 1;
                assert!(error.to_string().contains("byte"), "bit {bit}: {error}");
                false
            }
            Ok(run) if run.inputs[0].complete => {
                n_equal += 1;
                assert_eq!(
                    (outcome(&run), &*messages(&run.inputs[0])),
                    (whole, &[][..]),
                    "bit {bit}"
                );
                true
            }
            Ok(run) => {
                n_reported += 1;
                let messages = messages(&run.inputs[0]);
                let names_place =
                    |it: &&str| it.contains("compressed byte") && it.contains("copy the");
                assert!(messages.iter().any(names_place), "bit {bit}: {messages:?}");
                false
            }
        };
        if let Some(reference) = zstd_accepts(&path) {
            assert_eq!(verdict, reference, "bit {bit}, against zstd -t");
        }
    }
    assert!(
        n_reported > 250 && n_refused > 0,
        "{n_refused} refused, {n_reported} reported, {n_equal} equal"
    );
}

/// The verdict of the `zstd` command, where it is installed.
fn zstd_accepts(path: &Path) -> Option<bool> {
    let output = std::process::Command::new("zstd").args(["-q", "-t"]).arg(path).output().ok()?;
    Some(output.status.success())
}

#[test]
fn of_several_zstd_frames_one_that_is_damaged_takes_no_other_with_it() {
    let text = small();
    let frames: Vec<_> = text.chunks(text.len().div_ceil(3)).map(zstd).collect();
    // What pzstd and others write between frames, and a frame without content.
    let skippable = [&[0x5a, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"other"].concat();
    let empty = zstd(b"");
    let [one, two, three] = &frames[..] else { panic!("three frames") };
    let folder = tempfile::tempdir().unwrap();
    let parts = [&skippable, one, &skippable, &empty, two, &skippable, three, &skippable];
    let path = write(&folder, "t.json.zst", &parts.map(|it| &it[..]).concat());
    let run = try_load(&[path]).unwrap();
    assert!(run.inputs[0].complete, "{:?}", run.inputs[0]);
    let plain = try_load(&[write(&folder, "t.json", &text)]).unwrap();
    assert_eq!(outcome(&run), outcome(&plain));

    let mut damaged = two.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let path = write(&folder, "t.json.zst", &[&one[..], &damaged, three].concat());
    let run = try_load(&[path]).unwrap();
    assert_eq!((run.inputs[0].complete, outcome(&run)), (false, outcome(&plain)));
    let [start, end] = [one.len(), one.len() + two.len()];
    let third = text.len().div_ceil(3);
    let expected = format!(
        "the zstd frame in compressed bytes {start} to {end} (decompressed: {third} to {}) does not match its checksum: \
         it is damaged, and numbers from it may be wrong; copy the file again, or record again",
        2 * third
    );
    assert_eq!(messages(&run.inputs[0]), [expected]);
}

#[test]
fn what_a_zstd_file_holds_before_it_breaks_off_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "t.json.zst", &ZSTD[..ZSTD.len() * 9 / 10]);
    let run = try_load(&[path]).unwrap();
    let input = &run.inputs[0];
    // One of three blocks is whole, and smaller than the window that the decoder keeps.
    assert_eq!((input.complete, input.bytes), (false, 1 << 17));
    let expected = format!(
        "the zstd data breaks off at compressed byte {}: nothing behind was read; copy the file again, or wait until \
         it is written",
        ZSTD.len() * 9 / 10
    );
    let warning = input.warnings.iter().find(|it| it.message == expected);
    let warning = warning.unwrap_or_else(|| panic!("{:?}", input.warnings));
    assert_eq!((warning.kind, warning.offset), (WarningKind::BrokenCompression, Some(1 << 17)));
}

#[test]
fn a_zstd_frame_that_asks_for_too_much_memory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    // A window of 2 TiB.
    let path = write(&folder, "t.json.zst", &[0x28, 0xb5, 0x2f, 0xfd, 0, 0xf8, 1, 0, 0]);
    let error = try_load(&[path]).unwrap_err().to_string();
    assert!(error.contains("2097152 MiB") && error.contains("--long"), "{error}");
}

#[test]
fn damage_of_gzip_is_reported_with_its_place_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let text = small();
    let packed = gzip(&text);
    let half = packed.len() / 2;
    let cut = try_load(&[write(&folder, "cut.json.gz", &packed[..half])]).unwrap();
    let reported = messages(&cut.inputs[0]);
    let expected = format!("the gzip data breaks off at compressed byte {half}: nothing behind");
    assert!(reported.iter().any(|it| it.starts_with(&expected)), "{reported:?}");

    let (mut n_refused, mut n_reported) = (0, 0);
    let mut random = Random(0x1234_5678);
    for _ in 0..60 {
        let bit = 80 + random.below(packed.len() * 8 - 80);
        let mut bytes = packed.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        match try_load(&[write(&folder, "t.json.gz", &bytes)]) {
            Err(_) => n_refused += 1,
            Ok(run) => {
                n_reported += 1;
                let messages = messages(&run.inputs[0]);
                let names_place = |it: &&str| {
                    it.starts_with("the gzip data is damaged at compressed byte ")
                        || it.starts_with("the gzip data breaks off at compressed byte ")
                };
                assert!(!run.inputs[0].complete, "bit {bit}");
                assert!(messages.iter().any(names_place), "bit {bit}: {messages:?}");
            }
        }
    }
    assert!(n_reported > 50, "{n_refused} refused");

    // Members, one after the other, as `cat` makes them.
    let (one, two) = text.split_at(text.len() / 3);
    let path = write(&folder, "members.json.gz", &[gzip(one), gzip(two)].concat());
    let run = try_load(&[path]).unwrap();
    assert!(run.inputs[0].complete, "{:?}", run.inputs[0]);
}

#[test]
fn an_archive_of_which_nothing_can_be_read_is_refused_with_place_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&str, &[u8], &str); 4] = [
        ("a.json.gz", &gzip(&small())[..12], "the gzip data breaks off at compressed byte 12:"),
        ("b.json.gz", b"\x1f\x8b\x08\x00\0\0\0\0\0\xff\xff\xff\xff", "damaged at compressed byte "),
        ("c.json.zst", &ZSTD[..8], "the zstd data breaks off at compressed byte 8:"),
        ("d.json.zst", b"\x28\xb5\x2f\xfd\x08\x00\0\0\0", "the zstd data is damaged at compressed"),
    ];
    for (name, bytes, expected) in cases {
        let error = try_load(&[write(&folder, name, bytes)]).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("copy the file again"), "{error}");
        assert!(error.contains(name) && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn something_else_in_place_of_the_list_of_events_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (text, at) in [
        (r#"{"traceEvents": "none"}"#, 16),
        (r#"{"schemaVersion": 1, "traceEvents": null}"#, 36),
        (r#"{"traceEvents":{"ph": "X"}, "displayTimeUnit": "ms"}"#, 15),
    ] {
        let path = write(&folder, "t.json", text.as_bytes());
        let error = try_load(&[path]).unwrap_err().to_string();
        assert!(error.contains("traceEvents is no list of events; record again"), "{error}");
        assert!(error.ends_with(&format!("(at byte {at})")), "{error}");
    }
    let empty = write(&folder, "t.json", br#"{"traceEvents": []}"#);
    assert_eq!(try_load(&[empty]).unwrap().inputs[0].events, 0);
}

// The same recording twice.

/// The warnings that say what was left out.
fn left_out(run: &Run) -> Vec<&str> {
    let warnings = run.inputs.iter().flat_map(|it| &it.warnings);
    let warnings = warnings.filter(|it| it.kind == WarningKind::Duplicate);
    warnings.inspect(|it| assert_eq!(it.offset, None)).map(|it| &*it.message).collect()
}

#[test]
fn a_trace_that_is_there_twice_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = small();
    let plain = write(&folder, "t.json", &text);
    let packed = [
        write(&folder, "t.json.gz", &gzip(&text)),
        write(&folder, "t.json.zst", ZSTD),
        write(&folder, "copy.json", &text),
    ];
    let once = outcome(&try_load(std::slice::from_ref(&plain)).unwrap());
    for copy in packed {
        let run = try_load(&[plain.clone(), copy.clone()]).unwrap();
        assert_eq!((outcome(&run), run.ranks.len(), run.failures.len()), (once, 1, 0));
        let expected = format!(
            "{} is the same recording and was left out, so that it counts once",
            copy.display()
        );
        assert_eq!(left_out(&run), [expected]);
        assert!(run.inputs[0].complete && run.inputs[0].path == plain);
    }
}

#[cfg(unix)]
#[test]
fn other_names_of_a_file_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let plain = write(&folder, "t.json", &small());
    let [soft, hard] = ["soft.json", "hard.json"].map(|name| folder.path().join(name));
    std::os::unix::fs::symlink(&plain, &soft).unwrap();
    fs::hard_link(&plain, &hard).unwrap();
    let dotted = folder.path().join(".").join("t.json");
    let once = outcome(&try_load(std::slice::from_ref(&plain)).unwrap());
    let run = try_load(&[plain.clone(), soft, plain.clone(), hard, dotted]).unwrap();
    assert_eq!((outcome(&run), left_out(&run).len(), run.inputs.len()), (once, 4, 1));
    // A snapshot, whose first bytes have no time.
    let snapshot = fixture("simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz");
    let again = folder.path().join("again.pickle.gz");
    std::os::unix::fs::symlink(&snapshot, &again).unwrap();
    let run = try_load(&[snapshot, again]).unwrap();
    assert_eq!((run.inputs.len(), left_out(&run).len()), (1, 1));
}

#[test]
fn a_copy_that_is_whole_stands_in_for_a_damaged_one() {
    let folder = tempfile::tempdir().unwrap();
    let text = small();
    let cut = write(&folder, "t.json", &text[..text.len() * 2 / 3]);
    let whole = write(&folder, "t.json.gz", &gzip(&text));
    let expected = outcome(&try_load(std::slice::from_ref(&whole)).unwrap());
    for inputs in [[cut.clone(), whole.clone()], [whole.clone(), cut.clone()]] {
        let run = try_load(&inputs).unwrap();
        assert_eq!((outcome(&run), &run.inputs[0].path), (expected, &whole));
        let [message] = left_out(&run)[..] else { panic!("{:?}", run.inputs) };
        assert!(message.starts_with(&cut.display().to_string()), "{message}");
        assert_eq!(message.contains("is a damaged copy"), inputs[0] == cut, "{message}");
    }
}

#[test]
fn snapshots_count_once_only_if_they_are_equal_to_the_last_byte() {
    let folder = tempfile::tempdir().unwrap();
    let packed =
        fs::read(fixture("simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz")).unwrap();
    let text = unzip(&packed);
    assert!(text.len() > 64 << 10, "more than what is looked at");
    let plain = write(&folder, "s.pickle", &text);
    let packed = write(&folder, "s.pickle.gz", &packed);
    let once = try_load(std::slice::from_ref(&plain)).unwrap();
    let run = try_load(&[plain.clone(), packed]).unwrap();
    assert_eq!((&run.merged.memory, left_out(&run).len()), (&once.merged.memory, 1));
    // Ranks in step begin alike, and have the same size.
    let mut other = text.clone();
    let last = other.windows(4).rposition(|it| it == b"size").unwrap() + 6;
    other[last] ^= 1;
    let other = write(&folder, "s.rank1.pickle", &other);
    let run = try_load(&[plain, other]).unwrap();
    assert_eq!((run.ranks.len(), left_out(&run).len()), (2, 0));
}

#[test]
fn no_two_recordings_of_the_fixtures_are_taken_for_one() {
    let ranks = [0, 1].map(|it| fixture(&format!("cpu/torch2.11.0/two_ranks.rank{it}.json.gz")));
    let cycles = [0, 1].map(|it| fixture(&format!("cpu/torch2.11.0/scheduled.{it}.json.gz")));
    for inputs in [ranks, cycles] {
        let run = try_load(&inputs).unwrap();
        assert!(left_out(&run).is_empty(), "{:?}", left_out(&run));
        assert_eq!(run.inputs.iter().filter(|it| it.kind == InputKind::Kineto).count(), 2);
    }
}

// Pipes, and what is no file.

#[cfg(unix)]
mod pipes {
    use super::*;

    fn pipe(folder: &TempDir, name: &str) -> PathBuf {
        let path = folder.path().join(name);
        let status = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(status.success());
        path
    }

    #[test]
    fn a_pipe_that_is_named_is_read_from_its_first_byte() {
        let text = small();
        for bytes in [text.clone(), gzip(&text), ZSTD.to_vec()] {
            let folder = tempfile::tempdir().unwrap();
            let plain = write(&folder, "t.json", &text);
            let expected = outcome(&try_load(std::slice::from_ref(&plain)).unwrap());
            let path = pipe(&folder, "pipe");
            let run = std::thread::scope(|scope| {
                scope.spawn(|| fs::write(&path, &bytes).unwrap());
                // Named twice it is opened once: it would wait for ever.
                try_load(&[path.clone(), path.clone()]).unwrap()
            });
            assert_eq!((outcome(&run), run.inputs[0].complete), (expected, true));
            assert_eq!((run.inputs[0].bytes, left_out(&run).len()), (text.len() as u64, 1));
        }
    }

    #[test]
    fn a_pipe_that_is_merely_found_is_never_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe_path = pipe(&folder, "pipe.json");
        std::os::unix::fs::symlink(&pipe_path, folder.path().join("link.json.gz")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.json")).unwrap();
        let trace = write(&folder, "t.json", &small());
        pipe(&folder, "t.callers.json");
        let found: Vec<_> = discover(folder.path()).into_iter().map(|it| it.inputs).collect();
        assert_eq!(found, std::slice::from_ref(&vec![trace.clone()]));
        let run = try_load(&[trace]).unwrap();
        assert_eq!(run.inputs.len(), 1);
    }
}

#[test]
fn what_was_looked_at_is_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = small();
    let path = write(&folder, "t.json", &text);
    let expected = outcome(&try_load(std::slice::from_ref(&path)).unwrap());
    let other = write(&folder, "other.json", b"{}");
    // When reading begins, another file is there.
    let exchange = |progress: &loader::Progress| {
        if progress.stage == Stage::Reading && other.exists() {
            fs::rename(&other, &path).unwrap();
        }
    };
    let options = LoadOptions::new(PathBuf::from("none"), Some(Vec::new()));
    let watch = Watch { progress: &exchange, cancelled: &AtomicBool::new(false) };
    let run = load(std::slice::from_ref(&path), &options, &watch).unwrap();
    assert!(!other.exists());
    assert_eq!(outcome(&run), expected);
}

/// On Windows a file that is open cannot be deleted.
#[cfg(unix)]
#[test]
fn files_that_are_deleted_while_they_are_read_count_whole() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = ["two_ranks.rank0.json.gz", "two_ranks.rank1.json.gz"].map(|name| {
        let from = fixture("cpu/torch2.15.0").join(name);
        write(&folder, name, &fs::read(from).unwrap())
    });
    let expected = try_load(&inputs).unwrap();
    let delete = |progress: &loader::Progress| {
        if progress.stage == Stage::Reading {
            inputs.iter().for_each(|it| _ = fs::remove_file(it));
        }
    };
    let options = LoadOptions::new(PathBuf::from("no such folder"), Some(Vec::new()));
    let watch = Watch { progress: &delete, cancelled: &AtomicBool::new(false) };
    let run = load(&inputs, &options, &watch).unwrap();
    assert!(inputs.iter().all(|it| !it.exists()));
    assert_eq!(outcome(&run), outcome(&expected));
    assert_eq!(run.failures, expected.failures);
    for (found, expected) in run.inputs.iter().zip(&expected.inputs) {
        assert_eq!((found.kind, messages(found)), (expected.kind, messages(expected)));
    }
}

// Faults of ours.

#[test]
fn a_panic_takes_one_input_and_says_what_happened() {
    let folder = tempfile::tempdir().unwrap();
    let bad = write(&folder, "bad.json", &small());
    let good = fixture("cpu/torch2.15.0/scheduled.1.json.gz");
    let panics = |progress: &loader::Progress| {
        assert!(
            progress.path != bad || progress.stage != Stage::Attributing,
            "something is broken"
        );
    };
    let options = LoadOptions::new(PathBuf::from("none"), Some(Vec::new()));
    let watch = Watch { progress: &panics, cancelled: &AtomicBool::new(false) };
    let run = load(&[bad.clone(), good], &options, &watch).unwrap();
    let [failure] = &run.failures[..] else { panic!("{:?}", run.failures) };
    assert!(failure.starts_with(&bad.display().to_string()), "{failure}");
    assert!(failure.contains("something is broken") && failure.contains("report"), "{failure}");
    assert!(run.inputs[0].complete);
    let error = load(std::slice::from_ref(&bad), &options, &watch).unwrap_err();
    assert!(matches!(error, Error::Panicked { .. }), "{error}");
}
