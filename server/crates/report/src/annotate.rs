//! Source with what each line costs beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use ledger::{Evidence, LineBooks, SourceFile, SourceFit};
use loader::Run;
use metrics::numbers::percent;
use metrics::{Period, Quantity, Scale, Unit, evidence_shares, mark};
use pysource::{FunctionKind, Module};

use crate::recording::Recording;
use crate::summary;
use crate::terminal::{DOUBT, FAINT, STRONG, Terminal, clean, cut, left, right};
use crate::text;

/// The columns of numbers in the order in which they are shown; `backward` is the backward time of the recording.
fn columns(backward: Quantity) -> [Quantity; 12] {
    [
        Quantity::CpuBusy,
        Quantity::CpuTotal,
        Quantity::CudaOwn,
        backward,
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
fn columns_by_priority(backward: Quantity) -> [Quantity; 12] {
    [
        Quantity::CpuBusy,
        Quantity::CudaOwn,
        Quantity::Wait,
        Quantity::Waiting,
        Quantity::CpuTotal,
        backward,
        Quantity::Idle,
        Quantity::CommExposed,
        Quantity::Peak,
        Quantity::Alloc,
        Quantity::Kernels,
        Quantity::Calls,
    ]
}

/// The heading of a column over two lines.
fn heading(column: Quantity) -> [&'static str; 2] {
    let heading = column.heading();
    heading.split_once(' ').map_or(["", heading], |(above, below)| [above, below])
}

/// Terminal columns that the numbers and the heading of a column need.
fn width(column: Quantity) -> usize {
    let numbers = if column.unit() == Unit::Bytes { 8 } else { 7 };
    heading(column).map(str::len).into_iter().fold(numbers, usize::max)
}

/// What is shown.
#[derive(Debug, Clone)]
pub struct Options {
    /// What numbers stand for; the recording where it has no steps.
    pub period: Period,
    /// Lines of source around each line that is shown for its numbers.
    pub context: u32,
    /// Least share, in percent, that a line needs in one of its columns.
    pub threshold: f64,
    /// Library files too.
    pub all: bool,
    /// The folder of the user's code, as it is called in messages.
    pub root: String,
}

/// Prints the files that have lines to show, hottest first.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(
    out: &mut dyn Write,
    recording: &Recording<'_>,
    options: &Options,
    terminal: &Terminal,
) -> io::Result<()> {
    let run = recording.run;
    let scale = Scale::new(&run.merged, options.period);
    text::summary(out, &summary::summary(run, &scale), terminal)?;
    let files = files(recording, options, &scale);
    if files.is_empty() {
        return writeln!(out, "\n{}", nothing_to_say(run, options));
    }
    let table = Table::new(&scale, terminal, &files);
    for file in &files {
        writeln!(out)?;
        table.file(out, run, file, options.context)?;
    }
    table.legend(out, &files)
}

/// A file that is shown.
struct File<'a> {
    name: String,
    source: &'a SourceFile,
    /// All of its lines.
    all: Vec<&'a LineBooks>,
    /// Those that have something to say, by number.
    said: BTreeMap<u32, &'a LineBooks>,
    /// The text that ran, where it is at hand.
    text: Option<String>,
}

/// The files to show, hottest first.
fn files<'a>(recording: &Recording<'a>, options: &Options, scale: &Scale<'_>) -> Vec<File<'a>> {
    let run = recording.run;
    let columns = columns(scale.backward());
    let mut files: BTreeMap<&str, File<'a>> = BTreeMap::new();
    for (key, books) in &run.merged.lines {
        let Some(source) =
            run.merged.files.get(&key.file).filter(|it| it.is_user_code || options.all)
        else {
            continue;
        };
        let file = files.entry(&key.file).or_insert_with(|| File {
            name: recording.file(&key.file).to_owned(),
            source,
            all: Vec::new(),
            said: BTreeMap::new(),
            text: None,
        });
        file.all.push(books);
        if options.threshold / 100.0 <= scale.largest_share(&columns, books) {
            file.said.insert(key.line, books);
        }
    }
    let mut files: Vec<_> = files.into_values().filter(|it| !it.said.is_empty()).collect();
    for file in &mut files {
        let path = file.source.path.as_ref().filter(|_| file.source.fit == SourceFit::Fits);
        file.text = path.and_then(|path| recording.sources.read(path));
    }
    let heat = |file: &File<'_>| file.all.iter().map(|it| scale.line_share(it)).sum::<f64>();
    files.sort_by(|a, b| heat(b).total_cmp(&heat(a)));
    files
}

fn nothing_to_say(run: &Run, options: &Options) -> String {
    let any_own = run.merged.files.values().any(|it| it.is_user_code);
    match (run.merged.lines.is_empty(), any_own || options.all) {
        (true, _) if run.inputs.iter().all(|it| it.complete) => {
            "No line is known: the recording has no Python stacks. Record with with_stack=True."
                .to_owned()
        }
        (true, _) => "No line is known: there are no Python stacks in what could be read of the \
                      damaged input. Copy it again, or record with with_stack=True."
            .to_owned(),
        (false, false) => format!(
            "No line is in your code, which was looked for in {}: name its folder with --root, or show library files \
             with --all.",
            options.root
        ),
        (false, true) => {
            format!("No line has a share of {} % or more: see --threshold.", options.threshold)
        }
    }
}

/// The columns of numbers, the same for all files.
struct Table<'a> {
    scale: &'a Scale<'a>,
    terminal: &'a Terminal,
    columns: Vec<Quantity>,
    /// Columns that the recording has and the terminal is too narrow for.
    left_out: Vec<Quantity>,
    line_width: usize,
}

impl<'a> Table<'a> {
    const MARK: usize = 2;
    const SHARE: usize = 6;

    fn new(scale: &'a Scale<'a>, terminal: &'a Terminal, files: &[File<'_>]) -> Self {
        let last =
            files.iter().filter_map(|it| it.said.keys().next_back()).max().copied().unwrap_or(0);
        let line_width = last.to_string().len().max(4);
        let mut table =
            Self { scale, terminal, columns: Vec::new(), left_out: Vec::new(), line_width };
        let backward = scale.backward();
        let present = |it: &Quantity| scale.is_present(*it);
        let mut kept = Vec::new();
        for column in columns_by_priority(backward).into_iter().filter(present) {
            kept.push(column);
            table.columns = columns(backward).into_iter().filter(|it| kept.contains(it)).collect();
            let too_wide = terminal
                .width
                .is_some_and(|width| width < table.gutter() + source_width(width, files));
            if too_wide && 1 < kept.len() {
                kept.pop();
                table.left_out.push(column);
            }
        }
        table.columns = columns(backward).into_iter().filter(|it| kept.contains(it)).collect();
        table
    }

    /// Columns before the source, the rule included.
    fn gutter(&self) -> usize {
        let numbers: usize = self.columns.iter().map(|it| width(*it) + 1).sum();
        self.edge() + numbers + 3
    }

    /// Columns for the line number, its mark and its share.
    fn edge(&self) -> usize {
        self.line_width + 1 + Self::MARK + 1 + Self::SHARE
    }

    fn file(
        &self,
        out: &mut dyn Write,
        run: &Run,
        file: &File<'_>,
        context: u32,
    ) -> io::Result<()> {
        self.head(out, run, file)?;
        match &file.text {
            Some(text) => self.annotated(out, file, text, context),
            None => self.listed(out, file),
        }
    }

    fn head(&self, out: &mut dyn Write, run: &Run, file: &File<'_>) -> io::Result<()> {
        let own = |amount: fn(&LineBooks) -> i64| file.all.iter().map(|it| amount(it)).sum::<i64>();
        let mut parts = String::new();
        for (own, total, name) in [
            (own(|it| it.cpu_own), run.merged.totals.cpu, "thread time"),
            (own(|it| it.cuda_own), run.merged.totals.cuda, "CUDA time"),
            (own(|it| it.alloc), run.merged.totals.alloc, "allocated bytes"),
        ] {
            if own != 0 {
                parts += &format!(" · {} of {name}", percent(own as f64 / total as f64));
            }
        }
        let evidence = evidence_shares(file.all.iter().copied(), &run.merged);
        if !evidence.is_empty() {
            parts += &format!(" · {evidence}");
        }
        writeln!(out, "{}", self.terminal.titled(&file.name, &parts))?;
        let doubt = match file.source.fit {
            SourceFit::Fits if file.text.is_some() => None,
            SourceFit::Fits => Some("the file cannot be read: lines are listed without text"),
            SourceFit::Edited => {
                Some("edited since the recording: lines are listed as recorded, without text")
            }
            SourceFit::Missing => {
                Some("not found here (see --root, --site): lines are listed without text")
            }
        };
        if let Some(doubt) = doubt {
            writeln!(out, "{}", self.terminal.paint(DOUBT, &cut(doubt, self.terminal.width)))?;
        }
        let unit = if self.scale.period() == Period::Run { "per run" } else { "per step" };
        let share = right("share", self.edge() - self.line_width);
        let edges =
            [right(unit, self.edge()), format!("{}{share}", right("line", self.line_width))];
        for (row, edge) in edges.into_iter().enumerate() {
            let cells = self.columns.iter().map(|it| right(heading(*it)[row], width(*it)));
            let cells: String = cells.map(|it| format!(" {it}")).collect();
            let cells = if row == 0 { cells } else { format!("{cells} │") };
            let heading = format!("{edge}{cells}");
            writeln!(out, "{}", self.terminal.paint(FAINT, heading.trim_end()))?;
        }
        Ok(())
    }

    /// The parts of the text around the lines, the heads of their functions included.
    fn annotated(
        &self,
        out: &mut dyn Write,
        file: &File<'_>,
        text: &str,
        context: u32,
    ) -> io::Result<()> {
        let lines: Vec<&str> = text.lines().collect();
        let shown = regions(&lines, &Module::parse(text), file.said.keys().copied(), context);
        let mut before = None;
        for number in shown {
            if before.is_some_and(|it| it + 1 < number) {
                let gap = format!("{} …", " ".repeat(self.line_width.saturating_sub(2)));
                writeln!(out, "{}", self.terminal.paint(FAINT, &gap))?;
            }
            before = Some(number);
            let source = lines.get(number as usize - 1).copied().unwrap_or_default();
            self.line(out, number, file.said.get(&number).copied(), source.trim_end())?;
        }
        Ok(())
    }

    /// The lines alone, with the name of their function.
    fn listed(&self, out: &mut dyn Write, file: &File<'_>) -> io::Result<()> {
        for (&number, &books) in &file.said {
            self.line(out, number, Some(books), &format!("in {}", books.function))?;
        }
        Ok(())
    }

    fn line(
        &self,
        out: &mut dyn Write,
        number: u32,
        books: Option<&LineBooks>,
        source: &str,
    ) -> io::Result<()> {
        let room = self.terminal.width.map(|width| width.saturating_sub(self.gutter()));
        let source = cut(&clean(source), room);
        let rule = self.terminal.paint(FAINT, "│");
        let number = right(&number.to_string(), self.line_width);
        let Some(books) = books else {
            let blank = " ".repeat(self.gutter() - self.line_width - 3);
            let row = format!(
                "{}{blank} {rule} {}",
                self.terminal.paint(FAINT, &number),
                self.terminal.paint(FAINT, &source)
            );
            return writeln!(out, "{}", row.trim_end());
        };
        let mut row = format!("{number} {} ", left(mark(books.evidence), Self::MARK));
        let share = self.scale.line_share(books);
        let cell = right(&if 0.0 < share { percent(share) } else { String::new() }, Self::SHARE);
        row += &if share < 0.005 {
            cell
        } else {
            self.terminal.paint(self.terminal.heat(share), &cell)
        };
        for &column in &self.columns {
            let value = self.scale.value(column, books).unwrap_or(0.0);
            let cell = right(&column.cell(value), width(column));
            row += &format!(" {}", self.weigh(self.scale.share(column, value), &cell));
        }
        row += &format!(" {rule} {source}");
        writeln!(out, "{}", row.trim_end())
    }

    /// Large shares stand out.
    fn weigh(&self, share: f64, cell: &str) -> String {
        if 0.1 <= share { self.terminal.paint(STRONG, cell) } else { cell.to_owned() }
    }

    fn legend(&self, out: &mut dyn Write, files: &[File<'_>]) -> io::Result<()> {
        let mut notes = Vec::new();
        let has = |kind| files.iter().any(|file| file.said.values().any(|it| it.evidence == kind));
        if has(Evidence::Inferred) {
            notes
                .push("~  the line is inferred from the source and the order of events".to_owned());
        }
        if has(Evidence::Function) {
            notes.push(
                "fn only the function is known: its part that could not be put on a line"
                    .to_owned(),
            );
        }
        if !self.left_out.is_empty() {
            let names: Vec<_> = self.left_out.iter().map(|it| it.heading()).collect();
            notes.push(format!("too narrow for {}", names.join(", ")));
        }
        if !notes.is_empty() {
            writeln!(out)?;
        }
        for note in notes {
            writeln!(out, "{}", self.terminal.paint(FAINT, &cut(&note, self.terminal.width)))?;
        }
        Ok(())
    }
}

/// What the source gets at least of a terminal's columns; names of functions need less.
fn source_width(width: usize, files: &[File<'_>]) -> usize {
    if files.iter().any(|it| it.text.is_some()) { (width * 2 / 5).max(30) } else { width / 4 }
}

/// The lines to show, 1-based and ascending: those with something to say, `context` lines of the same function around
/// each, and the `def` and `class` lines that they are in. Blank lines at the edges of a region are left out.
fn regions(
    lines: &[&str],
    module: &Module,
    said: impl Iterator<Item = u32>,
    context: u32,
) -> BTreeSet<u32> {
    let last = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    let is_blank = |it: u32| lines.get(it as usize - 1).is_none_or(|line| line.trim().is_empty());
    let is_head =
        |kind| matches!(kind, FunctionKind::Class | FunctionKind::Def | FunctionKind::AsyncDef);
    let mut shown = BTreeSet::new();
    for number in said.filter(|it| (1..=last).contains(it)) {
        let within = module.enclosing(number).map(|it| it.first_line);
        let is_near = |it: &u32| module.enclosing(*it).map(|it| it.first_line) == within;
        let farthest = |lines: &mut dyn Iterator<Item = u32>| {
            let near = lines.take(context as usize).take_while(is_near);
            near.filter(|&it| !is_blank(it)).last().unwrap_or(number)
        };
        shown.extend(farthest(&mut (1..number).rev())..=farthest(&mut (number + 1..=last)));
        let around = module.functions().iter().filter(|it| is_head(it.kind) && it.contains(number));
        shown.extend(around.map(|it| it.def_line));
    }
    // A mark for one line left out is no shorter than the line.
    let alone: Vec<u32> =
        shown.iter().filter(|&&it| shown.contains(&(it + 2))).map(|it| it + 1).collect();
    shown.extend(alone);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Colours;
    use crate::testing::{expect, recording, sources, training};

    fn options() -> Options {
        Options {
            root: ".".to_owned(),
            period: Period::Mean,
            context: 0,
            threshold: 0.5,
            all: false,
        }
    }

    fn shown(run: &Run, options: &Options, terminal: Terminal) -> String {
        let mut out = Vec::new();
        write(&mut out, &recording(run, &sources()), options, &terminal).unwrap();
        String::from_utf8(out).unwrap()
    }

    const PIPE: Terminal = Terminal { colours: Colours::Plain, width: None };

    #[test]
    fn a_pipe_gets_every_column_and_the_whole_source() {
        let shown = shown(&training(), &options(), PIPE);
        expect(
            &shown,
            r#"
trace.json.gz · 2 steps of 10 ms (9 ms to 11 ms)
H100: 75 % busy · 12 ms CUDA · 2 ms idle · CPU waits 2.5 ms per step
on lines: 97.1 % of thread time, 100 % of CUDA time · 70.4 % exact, 26.1 % inferred, 3.52 % function
2 idle threads, left out: they only waited
! trace.json.gz is incomplete: the file ends inside an event; everything before was read (at byte 12345)

train.py · 95.1 % of thread time · 100 % of CUDA time · 100 % of allocated bytes · 71.8 % exact, 26.7 % inferred, 1.54 % function
      per step     cpu     cpu    cuda              gpu             gpu exposed
line     share     own   total     own backward    wait waiting    idle    comm    alloc     peak   calls kernels │
   4                                                                                                              │ class Model(torch.nn.Module):
   …
  15 fn  1.5 %  150 µs                                                                                            │     def forward(self, x):
  16                                                                                                              │         for layer in self.layers:
  17      60 %    3 ms    3 ms    6 ms     4 ms                  500 µs  200 µs    1 MiB    1 MiB      20      42 │             x = torch.relu(layer(x))
  18 ~    26 %  2.6 ms  2.6 ms                   2.5 ms          1.5 ms          512 KiB                2       1 │         if x.max().item() > 100:
   …
  23                                                                                                              │ def train(model, data):
  24                                                                                                              │     for batch in data:
  25      60 %    4 ms  9.9 ms    6 ms                                                                  3         │         model(batch).sum().backward()

helper.py · 1.95 % of thread time · function
not found here (see --root, --site): lines are listed without text
      per step     cpu     cpu    cuda              gpu             gpu exposed
line     share     own   total     own backward    wait waiting    idle    comm    alloc     peak   calls kernels │
   4 fn    2 %          200 µs                           200 µs                                                   │ in load, "fast"

~  the line is inferred from the source and the order of events
fn only the function is known: its part that could not be put on a line
"#,
        );
    }

    #[test]
    fn a_narrow_terminal_gets_the_columns_that_matter_and_the_source_is_cut() {
        let narrow = Terminal { width: Some(80), ..PIPE };
        let shown = shown(&training(), &options(), narrow);
        assert!(shown.lines().all(|line| crate::terminal::columns(line) <= 80), "{shown}");
        expect(
            &shown,
            r#"
trace.json.gz · 2 steps of 10 ms (9 ms to 11 ms)
H100: 75 % busy · 12 ms CUDA · 2 ms idle · CPU waits 2.5 ms per step
on lines: 97.1 % of thread time, 100 % of CUDA time · 70.4 % exact, 26.1 % infe…
2 idle threads, left out: they only waited
! trace.json.gz is incomplete: the file ends inside an event; everything before…

train.py · 95.1 % of thread time · 100 % of CUDA time · 100 % of allocated byte…
      per step     cpu    cuda     gpu
line     share     own     own    wait │
   4                                   │ class Model(torch.nn.Module):
   …
  15 fn  1.5 %  150 µs                 │     def forward(self, x):
  16                                   │         for layer in self.layers:
  17      60 %    3 ms    6 ms         │             x = torch.relu(layer(x))
  18 ~    26 %  2.6 ms          2.5 ms │         if x.max().item() > 100:
   …
  23                                   │ def train(model, data):
  24                                   │     for batch in data:
  25      60 %    4 ms    6 ms         │         model(batch).sum().backward()

helper.py · 1.95 % of thread time · function
not found here (see --root, --site): lines are listed without text
      per step     cpu    cuda     gpu
line     share     own     own    wait │
   4 fn    2 %                         │ in load, "fast"

~  the line is inferred from the source and the order of events
fn only the function is known: its part that could not be put on a line
too narrow for waiting, cpu total, backward, gpu idle, exposed comm, peak, allo…
"#,
        );
    }

    #[test]
    fn sums_over_the_run_with_context_and_library_files() {
        let options =
            Options { period: Period::Run, context: 1, threshold: 10.0, all: true, ..options() };
        expect(
            &shown(&training(), &options, PIPE),
            r#"
trace.json.gz · 2 steps of 10 ms (9 ms to 11 ms)
H100: 75 % busy · 24 ms CUDA · 4 ms idle · CPU waits 5 ms
on lines: 97.1 % of thread time, 100 % of CUDA time · 70.4 % exact, 26.1 % inferred, 3.52 % function
2 idle threads, left out: they only waited
! trace.json.gz is incomplete: the file ends inside an event; everything before was read (at byte 12345)

train.py · 95.1 % of thread time · 100 % of CUDA time · 100 % of allocated bytes · 71.8 % exact, 26.7 % inferred, 1.54 % function
       per run     cpu     cpu    cuda              gpu             gpu exposed
line     share     own   total     own backward    wait waiting    idle    comm    alloc     peak   calls kernels │
   4                                                                                                              │ class Model(torch.nn.Module):
   …
  15                                                                                                              │     def forward(self, x):
  16                                                                                                              │         for layer in self.layers:
  17    58.5 %    6 ms    6 ms   12 ms     8 ms                    1 ms  400 µs    2 MiB    1 MiB      40      84 │             x = torch.relu(layer(x))
  18 ~  25.4 %  5.2 ms  5.2 ms                     5 ms            3 ms            1 MiB                4       2 │         if x.max().item() > 100:
  19                                                                                                              │             x = x / 100
   …
  23                                                                                                              │ def train(model, data):
  24                                                                                                              │     for batch in data:
  25    58.5 %    8 ms 19.8 ms   12 ms                                                                  6         │         model(batch).sum().backward()

torch/nn/functional.py
not found here (see --root, --site): lines are listed without text
       per run     cpu     cpu    cuda              gpu             gpu exposed
line     share     own   total     own backward    wait waiting    idle    comm    alloc     peak   calls kernels │
1700                      4 ms                                                                                    │ in relu

~  the line is inferred from the source and the order of events
"#,
        );
    }

    #[test]
    fn an_edited_file_is_listed_without_its_text() {
        let mut run = training();
        run.merged.files.get_mut("train.py").unwrap().fit = SourceFit::Edited;
        let options = Options { threshold: 10.0, ..options() };
        expect(
            &shown(&run, &options, PIPE),
            r#"
trace.json.gz · 2 steps of 10 ms (9 ms to 11 ms)
H100: 75 % busy · 12 ms CUDA · 2 ms idle · CPU waits 2.5 ms per step
on lines: 97.1 % of thread time, 100 % of CUDA time · 70.4 % exact, 26.1 % inferred, 3.52 % function
2 idle threads, left out: they only waited
! trace.json.gz is incomplete: the file ends inside an event; everything before was read (at byte 12345)

train.py · 95.1 % of thread time · 100 % of CUDA time · 100 % of allocated bytes · 71.8 % exact, 26.7 % inferred, 1.54 % function
edited since the recording: lines are listed as recorded, without text
      per step     cpu     cpu    cuda              gpu             gpu exposed
line     share     own   total     own backward    wait waiting    idle    comm    alloc     peak   calls kernels │
  17      60 %    3 ms    3 ms    6 ms     4 ms                  500 µs  200 µs    1 MiB    1 MiB      20      42 │ in Model.forward
  18 ~    26 %  2.6 ms  2.6 ms                   2.5 ms          1.5 ms          512 KiB                2       1 │ in Model.forward
  25      60 %    4 ms  9.9 ms    6 ms                                                                  3         │ in train

~  the line is inferred from the source and the order of events
"#,
        );
    }

    #[test]
    fn colours_change_no_character() {
        for colours in [Colours::Palette, Colours::True] {
            let terminal = Terminal { colours, width: Some(100) };
            let painted = shown(&training(), &options(), terminal);
            assert!(painted.contains("\u{1b}["));
            let plain =
                shown(&training(), &options(), Terminal { colours: Colours::Plain, ..terminal });
            assert_eq!(anstream::adapter::strip_str(&painted).to_string(), plain);
        }
    }

    #[test]
    fn a_recording_with_nothing_to_show_says_what_to_do() {
        let mut run = training();
        run.merged.files.values_mut().for_each(|it| it.is_user_code = false);
        assert_eq!(
            nothing_to_say(&run, &options()),
            "No line is in your code, which was looked for in .: name its folder with --root, or show library files with --all."
        );
        let options = Options { threshold: 99.0, all: true, ..options() };
        assert_eq!(
            nothing_to_say(&run, &options),
            "No line has a share of 99 % or more: see --threshold."
        );
        run.merged.lines.clear();
        assert_eq!(
            nothing_to_say(&run, &options),
            "No line is known: there are no Python stacks in what could be read of the damaged input. Copy it again, or record \
             with with_stack=True."
        );
        run.inputs.iter_mut().for_each(|it| it.complete = true);
        assert_eq!(
            nothing_to_say(&run, &options),
            "No line is known: the recording has no Python stacks. Record with with_stack=True."
        );
    }

    #[test]
    fn a_region_has_its_surroundings_and_the_heads_of_its_function() {
        let text = "\
class A:

    def f(
        self,
    ):
        one()

        if two():
            three()

    def g(self):
        four()
";
        let lines: Vec<&str> = text.lines().collect();
        let rows: [(&[u32], u32, &[u32]); 5] = [
            (&[9], 0, &[1, 2, 3, 9]),
            (&[9], 1, &[1, 2, 3, 8, 9]),
            (&[6], 1, &[1, 2, 3, 4, 5, 6]),
            (&[1, 12], 0, &[1, 11, 12]),
            (&[0, 13], 3, &[]),
        ];
        for (said, context, expected) in rows {
            let shown: Vec<u32> =
                regions(&lines, &Module::parse(text), said.iter().copied(), context)
                    .into_iter()
                    .collect();
            assert_eq!(shown, expected, "{said:?} with {context}");
        }
    }
}
