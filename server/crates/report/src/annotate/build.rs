//! From a recording to its annotated source.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ledger::{Evidence, LineBooks, Ns, SourceFile, SourceFit};
use loader::{InputKind, Run};
use metrics::numbers::percent;
use metrics::{Period, Quantity, Scale, Unit, evidence_shares};
use pysource::{Carried, LineMap, Module, recorded_cell};
use ranks::{Side, Spread, ranks_of, times_by_rank};
use stack_books::StepChoice;

use super::model::{Annotated, AnnotatedFile, AnnotatedLine, AnnotatedRow, LineAmount, LineCost};
use super::regions::regions;
use crate::filter::{self, CodeFilter};
use crate::model::{Cell, Column};
use crate::part::RecordingPart;
use crate::recording::{PresentText, Recording};
use crate::summary;

/// The columns of numbers in the order in which they are shown.
fn columns(scale: &Scale<'_>) -> [Quantity; 13] {
    [
        Quantity::CpuBusy,
        Quantity::CpuTotal,
        Quantity::CudaOwn,
        scale.recompute(),
        scale.backward(),
        Quantity::Wait,
        Quantity::Waiting,
        Quantity::Idle,
        Quantity::CommExposed,
        Quantity::Alloc,
        Quantity::Peak,
        Quantity::Calls,
        Quantity::Kernels,
    ]
}

/// The same in the order in which they are kept when the terminal is narrow.
fn columns_by_priority(scale: &Scale<'_>) -> [Quantity; 13] {
    [
        Quantity::CpuBusy,
        Quantity::CudaOwn,
        Quantity::Wait,
        Quantity::Waiting,
        Quantity::CpuTotal,
        scale.backward(),
        scale.recompute(),
        Quantity::Idle,
        Quantity::CommExposed,
        Quantity::Peak,
        Quantity::Alloc,
        Quantity::Kernels,
        Quantity::Calls,
    ]
}

/// What is shown.
#[derive(Debug, Clone)]
pub struct AnnotateOptions {
    /// What numbers stand for; the recording where it has no steps.
    pub period: Period,
    /// Lines of source around each line that is shown for its numbers.
    pub context: u32,
    /// Least share, in percent, that a line needs in one of its columns.
    pub threshold: f64,
    /// Library files too.
    pub all: bool,
    /// Where the files are that are shown, notebooks with all their cells; empty for all files.
    pub files: Vec<PathBuf>,
    /// Which lines are shown; those around them are shown with them.
    pub code: CodeFilter,
    /// The folder of the user's code, as it is called in messages.
    pub root: String,
}

impl AnnotateOptions {
    /// Whether a file is shown; `cells` are the hashes of the cells of the texts among those that are named, whose cells may be
    /// in a notebook file, too.
    fn shows(&self, file: &SourceFile, cells: &BTreeSet<u32>) -> bool {
        if self.files.is_empty() {
            return file.is_user_code || self.all;
        }
        if recorded_cell(&file.recorded).is_some_and(|it| cells.contains(&it)) {
            return true;
        }
        let Some(path) = &file.path else { return false };
        let notebook = path.to_str().and_then(pysource::split_cell_path);
        let path = notebook.map_or(path.as_path(), |(notebook, _)| Path::new(notebook));
        self.files.iter().any(|it| it == path)
    }

    /// The hashes of what the cells of the texts that are named may have run as.
    fn cells_of_texts(&self, recording: &Recording<'_>) -> BTreeSet<u32> {
        let mut hashes = BTreeSet::new();
        for file in self.files.iter().filter(|it| pysource::may_have_text_cells(it)) {
            let text = recording.sources.read(file).unwrap_or_default();
            let cells = pysource::text_cells(file, &text);
            let texts = cells.iter().flat_map(pysource::TextCell::texts);
            hashes.extend(texts.map(|it| pysource::cell_hash(&it.text)));
        }
        hashes
    }
}

/// Says that the step which is asked for is none of the recording; `None` where it is one, or none is asked for.
#[must_use]
pub fn unknown_step(recording: &Recording<'_>, options: &AnnotateOptions) -> Option<String> {
    let Period::Step(step) = options.period else { return None };
    filter::unknown_step(&recording.run.merged, &[StepChoice::from(step)])
}

/// The files that have lines to show, hottest first.
#[must_use]
pub fn build(recording: &Recording<'_>, options: &AnnotateOptions) -> Annotated {
    let run = recording.run;
    let scale = Scale::new(&run.merged, options.period);
    let is_present = |it: &Quantity| scale.is_present(*it);
    let present: Vec<Quantity> = columns(&scale).into_iter().filter(is_present).collect();
    let index = |it| present.iter().position(|&column| column == it);
    let found = found(recording, options, &scale);
    let has = |kind| found.iter().any(|it| it.said.values().any(|it| it.evidence == kind));
    let rank_columns = RankColumns::new(&scale, options.threshold, &found);
    let mut by_priority: Vec<usize> =
        columns_by_priority(&scale).into_iter().filter_map(index).collect();
    let mut headings: Vec<Column> =
        present.iter().map(|it| Column::number(it.heading(), it.unit())).collect();
    if let Some(it) = &rank_columns {
        // Who is the worst, and how bad that is, goes before all but the two times that lines are compared by.
        let first = headings.len();
        headings.extend(it.headings());
        let times = [Quantity::CpuBusy, Quantity::CudaOwn];
        let place = times.into_iter().filter(|it| present.contains(it)).count();
        by_priority.splice(place..place, [first, first + 1]);
        by_priority.extend([first + 2, first + 3]);
    }
    let costs = LineCosts { scale: &scale, columns: &present, ranks: &rank_columns };
    let files: Vec<AnnotatedFile> =
        found.iter().map(|it| file(recording, it, &costs, options.context)).collect();
    let is_stale = |row: &AnnotatedRow| {
        let AnnotatedRow::Line(line) = row else { return false };
        line.cost.as_ref().is_some_and(|it| it.is_stale)
    };
    let any_stale = files.iter().flat_map(|it| &it.rows).any(is_stale);
    let stale =
        any_stale.then_some("≈  the line was changed since the recording, or may have been");
    let legend = [
        (Evidence::Inferred, "~  the line is inferred from the source and the order of events"),
        (
            Evidence::Function,
            "fn only the function is known: its part that could not be put on a line",
        ),
    ];
    Annotated {
        summary: summary::summary(run, &scale),
        period: match scale.period() {
            Period::Run => "per run".to_owned(),
            Period::Mean => "per step".to_owned(),
            Period::Step(step) => format!("of step {step}"),
        },
        columns: headings,
        by_priority,
        legend: legend
            .into_iter()
            .filter(|&(kind, _)| has(kind))
            .map(|(_, text)| text)
            .chain(stale)
            .collect(),
        nothing: found.is_empty().then(|| nothing_to_say(run, options)),
        files,
    }
}

/// The same of a part of the recording, whose amounts are in the place of the whole.
#[must_use]
pub fn build_part(
    recording: &Recording<'_>,
    options: &AnnotateOptions,
    part: &RecordingPart,
) -> Annotated {
    let options = AnnotateOptions { period: Period::Run, ..options.clone() };
    let annotated = build(recording, &options);
    Annotated { summary: part.summary.clone(), period: "of part".to_owned(), ..annotated }
}

/// A file with its lines.
struct FoundFile<'a> {
    /// Key in the ledger.
    key: &'a str,
    name: &'a str,
    source: &'a SourceFile,
    /// All of its lines.
    all: Vec<&'a LineBooks>,
    /// Those that have something to say, by number.
    said: BTreeMap<u32, &'a LineBooks>,
}

/// The files to show, hottest first.
fn found<'a>(
    recording: &'a Recording<'_>,
    options: &AnnotateOptions,
    scale: &Scale<'_>,
) -> Vec<FoundFile<'a>> {
    let run = recording.run;
    let columns = columns(scale);
    let cells = options.cells_of_texts(recording);
    let mut files: BTreeMap<&str, FoundFile<'a>> = BTreeMap::new();
    for (key, books) in &run.merged.lines {
        let source = run.merged.files.get(&key.file).filter(|it| options.shows(it, &cells));
        let Some(source) = source else { continue };
        let file = files.entry(&key.file).or_insert_with(|| FoundFile {
            key: &key.file,
            name: recording.file(&key.file),
            source,
            all: Vec::new(),
            said: BTreeMap::new(),
        });
        file.all.push(books);
        let passes = || options.code.passes(recording.file(&key.file), &books.function);
        if options.threshold / 100.0 <= scale.largest_share(&columns, books) && passes() {
            file.said.insert(key.line, books);
        }
    }
    let mut files: Vec<_> = files.into_values().filter(|it| !it.said.is_empty()).collect();
    let heat = |file: &FoundFile<'_>| file.all.iter().map(|it| scale.line_share(it)).sum::<f64>();
    files.sort_by(|a, b| heat(b).total_cmp(&heat(a)));
    files
}

fn file(
    recording: &Recording<'_>,
    found: &FoundFile<'_>,
    costs: &LineCosts<'_>,
    context: u32,
) -> AnnotatedFile {
    let fit = found.source.fit;
    let now = recording.present(found.key);
    let mut doubt = match fit {
        SourceFit::Fits if now.is_some() => None,
        SourceFit::Fits => Some("the file cannot be read: lines are listed without text"),
        SourceFit::Edited if now.is_some() => None,
        SourceFit::Edited => {
            Some("edited since the recording: lines are listed as recorded, without text")
        }
        // A cell that is in no notebook file is in the recording alone.
        SourceFit::Missing if now.is_some() && recorded_cell(found.key).is_some() => None,
        SourceFit::Missing if now.is_some() => {
            Some("not found here (see --root): the text is that of the recording")
        }
        SourceFit::Missing => {
            Some("not found here (see --root, --map, --site): lines are listed without text")
        }
    }
    .map(str::to_owned);
    let has_text = now.is_some();
    let rows = match &now {
        Some(PresentText { text, map }) => {
            let carried = CarriedBooks::new(map.as_ref(), &found.said);
            if map.as_ref().is_some_and(LineMap::is_doubted) {
                doubt = Some(
                    "changed after the recording, and what ran is not known: lines may be other ones"
                        .to_owned(),
                );
            } else if fit == SourceFit::Edited {
                doubt = Some(carried.changes());
            }
            let cost = |(books, is_stale): &(&LineBooks, bool)| costs.of(books, *is_stale);
            annotated(text, &carried.lines, cost, context)
        }
        None => {
            let line = |(&number, books): (&u32, &&LineBooks)| {
                let text = format!("in {}", books.function);
                let cost = costs.of(books, false);
                AnnotatedRow::Line(AnnotatedLine { number, text, cost: Some(cost) })
            };
            found.said.iter().map(line).collect()
        }
    };
    if let Some(choice) = loader::other_choice(found.source) {
        let choice = format!("another file goes with what was recorded as well; {choice}");
        doubt = Some(doubt.map_or(choice.clone(), |it| format!("{it}; {choice}")));
    }
    let name = found.name.to_owned();
    AnnotatedFile { name, extent: extent(recording.run, found), has_text, doubt, rows }
}

/// The lines that have something to say where they are in the file as it is now.
struct CarriedBooks<'a> {
    /// By line: what was charged, and whether the line was changed since.
    lines: BTreeMap<u32, (&'a LineBooks, bool)>,
    /// Lines that are not in the file any more.
    gone: usize,
}

impl<'a> CarriedBooks<'a> {
    /// `said` are lines of the text that ran; `map` leads to the file as it is now, if that is another text.
    fn new(map: Option<&LineMap>, said: &BTreeMap<u32, &'a LineBooks>) -> Self {
        let mut carried = Self { lines: BTreeMap::new(), gone: 0 };
        for (&line, &books) in said {
            let same = Carried { line, is_edited: false };
            match map.map_or(Some(same), |map| map.current(line)) {
                Some(at) => drop(carried.lines.insert(at.line, (books, at.is_edited))),
                None => carried.gone += 1,
            }
        }
        carried
    }

    /// What became of the lines of a file that was changed.
    fn changes(&self) -> String {
        let gone = match self.gone {
            0 => String::new(),
            1 => "; 1 line that ran is not in it any more".to_owned(),
            n => format!("; {n} lines that ran are not in it any more"),
        };
        format!("changed since the recording: numbers follow their lines{gone}")
    }
}

/// The shares of a file in the totals, and how its lines are known.
fn extent(run: &Run, found: &FoundFile<'_>) -> String {
    let own = |amount: fn(&LineBooks) -> i64| found.all.iter().map(|it| amount(it)).sum::<i64>();
    let mut parts = String::new();
    for (own, total, name) in [
        (own(|it| it.cpu_own.0), run.merged.totals.cpu.0, "thread time"),
        (own(|it| it.cuda_own.0), run.merged.totals.cuda.0, "CUDA time"),
        (own(|it| it.alloc.0), run.merged.totals.alloc.0, "allocated bytes"),
    ] {
        if own != 0 {
            parts += &format!(" · {} of {name}", percent(own as f64 / total as f64));
        }
    }
    let evidence = evidence_shares(found.all.iter().copied(), &run.merged);
    if !evidence.is_empty() {
        parts += &format!(" · {evidence}");
    }
    parts
}

/// What the numbers of lines are taken from.
struct LineCosts<'a> {
    scale: &'a Scale<'a>,
    columns: &'a [Quantity],
    ranks: &'a Option<RankColumns<'a>>,
}

impl LineCosts<'_> {
    fn of(&self, books: &LineBooks, is_stale: bool) -> LineCost {
        let scale = self.scale;
        let amount = |&column: &Quantity| {
            let value = scale.value(column, books).unwrap_or(0.0);
            LineAmount {
                cell: Cell::quantity(column, value).unless_zero(),
                share: scale.share(column, value),
            }
        };
        let mut amounts: Vec<LineAmount> = self.columns.iter().map(amount).collect();
        amounts.extend(self.ranks.iter().flat_map(|it| it.amounts(books)));
        LineCost { evidence: books.evidence, is_stale, share: scale.line_share(books), amounts }
    }
}

/// The columns of a run of several ranks: filled where one rank takes notably longer than the others.
struct RankColumns<'a> {
    scale: &'a Scale<'a>,
    ranks: BTreeSet<u32>,
    /// Least share of 1 that the time of the worst rank needs.
    threshold: f64,
}

impl<'a> RankColumns<'a> {
    /// `None` unless a line that is shown differs over the ranks.
    fn new(scale: &'a Scale<'a>, threshold: f64, found: &[FoundFile<'_>]) -> Option<Self> {
        let ranks = ranks_of(scale.ledger());
        // A step is a mean over the ranks: of a single one they are not kept apart.
        if ranks.len() < 2 || matches!(scale.period(), Period::Step(_)) {
            return None;
        }
        let it = Self { scale, ranks, threshold: threshold / 100.0 };
        let mut lines = found.iter().flat_map(|file| file.said.values());
        lines.any(|books| it.uneven(books).is_some()).then_some(it)
    }

    /// In the order of [`Self::amounts`].
    fn headings(&self) -> [Column; 4] {
        [
            Column::number("worst rank", Unit::Count),
            Column::number("ranks max", Unit::Ns),
            Column::number("ranks median", Unit::Ns),
            Column::number("ranks min", Unit::Ns),
        ]
    }

    /// A time over the recording of one rank as the scale has it: of the mean step of the rank.
    fn time(&self, sum: Ns) -> f64 {
        let n = if self.scale.period() == Period::Run { 1.0 } else { self.ranks.len() as f64 };
        n * self.scale.mean(sum.as_f64())
    }

    /// How a line differs over the ranks: on devices, else on the host.
    fn uneven(&self, books: &LineBooks) -> Option<(Spread, Quantity)> {
        let sides = [(Side::Device, Quantity::CudaOwn), (Side::Host, Quantity::CpuOwn)];
        sides.into_iter().find_map(|(side, quantity)| {
            let spread = Spread::of(&self.ranks, &times_by_rank(books, side))?;
            let share = self.scale.share(quantity, self.time(spread.max));
            (spread.is_uneven() && self.threshold <= share).then_some((spread, quantity))
        })
    }

    fn amounts(&self, books: &LineBooks) -> [LineAmount; 4] {
        let Some((spread, quantity)) = self.uneven(books) else {
            return std::array::from_fn(|_| LineAmount { cell: Cell::default(), share: 0.0 });
        };
        let amount = |time: Ns| {
            let value = self.time(time);
            LineAmount {
                cell: Cell::quantity(quantity, value),
                share: self.scale.share(quantity, value),
            }
        };
        [
            LineAmount { cell: Cell::integer(spread.worst), share: 0.0 },
            amount(spread.max),
            amount(spread.median),
            amount(spread.min),
        ]
    }
}

/// The parts of the text around the lines, the heads of their functions included.
fn annotated<'a>(
    text: &str,
    said: &BTreeMap<u32, (&'a LineBooks, bool)>,
    cost: impl Fn(&(&'a LineBooks, bool)) -> LineCost,
    context: u32,
) -> Vec<AnnotatedRow> {
    let lines: Vec<&str> = text.lines().collect();
    let mut rows = Vec::new();
    let mut before = None;
    for number in regions(&lines, &Module::parse(text), said.keys().copied(), context) {
        if before.is_some_and(|it| it + 1 < number) {
            rows.push(AnnotatedRow::Gap);
        }
        before = Some(number);
        let text = lines.get(number as usize - 1).copied().unwrap_or_default();
        let cost = said.get(&number).map(&cost);
        rows.push(AnnotatedRow::Line(AnnotatedLine {
            number,
            text: text.trim_end().to_owned(),
            cost,
        }));
    }
    rows
}

/// Why no line of a recording is known, and what to do about it; nothing where there are lines.
#[must_use]
pub fn without_lines(run: &Run) -> Option<&'static str> {
    let mut recordings = run.inputs.iter().filter(|it| !it.kind.is_side_car());
    if !run.merged.lines.is_empty() {
        None
    } else if run.inputs.iter().any(|it| !it.complete) {
        Some(
            "No line is known: there are no Python stacks in what could be read of the damaged input. Copy it again, or \
             record with with_stack=True.",
        )
    } else if recordings.all(|it| it.kind == InputKind::Snapshot) {
        Some(
            "No line is known: the memory snapshot has no Python frames. Record with \
             torch.cuda.memory._record_memory_history(context=\"all\", stacks=\"all\").",
        )
    } else {
        Some("No line is known: the recording has no Python stacks. Record with with_stack=True.")
    }
}

/// Why nothing is shown, and what to do about it.
pub(super) fn nothing_to_say(run: &Run, options: &AnnotateOptions) -> String {
    if let Some(reason) = without_lines(run) {
        return reason.to_owned();
    }
    let any_own = run.merged.files.values().any(|it| it.is_user_code);
    match any_own || options.all {
        _ if !options.files.is_empty() => {
            let named = options.files.iter().map(|it| it.display().to_string());
            let named = named.collect::<Vec<_>>().join(", ");
            format!(
                "The recording has no line of {named} with a share of {} % or more: name the folder of your code with \
                 --root, or see --threshold. Cells of a notebook are found by their text: one that was edited since is \
                 not the one that ran.",
                options.threshold
            )
        }
        false => format!(
            "No line is in your code, which was looked for in {}: name its folder with --root, or show library files \
             with --all.",
            options.root
        ),
        true => {
            format!("No line has a share of {} % or more: see --threshold.", options.threshold)
        }
    }
}
