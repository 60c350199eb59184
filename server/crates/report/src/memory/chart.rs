//! Memory over time in characters.

use ledger::{Bytes, DeviceMemory, Ns};

use crate::model::{bytes, duration};
use crate::terminal::{columns, right};

/// Rows of the curve.
const ROWS: usize = 6;

/// Columns where the output is no terminal.
const WIDTH: usize = 100;

/// Blocks of 0 to 8 eighths.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The bytes in use over time, with the peak marked; empty where nothing changes.
pub(super) fn lines(memory: &DeviceMemory, width: Option<usize>) -> Vec<String> {
    let changes = memory.timeline.windows(2).any(|pair| pair[0].active != pair[1].active);
    if !changes || memory.peak <= Bytes::ZERO {
        return Vec::new();
    }
    let top = bytes(memory.peak);
    let margin = columns(&top) + 1;
    let n_columns = width.unwrap_or(WIDTH).min(WIDTH).saturating_sub(margin + 3).max(8);
    let (curve, peak_column) = resampled(memory, n_columns);
    let mut lines: Vec<String> = (0..ROWS)
        .rev()
        .map(|row| {
            let label = if row == ROWS - 1 { top.as_str() } else { "" };
            let cells = curve.iter().map(|&bytes| EIGHTHS[eighths(bytes, memory.peak, row)]);
            let line = format!("{} │{}", right(label, margin - 1), cells.collect::<String>());
            line.trim_end().to_owned()
        })
        .collect();
    lines.push(format!("{} └{}", right("0", margin - 1), "─".repeat(n_columns)));
    lines.push(below(memory, margin, n_columns, peak_column));
    lines
}

/// Most bytes in use in each of `n` columns, and the column of the peak.
fn resampled(memory: &DeviceMemory, n: usize) -> (Vec<Bytes>, usize) {
    let samples = &memory.timeline;
    let curve: Vec<Bytes> = (0..n)
        .map(|column| {
            let first = column * samples.len() / n;
            let end = ((column + 1) * samples.len() / n).max(first + 1);
            let part = samples.get(first..end.min(samples.len())).unwrap_or_default();
            part.iter().map(|it| it.active).max().unwrap_or_default()
        })
        .collect();
    let peak = curve.iter().enumerate().max_by_key(|&(at, &it)| (it, std::cmp::Reverse(at)));
    let peak = peak.map_or(0, |(at, _)| at);
    (curve, peak)
}

/// How many eighths of a cell are filled in `row`, counted from below.
fn eighths(bytes: Bytes, top: Bytes, row: usize) -> usize {
    let filled = (bytes.as_f64() / top.as_f64() * (ROWS * 8) as f64).round() as usize;
    filled.saturating_sub(row * 8).min(8)
}

/// The scale of time, and where the peak is.
fn below(memory: &DeviceMemory, margin: usize, n_columns: usize, peak_column: usize) -> String {
    let end = match (memory.has_times, memory.timeline.as_slice()) {
        (true, [.., before, last]) => duration(Ns(last.at.saturating_add(last.at - before.at))),
        (true, [..]) => String::new(),
        (false, _) => format!("{} events", memory.events),
    };
    let mark = "▲ peak";
    let room = n_columns.saturating_sub(columns(&end) + columns(mark) + 1);
    let at = peak_column.min(room);
    let mark = if at < peak_column { "peak ▲" } else { mark };
    let at = if mark.ends_with('▲') { (peak_column + 1).saturating_sub(6).min(room) } else { at };
    let gap = n_columns.saturating_sub(at + columns(mark) + columns(&end));
    format!("{}{}{mark}{}{end}", " ".repeat(margin + 1), " ".repeat(at), " ".repeat(gap))
}
