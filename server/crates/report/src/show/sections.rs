//! The tables of what is shown.

use std::cmp::Reverse;

use ide::{BookTables, View};
use ledger::{LineBooks, LineKey, Unit};
use metrics::{Period, Quantity, Scale};

use super::find::Found;
use super::options::ShowOptions;
use crate::model::{Cell, Column, Section, Subject};
use crate::recording::Recording;

/// What lines were charged with together; of several, each of them too.
pub(super) fn of_lines(
    recording: &Recording<'_>,
    lines: &[(&LineKey, &LineBooks)],
    options: &ShowOptions<'_>,
) -> Vec<Section> {
    let ledger = &recording.run.merged;
    let view = View { period: options.period(), ..View::default() };
    let mut lines_of_name = lines.iter().map(|(_, books)| *books);
    let mut together = lines_of_name.next().cloned().unwrap_or_default();
    lines_of_name.for_each(|books| together.merge_line(books));
    let tables = BookTables::new(ledger, &view, &together);
    let mut sections = Vec::new();
    if 1 < lines.len() {
        sections.push(each_line(recording, lines, options.period()));
    }
    sections.extend([
        kernels(&tables),
        operators(&tables),
        other_lines(recording, "callers", "Called from", &tables.callers),
        callees(&tables),
        other_lines(recording, "waits", "Waits for kernels of", &tables.waits),
        replays(recording, &tables),
        other_lines(recording, "generated", "Compiled into", &tables.generated),
        allocations(&tables),
        steps(&tables),
    ]);
    let shortened = sections.into_iter().map(|it| shortened(it, options.top));
    let of = match options.part {
        Some(_) => "part",
        None if ledger.steps.is_empty() => "run",
        None => "per step",
    };
    // Amounts are few, and each is another.
    std::iter::once(numbers_of(&tables, lines.len(), of)).chain(shortened).collect()
}

/// The lines that ran an operator or launched a kernel.
pub(super) fn of_name(
    recording: &Recording<'_>,
    found: &Found<'_>,
    options: &ShowOptions<'_>,
) -> Vec<Section> {
    let scale = Scale::new(&recording.run.merged, options.period());
    let amounts = |books: &LineBooks| match found {
        Found::Operator { name, .. } => books
            .operators
            .get(*name)
            .map_or([0.0; 3], |it| [it.calls as f64, it.cpu.as_f64(), it.cuda.as_f64()]),
        Found::Launched { name, .. } => {
            let kernels = books.kernel_table.iter().filter(|(key, _)| key.name.contains(name));
            kernels.fold([0.0; 3], |[calls, cpu, cuda], (_, it)| {
                [calls + it.calls as f64, cpu, cuda + it.total.as_f64()]
            })
        }
        Found::Lines { .. } => [0.0; 3],
    };
    let mut section = Section::new(
        "lines",
        "Lines",
        Subject::Lines,
        [
            Column::number("calls", Unit::Count),
            Column::number("cpu", Unit::Ns),
            Column::number("cuda", Unit::Ns),
            Column::text(""),
            Column::text("line"),
            Column::text("function"),
        ],
    );
    let rows = found.lines().iter().map(|(key, books)| (*key, *books, amounts(books)));
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|a, b| b.2[2].max(b.2[1]).total_cmp(&a.2[2].max(a.2[1])));
    section.rows = rows
        .into_iter()
        .map(|(key, books, [calls, cpu, cuda])| {
            vec![
                Cell::count(scale.mean(calls)),
                Cell::real(scale.mean(cpu), Unit::Ns).unless_zero(),
                Cell::real(scale.mean(cuda), Unit::Ns).unless_zero(),
                Cell::evidence(books.evidence),
                Cell::place(recording.place(key)),
                Cell::text(&books.function),
            ]
        })
        .collect();
    let mut sections = vec![shortened(section, options.top)];
    if matches!(found, Found::Launched { .. }) {
        sections.push(shortened(launched(found, &scale), options.top));
    }
    sections
}

/// The kernels that a part of a name stands for.
fn launched(found: &Found<'_>, scale: &Scale<'_>) -> Section {
    let Found::Launched { name: part, lines } = found else { return kernel_table([]) };
    let mut together = LineBooks::default();
    for (_, books) in lines {
        let kernels = books.kernel_table.iter().filter(|(key, _)| key.name.contains(part));
        let kernel_table = kernels.map(|(key, it)| (key.clone(), it.clone())).collect();
        together.merge(&LineBooks { kernel_table, ..LineBooks::default() });
    }
    let view = View { period: scale.period(), ..View::default() };
    kernels(&BookTables::new(scale.ledger(), &view, &together))
}

/// At most `top` rows, and how many there are besides.
fn shortened(mut section: Section, top: usize) -> Section {
    section.left_out = section.rows.len().saturating_sub(top);
    section.rows.truncate(top);
    section
}

/// The amounts; `of` is what they are sums or means of.
fn numbers_of(tables: &BookTables, n_lines: usize, of: &'static str) -> Section {
    let columns = [Column::text("amount"), Column::mixed(of), Column::number("share", Unit::Share)];
    let mut section = Section::new("numbers", "Amounts", Subject::Lines, columns);
    // What was called from one line of a function is in the totals of others.
    let is_sum = |name: &str| {
        let totals = [Quantity::CpuTotal, Quantity::CudaTotal, Quantity::Elapsed];
        n_lines == 1 || totals.iter().all(|it| it.id() != name)
    };
    section.rows = tables
        .numbers
        .iter()
        .filter(|it| is_sum(it.name))
        .map(|it| {
            vec![
                Cell::text(it.label),
                Cell { text: it.text.clone(), ..Cell::real(it.value, it.unit) },
                it.share.map_or_else(Cell::default, Cell::share),
            ]
        })
        .collect();
    section
}

fn each_line(
    recording: &Recording<'_>,
    lines: &[(&LineKey, &LineBooks)],
    period: Period,
) -> Section {
    let scale = Scale::new(&recording.run.merged, period);
    let quantities =
        [Quantity::CpuBusy, Quantity::CudaOwn, Quantity::Wait, Quantity::Waiting, Quantity::Idle];
    let mut columns = vec![Column::number("share", Unit::Share)];
    columns.extend(quantities.map(|it| Column::number(it.heading(), Unit::Ns)));
    columns.extend([Column::text(""), Column::text("line"), Column::text("function")]);
    let mut section = Section::new("lines", "Lines", Subject::Lines, columns);
    let mut sorted: Vec<_> = lines.to_vec();
    sorted.sort_by(|a, b| scale.line_share(b.1).total_cmp(&scale.line_share(a.1)));
    section.rows = sorted
        .into_iter()
        .map(|(key, books)| {
            let amount = |quantity: Quantity| {
                let value = scale.value(quantity, books).unwrap_or_default();
                Cell::quantity(quantity, value).unless_zero()
            };
            let mut row = vec![Cell::share(scale.line_share(books))];
            row.extend(quantities.map(amount));
            row.extend([
                Cell::evidence(books.evidence),
                Cell::place(recording.place(key)),
                Cell::text(&books.function),
            ]);
            row
        })
        .collect();
    section
}

fn kernel_table(rows: impl IntoIterator<Item = Vec<Cell>>) -> Section {
    let mut section = Section::new(
        "kernels",
        "Kernels",
        Subject::Lines,
        [
            Column::number("time", Unit::Ns),
            Column::number("calls", Unit::Count),
            Column::number("mean", Unit::Ns),
            Column::number("longest", Unit::Ns),
            Column::number("occupancy", Unit::Share),
            Column::text("grid × block"),
            Column::number("shapes", Unit::Count),
            Column::text("class"),
            Column::text("kernel"),
        ],
    );
    section.rows.extend(rows);
    section
}

fn kernels(tables: &BookTables) -> Section {
    kernel_table(tables.kernels.iter().map(|it| {
        let sizes = |[x, y, z]: [u32; 3]| format!("{x}×{y}×{z}");
        let is_known = it.key.block != [0; 3];
        let launch = format!("{} × {}", sizes(it.key.grid), sizes(it.key.block));
        vec![
            Cell::real(it.total, Unit::Ns),
            Cell::count(it.calls),
            Cell::real(it.mean, Unit::Ns),
            Cell::duration(it.max).unless_zero(),
            it.occupancy.map_or_else(Cell::default, Cell::share),
            if is_known { Cell::text(launch) } else { Cell::default() },
            if 1 < it.shapes { Cell::integer(it.shapes) } else { Cell::default() },
            Cell::text(it.class.name()),
            Cell::text(&it.short_name),
        ]
    }))
}

fn operators(tables: &BookTables) -> Section {
    let mut section = Section::new(
        "operators",
        "Operators",
        Subject::Lines,
        [
            Column::number("cpu", Unit::Ns),
            Column::number("cuda", Unit::Ns),
            Column::number("calls", Unit::Count),
            Column::text("operator"),
        ],
    );
    section.rows = tables
        .operators
        .iter()
        .map(|it| {
            vec![
                Cell::real(it.cpu, Unit::Ns).unless_zero(),
                Cell::real(it.cuda, Unit::Ns).unless_zero(),
                Cell::count(it.calls).unless_zero(),
                Cell::text(&it.name),
            ]
        })
        .collect();
    section
}

fn callees(tables: &BookTables) -> Section {
    let mut section = Section::new(
        "callees",
        "Calls",
        Subject::Lines,
        [
            Column::number("time", Unit::Ns),
            Column::number("share", Unit::Share),
            Column::number("calls", Unit::Count),
            Column::text("name"),
        ],
    );
    section.rows = tables
        .callees
        .iter()
        .map(|it| {
            vec![
                Cell::real(it.value, Unit::Ns),
                Cell::share(it.share),
                Cell::count(it.calls),
                Cell::text(&it.name),
            ]
        })
        .collect();
    section
}

fn other_lines(
    recording: &Recording<'_>,
    id: &'static str,
    title: &'static str,
    lines: &[ide::LineRow],
) -> Section {
    let mut section = Section::new(
        id,
        title,
        Subject::Lines,
        [
            Column::number("time", Unit::Ns),
            Column::number("share", Unit::Share),
            Column::text(""),
            Column::text("line"),
            Column::text("function"),
        ],
    );
    let mut sorted: Vec<_> = lines.iter().collect();
    sorted.sort_by_key(|it| Reverse(it.value as i64));
    section.rows = sorted
        .into_iter()
        .map(|it| {
            vec![
                Cell::real(it.value, Unit::Ns),
                Cell::share(it.share),
                Cell::evidence(it.evidence),
                Cell::place(recording.place(&it.place)),
                Cell::text(&it.function),
            ]
        })
        .collect();
    section
}

fn replays(recording: &Recording<'_>, tables: &BookTables) -> Section {
    let lines: Vec<ide::LineRow> = tables.replays.iter().map(|it| it.line.clone()).collect();
    let title = "Captured into a graph, replayed from";
    let mut section = other_lines(recording, "replays", title, &lines);
    section.columns.insert(2, Column::number("replays", Unit::Count));
    for (row, it) in section.rows.iter_mut().zip(&tables.replays) {
        row.insert(2, Cell::count(it.replays).unless_zero());
    }
    section
}

fn allocations(tables: &BookTables) -> Section {
    let mut section = Section::new(
        "allocations",
        "Allocations",
        Subject::Lines,
        [
            Column::number("bytes", Unit::Bytes),
            Column::number("times", Unit::Count),
            Column::number("at the peak", Unit::Bytes),
            Column::number("at the end", Unit::Bytes),
            Column::text("memory"),
        ],
    );
    section.rows = tables
        .allocations
        .iter()
        .map(|it| {
            vec![
                Cell::real(it.alloc, Unit::Bytes),
                Cell::count(it.allocs),
                Cell::bytes(it.peak).unless_zero(),
                Cell::bytes(it.live).unless_zero(),
                Cell::text(&it.memory),
            ]
        })
        .collect();
    section
}

fn steps(tables: &BookTables) -> Section {
    let columns = [Column::number("step", Unit::Count), Column::mixed("time")];
    let mut section = Section::new("steps", "Steps", Subject::Lines, columns);
    // The time that is shown is that on the device, where the recording has some: not every line has.
    if tables.steps.iter().all(|it| it.value == 0.0) {
        return section;
    }
    section.rows = tables
        .steps
        .iter()
        .map(|it| {
            let time = Cell { text: it.text.clone(), ..Cell::real(it.value, Unit::Ns) };
            vec![Cell::integer(it.step), time]
        })
        .collect();
    section
}
