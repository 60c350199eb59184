//! `perfline bug-report`.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bug_report::{
    CutTrace, Outline, ReplacedKind, ReplacedNames, TraceWindow, cut_side_car, cut_trace, versions,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use loader::{InputKind, RecordingText, Run};
use metrics::numbers;
use serde_json::{Value, json};

use crate::args::{BugReportArgs, RecordingArgs};
use crate::failure::Failure;
use crate::{inputs, output};

/// Bytes of a side-car that are read.
const MAX_SIDE_CAR: u64 = 1 << 30;

/// Writes the part, and says what is in it.
///
/// # Errors
/// If the recording cannot be read, or a file cannot be written.
pub(super) fn run(args: &BugReportArgs) -> Result<ExitCode, Failure> {
    let Some(side_car_output) = side_car_of(&args.output) else {
        return Ok(refused(&args.output, "must end in .json.gz or .json; name another file"));
    };
    for path in [&args.output, &side_car_output] {
        if path.symlink_metadata().is_ok() {
            return Ok(refused(path, "is there already; name another file: --output FILE"));
        }
    }
    let kind = RecordingText::open(&args.recording)?.kind();
    if kind != Some(InputKind::Kineto) {
        let what = match kind {
            Some(InputKind::Snapshot) => {
                "is a memory snapshot, of which no part can be cut: describe the fault, or send a snapshot of a program \
                 that shows nothing private"
            }
            _ => "is no trace of torch.profiler; name the file of one rank",
        };
        return Ok(refused(&args.recording, what));
    }
    let outline = Outline::read(RecordingText::open(&args.recording)?.reader())?;
    let asked = match (args.steps.is_empty(), outline.typical_step()) {
        (true, Some(step)) => vec![step.into()],
        _ => args.steps.clone(),
    };
    let Some(window) = outline.window(&asked) else {
        let numbers: Vec<String> = outline.steps().iter().map(|it| it.number.to_string()).collect();
        let what = format!("has none of these steps; it has {}", numbers.join(", "));
        return Ok(refused(&args.recording, &what));
    };
    let run = load(&args.recording);
    let side_car = match run.as_ref().and_then(side_car) {
        Some(path) => Some(read_side_car(&path)?),
        None => None,
    };
    let about = about(&args.recording, run.as_ref(), side_car.as_deref(), &window).to_string();
    let mut names = ReplacedNames::default();
    let mut bytes = Vec::new();
    let text = RecordingText::open(&args.recording)?;
    let cut = cut_trace(text.reader(), &window, &about, &mut names, &mut bytes)?;
    let size = save(&args.output, &bytes, &args.recording)?;
    let side_car = side_car.and_then(|it| cut_side_car(&it, &cut, &mut names));
    let side_car = match side_car {
        Some(bytes) => Some((&*side_car_output, save(&side_car_output, &bytes, &args.recording)?)),
        None => None,
    };
    describe(args, &outline, &window, &cut, &names, size, side_car)?;
    Ok(ExitCode::SUCCESS)
}

fn refused(path: &Path, why: &str) -> ExitCode {
    inputs::report(&format!("{}: {why}", path.display()));
    ExitCode::from(2)
}

/// Where the exact callers of a trace at `path` are looked for.
fn side_car_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".json.gz").or_else(|| name.strip_suffix(".json"))?;
    (!stem.is_empty()).then(|| path.with_file_name(format!("{stem}.callers.json.gz")))
}

/// The recording as all commands read it, for its warnings. That it cannot be loaded may be the fault that is reported.
fn load(recording: &Path) -> Option<Run> {
    let args = RecordingArgs {
        inputs: vec![recording.to_owned()],
        root: PathBuf::from("."),
        ..RecordingArgs::default()
    };
    let options = loader::LoadOptions { ledger_cache: None, ..inputs::options(&args) };
    match inputs::load(&args, &options) {
        Ok((run, _)) => Some(run),
        Err(failure) => {
            inputs::report(&format!("{failure} (this is noted in the report)"));
            None
        }
    }
}

fn side_car(run: &Run) -> Option<PathBuf> {
    let callers = run.inputs.iter().find(|it| it.kind == InputKind::Callers)?;
    Some(callers.path.clone())
}

fn read_side_car(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    RecordingText::open(path)?.reader().take(MAX_SIDE_CAR).read_to_end(&mut text)?;
    Ok(text)
}

/// What the part says of itself: versions, and what Perfline says of the whole, without a word of the recording.
fn about(
    recording: &Path,
    run: Option<&Run>,
    side_car: Option<&[u8]>,
    window: &TraceWindow,
) -> Value {
    let (torch, python) = side_car.map_or((None, None), versions);
    let of_trace = run.and_then(|it| it.inputs.iter().find(|it| it.path == recording));
    let warnings = of_trace.iter().flat_map(|it| &it.warnings).map(|it| {
        json!({
            "kind": it.kind.name(),
            "severity": it.kind.severity().name(),
            "count": it.count,
            "offset": it.offset,
        })
    });
    json!({
        "perfline": env!("CARGO_PKG_VERSION"),
        "torch": torch,
        "python": python,
        "loads": run.is_some(),
        "complete": of_trace.map(|it| it.complete),
        "steps": window.steps,
        "warnings": warnings.collect::<Vec<_>>(),
    })
}

/// Writes `bytes` as a new file, compressed if its name says so; the size of it.
fn save(path: &Path, bytes: &[u8], recording: &Path) -> io::Result<usize> {
    if path.extension().is_none_or(|it| it != "gz") {
        output::write(path, bytes, [recording])?;
        return Ok(bytes.len());
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(bytes)?;
    let compressed = gzip.finish()?;
    output::write(path, &compressed, [recording])?;
    Ok(compressed.len())
}

/// Which steps the part has.
fn part_of(outline: &Outline, window: &TraceWindow) -> String {
    let name = |number: &u32| {
        let step = outline.steps().iter().find(|it| it.number == *number);
        match step.and_then(|it| it.of.kind.as_ref()) {
            Some(kind) => format!("{number} ({kind})"),
            None => number.to_string(),
        }
    };
    let (steps, all) = (window.steps.iter().map(name).collect::<Vec<_>>(), outline.steps().len());
    let part = match steps.as_slice() {
        [] => return "the beginning".to_owned(),
        [step] => format!("step {step}, one of {all}"),
        steps => format!("steps {}, of {all}", steps.join(", ")),
    };
    let is_numbered_anew = window.is_of_server && window.steps[0] != 1;
    match (is_numbered_anew, steps.len()) {
        (false, _) => part,
        (true, 1) => format!("{part}, which is step 1 of the part"),
        (true, n) => format!("{part}, which are steps 1-{n} of the part"),
    }
}

/// Says what was written, what was replaced, and what else is in it.
fn describe(
    args: &BugReportArgs,
    outline: &Outline,
    window: &TraceWindow,
    cut: &CutTrace,
    names: &ReplacedNames,
    size: usize,
    side_car: Option<(&Path, usize)>,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let bytes = |it: usize| numbers::bytes(it as f64);
    let part = part_of(outline, window);
    let path = args.output.display();
    let (kept, all) = (cut.events, outline.events());
    writeln!(out, "{path}: {part}, {kept} of {all} events, {}", bytes(size))?;
    if let Some((path, size)) = side_car {
        writeln!(out, "{}: their exact callers, {}", path.display(), bytes(size))?;
    }
    let replaced: Vec<String> = ReplacedKind::ALL
        .into_iter()
        .map(|it| (names.count(it), it))
        .filter(|(count, _)| 0 < *count)
        .map(|(count, it)| format!("{count} {}", it.name(count)))
        .collect();
    if !replaced.is_empty() {
        writeln!(out, "replaced: {}", replaced.join(", "))?;
    }
    let own = match cut.left_out {
        0 => String::new(),
        1 => ", a text of yours beside the events".to_owned(),
        n => format!(", {n} texts of yours beside the events"),
    };
    writeln!(out, "left out: the texts of sources, the log of torch.compile{own}")?;
    if 0 < cut.damaged {
        writeln!(
            out,
            "the recording is damaged in {} places, which are not in the part",
            cut.damaged
        )?;
    }
    writeln!(
        out,
        "kept: times, lines, sizes, ids of processes and threads, the names of devices, PyTorch and Python"
    )?;
    writeln!(out, "Look at it before you send it; docs/reliability.md says how.")?;
    out.flush()
}
