//! What hovers say about device memory.

use ledger::{Bytes, DeviceKey, DeviceMemory, LineKey, LineMemory, Phase};
use metrics::numbers::{bytes, duration, percent};

use crate::place::{Placed, PlacedSource, base_name};
use crate::sections::{LineSection, RichText};

/// A device in words, with its rank where that is not the first.
pub(crate) fn device_name(device: DeviceKey) -> String {
    metrics::device_name(device, device.rank != 0)
}

/// Frames of a stack that are shown.
const MAX_FRAMES: usize = 8;

/// The section of a hover about the memory of devices: share of the peak, what the bytes are for, and the stack.
pub(crate) fn device_memory(source: &PlacedSource<'_>, placed: &Placed<'_>) -> Vec<LineSection> {
    let line = LineKey { file: source.key.to_owned(), line: placed.recorded };
    let devices = source.ledger.memory.iter();
    let sections = devices.filter_map(|(&key, memory)| {
        let it = memory.lines.get(&line)?;
        Some([of_device(key, memory, it), stack(it)])
    });
    sections.flatten().flatten().map(LineSection::Text).collect()
}

fn of_device(key: DeviceKey, memory: &DeviceMemory, it: &LineMemory) -> Option<RichText> {
    let size = |size: Bytes| bytes(size.as_f64());
    let mut parts = Vec::new();
    if it.peak > Bytes::ZERO {
        let share = it.peak.as_f64() / memory.peak.max(Bytes(1)).as_f64();
        parts.push(format!("{} of the peak of {}", percent(share), size(memory.peak)));
    }
    if it.saved > Bytes::ZERO {
        parts.push(format!("{} saved for the backward pass", size(it.saved)));
    }
    for phase in [Phase::Backward, Phase::Optimizer] {
        if let Some(&amount) = it.alloc_by_phase.get(&phase).filter(|&&amount| amount > Bytes::ZERO)
        {
            parts.push(format!("{} allocated by the {}", size(amount), in_words(phase)));
        }
    }
    if it.largest > Bytes::ZERO {
        parts.push(format!("largest {}", size(it.largest)));
    }
    if let Some(frees) = i64::try_from(it.timed_frees).ok().filter(|&frees| 0 < frees) {
        parts.push(format!("{} until released", duration((it.lifetime / frees).as_f64())));
    }
    if it.rounding > Bytes::ZERO {
        parts.push(format!("{} lost to rounding", size(it.rounding)));
    }
    (!parts.is_empty()).then(|| {
        let device = RichText::words("Memory of ").and_code(&device_name(key));
        device.and(format!(": {}.", parts.join(" · ")))
    })
}

fn in_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Forward => "forward pass",
        Phase::Backward => "backward pass",
        Phase::Optimizer => "optimizer",
    }
}

/// The stack with the most bytes, from the line outwards.
fn stack(it: &LineMemory) -> Option<RichText> {
    if it.stack.len() < 2 {
        return None;
    }
    let frames = it.stack.iter().rev().take(MAX_FRAMES).map(|frame| {
        let place = format!("{}:{}", base_name(&frame.line.file), frame.line.line);
        RichText::default().and_verbatim(place).and(" ").and_code(&frame.function)
    });
    let more = if MAX_FRAMES < it.stack.len() { " ← …" } else { "" };
    Some(RichText::words("Most bytes by: ").and_text(RichText::joined(frames, " ← ")).and(more))
}

#[cfg(test)]
mod tests {
    use ledger::{Ns, StackLine};

    use super::*;

    const MIB: i64 = 1 << 20;

    fn line(line: u32) -> LineKey {
        LineKey { file: "src/train.py".to_owned(), line }
    }

    #[test]
    fn a_hover_shows_the_share_of_the_peak_and_the_stack() {
        let memory = DeviceMemory { peak: Bytes(40 * MIB), ..DeviceMemory::default() };
        let frame =
            |at: u32, function: &str| StackLine { line: line(at), function: function.to_owned() };
        let it = LineMemory {
            peak: Bytes(10 * MIB),
            largest: Bytes(3 * MIB),
            saved: Bytes(4 * MIB),
            lifetime: Ns(6_000_000),
            timed_frees: 2,
            alloc_by_phase: [(Phase::Forward, Bytes(10 * MIB)), (Phase::Optimizer, Bytes(MIB))]
                .into(),
            stack: vec![frame(60, "<module>"), frame(7, "forward")],
            ..LineMemory::default()
        };
        assert_eq!(
            of_device(DeviceKey { rank: 0, device: 1 }, &memory, &it).unwrap().plain(),
            "Memory of cuda:1: 25 % of the peak of 40 MiB · 4 MiB saved for the backward pass · 1 MiB allocated by the optimizer · largest 3 MiB · 3 ms until released."
        );
        assert_eq!(
            stack(&it).unwrap().plain(),
            "Most bytes by: train.py:7 forward ← train.py:60 <module>"
        );
    }
}
