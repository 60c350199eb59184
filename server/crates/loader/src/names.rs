//! What the names of files say: stem, rank, and which files belong to one run.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use regex::Regex;

/// Parts of the names of files, or of folders of files, that are looked at if nobody named them: whether a trace holds a capture
/// stands anywhere in it. vLLM and SGLang write `capture_traces/…`, `graph_capture_profile/cuda_graph_capture-….json.gz`.
const CAPTURE_PARTS: [&str; 3] = ["capture", "cuda_graph", "py_stacks"];

/// What the names of side-cars end with, after the stem of their trace.
pub(crate) const SIDE_CARS: [&str; 3] = [".callers.json.gz", ".callers.json", ".callers.json.zst"];

/// Whether the name of a file is that of a side-car.
pub(crate) fn is_side_car(path: &Path) -> bool {
    let name = path.file_name().map(|it| it.to_string_lossy()).unwrap_or_default();
    SIDE_CARS.iter().any(|it| name.ends_with(it))
}

/// The file name without the endings that say how it is written: `slow_model` of `slow_model.json.gz`,
/// `slow_model.callers.json.gz` and `slow_model.snapshot.pickle`.
pub(crate) fn stem(path: &Path) -> String {
    let mut name =
        path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    for ending in [
        ".gz",
        ".zst",
        ".json",
        ".pickle",
        ".pkl",
        ".log",
        ".trace",
        ".pt",
        ".callers",
        ".snapshot",
        ".torch_trace",
    ] {
        if let Some(shorter) = name.strip_suffix(ending) {
            name.truncate(shorter.len());
        }
    }
    name
}

/// The rank in a file name: `rank-3`, `rank3`, `worker_3`.
pub(crate) fn rank(path: &Path) -> Option<u32> {
    RANK.as_ref()?.captures(&stem(path))?.get(1)?.as_str().parse().ok()
}

/// The process and the time in a name that `tensorboard_trace_handler` gave (`host_pid.time.pt.trace.json`): `host_pid`, and
/// the nanoseconds (of torch before 2.0 milliseconds) since the Unix epoch.
pub(crate) fn process_and_time(path: &Path) -> Option<(String, SystemTime)> {
    // Without a pattern: compiling one would take a twentieth of reading a small snapshot.
    let stem = stem(path);
    let (process, digits) = stem.rsplit_once('.')?;
    let (host, pid) = process.rsplit_once('_')?;
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    if host.is_empty() || !is_number(pid) || !is_number(digits) || ![13, 19].contains(&digits.len())
    {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    let since = if digits.len() > 13 {
        Duration::from_nanos(number)
    } else {
        Duration::from_millis(number)
    };
    let time = SystemTime::UNIX_EPOCH.checked_add(since)?;
    Some((process.to_owned(), time))
}

/// What is equal in the names of the ranks of one run: the stem without rank, process ids and times.
pub(crate) fn run_key(path: &Path) -> String {
    let without_rank = replaced(&RANK, &stem(path), "rank");
    replaced(&NUMBER, &without_rank, "")
}

/// What is equal in the names that a program gives to the cycles of its schedule: `trace` of `trace_4` and `trace_8`. Other files may
/// be called so as well.
pub(crate) fn cycle_key(path: &Path) -> String {
    replaced(&CYCLE, &run_key(path), "")
}

/// The folder of the traces that replay the graphs of a capture, if its name, or that of its folder, says that it is one.
pub(crate) fn folder_of_replays(capture: &Path) -> Option<&Path> {
    let folder = capture.parent()?;
    if says_capture(folder) {
        return folder.parent();
    }
    says_capture(capture).then_some(folder)
}

/// Whether the name of a file or folder says that it holds captures.
pub(crate) fn says_capture(path: &Path) -> bool {
    let name = path.file_name().map(|it| it.to_string_lossy().to_lowercase()).unwrap_or_default();
    CAPTURE_PARTS.iter().any(|part| name.contains(part))
}

// The patterns are constants that the tests below use, so they are never `None`.
static RANK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)(?:rank|worker)[-_.]?([0-9]+)").ok());
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[._-]?[0-9]{3,}").ok());

static CYCLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[._-]?[0-9]+").ok());

fn replaced(pattern: &Option<Regex>, text: &str, by: &str) -> String {
    pattern.as_ref().map_or_else(|| text.to_owned(), |it| it.replace_all(text, by).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_handler_give_process_and_time() {
        let of = |name: &str| {
            let (process, time) = process_and_time(Path::new(name))?;
            Some((process, time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()))
        };
        let expected = Some(("host_4711".to_owned(), 1_700_000_000_123));
        assert_eq!(of("host_4711.1700000000123456789.pt.trace.json.gz"), expected);
        assert_eq!(of("host_4711.1700000000123.pt.trace.json"), expected);
        assert_eq!(of("slow_model.json.gz"), None);
        assert_eq!(of("two_ranks.rank1.json.gz"), None);
    }

    #[test]
    fn names_give_stem_rank_and_run() {
        let cases = [
            ("slow_model.json.gz", "slow_model", None, "slow_model"),
            ("slow_model.callers.json.gz", "slow_model", None, "slow_model"),
            ("slow_model.snapshot.pickle.gz", "slow_model", None, "slow_model"),
            ("slow_model.torch_trace.log.gz", "slow_model", None, "slow_model"),
            ("two_ranks.rank1.json.gz", "two_ranks.rank1", Some(1), "two_ranks.rank"),
            (
                "dlrm_worker5_step_12.1694128201549.pt.trace.json.gz",
                "dlrm_worker5_step_12.1694128201549",
                Some(5),
                "dlrm_rank_step_12",
            ),
            (
                "rank-34.Jul_15_10_52_41.1074.pt.trace.json",
                "rank-34.Jul_15_10_52_41.1074",
                Some(34),
                "rank.Jul_15_10_52_41",
            ),
            (
                "host_4711.1700000000000000000.pt.trace.json",
                "host_4711.1700000000000000000",
                None,
                "host",
            ),
        ];
        for (name, expected_stem, expected_rank, expected_key) in cases {
            let path = Path::new(name);
            assert_eq!(
                (stem(path).as_str(), rank(path), run_key(path).as_str()),
                (expected_stem, expected_rank, expected_key)
            );
        }
    }
}
