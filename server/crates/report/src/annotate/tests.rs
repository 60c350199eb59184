//! From a run built by hand to the text that is printed.

use expect_test::expect;
use ledger::SourceFit;
use loader::{Run, TextOrigin, TextThatRan};
use metrics::Period;
use pysource::Module;

use super::build::nothing_to_say;
use super::regions::regions;
use super::*;
use crate::terminal::{Colours, Terminal};
use crate::testing::{TextsInMemory, recording, sources, training};

fn options() -> AnnotateOptions {
    AnnotateOptions {
        code: crate::CodeFilter::default(),
        root: ".".to_owned(),
        period: Period::Mean,
        context: 0,
        threshold: 0.5,
        files: Vec::new(),
        all: false,
    }
}

fn shown(run: &Run, options: &AnnotateOptions, terminal: Terminal) -> String {
    shown_with(run, &sources(), options, terminal)
}

fn shown_with(
    run: &Run,
    sources: &TextsInMemory,
    options: &AnnotateOptions,
    terminal: Terminal,
) -> String {
    let mut out = Vec::new();
    let annotated = build(&recording(run, sources), options);
    write_text(&mut out, &annotated, &terminal).unwrap();
    String::from_utf8(out).unwrap()
}

const PIPE: Terminal = Terminal { colours: Colours::Plain, width: None };

#[test]
fn a_pipe_gets_every_column_and_the_whole_source() {
    let shown = shown(&training(), &options(), PIPE);
    expect![[r#"
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
not found here (see --root, --map, --site): lines are listed without text
      per step     cpu     cpu    cuda              gpu             gpu exposed
line     share     own   total     own backward    wait waiting    idle    comm    alloc     peak   calls kernels │
   4 fn    2 %          200 µs                           200 µs                                                   │ in load, "fast"

~  the line is inferred from the source and the order of events
fn only the function is known: its part that could not be put on a line
"#]]
    .assert_eq(&shown);
}

#[test]
fn a_narrow_terminal_gets_the_columns_that_matter_and_the_source_is_cut() {
    let narrow = Terminal { width: Some(80), ..PIPE };
    let shown = shown(&training(), &options(), narrow);
    assert!(shown.lines().all(|line| crate::terminal::columns(line) <= 80), "{shown}");
    expect![[r#"
        trace.json.gz · 2 steps of 10 ms (9 ms to 11 ms)
        H100: 75 % busy · 12 ms CUDA · 2 ms idle · CPU waits 2.5 ms per step
        on lines: 97.1 % of thread time, 100 % of CUDA time · 70.4 % exact, 26.1 %
          inferred, 3.52 % function
        2 idle threads, left out: they only waited
        ! trace.json.gz is incomplete: the file ends inside an event; everything
          before was read (at byte 12345)

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
        not found here (see --root, --map, --site): lines are listed without text
              per step     cpu    cuda     gpu
        line     share     own     own    wait │
           4 fn    2 %                         │ in load, "fast"

        ~  the line is inferred from the source and the order of events
        fn only the function is known: its part that could not be put on a line
        too narrow for waiting, cpu total, backward, gpu idle, exposed comm, peak, allo…
    "#]]
    .assert_eq(&shown);
}

#[test]
fn lines_that_differ_over_the_ranks_name_the_worst_beside_their_times() {
    let mut run = training();
    run.merged.ranks = 2;
    let overview = run.merged.overviews.values().next().unwrap().clone();
    run.merged.overviews.insert(1, overview);
    let thread = |rank| ledger::ThreadKey { rank, thread: "1".to_owned() };
    for rank in 0..2 {
        run.merged.threads.insert(thread(rank), ledger::Ns(20_000_000));
    }
    let key = ledger::LineKey { file: "train.py".to_owned(), line: 17 };
    let books = run.merged.lines.get_mut(&key).unwrap();
    let times = [(0, 1_000_000), (1, 9_000_000)];
    books.by_rank = times
        .into_iter()
        .map(|(rank, time)| ledger::RankShare::of_thread(rank, ledger::Ns(time)))
        .collect();
    let narrow = Terminal { width: Some(80), ..PIPE };
    let shown = shown(&run, &options(), narrow);
    assert!(shown.lines().all(|line| crate::terminal::columns(line) <= 80), "{shown}");
    let line = shown.lines().find(|it| it.starts_with("  17")).unwrap();
    assert!(line.contains("     1  4.5 ms │             x = "), "{shown}");
    assert!(shown.contains("    cpu    cuda worst   ranks\n"), "{shown}");
}

#[test]
fn sums_over_the_run_with_context_and_library_files() {
    let options = AnnotateOptions {
        period: Period::Run,
        context: 1,
        threshold: 10.0,
        all: true,
        ..options()
    };
    expect![[r#"
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
not found here (see --root, --map, --site): lines are listed without text
       per run     cpu     cpu    cuda              gpu             gpu exposed
line     share     own   total     own backward    wait waiting    idle    comm    alloc     peak   calls kernels │
1700                      4 ms                                                                                    │ in relu

~  the line is inferred from the source and the order of events
"#]]
    .assert_eq(&shown(&training(), &options, PIPE));
}

#[test]
fn an_edited_file_is_listed_without_its_text() {
    let mut run = training();
    run.merged.files.get_mut("train.py").unwrap().fit = SourceFit::Edited;
    let options = AnnotateOptions { threshold: 10.0, ..options() };
    expect![[r#"
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
"#]]
    .assert_eq(&shown(&run, &options, PIPE));
}

#[test]
fn numbers_follow_their_lines_in_a_file_that_was_changed() {
    let mut run = training();
    let ran = sources().0.into_values().next().unwrap();
    let now = ran
        .replace("import torch", "import math\nimport torch")
        .replace("x.max().item() > 100", "x.max().item() > 10")
        .replace("        model(batch).sum().backward()\n", "        pass\n");
    let text = TextThatRan { text: ran.into(), origin: TextOrigin::Kept };
    run.texts.insert("train.py".to_owned(), text);
    run.merged.files.get_mut("train.py").unwrap().fit = SourceFit::Edited;
    let sources = TextsInMemory([("/home/me/train.py".into(), now)].into());
    let options = AnnotateOptions { threshold: 10.0, ..options() };
    expect![[r#"
        trace.json.gz · 2 steps of 10 ms (9 ms to 11 ms)
        H100: 75 % busy · 12 ms CUDA · 2 ms idle · CPU waits 2.5 ms per step
        on lines: 97.1 % of thread time, 100 % of CUDA time · 70.4 % exact, 26.1 % inferred, 3.52 % function
        2 idle threads, left out: they only waited
        ! trace.json.gz is incomplete: the file ends inside an event; everything before was read (at byte 12345)

        train.py · 95.1 % of thread time · 100 % of CUDA time · 100 % of allocated bytes · 71.8 % exact, 26.7 % inferred, 1.54 % function
        changed since the recording: numbers follow their lines
              per step     cpu     cpu    cuda              gpu             gpu exposed
        line     share     own   total     own backward    wait waiting    idle    comm    alloc     peak   calls kernels │
           5                                                                                                              │ class Model(torch.nn.Module):
           …
          16                                                                                                              │     def forward(self, x):
          17                                                                                                              │         for layer in self.layers:
          18      60 %    3 ms    3 ms    6 ms     4 ms                  500 µs  200 µs    1 MiB    1 MiB      20      42 │             x = torch.relu(layer(x))
          19 ≈~   26 %  2.6 ms  2.6 ms                   2.5 ms          1.5 ms          512 KiB                2       1 │         if x.max().item() > 10:
           …
          24                                                                                                              │ def train(model, data):
          25                                                                                                              │     for batch in data:
          26 ≈    60 %    4 ms  9.9 ms    6 ms                                                                  3         │         pass

        ~  the line is inferred from the source and the order of events
        ≈  the line was changed since the recording, or may have been
    "#]].assert_eq(&shown_with(&run, &sources, &options, PIPE));
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
    let options = AnnotateOptions { threshold: 99.0, all: true, ..options() };
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
        let shown: Vec<u32> = regions(&lines, &Module::parse(text), said.iter().copied(), context)
            .into_iter()
            .collect();
        assert_eq!(shown, expected, "{said:?} with {context}");
    }
}

#[test]
fn a_step_is_shown_by_its_number_and_an_unknown_one_is_reported() {
    let (run, sources) = (training(), sources());
    let of_step = |number| AnnotateOptions { period: Period::Step(number), ..options() };
    let recording = recording(&run, &sources);
    assert_eq!(unknown_step(&recording, &options()), None);
    assert_eq!(unknown_step(&recording, &of_step(3)), None);
    let text = shown(&run, &of_step(3), PIPE);
    assert!(text.contains("\n     of step 3     cpu"), "{text}");
    assert_eq!(
        unknown_step(&recording, &of_step(4)).unwrap(),
        "unknown step `4`, expected one of the 2 steps from 2 to 3"
    );
    let mut without = training();
    without.merged.steps.clear();
    assert_eq!(
        unknown_step(&crate::testing::recording(&without, &sources), &of_step(4)).unwrap(),
        "unknown step `4`: the recording has no steps"
    );
}
