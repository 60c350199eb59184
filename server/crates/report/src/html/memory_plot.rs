//! Memory over time as a picture (SVG).

use ledger::{Bytes, DeviceMemory, Ledger};
use metrics::device_name;
use metrics::numbers::{bytes, duration};
use plotters::prelude::*;

use super::plot_error::PlotError;

/// Pixels of the picture of one device.
const SIZE: (u32, u32) = (960, 340);

const ACTIVE: RGBColor = RGBColor(66, 113, 174);
const RESERVED: RGBColor = RGBColor(140, 140, 140);
const PEAK: RGBColor = RGBColor(196, 60, 57);

/// One plot for each device, one below the other: bytes in use as an area, reserved bytes as a line, the peak marked.
///
/// # Errors
/// If a plot cannot be laid out.
pub fn draw(ledger: &Ledger) -> Result<String, PlotError> {
    let mut text = String::new();
    let n = u32::try_from(ledger.memory.len().max(1))?;
    {
        let root = SVGBackend::with_string(&mut text, (SIZE.0, SIZE.1 * n)).into_drawing_area();
        root.fill(&WHITE)?;
        for (area, (key, memory)) in root.split_evenly((n as usize, 1)).iter().zip(&ledger.memory) {
            plot(area, &device_name(*key, 1 < ledger.ranks), memory)?;
        }
        root.present()?;
    }
    Ok(text)
}

fn plot(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    name: &str,
    memory: &DeviceMemory,
) -> Result<(), PlotError> {
    let end = memory.timeline.last().map_or(1, |it| it.at.max(1)) as f64;
    let most = memory.peak.max(memory.reserved_peak).max(Bytes(1)).as_f64();
    // Round numbers on the axis are round in the unit that is shown, not in bytes.
    let unit = 1024_f64.powf(most.log(1024.0).floor());
    let top = most / unit * 1.05;
    let title = format!(
        "{name} · peak {} · reserved {}",
        bytes(memory.peak.as_f64()),
        bytes(memory.reserved_peak.as_f64())
    );
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 17))
        .margin(12)
        .x_label_area_size(32)
        .y_label_area_size(84)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&|at| {
            if memory.has_times { duration(at.trunc()) } else { format!("{at:.0}") }
        })
        .y_label_formatter(&|size| bytes((*size * unit).trunc()))
        .y_labels(6)
        .draw()?;
    let points = |of: fn(&ledger::Sample) -> Bytes| {
        memory.timeline.iter().map(move |it| (it.at as f64, of(it).as_f64() / unit))
    };
    chart.draw_series(
        AreaSeries::new(points(|it| it.active), 0.0, ACTIVE.mix(0.35)).border_style(ACTIVE),
    )?;
    chart.draw_series(LineSeries::new(points(|it| it.reserved), RESERVED.stroke_width(2)))?;
    for step in &memory.steps {
        let line = vec![(step.at as f64, 0.0), (step.at as f64, top)];
        chart.draw_series(LineSeries::new(line, RESERVED.mix(0.5)))?;
    }
    let highest = memory.timeline.iter().max_by_key(|it| (it.active, std::cmp::Reverse(it.at)));
    if let Some(it) = highest {
        let place = (it.at as f64, memory.peak.as_f64() / unit);
        chart.draw_series([Circle::new(place, 4, PEAK.filled())])?;
    }
    Ok(())
}
