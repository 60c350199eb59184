//! The operators of a recording, as `torch.profiler`'s `key_averages()` counts them.

use std::collections::BTreeMap;
use std::io;

use ledger::{Metric, Unit};
use loader::StackBooks;
use metrics::{Period, Scale};
use stack_books::{StackFrame, StackRow};

use super::lines_of::LinesOf;
use super::{NamedTable, OperatorOrder};
use crate::model::{Cell, Column, Note, Section, Subject};
use crate::recording::Recording;
use crate::summary;

/// The columns that a narrow terminal can do without, the first of them first.
const DISPENSABLE: [&str; 4] = ["alloc", "cpu total", "cuda total", "calls"];

/// What is known of an operator, over the whole recording.
#[derive(Debug, Default)]
struct OperatorSum<'a> {
    calls: u64,
    cpu_self: i64,
    cpu_total: i64,
    cuda_self: i64,
    cuda_total: i64,
    alloc: i64,
    lines: LinesOf<'a>,
}

impl OperatorSum<'_> {
    fn get(&self, order: OperatorOrder) -> i64 {
        match order {
            OperatorOrder::CpuSelf => self.cpu_self,
            OperatorOrder::CpuTotal => self.cpu_total,
            OperatorOrder::CudaSelf => self.cuda_self,
            OperatorOrder::CudaTotal => self.cuda_total,
            OperatorOrder::Alloc => self.alloc,
            OperatorOrder::Calls => i64::try_from(self.calls).unwrap_or(i64::MAX),
        }
    }
}

/// The operators of a recording that was loaded with stacks, in descending order of `order`; `None` takes device time where
/// there is some. `by_sizes` says that it was loaded so that those with inputs of different sizes have a row each.
///
/// # Errors
/// If the recording was loaded without stacks.
pub fn build(
    recording: &Recording<'_>,
    order: Option<OperatorOrder>,
    by_sizes: bool,
) -> io::Result<NamedTable> {
    let books = super::print::stacks(recording)?.of_user_code();
    let order = order.unwrap_or_else(|| OperatorOrder::fitting(&books));
    let rows = rows(&books, order);
    // Of `calls` there is no whole.
    let whole = match order {
        OperatorOrder::CpuSelf | OperatorOrder::CpuTotal => books.total(Metric::Cpu),
        OperatorOrder::CudaSelf | OperatorOrder::CudaTotal => books.total(Metric::Cuda),
        OperatorOrder::Alloc => books.total(Metric::Alloc),
        OperatorOrder::Calls => 0,
    };
    let mut section = Section::new(
        "operators",
        "Operators",
        Subject::Run,
        [
            Column::number("share", Unit::Share),
            Column::number("cpu self", Unit::Ns),
            Column::number("cpu total", Unit::Ns),
            Column::number("cuda self", Unit::Ns),
            Column::number("cuda total", Unit::Ns),
            Column::number("alloc", Unit::Bytes),
            Column::number("calls", Unit::Count),
            Column::text("operator"),
            Column::text("input sizes"),
            Column::text("lines"),
        ],
    );
    let mut sorted: Vec<_> = rows.into_iter().collect();
    sorted.sort_by(|a, b| b.1.get(order).cmp(&a.1.get(order)).then_with(|| a.0.cmp(&b.0)));
    section.rows = sorted
        .into_iter()
        .map(|((name, sizes), it)| {
            let amount = |metric, amount| Cell::amount(metric, amount).unless_zero();
            vec![
                Cell::part(it.get(order), whole),
                amount(Metric::Cpu, it.cpu_self),
                amount(Metric::Cpu, it.cpu_total),
                amount(Metric::Cuda, it.cuda_self),
                amount(Metric::Cuda, it.cuda_total),
                amount(Metric::Alloc, it.alloc),
                Cell::integer(it.calls),
                Cell::text(name),
                Cell::text(sizes),
                it.lines.cell(recording),
            ]
        })
        .collect();
    if by_sizes && !books.frames().any(|(it, _)| matches!(it, StackFrame::SizedOperator(_))) {
        section.notes.push(Note::plain(
            "the recording has no sizes of inputs: record with record_shapes=True",
        ));
    }
    let scale = Scale::new(&recording.run.merged, Period::Mean);
    Ok(NamedTable {
        summary: summary::summary(recording.run, &scale),
        section,
        dispensable: &DISPENSABLE,
        filter: serde_json::Value::Null,
    })
}

/// By name and sizes. What a line is named for is what `order` sorts by, of which a part with and without operators below is one: that
/// of the stacks that end in the operator.
fn rows(books: &StackBooks, order: OperatorOrder) -> BTreeMap<(&str, &str), OperatorSum<'_>> {
    let [cpu, cuda] = [Metric::Cpu, Metric::Cuda].map(|it| books.inclusive(it));
    let mut rows: BTreeMap<(&str, &str), OperatorSum<'_>> = BTreeMap::new();
    for stack in books.stacks() {
        let innermost = books.frame_of(stack);
        match innermost.operator() {
            Some(operator) => {
                let row = rows.entry(operator).or_default();
                row.calls += books.events(stack);
                row.cpu_self += books.amount(Metric::Cpu, stack);
                row.alloc += books.amount(Metric::Alloc, stack);
                // An operator that calls itself counts once.
                if is_outermost(books, stack) {
                    row.cpu_total += cpu[stack.index()];
                    row.cuda_total += cuda[stack.index()];
                }
                let amount = match order {
                    OperatorOrder::CpuSelf => books.amount(Metric::Cpu, stack),
                    OperatorOrder::CpuTotal => cpu[stack.index()],
                    OperatorOrder::CudaTotal => cuda[stack.index()],
                    OperatorOrder::CudaSelf => 0,
                    OperatorOrder::Alloc => books.amount(Metric::Alloc, stack),
                    OperatorOrder::Calls => i64::try_from(books.events(stack)).unwrap_or(i64::MAX),
                };
                row.lines.add(books, stack, amount);
            }
            None if matches!(innermost, StackFrame::Device(_)) => {
                // What was launched stands directly below the operator that launched it.
                let parent = books.parent(stack);
                if let Some(operator) = frame(books, parent).and_then(StackFrame::operator) {
                    let amount = books.amount(Metric::Cuda, stack);
                    let row = rows.entry(operator).or_default();
                    row.cuda_self += amount;
                    if order == OperatorOrder::CudaSelf {
                        row.lines.add(books, stack, amount);
                    }
                }
            }
            None => {}
        }
    }
    rows
}

fn frame(books: &StackBooks, stack: StackRow) -> Option<&StackFrame> {
    (stack != StackRow::ROOT).then(|| books.frame_of(stack))
}

/// Whether no other entry of the stack is what its innermost is.
fn is_outermost(books: &StackBooks, stack: StackRow) -> bool {
    let innermost = books.innermost(stack);
    books.outwards(stack).skip(1).all(|it| books.innermost(it) != innermost)
}
