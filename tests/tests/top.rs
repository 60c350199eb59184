//! The screen of `perfline top`, on recordings of the fixtures: whole screens as text, and what keys do.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::sync::atomic::AtomicBool;

use expect_test::expect;
use loader::{EventChoice, LoadOptions, StackChoice, Watch, load};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use report::terminal::Colours;
use report::{CodeFilter, Recording, RecordingPart, StackFilter};
use tests::fixtures::repository;
use top_screen::{Outcome, Screen, ScreenFilter, draw};

/// Shows a recording on a screen of a size; `keys` are pressed one after the other, then what stands there is returned.
struct Shown {
    recording: &'static str,
    size: (u16, u16),
}

impl Shown {
    fn after(&self, keys: &[KeyCode]) -> (String, Outcome) {
        self.part_after(&StackFilter::default(), CodeFilter::ALL, keys)
    }

    /// Of the part that passes `filter`, the lines that pass `code`.
    fn part_after(
        &self,
        filter: &StackFilter,
        code: &CodeFilter,
        keys: &[KeyCode],
    ) -> (String, Outcome) {
        let fixtures = repository().join("fixtures");
        let mut options = LoadOptions::new(fixtures.join("workloads"), Some(Vec::new()));
        if !filter.is_empty() {
            options.stacks = StackChoice::Always;
        }
        let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
        let mut run = load(&[fixtures.join(self.recording)], &options, &watch).unwrap();
        let part = (!filter.is_empty()).then(|| {
            filter.leave(&mut run, &options.root).unwrap();
            RecordingPart::take(&mut run, filter, filter)
        });
        let shown = ScreenFilter { code, part: part.as_ref() };
        let sources = loader::source_folders(&options);
        let names = loader::display_names(&run.merged, &options.root);
        let recording = Recording { run: &run, names, sources: &sources };
        let mut screen = Screen::new(&recording, shown, Colours::Plain, Default::default());
        let mut outcome = Outcome::Draw;
        for key in keys {
            outcome = screen.press(KeyEvent::new(*key, KeyModifiers::NONE));
        }
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| draw(&mut screen, frame, None)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| -> String {
            let row: String = (0..self.size.0).map(|x| buffer[(x, y)].symbol()).collect();
            row.trim_end().to_owned() + "\n"
        };
        ((0..self.size.1).map(row).collect(), outcome)
    }
}

const SLOW: &str = "simulated_cuda/torch2.15.0/slow_model.json.gz";

fn letters(text: &str) -> Vec<KeyCode> {
    text.chars().map(KeyCode::Char).collect()
}

#[test]
fn a_wide_screen_has_the_list_beside_the_source_and_the_details() {
    let (screen, _) = Shown { recording: SLOW, size: (140, 26) }.after(&[]);
    expect![[r#"
        slow_model.json.gz · 3 steps of 19.2 ms (18.1 ms to 19.9 ms)
        Limited by the device and the host about equally; of the step: kernels 51.3 %, CPU operators 29.9 %, Python and all else 10.4 %, runtime ca…
         Lines 23   Findings 7    cuda own · mean step
         21.8 %    4.2 ms     slow_model.py:97   train_step       slow_model.py ────────────────────────────────────────────────────────────────────
         11.9 %   2.29 ms     slow_model.py:46   SlowModel.forw…                  92     opt.zero_grad()
         7.66 %   1.47 ms     slow_model.py:45   SlowModel.forw…                  93     pred = model(x)
         5.95 %   1.15 ms     slow_model.py:98   train_step                       94     loss = huber(pred, y)
         1.68 %    324 µs   ~ slow_model.py:29   Gate.forward      4.12 µs    ~   95     if torch.isnan(loss):
         1.48 %    286 µs     slow_model.py:28   Gate.forward                     96         raise RuntimeError("the loss is not a number")
         0.16 %   29.9 µs   ~ slow_model.py:49   SlowModel.forw…    4.2 ms        97     loss.backward()
         0.12 %     24 µs   ~ slow_model.py:64   huber             1.15 ms        98     opt.step()
         0.09 %   18.1 µs     slow_model.py:58   SlowModel.forw…                  99     average = mean.update(loss.detach())
         0.09 %   17.3 µs     slow_model.py:51   SlowModel.forw…   4.06 µs    ~  100     if average > 1e4:
         0.08 %   15.2 µs   ~ slow_model.py:74   metrics                         101         print("diverging")
         0.07 %     13 µs   ~ slow_model.py:72   metrics          Details ──────────────────────────────────────────────────────────────────────────
         0.06 %   10.8 µs     slow_model.py:70   metrics         slow_model.py:97 · train_step · exact
         0.04 %   8.51 µs     slow_model.py:50   SlowModel.forw…   loss.backward()
         0.03 %    6.6 µs   ~ slow_model.py:87   RunningMean.up… 6.96 ms per step on the critical path (36.2 % of it: host 100 %)
         0.02 %   4.42 µs   ~ slow_model.py:69   metrics
         0.02 %    4.4 µs   ~ slow_model.py:63   huber           Findings
         0.02 %   4.12 µs   ~ slow_model.py:95   train_step        slow_model.py:97 gpu-idle: the GPU idles 2.88 ms per step while the CPU is
         0.02 %   4.06 µs   ~ slow_model.py:100  train_step          here: 97.3 % with nothing launched (15 % of the step)
         0.02 %   3.79 µs   ~ slow_model.py:73   metrics             Compile the forward code with torch.compile: its backward pass is compiled with
         0.01 %   2.22 µs   ~ slow_model.py:57   SlowModel.forw…     it. Larger batches give each kernel more to do.
         0.01 %   2.19 µs   ~ slow_model.py:62   huber             slow_model.py:97 memory-peak-line: 77.1 % of the peak of 1.38 MiB (1.07 MiB) on
        ↑↓ choose · Tab findings · m metric · t total · s step · / filter · ? keys · q end
    "#]].assert_eq(&screen);
}

#[test]
fn a_narrow_screen_has_them_below_each_other() {
    let (screen, _) = Shown { recording: SLOW, size: (80, 24) }.after(&[KeyCode::Tab]);
    expect![[r#"
        slow_model.json.gz · 3 steps of 19.2 ms (18.1 ms to 19.9 ms)
        Limited by the device and the host about equally; of the step: kernels 51.3 %, …
         Lines 23   Findings 7    cuda own · mean step
           30 %  warn slow_model.py:45  tensor-cores-unused: matrix products in float32…
         29.7 %  warn slow_model.py:98  optimizer-single-tensor: the optimizer takes on…
         22.6 %  warn slow_model.py:98  launch-bound: 280 kernels per step run 4.09 µs …
           15 %  info slow_model.py:97  gpu-idle: the GPU idles 2.88 ms per step while …
         11.9 %  info slow_model.py:46  low-occupancy: kernels that do not fill the GPU…
         4.59 %  info slow_model.py:46  sync: the CPU waits 3.58 ms per step here, 6 ti…
         77.1 %  info slow_model.py:97  memory-peak-line: 77.1 % of the peak of 1.38 Mi…
         slow_model.py ─────────────────────────────────────────────────────────────────
                         43         for layer, gate in zip(self.layers, self.gates):
                         44             residual = x
          1.47 ms        45             x = torch.relu(layer(x))
          2.29 ms        46             if x.max().item() > 100:
                         47                 x = x / 100
         Details ───────────────────────────────────────────────────────────────────────
        slow_model.py:45 · SlowModel.forward · exact
          x = torch.relu(layer(x))
        1.71 ms per step on the critical path (8.9 % of it: device 86.1 %, host 11 %,
        launch 2.25 %, gap 0.67 %)

        Findings
        ↑↓ choose · Tab findings · m metric · t total · s step · / filter · ? keys · q e
    "#]]
    .assert_eq(&screen);
}

#[test]
fn keys_choose_what_is_listed() {
    let shown = Shown { recording: SLOW, size: (100, 12) };
    let head = |keys: &[KeyCode]| -> Vec<String> {
        let (screen, _) = shown.after(keys);
        screen.lines().skip(2).take(2).map(str::to_owned).collect()
    };
    expect![[r#"
        [
            [
                " Lines 23   Findings 7    cuda own · mean step",
                " 21.8 %    4.2 ms     slow_model.py:97  train_step",
            ],
            [
                " Lines 7   Findings 7    backward own · mean step",
                " 14.4 %   2.78 ms     slow_model.py:45  SlowModel.forward",
            ],
            [
                " Lines 48   Findings 7    cpu total · mean step",
                " 99.1 %   19.1 ms     slow_model.py:124  build.step",
            ],
            [
                " Lines 23   Findings 7    cuda own · step 3",
                " 21.3 %    4.2 ms     slow_model.py:97  train_step",
            ],
            [
                " Lines 23   Findings 7    cuda own · whole run",
                " 21.7 %   12.6 ms     slow_model.py:97  train_step",
            ],
            [
                " Lines 23   Findings 7    cuda own · mean step · libraries too",
                " 21.8 %    4.2 ms     slow_model.py:97  train_step",
            ],
            [
                " Lines 3   Findings 0    cuda own · mean step · /huber▏",
                " 0.12 %     24 µs   ~ slow_model.py:64  huber",
            ],
            [
                " Lines 0   Findings 0    cuda own · mean step · /nothing like it▏",
                "nothing has these letters: Esc shows all",
            ],
            [
                " Lines 23   Findings 7    cuda own · mean step",
                " 0.16 %   29.9 µs   ~ slow_model.py:49  SlowModel.forward",
            ],
        ]
    "#]]
    .assert_debug_eq(&[
        head(&letters("j")),
        head(&letters("m")),
        head(&letters("Mt")),
        head(&letters("sss")),
        head(&letters("ssss")),
        head(&letters("l")),
        head(&letters("/HUBER")),
        head(&letters("/nothing like it")),
        head(&[letters("/huber"), vec![KeyCode::Enter, KeyCode::Esc]].concat()),
    ]);
}

#[test]
fn a_screen_of_a_part_says_which() {
    let shown = Shown { recording: SLOW, size: (100, 12) };
    let phase = StackFilter { phase: Some("forward".parse().unwrap()), ..StackFilter::default() };
    let code = CodeFilter { functions: vec!["Gate".parse().unwrap()], ..CodeFilter::default() };
    let (screen, _) = shown.part_after(&phase, &code, &[]);
    expect![[r#"
        slow_model.json.gz · 3 steps of 19.2 ms (18.1 ms to 19.9 ms)
        with --phase forward, only lines with --function 'Gate': 16 ms of 58.1 ms of thread time, 13.4 ms of
        29.7 ms of CUDA time
         Lines 2   Findings 0    cuda own · sum of the part
         6.07 %    971 µs   ~ slow_model.py:29  Gate.forward
         5.35 %    857 µs     slow_model.py:28  Gate.forward
         slow_model.py ─────────────────────────────────────────────────────────────────────────────────────
           857 µs        28         s = F.silu(self.squeeze(x))
           971 µs    ~   29         return x * torch.sigmoid(self.expand(s))
         Details ───────────────────────────────────────────────────────────────────────────────────────────
        slow_model.py:29 · Gate.forward · inferred
        ↑↓ choose · Tab findings · m metric · t total · s step · / filter · ? keys · q end
    "#]].assert_eq(&screen);
    // In 80 columns it is named in full, too.
    let narrow = Shown { recording: SLOW, size: (80, 24) };
    let steps = EventChoice { steps: vec!["1-3".parse().unwrap()], ..EventChoice::default() };
    let part = StackFilter { events: steps, ..phase };
    let (screen, _) = narrow.part_after(&part, &code, &[]);
    let head: Vec<&str> = screen.lines().take(5).collect();
    expect![[r#"
        [
            "slow_model.json.gz · 3 steps of 19.2 ms (18.1 ms to 19.9 ms)",
            "with --phase forward --step 1-3, only lines with --function 'Gate': 16 ms of",
            "58.1 ms of thread time, 13.4 ms of 29.7 ms of CUDA time",
            " Lines 2   Findings 0    cuda own · sum of the part",
            " 6.07 %    971 µs   ~ slow_model.py:29  Gate.forward",
        ]
    "#]]
    .assert_debug_eq(&head);
    let (screen, _) = shown.part_after(&StackFilter::default(), &code, &[KeyCode::Tab]);
    expect![[r#"
        slow_model.json.gz · 3 steps of 19.2 ms (18.1 ms to 19.9 ms)
        only lines with --function 'Gate'
         Lines 2   Findings 0    cuda own · mean step
        nothing here: m another metric, s another step, t own or total (steps have own alone), l libraries







        ↑↓ choose · Tab findings · m metric · t total · s step · / filter · ? keys · q end
    "#]].assert_eq(&screen);
}

#[test]
fn the_chosen_line_stays_chosen_when_the_order_changes() {
    let shown = Shown { recording: SLOW, size: (140, 26) };
    let path = repository().join("fixtures/workloads/slow_model.py").canonicalize().unwrap();
    let at = |keys: &[KeyCode]| match shown.after(keys).1 {
        Outcome::Edit(file) => (file.path.canonicalize().unwrap() == path, file.line),
        other => panic!("{other:?}"),
    };
    let enter = vec![KeyCode::Enter];
    assert_eq!(at(&enter), (true, 97));
    assert_eq!(at(&[letters("jj"), enter.clone()].concat()), (true, 45));
    assert_eq!(at(&[letters("jjmMtts"), enter.clone()].concat()), (true, 45));
    assert_eq!(at(&[vec![KeyCode::Tab, KeyCode::End], enter].concat()), (true, 97));
}

#[test]
fn keys_end_it() {
    let shown = Shown { recording: SLOW, size: (80, 24) };
    let outcome = |keys: &[KeyCode]| shown.after(keys).1;
    assert_eq!(outcome(&letters("q")), Outcome::Quit);
    assert_eq!(outcome(&[KeyCode::Esc]), Outcome::Quit);
    // While a filter is typed, `q` is a letter, and Esc ends the filter first.
    assert_eq!(outcome(&letters("/q")), Outcome::Draw);
    assert_eq!(outcome(&[letters("/q"), vec![KeyCode::Esc]].concat()), Outcome::Draw);
    // Any key closes the list of keys.
    assert_eq!(outcome(&letters("?q")), Outcome::Draw);
    assert_eq!(outcome(&letters("?qq")), Outcome::Quit);
}

#[test]
fn a_screen_of_any_size_is_drawn() {
    for size in [(1, 1), (20, 3), (119, 9), (200, 80)] {
        let shown = Shown { recording: SLOW, size };
        for keys in ["", "?", "/zzz", "GJJJ"] {
            shown.after(&letters(keys));
        }
    }
}
