//! The arithmetic of lines and kernels as the object `perfline.roofline/1` (docs/pictures.md), which the page of the report and editors
//! draw below what the device can do at most.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{Arithmetic, DeviceOverview, LineKey, Precision};
use serde_json::{Value, json};

use crate::recording::Recording;
use crate::run_summary::device_with_peak;
use crate::terminal::clean;

/// How many points of each kind a picture has at most: those with most time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RooflineSize(usize);

impl RooflineSize {
    /// Of a page that is sent around.
    pub const PAGE: Self = Self(100);
    /// Of a panel of an editor, and of a page that a server gives.
    pub const EDITOR: Self = Self(1000);
}

/// A line or a kernel in one precision.
struct Point<'a> {
    name: String,
    /// Of a line; of a kernel the line that ran most of it.
    line: &'a LineKey,
    is_kernel: bool,
    precision: Precision,
    work: Arithmetic,
}

/// What kernels of one name did in one precision.
struct KernelArithmetic<'a> {
    work: Arithmetic,
    /// The line with most of it.
    longest: (&'a LineKey, Arithmetic),
}

/// The lines and kernels with known FLOPs. `None` where there are none.
#[must_use]
pub fn roofline(
    recording: &Recording<'_>,
    title: &str,
    RooflineSize(most): RooflineSize,
) -> Option<Value> {
    let ledger = &recording.run.merged;
    let devices = ledger.overviews.values().flat_map(|it| it.devices.values());
    let (lines, more_lines) = longest(lines(recording), most);
    let (kernels, more_kernels) = longest(kernels(recording), most);
    let mut points: Vec<Point<'_>> = lines.into_iter().chain(kernels).collect();
    if points.is_empty() {
        return None;
    }
    points.sort_by_key(|it| std::cmp::Reverse(it.work.time));
    let device = device_with_peak(ledger);
    let precisions: BTreeSet<Precision> = points.iter().map(|it| it.precision).collect();
    Some(json!({
        "schema": "perfline.roofline/1",
        "title": clean(title),
        "device": device.map(|it| roofs(it, &precisions)),
        "isDevice": devices.into_iter().any(|it| !it.arithmetic.is_empty()),
        "points": points.iter().map(|it| it.described(recording, device)).collect::<Vec<_>>(),
        "leftOut": {"lines": more_lines, "kernels": more_kernels},
    }))
}

/// What a device can do at most, in the precisions that points have.
fn roofs(device: &DeviceOverview, precisions: &BTreeSet<Precision>) -> Value {
    let peak = device.peak.unwrap_or_default();
    let peaks = precisions.iter().filter_map(|&it| Some((it, peak.flops(it)?)));
    let peaks = peaks.map(|(it, flops)| json!({"precision": it.name(), "flops": flops}));
    json!({
        "name": clean(&device.name),
        "bandwidth": peak.bandwidth,
        "peaks": peaks.collect::<Vec<_>>(),
    })
}

fn lines<'a>(recording: &'a Recording<'_>) -> Vec<Point<'a>> {
    let lines = recording.run.merged.lines.iter();
    let points = lines.flat_map(|(key, it)| {
        let name = recording.place(key).to_string();
        it.arithmetic.iter().map(move |(&precision, &work)| Point {
            name: name.clone(),
            line: key,
            is_kernel: false,
            precision,
            work,
        })
    });
    points.collect()
}

fn kernels<'a>(recording: &'a Recording<'_>) -> Vec<Point<'a>> {
    let mut kernels: BTreeMap<(&str, Precision), KernelArithmetic<'_>> = BTreeMap::new();
    for (line, books) in &recording.run.merged.lines {
        let mut of_line: BTreeMap<(&str, Precision), Arithmetic> = BTreeMap::new();
        for (key, kernel) in &books.kernel_table {
            for (&precision, work) in &kernel.arithmetic {
                of_line.entry((&key.name, precision)).or_default().merge(work);
            }
        }
        for (key, work) in of_line {
            let kernel = kernels.entry(key).or_insert_with(|| KernelArithmetic {
                work: Arithmetic::default(),
                longest: (line, Arithmetic::default()),
            });
            kernel.work.merge(&work);
            if kernel.longest.1.time < work.time {
                kernel.longest = (line, work);
            }
        }
    }
    let points = kernels.into_iter().map(|((name, precision), it)| Point {
        name: ledger::shorten_kernel_name(name),
        line: it.longest.0,
        is_kernel: true,
        precision,
        work: it.work,
    });
    points.collect()
}

/// The points with most time that can be drawn, and how many more there are.
fn longest(mut points: Vec<Point<'_>>, most: usize) -> (Vec<Point<'_>>, usize) {
    points.retain(|it| it.work.rate().is_some() && it.work.intensity().is_some());
    points.sort_by_key(|it| std::cmp::Reverse(it.work.time));
    let left_out = points.len().saturating_sub(most);
    points.truncate(most);
    (points, left_out)
}

impl Point<'_> {
    fn described(&self, recording: &Recording<'_>, device: Option<&DeviceOverview>) -> Value {
        let Self { work, precision, .. } = self;
        let peak = device.and_then(|it| it.peak);
        let of_roof = peak.as_ref().and_then(|it| work.roof_share(*precision, it));
        let bound = peak.as_ref().and_then(|it| work.bound(*precision, it));
        json!({
            "of": if self.is_kernel { "kernel" } else { "line" },
            "name": clean(&self.name),
            "place": {"file": clean(recording.file(&self.line.file)), "line": self.line.line},
            "precision": precision.name(),
            "operators": work.operators,
            "flops": work.flops,
            "bytes": work.bytes.0,
            "time": work.time.0,
            "intensity": work.intensity(),
            "rate": work.rate(),
            "ofRoof": of_roof,
            "bound": bound.map(|it| it.name()),
        })
    }
}

#[cfg(test)]
mod tests {
    use ledger::{Bytes, Kernel, KernelKey, Ns};

    use super::*;
    use crate::testing::{recording, sources, training};

    fn work(flops: u64, time: i64, bytes: i64) -> BTreeMap<Precision, Arithmetic> {
        let work = Arithmetic { operators: 2, flops, time: Ns(time), bytes: Bytes(bytes) };
        BTreeMap::from([(Precision::F16, work)])
    }

    #[test]
    fn lines_and_kernels_are_below_the_roof() {
        let mut run = training();
        let mut add = |line: u32, time: i64| {
            let key = run.merged.lines.keys().find(|it| it.line == line).unwrap().clone();
            let kernel =
                KernelKey { name: "gemm<128, 64>".to_owned(), grid: [1; 3], block: [1; 3] };
            let arithmetic = work(300, time, 100);
            let kernel = (kernel, Kernel { arithmetic, ..Kernel::default() });
            run.merged.lines.get_mut(&key).unwrap().kernel_table = [kernel].into();
        };
        add(17, 10);
        add(18, 30);
        let sources = sources();
        let drawn = roofline(&recording(&run, &sources), "run", RooflineSize::PAGE).unwrap();
        assert_eq!(
            drawn["device"],
            json!({
                "name": "",
                "bandwidth": 1_000_000_000,
                "peaks": [{"precision": "f16", "flops": 30_000_000_000_u64}],
            })
        );
        let [line, kernel] = [0, 1].map(|it| &drawn["points"][it]);
        assert_eq!(line["name"], "train.py:17");
        assert_eq!(line["place"], json!({"file": "train.py", "line": 17}));
        assert_eq!((line["rate"].as_f64(), line["intensity"].as_f64()), (Some(3e9), Some(100.0)));
        // 100 FLOPs per byte at 1 GB/s would be 100 GFLOP/s: the peak of 30 is the roof.
        assert_eq!((line["ofRoof"].as_f64(), &line["bound"]), (Some(0.1), &json!("compute")));
        assert_eq!((&kernel["of"], &kernel["name"]), (&json!("kernel"), &json!("gemm")));
        assert_eq!((&kernel["flops"], &kernel["time"]), (&json!(600), &json!(40)));
        assert_eq!(kernel["place"]["line"], 18, "the line that ran most of it");
        // 3 FLOPs per byte: memory allows 3 GFLOP/s, of which 15 are more than it could bring.
        assert_eq!((kernel["ofRoof"].as_f64(), &kernel["bound"]), (Some(5.0), &json!("memory")));
    }

    #[test]
    fn without_a_data_sheet_there_is_no_roof() {
        let mut run = training();
        for overview in run.merged.overviews.values_mut() {
            overview.devices.values_mut().for_each(|it| it.peak = None);
        }
        let sources = sources();
        let drawn = roofline(&recording(&run, &sources), "run", RooflineSize::PAGE).unwrap();
        assert_eq!((&drawn["device"], &drawn["points"][0]["ofRoof"]), (&Value::Null, &Value::Null));
        run.merged.lines.values_mut().for_each(|it| it.arithmetic.clear());
        assert_eq!(roofline(&recording(&run, &sources), "run", RooflineSize::PAGE), None);
    }

    #[test]
    fn of_many_points_those_with_most_time_are_drawn() {
        let mut run = training();
        for (time, books) in (1..).zip(run.merged.lines.values_mut()) {
            books.arithmetic = work(1, time, 1);
        }
        let n = run.merged.lines.len();
        let sources = sources();
        let drawn = roofline(&recording(&run, &sources), "run", RooflineSize(2)).unwrap();
        assert_eq!(drawn["points"][0]["time"], n);
        assert_eq!(drawn["leftOut"], json!({"lines": n - 2, "kernels": 0}));
    }
}
