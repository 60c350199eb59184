//! Prints how often inference finds the right line, recording by recording.
//!
//! `cargo run --release -p tests --example accuracy -- --root DIR [--site DIR]... [--keep-exact] [--mistakes] TRACE...`
//!
//! The time of your code is that of the calls and operators directly below its frames, without its frames inside them.
//!
//! `--keep-exact` leaves the exact evidence of calls to the inference of operators.

#![allow(clippy::print_stdout, clippy::expect_used)]

#[path = "../tests/accuracy/measure.rs"]
mod measure;

use ledger::Ns;

use std::path::{Path, PathBuf};

use measure::{Accuracy, OwnTime, Score, beside, measure};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut root, mut sites, mut traces) = (PathBuf::from("."), Vec::new(), Vec::new());
    let (mut show_mistakes, mut ignore_exact) = (false, true);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--root" => root = arguments.next().map(PathBuf::from).unwrap_or_default(),
            "--site" => sites.extend(arguments.next().map(PathBuf::from)),
            "--mistakes" => show_mistakes = true,
            "--keep-exact" => ignore_exact = false,
            _ => traces.push(PathBuf::from(argument)),
        }
    }
    println!(
        "right line / wrong line / function level / CPU time on the right line, in percent, of events"
    );
    println!(
        "{:<40} {:>40} {:>40} {:>40}   your code's time, and the device time of what it launches: right / wrong / function level, ms",
        "recording", "own calls", "library calls", "operators"
    );
    let mut sum = Accuracy::default();
    for trace in &traces {
        let truth = beside(trace, ".truth.json");
        let accuracy =
            measure(trace, truth.is_file().then_some(truth.as_path()), &root, &sites, ignore_exact);
        print(trace, &accuracy);
        sum.own.add(&accuracy.own);
        sum.library.add(&accuracy.library);
        sum.operators.add(&accuracy.operators);
        sum.time.add(&accuracy.time);
        sum.device_time.add(&accuracy.device_time);
        if show_mistakes {
            let mut counts: std::collections::BTreeMap<&str, usize> =
                std::collections::BTreeMap::new();
            accuracy.mistakes.iter().for_each(|it| *counts.entry(it).or_default() += 1);
            counts.iter().for_each(|(mistake, count)| println!("    {count:>5} × {mistake}"));
        }
    }
    print(Path::new("all"), &sum);
}

fn print(trace: &Path, accuracy: &Accuracy) {
    let parts: Vec<_> =
        trace.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy()).collect();
    let name = parts.into_iter().rev().collect::<Vec<_>>().join("/");
    let [own, library, operators] =
        [&accuracy.own, &accuracy.library, &accuracy.operators].map(cell);
    let [time, device_time] = [&accuracy.time, &accuracy.device_time].map(time_cell);
    println!("{name:<40} {own:>40} {library:>40} {operators:>40}   {time}   {device_time}");
}

fn time_cell(time: &OwnTime) -> String {
    let sum = time.right + time.wrong + time.at_functions;
    let percent = |part: Ns| part.as_f64() * 100.0 / sum.max(Ns(1)).as_f64();
    format!(
        "{:.2} / {:.3} / {:.2} {:>9.1}",
        percent(time.right),
        percent(time.wrong),
        percent(time.at_functions),
        sum.as_f64() / 1e6
    )
}

fn cell(score: &Score) -> String {
    if score.events == 0 {
        return "-".to_owned();
    }
    let percent = |n: u64| n as f64 * 100.0 / score.events as f64;
    let unassigned = score.events - score.right - score.wrong;
    format!(
        "{:.2} / {:.2} / {:.2} / {:.2} {:>7}",
        percent(score.right),
        percent(score.wrong),
        percent(unassigned),
        score.right_time.as_f64() * 100.0 / score.time.max(Ns(1)).as_f64(),
        score.events
    )
}
