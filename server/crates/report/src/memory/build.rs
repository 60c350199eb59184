//! From a recording to what holds its device memory.

use device_memory::HolderPhase;
use insights::Detail;
use ledger::{
    Bytes, CategoryMemory, DeviceKey, DeviceMemory, LineKey, LineMemory, MemoryPurpose,
    MemoryPurposes, OutOfMemory, Phase,
};
use metrics::numbers::count;
use metrics::{Period, Scale};
use profile::WarningKind;

use super::model::{MemoryPart, MemoryReport};
use super::ranking::ranked;
use crate::findings::findings;
use crate::memory_timeline::without_line;
use crate::model::{
    Cell, Column, Level, Note, Place, Section, Subject, Summary, Unit, bytes, duration,
};
use crate::recording::Recording;
use crate::summary;
use crate::suppression::Suppression;
use crate::terminal::cut_left;

/// Columns that a path may take.
const MAX_PATH: usize = 44;

/// The memory of every device, and the findings about it that there are by `rules`. `top` lines of each device are listed.
#[must_use]
pub fn build<'a>(
    recording: &Recording<'a>,
    top: usize,
    rules: &insights::RuleOptions,
) -> MemoryReport<'a> {
    let run = recording.run;
    let whole = summary::summary(run, &Scale::new(&run.merged, Period::Mean));
    let mut notes = Vec::new();
    if run.merged.memory.is_empty() && run.merged.categories.is_empty() {
        notes.push(Note::plain(
            "no memory snapshot among the inputs; record one with torch.cuda.memory._record_memory_history() and \
             torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")",
        ));
    }
    let warnings = run.inputs.iter().flat_map(|it| &it.warnings);
    let mismatches = warnings.filter(|it| it.kind == WarningKind::SnapshotMismatch);
    notes.extend(mismatches.map(|it| Note::doubt(&*it.message)));
    let builder = MemoryReportBuilder { recording, n_ranks: run.ranks.len(), top };
    let devices = run.merged.memory.iter().flat_map(|(&key, memory)| {
        let failed = memory.out_of_memory.iter().map(|it| builder.out_of_memory(it));
        std::iter::once(builder.device(key, memory)).chain(failed)
    });
    let categories =
        run.merged.categories.iter().map(|(&rank, memory)| builder.categories(rank, memory));
    let is_of_memory = |it: &insights::Finding| matches!(it.detail, Detail::Memory(_));
    let suppression = Suppression::new(recording);
    let mut findings =
        findings(recording, &recording.run.merged, rules, &suppression, is_of_memory);
    for finding in &mut findings {
        finding.place = shortened(&finding.place);
    }
    MemoryReport {
        summary: Summary { notes, ..whole },
        parts: devices.chain(categories).collect(),
        findings,
    }
}

/// A place whose text is no longer than a path may be.
fn shortened(place: &Place) -> Place {
    let width = MAX_PATH.saturating_sub(place.line.to_string().len() + 1);
    Place { file: cut_left(&place.file, Some(width)), line: place.line }
}

struct MemoryReportBuilder<'r, 'a> {
    recording: &'r Recording<'a>,
    n_ranks: usize,
    top: usize,
}

impl<'a> MemoryReportBuilder<'_, 'a> {
    /// `model.py:54`.
    fn place(&self, line: &LineKey) -> Cell {
        let place = self.recording.place(line);
        Cell { text: shortened(&place).to_string(), ..Cell::place(place) }
    }

    fn device(&self, key: DeviceKey, memory: &'a DeviceMemory) -> MemoryPart<'a> {
        let mut notes = vec![Note::plain(state(memory))];
        notes.extend(memory.purposes.as_ref().map(|it| Note::plain(purposes(it, memory))));
        if memory.is_history_cut {
            notes.push(Note::doubt(
                "the oldest events were dropped (max_entries): what they held is on its line, but its allocation is \
                 not in the curve; record with a larger max_entries",
            ));
        }
        MemoryPart {
            title: metrics::device_name(key, 1 < self.n_ranks),
            extent: format!(" · peak {}{}", bytes(memory.peak), when(memory)),
            level: Level::Plain,
            notes,
            curve: Some(memory),
            table: self.holders_at_peak(memory),
            // The peak, its share, and where.
            n_needed: 4,
        }
    }

    fn holders_at_peak(&self, memory: &DeviceMemory) -> Section {
        let head = [
            Column::number("peak", Unit::Bytes),
            Column::number("share", Unit::Share),
            Column::text("line"),
            Column::text("function"),
            Column::number("tensors", Unit::Count),
            Column::number("end", Unit::Bytes),
            Column::number("alloc", Unit::Bytes),
            Column::number("allocs", Unit::Count),
            Column::number("largest", Unit::Bytes),
            Column::number("lifetime", Unit::Ns),
            Column::number("saved", Unit::Bytes),
            Column::text("phase"),
        ];
        let mut section = Section::new("peak", "Peak", Subject::Lines, head);
        let lines = ranked(memory);
        for (line, it) in lines.iter().take(self.top) {
            section.rows.push(self.row(memory, line, it));
        }
        let mut add = |at_peak: Bytes, what: &str| {
            if at_peak > Bytes::ZERO {
                let share = Cell::part(at_peak, memory.peak.max(Bytes(1)));
                let mut row = vec![Cell::bytes(at_peak), share, Cell::text(what)];
                row.resize(section.columns.len(), Cell::default());
                section.rows.push(row);
            }
        };
        let rest = lines.get(self.top..).unwrap_or_default();
        let rest_at_peak = rest.iter().map(|(_, it)| it.peak).sum();
        add(
            rest_at_peak,
            &format!("{} more {}", rest.len(), if rest.len() == 1 { "line" } else { "lines" }),
        );
        add(memory.before_at_peak, without_line(HolderPhase::Before));
        let no_line = memory.unattributed_peak - memory.before_at_peak;
        let on_lines = |phase| -> Bytes {
            memory.lines.values().filter_map(|it| it.peak_by_phase.get(&phase)).sum()
        };
        let backward = memory.peak_by_phase.get(&Phase::Backward).copied().unwrap_or(Bytes::ZERO)
            - on_lines(Phase::Backward);
        add(backward, without_line(HolderPhase::In(Phase::Backward)));
        let is_unknown = memory.has_no_addresses;
        let rest = if is_unknown {
            "not recorded in the trace"
        } else {
            without_line(HolderPhase::In(Phase::Forward))
        };
        add(no_line - backward, rest);
        section
    }

    fn row(&self, memory: &DeviceMemory, line: &LineKey, it: &LineMemory) -> Vec<Cell> {
        let size = |size: Bytes| Cell::bytes(size).unless_zero();
        let number = |number: u64| Cell::count(number as f64).unless_zero();
        let lifetime = i64::try_from(it.timed_frees).ok().filter(|&frees| 0 < frees);
        vec![
            size(it.peak),
            Cell::part(it.peak, memory.peak.max(Bytes(1))),
            self.place(line),
            Cell::text(&it.function),
            number(it.peak_allocs),
            size(it.live),
            size(it.alloc),
            number(it.allocs),
            size(it.largest),
            lifetime.map_or_else(Cell::default, |frees| Cell::duration(it.lifetime / frees)),
            size(it.saved),
            Cell::text(phase(it)),
        ]
    }

    /// What an exported timeline shows.
    fn categories(&self, rank: u32, memory: &CategoryMemory) -> MemoryPart<'a> {
        let of = if 1 < self.n_ranks { format!(" of rank {rank}") } else { String::new() };
        let columns = [
            Column::number("peak", Unit::Bytes),
            Column::number("share", Unit::Share),
            Column::number("most", Unit::Bytes),
            Column::number("end", Unit::Bytes),
            Column::text("category"),
        ];
        let mut section = Section::new("categories", "By category", Subject::Run, columns);
        let mut order: Vec<usize> = (0..CategoryMemory::NAMES.len()).collect();
        order.sort_by_key(|&of| std::cmp::Reverse((memory.at_peak[of], memory.most[of])));
        let size = |size: Bytes| Cell::bytes(size).unless_zero();
        for of in order.into_iter().filter(|&of| memory.most[of] != Bytes::ZERO) {
            section.rows.push(vec![
                size(memory.at_peak[of]),
                Cell::part(memory.at_peak[of], memory.peak.max(Bytes(1))),
                size(memory.most[of]),
                size(memory.at_end[of]),
                Cell::text(CategoryMemory::NAMES[of].replace('_', " ")),
            ]);
        }
        MemoryPart {
            title: format!("by category{of}"),
            extent: format!(" · peak {} after {}", bytes(memory.peak), duration(memory.peak_at)),
            level: Level::Plain,
            notes: Vec::new(),
            curve: None,
            n_needed: section.columns.len(),
            table: section,
        }
    }

    /// What was asked for, what there was, who held the rest, and what would have made room.
    fn out_of_memory(&self, it: &OutOfMemory) -> MemoryPart<'a> {
        let by = it.line.as_ref().map(|line| format!(" by {}", self.place(line).text));
        let title = format!(
            "out of memory: {} asked for{} after event {}",
            bytes(it.requested),
            by.unwrap_or_default(),
            it.moment.event,
        );
        let free = it.reserved - it.active - it.free_elsewhere;
        let mut notes = vec![Note::plain(format!(
            "{} left on the device, {} reserved and free (largest piece {}), {} in use",
            bytes(it.device_free),
            bytes(free),
            bytes(it.largest_free),
            bytes(it.active)
        ))];
        if Bytes::ZERO < it.free_elsewhere {
            notes.push(Note::plain(format!(
                "{} more are free, but serve other streams or private pools alone",
                bytes(it.free_elsewhere)
            )));
        }
        let missing = it.requested - it.device_free.max(Bytes::ZERO) - free;
        notes.push(Note::plain(if missing <= Bytes::ZERO {
            "enough memory was free, but in pieces: expandable_segments:True or less fragmentation would have served it".to_owned()
        } else {
            format!("{} were missing; lines that held at least that much are marked", bytes(missing))
        }));
        let columns = [
            Column::number("held", Unit::Bytes),
            Column::number("tensors", Unit::Count),
            Column::text(""),
            Column::text("line"),
        ];
        let mut section = Section::new("holders", "Holders", Subject::Lines, columns);
        for (line, held) in &it.holders {
            let mark = if Bytes::ZERO < missing && missing <= held.bytes { "enough" } else { "" };
            section.rows.push(vec![
                Cell::bytes(held.bytes),
                Cell::count(held.allocs as f64),
                Cell::text(mark),
                self.place(line),
            ]);
        }
        if Bytes::ZERO < it.unattributed {
            let cells = [Cell::default(), Cell::default(), Cell::text("without a line")];
            section.rows.push([Cell::bytes(it.unattributed)].into_iter().chain(cells).collect());
        }
        MemoryPart {
            title,
            extent: String::new(),
            level: Level::Alarm,
            notes,
            curve: None,
            n_needed: section.columns.len(),
            table: section,
        }
    }
}

/// What the memory in use is for.
fn purposes(it: &MemoryPurposes, memory: &DeviceMemory) -> String {
    let name = |purpose| match purpose {
        MemoryPurpose::Parameter => "parameters",
        MemoryPurpose::Gradient => "gradients",
        MemoryPurpose::OptimizerState => "optimizer state",
        MemoryPurpose::Buffer => "buffers",
        MemoryPurpose::Activation => "activations",
        MemoryPurpose::Other => "other",
    };
    let parts: Vec<String> = it
        .bytes
        .iter()
        .map(|(&purpose, &amount)| format!("{} {}", name(purpose), bytes(amount)))
        .collect();
    let sum: Bytes = it.bytes.values().sum();
    let moment = if it.moment == memory.peak_moment {
        "at the peak".to_owned()
    } else {
        format!("{} in use at the highest moment of the last step", bytes(sum))
    };
    format!("{moment}: {}", parts.join(" · "))
}

/// When the peak was.
fn when(memory: &DeviceMemory) -> String {
    let it = &memory.peak_moment;
    if it.event == 0 && memory.lines.values().all(|line| line.frees == 0) {
        return " · no history, only the state at the end".to_owned();
    }
    let mut text = match it.at {
        Some(at) => format!(" after {}", duration(at)),
        None => String::new(),
    };
    text += &format!(" (event {} of {})", it.event, memory.events);
    if let Some(step) = it.step.and_then(|step| memory.steps.get(step as usize)) {
        text += &format!(", in {}", step.name);
    }
    let of_step = it.step.and_then(|step| memory.steps.get(step as usize)).map(|step| &step.name);
    for name in it.annotations.iter().filter(|name| Some(*name) != of_step) {
        text += &format!(", in {name}");
    }
    text
}

/// What was reserved, and what is left at the end.
fn state(memory: &DeviceMemory) -> String {
    let cut = &memory.fragmentation;
    let mut text = String::new();
    if Bytes::ZERO < memory.reserved_peak {
        text += &format!("reserved {}", bytes(memory.reserved_peak));
    }
    if memory.reserved != memory.reserved_peak {
        text += &format!(" at most, {} at the end", bytes(memory.reserved));
    }
    if 0 < cut.segments {
        text += &format!(" in {}", plural(cut.segments, "segment"));
    }
    text += if text.is_empty() { "" } else { " · " };
    text += &format!("{} in use at the end", bytes(memory.end));
    if Bytes::ZERO < cut.free {
        text += &format!(", {} free (largest piece {})", bytes(cut.free), bytes(cut.largest_free));
    }
    if 0 < memory.segments.allocs + memory.segments.frees {
        text += &format!(
            " · {} cudaMalloc, {} cudaFree",
            count(memory.segments.allocs as f64),
            count(memory.segments.frees as f64)
        );
    }
    text
}

/// The phases of a line's allocations, the largest first; only the forward pass needs no word.
fn phase(it: &LineMemory) -> String {
    let mut phases: Vec<_> =
        it.alloc_by_phase.iter().filter(|(_, bytes)| **bytes > Bytes::ZERO).collect();
    if let [(Phase::Forward, _)] = phases[..] {
        return String::new();
    }
    phases.sort_by_key(|&(phase, &bytes)| (std::cmp::Reverse(bytes), phase));
    phases.iter().map(|(phase, _)| phase.name()).collect::<Vec<_>>().join(" + ")
}

/// `1 segment`, `2 segments`.
fn plural(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number as f64), if number == 1 { "" } else { "s" })
}
