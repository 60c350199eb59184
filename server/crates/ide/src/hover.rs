//! Everything that is known about a line.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use insights::Finding;
use ledger::{Evidence, Kernel, KernelKey, LineKey, Metric as Book, Ns, Operator};
use metrics::numbers::{bytes, count, duration, percent};
use metrics::{Period, Quantity, StepSpread};
use ranks::CriticalPath;

use crate::baseline::sign;
use crate::by_rank::ranks;
use crate::callees::{CalleeGroup, callee_groups};
use crate::critical_path;
use crate::diagnostics;
use crate::generated;
use crate::kernel_rows::{NamedKernel, class_title, named_kernels, occupancy};
use crate::lenses::Totals;
use crate::line_name::line_name;
use crate::memory::device_memory;
use crate::place::{Placed, PlacedSource, base_name, is_def, lines_of};
use crate::scale::ViewScale;
use crate::sections::{LineSection, RichText, as_markdown, as_plain_text, paragraph, table};
use crate::status::attributed;
use crate::triton::TritonKernel;
use crate::view::{View, ViewMetric};
use ledger::shorten_kernel_name;

/// Rows of a table at most.
const MAX_ROWS: usize = 6;

/// Other lines in a sentence at most.
const MAX_OTHER_LINES: usize = 3;

/// Sets of lines that are equally good, at most.
const MAX_READINGS: usize = 3;

/// What is known about a line, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hover {
    /// 1-based line.
    pub line: u32,
    /// Byte offset of its first character.
    pub start: usize,
    /// Byte offset of its end.
    pub end: usize,
    /// What is known.
    pub text: HoverText,
}

/// Sections, to be shown as Markdown or as plain text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoverText(pub Vec<LineSection>);

impl HoverText {
    /// As Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        as_markdown(&self.0)
    }

    /// As plain text.
    #[must_use]
    pub fn plain(&self) -> String {
        as_plain_text(&self.0)
    }
}

/// What is known of the whole run and says something of single lines.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunKnowledge<'a> {
    /// What the rules found.
    pub findings: &'a [Finding],
    /// What had to be done before the steps could end, where it is known.
    pub path: Option<&'a CriticalPath>,
}

/// What is known about `line`, with what is known of the run; `None` where nothing was charged to it.
#[must_use]
pub fn hover(
    source: &PlacedSource<'_>,
    view: &View,
    run: RunKnowledge<'_>,
    line: u32,
) -> Option<Hover> {
    let scale = ViewScale::new(source.ledger, view);
    let sections = match source.at(line) {
        Some(placed) => of_line(source, &scale, run, &placed),
        None => of_function(source, &scale, line)?,
    };
    let range = source.index.line_range(line)?;
    let text = source.text.get(range.clone())?;
    let start = range.start + (text.len() - text.trim_start().len());
    Some(Hover {
        line,
        start,
        end: start.max(range.start + text.trim_end().len()),
        text: HoverText(sections),
    })
}

/// The most important part, for the tooltip of a hint.
pub(crate) fn summary(
    source: &PlacedSource<'_>,
    scale: &ViewScale<'_>,
    placed: &Placed<'_>,
) -> HoverText {
    let sections = [
        Some(title(source, placed)),
        so_far(scale),
        part(scale),
        metrics(scale, placed),
        passes(scale, placed),
        compared(source, scale, placed),
    ];
    let sections = sections.into_iter().flatten().chain([evidence(source, placed)]);
    HoverText(sections.collect())
}

/// All that is known of a line.
pub(crate) fn of_line(
    source: &PlacedSource<'_>,
    scale: &ViewScale<'_>,
    run: RunKnowledge<'_>,
    placed: &Placed<'_>,
) -> Vec<LineSection> {
    let mut sections = vec![title(source, placed)];
    sections.extend(so_far(scale));
    sections.extend(part(scale));
    sections.extend(metrics(scale, placed));
    sections.extend(passes(scale, placed));
    sections.extend(compared(source, scale, placed));
    sections.extend(ranks(scale, &placed.books));
    sections.extend(steps(scale, placed));
    sections.extend(waits(source, scale, placed));
    sections.extend(replays(source, scale, placed));
    sections.extend(generated::section(source, scale, placed));
    sections.extend(findings(source, run.findings, placed));
    sections.extend(kernels(scale, &placed.books.kernel_table));
    sections.extend(definitions(source, placed));
    sections.extend(critical_path::section(source, scale, run.path, placed));
    sections.extend(operators(scale, placed));
    sections.extend(calls(source, scale, placed));
    sections.extend(memory(scale, placed));
    sections.extend(device_memory(source, placed));
    sections.push(evidence(source, placed));
    sections.extend(readings(source, placed));
    sections.extend(coverage(scale));
    sections
}

fn title(source: &PlacedSource<'_>, placed: &Placed<'_>) -> LineSection {
    title_of(source, placed.line, &placed.books.function)
}

fn title_of(source: &PlacedSource<'_>, line: u32, function: &str) -> LineSection {
    let title = RichText::default().and_strong(format!("{}:{line}", base_name(source.name)));
    LineSection::Title(match function {
        "" => title,
        name => title.and(" · ").and_code(name),
    })
}

/// How much of the recording was read, if that is not all of it yet.
fn so_far(scale: &ViewScale<'_>) -> Option<LineSection> {
    let so_far = scale.so_far.as_ref()?;
    Some(LineSection::Text(RichText::words(format!("so far: {so_far}"))))
}

/// Which part of the recording the numbers are of, if not of all.
fn part(scale: &ViewScale<'_>) -> Option<LineSection> {
    let part = scale.part.as_ref()?;
    let text = RichText::words("only ").and_code(&part.filter);
    Some(LineSection::Text(text.and(format!(": {}", part.extent))))
}

/// A table of what the line costs: by itself, as the innermost line of your code, with all below it.
fn metrics(scale: &ViewScale<'_>, placed: &Placed<'_>) -> Option<LineSection> {
    let books = &*placed.books;
    let value = |quantity: Quantity| scale.value(quantity, books);
    let cell = |quantity: Option<Quantity>| match quantity.map(|it| (it, value(it))) {
        Some((quantity, Some(value))) if value > 0.0 => quantity.text(value),
        // What the ledger does not keep by step is not zero.
        Some((_, None)) => "–".to_owned(),
        _ => String::new(),
    };
    let rows = [
        ("thread time", Some(Quantity::CpuSelf), Quantity::CpuOwn, Some(Quantity::CpuTotal)),
        ("CUDA", Some(Quantity::CudaSelf), Quantity::CudaOwn, Some(Quantity::CudaTotal)),
        ("CPU, backward of this line", None, Quantity::CpuBackward, None),
        ("CUDA, backward of this line", None, Quantity::CudaBackward, None),
        ("of it waiting", None, Quantity::Waiting, None),
        ("wait for the GPU", None, Quantity::Wait, None),
        ("GPU idle", None, Quantity::Idle, None),
        ("communication", None, Quantity::Comm, None),
        ("communication, exposed", None, Quantity::CommExposed, None),
        ("allocated", None, Quantity::Alloc, None),
        ("alive at the peak", None, Quantity::Peak, None),
    ];
    let rows = rows
        .into_iter()
        .filter(|&(_, own_self, own, total)| {
            [own_self, Some(own), total]
                .into_iter()
                .flatten()
                .any(|it| value(it).is_some_and(|value| 0.0 < value))
        })
        .map(|(name, own_self, own, total)| {
            let share = value(own).filter(|&it| 0.0 < it).map(|it| percent(scale.share(own, it)));
            let mut row = vec![name.to_owned(), cell(own_self), cell(Some(own)), cell(total)];
            if own == Quantity::Wait
                && let Some(times) = value(Quantity::Waits).filter(|&it| 0.0 < it)
            {
                row[2] += &format!(" ×{}", count(times));
            }
            row.push(share.unwrap_or_default());
            row.into_iter().map(RichText::words).collect()
        })
        .collect();
    table(&[&scale.period_name(), "self", "own", "total", "share"], rows)
}

/// The own time of a line of which a part is of the backward pass, computed again or compiled: what of it is the forward pass, what
/// is computed again, and what the backward pass takes, with that of its backward nodes.
fn passes(scale: &ViewScale<'_>, placed: &Placed<'_>) -> Option<LineSection> {
    let value = |quantity: Quantity| scale.value(quantity, &placed.books).unwrap_or(0.0);
    let on_host = [Quantity::CpuOwn, Quantity::CpuRecompute, Quantity::CpuOwnBackward];
    let on_device = [Quantity::CudaOwn, Quantity::CudaRecompute, Quantity::CudaOwnBackward];
    // Most lines have none: all lines are looked at only for those that do.
    let has_any = |of: [Quantity; 3]| of[1..].iter().any(|&it| 0.0 < value(it));
    if !has_any(on_host) && !has_any(on_device) {
        return None;
    }
    let is_on_device = on_device[1..].iter().any(|&it| scale.is_present(it));
    let quantities = if is_on_device { on_device } else { on_host };
    let [own, again, compiled] = quantities.map(value);
    if again <= 0.0 && compiled <= 0.0 {
        return None;
    }
    let forward = (own - again - compiled).max(0.0);
    let backward = compiled + value(scale.backward());
    let parts = [("forward", forward), ("recomputed", again), ("backward", backward)];
    let parts = parts.into_iter().filter(|(name, time)| 0.0 < *time || *name == "forward");
    let parts = parts.map(|(name, time)| format!("{name} {}", duration(time)));
    let parts = parts.collect::<Vec<_>>().join(" · ");
    paragraph(RichText::words(format!("{} by pass: {parts}", quantities[0].label())))
}

/// What a line costs beside what it cost in the baseline.
fn compared(
    source: &PlacedSource<'_>,
    scale: &ViewScale<'_>,
    placed: &Placed<'_>,
) -> Option<LineSection> {
    let baseline = scale.baseline.as_ref()?;
    let key = LineKey { file: source.key.to_owned(), line: placed.recorded };
    let rows = baseline.amounts(&key).iter().filter_map(|amount| {
        let quantity = amount.quantity;
        let value = scale.value(quantity, &placed.books).unwrap_or(0.0);
        let found = scale.difference(&key, quantity, value)?;
        let share = (0.0 < found.base).then(|| percent(found.delta.abs() / found.base));
        let share = share.map_or(String::new(), |it| format!("{}{it}", sign(found.delta)));
        let note = match found.is_significant {
            Some(true) => "",
            Some(false) if amount.is_same_work => "the same work",
            Some(false) => "within the noise",
            None => "too few steps to say",
        };
        let now = quantity.text(value);
        let row = [quantity.label().to_owned(), found.base_text, now, found.delta_text, share];
        Some(row.into_iter().chain([note.to_owned()]).map(RichText::words).collect())
    });
    let head = format!("beside {}", baseline.name());
    table(&[&head, "baseline", "now", "difference", "", ""], rows.collect())
}

/// How much the metric differs from step to step.
fn steps(scale: &ViewScale<'_>, placed: &Placed<'_>) -> Option<LineSection> {
    let quantity = scale.primary();
    if scale.period() == Period::Run {
        return None;
    }
    let StepSpread { least, median, p99, most, most_in, steps } =
        StepSpread::new(scale, quantity, &placed.books)?;
    let [least, median, most] = [least, median, most].map(|it| quantity.text(it));
    let text = if least == most {
        format!("{most} in each of {steps} steps")
    } else {
        let p99 = p99.map(|it| format!(", 99 % of them at most {}", quantity.text(it)));
        let p99 = p99.unwrap_or_default();
        format!("median {median}, {least} to {most} (step {most_in}) in {steps} steps{p99}")
    };
    paragraph(RichText::words(format!("{} from step to step: {text}", scale.metric.name())))
}

fn waits(
    source: &PlacedSource<'_>,
    scale: &ViewScale<'_>,
    placed: &Placed<'_>,
) -> Option<LineSection> {
    let lines = longest(source, scale, &placed.books.waits)?;
    let mut text = RichText::words("Waits for the kernels of ").and_text(lines);
    if placed.books.idle_after_sync > Ns::ZERO {
        let idle = scale.mean(placed.books.idle_after_sync.as_f64());
        text = text.and(format!("; afterwards the GPU idles {}", duration(idle)));
    }
    paragraph(text.and("."))
}

/// The lines that replay the graphs which were captured on the line.
fn replays(
    source: &PlacedSource<'_>,
    scale: &ViewScale<'_>,
    placed: &Placed<'_>,
) -> Option<LineSection> {
    let mut replays: Vec<_> = placed.books.replayed.iter().collect();
    replays.sort_by_key(|&(line, it)| (Reverse(it.cuda), line));
    let lines = replays.iter().take(MAX_OTHER_LINES).map(|(line, it)| {
        let replays = count(scale.mean(it.replays as f64));
        let times = match it.replays {
            0 => String::new(),
            _ if replays == "1" => "once ".to_owned(),
            _ => format!("{replays} times "),
        };
        let time = duration(scale.mean(it.cuda.as_f64()));
        let from = RichText::words(format!("{times}from "));
        from.and_text(line_name(source, line)).and(format!(" ({time})"))
    });
    let lines = RichText::joined(lines, ", ");
    let text = RichText::words("Its kernels were captured into a graph, replayed ");
    (!replays.is_empty()).then(|| LineSection::Text(text.and_text(lines).and(".")))
}

/// The lines with most time, and how long per step; `None` where there are none.
fn longest(
    source: &PlacedSource<'_>,
    scale: &ViewScale<'_>,
    times: &BTreeMap<LineKey, Ns>,
) -> Option<RichText> {
    let mut times: Vec<_> = times.iter().collect();
    times.sort_by_key(|&(line, time)| (Reverse(time), line));
    let lines = times.iter().take(MAX_OTHER_LINES).map(|(line, time)| {
        line_name(source, line).and(format!(" ({})", duration(scale.mean(time.as_f64()))))
    });
    (!times.is_empty()).then(|| RichText::joined(lines, ", "))
}

/// What is wrong with the line, and what to do about it.
fn findings(source: &PlacedSource<'_>, found: &[Finding], placed: &Placed<'_>) -> Vec<LineSection> {
    let of_line = found.iter().filter(|finding| {
        finding.place.file == source.key
            && finding.place.line == placed.recorded
            && !placed.is_stale
            && !diagnostics::is_suppressed(source, finding, placed.line)
    });
    let section = |finding: &Finding| {
        let message = RichText::default().and_strong(diagnostics::message(source, finding));
        let remedy = RichText::default().and_verbatim(finding.remedy);
        LineSection::Text(RichText::lines([message, remedy]))
    };
    of_line.map(section).collect()
}

/// A table for each class.
fn kernels(scale: &ViewScale<'_>, runs: &BTreeMap<KernelKey, Kernel>) -> Vec<LineSection> {
    let kernels = named_kernels(scale, runs);
    let row = |NamedKernel { key, shapes, sum }: &NamedKernel<'_>| {
        let mean = sum.total.as_f64() / sum.calls.max(1) as f64;
        let shape = match (key.grid, *shapes) {
            ([0, 0, 0], _) => String::new(),
            (grid, 1) => format!("{} × {}", extent(grid), extent(key.block)),
            (grid, shapes) => {
                format!("{} × {}, +{}", extent(grid), extent(key.block), shapes - 1)
            }
        };
        let occupancy = occupancy(sum);
        let numbers = [
            count(scale.mean(sum.calls as f64)),
            duration(scale.mean(sum.total.as_f64())),
            duration(mean),
            // Of a part the longest run is not known.
            if sum.max == Ns::ZERO { String::new() } else { duration(sum.max.as_f64()) },
            shape,
            if 0.0 < occupancy { percent(occupancy) } else { String::new() },
        ];
        row_of(RichText::code(&shorten_kernel_name(&key.name)), numbers)
    };
    let mut sections = Vec::new();
    for of_class in kernels.chunk_by(|a, b| a.sum.class == b.sum.class) {
        let title = of_class.first().map_or("", |it| class_title(it.sum.class));
        let head = [title, "calls", "total", "mean", "max", "grid × block", "occupancy"];
        let others = of_class.iter().skip(MAX_ROWS);
        sections.extend(table(&head, of_class.iter().take(MAX_ROWS).map(row).collect()));
        sections.extend(rest(others.map(|it| scale.mean(it.sum.total.as_f64()))));
    }
    sections
}

/// Where the kernels that the line launched are defined, of those that the file defines.
fn definitions(source: &PlacedSource<'_>, placed: &Placed<'_>) -> Option<LineSection> {
    let kernels = &placed.books.kernel_table;
    let functions = source.module.functions().iter().filter(|it| it.is_triton_kernel);
    let launched = functions.filter(|it| kernels.keys().any(|key| key.name == it.name));
    let text = launched.map(|it| {
        let lines = format!(" is the Triton kernel on lines {} to {}.", it.def_line, it.last_line);
        RichText::code(&it.name).and(lines)
    });
    paragraph(RichText::lines(text))
}

fn row_of(first: RichText, others: impl IntoIterator<Item = String>) -> Vec<RichText> {
    [first].into_iter().chain(others.into_iter().map(RichText::words)).collect()
}

fn operators(scale: &ViewScale<'_>, placed: &Placed<'_>) -> Vec<LineSection> {
    let mut operators: Vec<_> = placed.books.operators.iter().collect();
    operators.sort_by_key(|&(name, operator)| (Reverse(operator_time(scale, operator)), name));
    let rows = operators.iter().take(MAX_ROWS).map(|(name, operator)| {
        let device = scale.mean(operator.cuda.as_f64());
        let numbers = [
            count(scale.mean(operator.calls as f64)),
            duration(scale.mean(operator.cpu.as_f64())),
            if 0.0 < device { duration(device) } else { String::new() },
        ];
        row_of(RichText::code(name), numbers)
    });
    let others = operators.iter().skip(MAX_ROWS);
    let others = rest(others.map(|(_, operator)| scale.mean(operator.cpu.as_f64())));
    let table = table(&["operator", "calls", "CPU", "CUDA"], rows.collect());
    table.into_iter().chain(others).collect()
}

/// What operators are sorted by: the time of the side that the metric is about, else that of the slower side.
pub(crate) fn operator_time(scale: &ViewScale<'_>, operator: &Operator) -> [Ns; 2] {
    let Operator { cpu, cuda, .. } = *operator;
    match scale.metric {
        ViewMetric::Cpu => [cpu, cuda],
        ViewMetric::Cuda => [cuda, cpu],
        _ => [cuda.max(cpu), Ns::ZERO],
    }
}

/// What a table leaves out.
fn rest(times: impl Iterator<Item = f64>) -> Option<LineSection> {
    let (n, sum) = times.fold((0, 0.0), |(n, sum), time| (n + 1, sum + time));
    (0 < n)
        .then(|| LineSection::Text(RichText::words(format!("and {n} more with {}", duration(sum)))))
}

/// Where the function was called from, and what the line calls.
fn calls(
    source: &PlacedSource<'_>,
    scale: &ViewScale<'_>,
    placed: &Placed<'_>,
) -> Vec<LineSection> {
    let mut callers: Vec<_> = placed.books.callers.iter().collect();
    callers.sort_by_key(|&(line, time)| (Reverse(time), line));
    let callees = callee_groups(scale.ledger(), &placed.books.callees);
    let callers = callers.iter().take(MAX_ROWS).map(|(line, time)| {
        line_name(source, line).and(format!(" ({})", duration(scale.mean(time.as_f64()))))
    });
    let callees =
        callees.iter().take(MAX_ROWS).map(|CalleeGroup { name, call, slowest, .. }| {
            let times = count(scale.mean(call.calls as f64));
            let time = duration(scale.mean(call.cpu.as_f64()));
            let slowest = slowest.as_ref().map_or_else(String::new, |(name, cpu)| {
                format!(", slowest {name} {}", duration(scale.mean(cpu.as_f64())))
            });
            RichText::code(name).and(format!(" ×{times} ({time}{slowest})"))
        });
    let list = |what: &str, items: Vec<RichText>| {
        let text = RichText::words(format!("{what} "));
        (!items.is_empty()).then(|| LineSection::Text(text.and_text(RichText::joined(items, ", "))))
    };
    let lists = [list("Called from", callers.collect()), list("Calls", callees.collect())];
    lists.into_iter().flatten().collect()
}

fn memory(scale: &ViewScale<'_>, placed: &Placed<'_>) -> Option<LineSection> {
    let rows = placed.books.allocations.iter().map(|(device, it)| {
        let size = |value: f64| if value == 0.0 { String::new() } else { bytes(value) };
        let numbers = [
            count(scale.mean(it.allocs as f64)),
            size(scale.mean(it.alloc.as_f64())),
            size(it.peak.as_f64()),
            size(it.live.as_f64()),
        ];
        row_of(RichText::code(device), numbers)
    });
    table(&["memory", "allocations", "allocated", "at the peak", "at the end"], rows.collect())
}

/// How the line is known.
fn evidence(source: &PlacedSource<'_>, placed: &Placed<'_>) -> LineSection {
    let name = &placed.books.function;
    let known = match placed.books.evidence {
        _ if source.map.is_none() => RichText::words(
            "The text that ran is not at hand, or was changed since: this is what all lines of ",
        )
        .and_code(name)
        .and(" cost together."),
        Evidence::Exact => RichText::words("The recording names this line."),
        Evidence::Inferred => {
            RichText::words("Inferred: the line follows from the source and the order of events.")
        }
        Evidence::Function => RichText::words(
            "Only the function is known, not the line: this is what happens somewhere in ",
        )
        .and_code(name)
        .and(", in addition to what its lines show."),
    };
    LineSection::Text(match (placed.is_stale, source.map) {
        (true, Some(map)) if map.is_doubted() => known.and(
            " The file was changed after the recording, and what ran is not known: it may have been another line.",
        ),
        (true, Some(_)) => known.and(" It was changed since: the numbers are those of before."),
        _ => known,
    })
}

/// The calls and operators that can as well have come from another line: of the whole function on its definition, on
/// another line those that it may have made.
fn readings(source: &PlacedSource<'_>, placed: &Placed<'_>) -> Option<LineSection> {
    let map = source.map?;
    let is_definition = placed.books.evidence == Evidence::Function;
    let mut ambiguous: Vec<(&Vec<u32>, u64)> = Vec::new();
    for (key, books) in lines_of(source.ledger, source.key) {
        let readings = books.readings.iter().map(|(lines, &count)| (lines, count));
        let concerns = |lines: &[u32]| match is_definition {
            true => key.line == placed.recorded,
            false => lines.contains(&placed.recorded),
        };
        ambiguous.extend(readings.filter(|(lines, _)| concerns(lines)));
    }
    ambiguous.sort_by_key(|&(lines, count)| (Reverse(count), lines));
    ambiguous.truncate(MAX_READINGS);
    let shown = ambiguous.into_iter().filter_map(|(lines, count)| {
        let lines: Vec<String> = lines
            .iter()
            .filter(|&&line| is_definition || line != placed.recorded)
            .filter_map(|&line| map.current(line))
            .map(|carried| carried.line.to_string())
            .collect();
        let (last, others) = lines.split_last()?;
        let others =
            if others.is_empty() { String::new() } else { format!("{} or ", others.join(", ")) };
        let calls = if count == 1 {
            "1 call or operator".to_owned()
        } else {
            format!("{count} calls and operators")
        };
        Some(match is_definition {
            true => format!("{calls}: equally good on line {others}{last}."),
            false => format!("{calls}: here or on line {others}{last}, not counted here."),
        })
    });
    paragraph(RichText::lines(shown.map(RichText::words)))
}

/// How much of the recording stands on lines.
fn coverage(scale: &ViewScale<'_>) -> Option<LineSection> {
    let share = |book: Book, name: &str| {
        let share = attributed(scale.ledger(), book)?;
        Some(format!("{} of {name}", percent(share)))
    };
    let shares = [
        share(Book::Cpu, "thread time"),
        share(Book::Cuda, "CUDA time"),
        share(Book::Alloc, "allocated bytes"),
    ];
    let shares: Vec<String> = shares.into_iter().flatten().collect();
    let text = || RichText::words(format!("On lines: {}.", shares.join(", ")));
    (!shares.is_empty()).then(|| LineSection::Text(text()))
}

/// What a function costs, for its `def` line where that has no numbers of its own.
fn of_function(
    source: &PlacedSource<'_>,
    scale: &ViewScale<'_>,
    line: u32,
) -> Option<Vec<LineSection>> {
    let functions = source.module.functions();
    let function = functions.iter().find(|it| is_def(it) && it.def_line == line)?;
    let mean = match scale.period() {
        Period::Step(_) => scale.with_period(Period::Mean),
        _ => scale.clone(),
    };
    let lines = function.first_line..=function.last_line;
    let totals = Totals::of(&mean, source, &source.placed(), &lines, &function.name);
    let at_least = if totals.is_recursive { "≥ " } else { "" };
    let row = |name: &str, quantity: Quantity, value: f64, at_least: &str| {
        let cells = [
            name.to_owned(),
            format!("{at_least}{}", quantity.text(value)),
            percent(mean.share(quantity, value)),
        ];
        (0.0 < value).then(|| cells.map(RichText::words).into())
    };
    // Of a part it is not known on which threads it was.
    let [elapsed, elsewhere] = match scale.part {
        Some(_) => [0.0, totals.cpu],
        None => [totals.elapsed, totals.elsewhere()],
    };
    let other = if scale.part.is_some() { "thread time" } else { "thread time, other threads" };
    let rows = [
        row("thread time", Quantity::Elapsed, elapsed, at_least),
        row(other, Quantity::CpuTotal, elsewhere, at_least),
        row("CUDA", Quantity::CudaTotal, totals.cuda, at_least),
        row("wait for the GPU", Quantity::Wait, totals.wait, ""),
        row("memory", mean.primary(), totals.memory, ""),
    ];
    let rows: Vec<Vec<RichText>> = rows.into_iter().flatten().collect();
    let table = table(&[&mean.period_name(), "the whole function", "share"], rows);
    let kernel = TritonKernel::of(source, function);
    if table.is_none() && kernel.is_none() {
        return None;
    }
    let launched = kernel.as_ref().and_then(|it| longest(source, &mean, &it.launched));
    let launched = launched.map(|it| RichText::words("Launched from ").and_text(it).and("."));
    let kernel = kernel.map_or_else(Vec::new, |it| kernels(&mean, &it.table));
    let title = title_of(source, line, &function.qualified_name);
    let head = std::iter::once(title).chain(part(scale));
    let launched = launched.and_then(paragraph);
    Some(head.chain(table).chain(kernel).chain(launched).chain(coverage(scale)).collect())
}

/// `64`, `64,2`: without ones at the end.
fn extent([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (0 | 1, 0 | 1) => format!("{x}"),
        (_, 0 | 1) => format!("{x},{y}"),
        _ => format!("{x},{y},{z}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FILE, Fixture, TRAIN, TRAIN_BOOKS, check_text};

    fn text(fixture: &Fixture, line: u32) -> String {
        let view = View::default();
        let findings = view.findings(&fixture.ledger);
        let run = RunKnowledge { findings: &findings, path: None };
        hover(&fixture.source(), &view, run, line)
            .map_or("nothing\n".to_owned(), |it| it.text.markdown() + "\n")
    }

    #[test]
    fn a_line_with_kernels() {
        check_text(
            &text(&Fixture::new(TRAIN, TRAIN_BOOKS), 4),
            "
            **train.py:4** · `SlowModel.forward`

            | per step                    | self |    own |  total |  share |
            | :-------------------------- | ---: | -----: | -----: | -----: |
            | thread time                 | 2 ms |   2 ms |   2 ms | 4.88 % |
            | CUDA                        |      | 6.3 ms | 6.3 ms | 15.4 % |
            | CPU, backward of this line  |      |   3 ms |        | 7.32 % |
            | CUDA, backward of this line |      |  11 ms |        | 26.8 % |
            | allocated                   |      | 24 MiB |        |   75 % |

            cuda from step to step: 6.3 ms in each of 2 steps

            | kernel | calls |  total |   mean |    max | grid × block | occupancy |
            | :----- | ----: | -----: | -----: | -----: | -----------: | --------: |
            | `relu` |    40 | 6.3 ms | 158 µs | 200 µs |     64 × 128 |    62.5 % |

            Called from line 10 (8 ms)

            Calls `relu` ×20 (2 ms)

            The recording names this line.

            On lines: 100 % of thread time, 100 % of CUDA time, 100 % of allocated bytes.
            ",
        );
    }

    #[test]
    fn a_line_that_is_computed_again() {
        let books = "step 1 41ms\nthread 41ms\n\
            1 fn=f cpu=2.3ms cpu_total=2.3ms cpu_again=1.1ms cpu_backward=2.5ms\n";
        let text = text(&Fixture::new("x = block(x)\n", books), 1);
        let passes = text.lines().find(|it| it.contains("by pass")).unwrap();
        let expected =
            "thread time, own by pass: forward 1.2 ms · recomputed 1.1 ms · backward 2.5 ms";
        assert_eq!(passes, expected);
    }

    #[test]
    fn a_line_whose_graphs_are_replayed() {
        let books = "step 1 41ms\nstep 2 41ms\n\
            1 fn=f cuda=6ms\n2 fn=f cuda=2ms\n3 fn=f\n4 fn=f\n";
        let mut fixture = Fixture::new("def f(x):\n    y = x * 2\n    return y\nf(1)\n", books);
        let at = |line| LineKey { file: FILE.to_owned(), line };
        let replays = |replays, cuda| ledger::GraphReplays { replays, cuda: Ns(cuda) };
        let mut lines =
            [at(2), at(3)].map(|it| Box::new(fixture.ledger.lines[&it].as_ref().clone()));
        lines[0].replayed = [(at(3), replays(1458, 3_000_000)), (at(4), replays(2, 1_000))].into();
        lines[1].replayed = [(at(3), replays(1458, 1_000_000))].into();
        let mut both = lines[0].clone();
        both.merge_line(&lines[1]);
        let mut said = |books: Box<ledger::LineBooks>| {
            fixture.ledger.lines.insert(at(2), books);
            let text = text(&fixture, 2);
            text.lines().find(|it| it.contains("replayed")).unwrap_or_default().to_owned()
        };
        assert_eq!(
            said(lines[0].clone()),
            "Its kernels were captured into a graph, replayed 729 times from line 3 (1.5 ms), once from line 4 (500 ns)."
        );
        assert_eq!(
            said(both),
            "Its kernels were captured into a graph, replayed from line 3 (2 ms), from line 4 (500 ns)."
        );
    }

    #[test]
    fn a_line_that_waits() {
        check_text(
            &text(&Fixture::new(TRAIN, TRAIN_BOOKS), 5),
            "
            **train.py:5** · `SlowModel.forward`

            | per step         | self |        own | total |  share |
            | :--------------- | ---: | ---------: | ----: | -----: |
            | thread time      | 5 ms |       5 ms |  5 ms | 12.2 % |
            | CUDA             |      |      20 µs |       | 0.05 % |
            | wait for the GPU |      | 4.8 ms ×10 |       | 11.7 % |

            cuda from step to step: 20 µs in each of 2 steps

            Waits for the kernels of line 4 (9 ms), line 5 (10 µs); afterwards the GPU idles 3.1 ms.

            **sync: the CPU waits 4.8 ms per step here, 10 times, for kernels of line 4 (11.7 % of the step)**  
            Keep it a tensor: add up on the device and read it every so many steps, or use torch.where instead of a branch. A number is read from the device by .item(), float(), bool(), if, print.

            | operator     | calls |  CPU | CUDA |
            | :----------- | ----: | ---: | ---: |
            | `aten::item` |    10 | 5 ms |      |

            The recording names this line.

            On lines: 100 % of thread time, 100 % of CUDA time, 100 % of allocated bytes.
            ",
        );
    }

    #[test]
    fn how_the_line_is_known() {
        let mut fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        let last = |fixture: &Fixture, line| {
            let text = text(fixture, line);
            text.lines().rev().nth(2).unwrap_or("").to_owned()
        };
        assert_eq!(
            last(&fixture, 6),
            "Inferred: the line follows from the source and the order of events."
        );
        assert!(last(&fixture, 2).starts_with("Only the function is known, not the line"));
        fixture.edit("opt.step()", "optimizer.step()");
        assert_eq!(
            last(&fixture, 12),
            "The recording names this line. It was changed since: the numbers are those of before."
        );
        fixture.map = None;
        assert!(last(&fixture, 2).starts_with("The text that ran is not at hand"));
        assert_eq!(text(&fixture, 1), "nothing\n");
    }

    #[test]
    fn what_can_have_come_from_either_of_two_lines() {
        let mut fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        let key = LineKey { file: FILE.to_owned(), line: 2 };
        let books = fixture.ledger.lines.get_mut(&key).expect("books");
        books.readings = [(vec![4, 6], 20), (vec![4, 5, 6], 1)].into();
        let text = |line| text(&fixture, line);
        let definition = "20 calls and operators: equally good on line 4 or 6.  \n1 call or operator: equally good on line 4, 5 or 6.";
        assert!(text(2).contains(definition), "{}", text(2));
        let line = "20 calls and operators: here or on line 4, not counted here.  \n1 call or operator: here or on line 4 or 5, not counted here.";
        assert!(text(6).contains(line), "{}", text(6));
        assert!(!text(10).contains("equally"), "{}", text(10));
    }

    #[test]
    fn a_function() {
        check_text(
            &text(&Fixture::new(TRAIN, TRAIN_BOOKS), 9),
            "
            **train.py:9** · `step`

            | per step    | the whole function |  share |
            | :---------- | -----------------: | -----: |
            | thread time |              30 ms | 73.2 % |
            | CUDA        |             8.8 ms | 21.5 % |

            On lines: 100 % of thread time, 100 % of CUDA time, 100 % of allocated bytes.
            ",
        );
    }

    #[test]
    fn the_range_is_the_text_of_the_line() {
        let fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        let hover =
            hover(&fixture.source(), &View::default(), RunKnowledge::default(), 11).unwrap();
        assert_eq!(&fixture.text[hover.start..hover.end], "loss.backward()");
    }
}
