//! What steps went to, as bars (SVG).

use ledger::Ns;

use metrics::numbers::duration;
use plotters::prelude::*;

use super::plot_error::PlotError;
use crate::model::Bar;

/// Pixels across, and down for each bar, the axis and the legend.
const WIDTH: u32 = 960;
const BAR: u32 = 26;
const FRAME: u32 = 74;

/// One colour for each part. They can be distinguished on white and on black, and by people who see fewer colours.
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

/// The bars, one below the other, with a legend of their parts.
///
/// # Errors
/// If the plot cannot be laid out.
pub(super) fn draw(bars: &[Bar]) -> Result<String, PlotError> {
    let mut text = String::new();
    let height = BAR * u32::try_from(bars.len())? + FRAME;
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        plot(&root, bars)?;
        root.present()?;
    }
    Ok(text)
}

fn plot(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    bars: &[Bar],
) -> Result<(), PlotError> {
    let longest = bars.iter().map(|it| it.length).fold(1.0, f64::max);
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
        .x_label_formatter(&|at| duration(at.trunc()))
        .label_style(("sans-serif", 13))
        .y_labels(0)
        .draw()?;
    for (row, bar) in bars.iter().enumerate() {
        let (top, bottom) = (row as f64 + 0.14, row as f64 + 0.86);
        let whole: Ns = bar.parts.iter().map(|(_, part)| part).sum();
        let mut start = 0.0;
        for (&(_, part), colour) in bar.parts.iter().zip(COLOURS) {
            let end = start + bar.length * part.as_f64() / whole.max(Ns(1)).as_f64();
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
        root.draw(&Text::new(bar.name.clone(), (left - 8, middle), style.pos(at)))?;
    }
    legend(root, bars)
}

/// The parts that there are, above the bars.
fn legend(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    bars: &[Bar],
) -> Result<(), PlotError> {
    let mut left = 74;
    let parts = bars.first().map(|it| it.parts.as_slice()).unwrap_or_default();
    for (index, (&(name, _), colour)) in parts.iter().zip(COLOURS).enumerate() {
        if bars.iter().all(|it| it.parts.get(index).is_none_or(|(_, part)| *part == Ns::ZERO)) {
            continue;
        }
        root.draw(&Rectangle::new([(left, 9), (left + 12, 21)], colour.filled()))?;
        let style = ("sans-serif", 13).into_font().color(&BLACK);
        root.draw(&Text::new(name, (left + 17, 9), style))?;
        left += 30 + 7 * i32::try_from(name.len())?;
    }
    Ok(())
}
