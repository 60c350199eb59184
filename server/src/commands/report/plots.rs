//! The pictures of the page (SVG).

use ledger::{Breakdown, Interval, Ns};
use loader::Run;
use plotters::prelude::*;

use crate::numbers::duration;

/// Pixels across, and down for each bar, the axis and the legend.
const WIDTH: u32 = 960;
const BAR: u32 = 26;
const FRAME: u32 = 74;
/// As many bars can be told apart.
const MOST_BARS: usize = 32;

/// One colour for each part of [`Breakdown`]. They can be told apart on white and on black, and by people who see fewer colours.
const COLOURS: [RGBColor; 8] = [
    RGBColor(46, 134, 193),
    RGBColor(118, 68, 186),
    RGBColor(187, 143, 206),
    RGBColor(230, 126, 34),
    RGBColor(241, 196, 15),
    RGBColor(192, 57, 43),
    RGBColor(39, 174, 96),
    RGBColor(160, 166, 172),
];
const NAMES: [&str; 8] =
    ["kernel", "memcpy", "memset", "communication", "runtime", "data loader", "CPU ops", "other"];

/// What each step (of several ranks, each rank's mean step) went to, as bars; `None` without any.
///
/// # Errors
/// If the plot cannot be laid out.
pub(super) fn breakdown(run: &Run) -> Result<Option<String>, Box<dyn std::error::Error>> {
    let bars = bars(run);
    if bars.is_empty() {
        return Ok(None);
    }
    let mut text = String::new();
    let height = BAR * u32::try_from(bars.len())? + FRAME;
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        draw(&root, &bars)?;
        root.present()?;
    }
    Ok(Some(text))
}

/// Name, length and parts of each bar.
fn bars(run: &Run) -> Vec<(String, f64, Breakdown)> {
    let overviews: Vec<_> = run
        .ranks
        .iter()
        .flat_map(|rank| rank.ledger.overviews.iter())
        .filter(|(_, it)| it.run.time != 0)
        .collect();
    let bar = |name: String, it: &Interval, number: usize| {
        (name, it.time as f64 / number as f64, it.breakdown)
    };
    match overviews.as_slice() {
        [(_, it)] if (1..=MOST_BARS).contains(&it.steps.len()) => {
            it.steps.iter().map(|(step, it)| bar(format!("step {step}"), it, 1)).collect()
        }
        several => several
            .iter()
            .take(MOST_BARS)
            .map(|(rank, it)| bar(format!("rank {rank}"), &it.run, it.steps.len().max(1)))
            .collect(),
    }
}

fn draw(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    bars: &[(String, f64, Breakdown)],
) -> Result<(), Box<dyn std::error::Error>> {
    let longest = bars.iter().map(|(_, time, _)| *time).fold(1.0, f64::max);
    let rows = bars.len() as f64;
    let mut chart = ChartBuilder::on(root)
        .margin_top(34)
        .margin_right(24)
        .x_label_area_size(30)
        .y_label_area_size(74)
        .build_cartesian_2d(0.0..longest * 1.02, rows..0.0)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .disable_y_axis()
        .x_label_formatter(&|at| duration(*at as Ns))
        .label_style(("sans-serif", 13))
        .y_labels(0)
        .draw()?;
    for (row, (name, time, parts)) in bars.iter().enumerate() {
        let (top, bottom) = (row as f64 + 0.14, row as f64 + 0.86);
        let whole: Ns = parts.parts().iter().map(|(_, part)| part).sum();
        let mut start = 0.0;
        for ((_, part), colour) in parts.parts().into_iter().zip(COLOURS) {
            let end = start + time * part as f64 / whole.max(1) as f64;
            if start < end {
                chart.draw_series([Rectangle::new(
                    [(start, top), (end, bottom)],
                    colour.filled(),
                )])?;
            }
            start = end;
        }
        let (left, middle) = chart.backend_coord(&(0.0, row as f64 + 0.5));
        let style = ("sans-serif", 13).into_font().color(&BLACK);
        let at = plotters::style::text_anchor::Pos::new(
            plotters::style::text_anchor::HPos::Right,
            plotters::style::text_anchor::VPos::Center,
        );
        root.draw(&Text::new(name.clone(), (left - 8, middle), style.pos(at)))?;
    }
    legend(root, bars)
}

/// The parts that there are, above the bars.
fn legend(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    bars: &[(String, f64, Breakdown)],
) -> Result<(), Box<dyn std::error::Error>> {
    let mut left = 74;
    for (index, (name, colour)) in NAMES.into_iter().zip(COLOURS).enumerate() {
        if bars.iter().all(|(.., parts)| parts.parts()[index].1 == 0) {
            continue;
        }
        root.draw(&Rectangle::new([(left, 9), (left + 12, 21)], colour.filled()))?;
        let style = ("sans-serif", 13).into_font().color(&BLACK);
        root.draw(&Text::new(name, (left + 17, 9), style))?;
        left += 30 + 7 * i32::try_from(name.len())?;
    }
    Ok(())
}
