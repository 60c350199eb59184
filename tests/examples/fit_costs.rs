//! Varies one cost of inference at a time, and prints what that changes on recordings whose true lines are known.
//!
//! `cargo run --release -p tests --example fit_costs [COST...]`
//!
//! All Python calls of the workloads in `fixtures/cpu` and `fixtures/truth` that have an exact caller are inferred without
//! it. The workloads are split in two halves by their names: a change that helps only the half that it was chosen for is
//! chance. Each row has, for both halves, how many more events are assigned the right and a wrong line.

#![allow(clippy::print_stdout, clippy::expect_used)]

use std::path::PathBuf;

use call_sites::{Costs, infer};
use ledger::Evidence;
use profile::{HostEventId, HostKind, Profile};
use recorded::{RecordedSources, in_order, parse_caller};
use tests::fixtures::{callers, read_gz, repository, traces};
use trace_reader::TraceReader;

/// A recording with what is known of it.
struct Recording {
    profile: Profile,
    sources: RecordedSources,
    order: Vec<HostEventId>,
    /// Which half it is in.
    half: usize,
}

/// Events with the right and with a wrong line, by half.
type Counts = [[i64; 2]; 2];

fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    let recordings = recordings();
    let base = count(&recordings, &Costs::default());
    println!("right and wrong: first half {:?}, second half {:?}", base[0], base[1]);
    println!("{:<28} {:>9} {:>14} {:>14}", "cost", "", "first half", "second half");
    let names: Vec<(&str, u32)> =
        Costs::default().each_mut().into_iter().map(|(name, cost)| (name, *cost)).collect();
    for (row, (name, cost)) in names.into_iter().enumerate() {
        if !only.is_empty() && !only.iter().any(|it| it == name) {
            continue;
        }
        for varied in [cost.saturating_sub(2 + cost / 4), cost + 2 + cost / 4] {
            let mut costs = Costs::default();
            *costs.each_mut()[row].1 = varied;
            let counts = count(&recordings, &costs);
            let change = |half: usize| {
                let [right, wrong] = [0, 1].map(|it| counts[half][it] - base[half][it]);
                format!("{right:+} / {wrong:+}")
            };
            if counts != base {
                let values = format!("{cost} > {varied}");
                println!("{name:<28} {values:>9} {:>14} {:>14}", change(0), change(1));
            }
        }
    }
}

fn recordings() -> Vec<Recording> {
    let fixtures = repository().join("fixtures");
    let is_measured =
        |path: &PathBuf| ["cpu", "truth"].iter().any(|it| path.starts_with(fixtures.join(it)));
    let traces = traces().expect("the recordings of the repository").into_iter();
    traces
        .filter(is_measured)
        .map(|path| {
            let mut reader = TraceReader::new();
            reader.feed(&read_gz(&path).expect("unpacks"));
            let mut profile = reader.finish().profile;
            if let Some(callers) = callers(&path) {
                let bytes = read_gz(&callers).expect("unpacks");
                let (callers, _) = trace_reader::callers::read_callers(&bytes).expect("a side-car");
                attribution::join_callers(&mut profile, &callers);
            }
            let sources = loader::find_sources(&profile, &fixtures.join("workloads"), &[]);
            let order = in_order(&profile);
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let half = usize::from(name.bytes().map(u32::from).sum::<u32>() % 2 == 1);
            Recording { profile, sources, order, half }
        })
        .collect()
}

fn count(recordings: &[Recording], costs: &Costs) -> Counts {
    let mut counts = Counts::default();
    for it in recordings {
        let (profile, host) = (&it.profile, &it.profile.host);
        let sites = infer(profile, &it.sources, &it.order, false, costs);
        let places: Vec<_> = sites.places().collect();
        for id in host.ids().filter(|id| host.kind[id.index()] == HostKind::Python) {
            let caller = host.python.caller[host.detail_row(id)];
            let truth = caller.get().and_then(|it| parse_caller(profile.strings.get(it)));
            let assigned = sites.of_event(id).filter(|it| it.1 == Evidence::Inferred);
            let (Some((file, line)), Some((place, _))) = (truth, assigned) else { continue };
            let place = places[place.index()];
            let is_wrong = (place.file, place.line) != (file, line);
            counts[it.half][usize::from(is_wrong)] += 1;
        }
    }
    counts
}
