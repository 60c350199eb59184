use ledger::{Kernel, KernelKey, Ns, Operator};

use super::*;
use crate::filter::CodeFilter;
use crate::terminal::{Colours, Terminal};
use crate::testing::{recording, sources, training};

fn options() -> ShowOptions<'static> {
    let rules = insights::RuleOptions::default();
    ShowOptions { top: 3, rules, code: CodeFilter::default(), part: None }
}

fn text(name: &str) -> Result<String, String> {
    let (mut run, sources) = (training(), sources());
    let lines = run.merged.lines.iter_mut().filter(|(key, _)| key.file == "train.py");
    for (_, books) in lines.filter(|(key, _)| [17, 18].contains(&key.line)) {
        let key = KernelKey {
            name: "void gemm<float>(int)".to_owned(),
            grid: [64, 1, 1],
            block: [256, 1, 1],
        };
        let kernel = Kernel {
            calls: 84,
            total: Ns(8_400_000),
            min: Ns(90_000),
            max: Ns(120_000),
            occupancy_time: 8_400_000 * 500,
            ..Kernel::default()
        };
        books.kernel_table.insert(key, kernel);
        let operator = Operator { calls: 84, cpu: Ns(840_000), cuda: Ns(8_400_000) };
        books.operators.insert("aten::mm".to_owned(), operator);
    }
    let shown = build(&recording(&run, &sources), name, &options())?;
    let mut out = Vec::new();
    let terminal = Terminal { colours: Colours::Plain, width: None };
    write_text(&mut out, &shown, &terminal).unwrap();
    let mut json = Vec::new();
    write_json(&mut json, &shown).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["schema"], SCHEMA);
    assert_eq!(json["sections"].as_array().unwrap().len(), shown.sections.len());
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn a_line_shows_all_that_it_was_charged_with() {
    expect_test::expect![[r#"
        train.py:18 · Model.forward · inferred
          if x.max().item() > 100:

        Findings
          train.py:18 gpu-idle: the GPU idles 1.5 ms per step while the CPU is here: with launched work
            that waits for something else (15 % of the step)
            Work was launched and waited for something else: streams that wait for each other, copies,
            collectives.
          train.py:18 sync: the CPU waits 2.5 ms per step here (line inferred) for kernels of train.py:17;
            without it the GPU idles up to 1.5 ms less (15 % of the step)
            Wait for the device only where its result is needed, and as late as possible.

        Amounts
          amount              per step   share
          thread time, own      2.6 ms    26 %
          thread time, total    2.6 ms    26 %
          wait for the GPU      2.5 ms    25 %
          waits                      1
          GPU idle              1.5 ms    15 %
          kernels                    1
          calls                      2
          operators                  2
          allocated            512 KiB  33.3 %

        Kernels
            time  calls    mean  longest  occupancy  grid × block      class    kernel
          4.2 ms     42  100 µs   120 µs       50 %  64×1×1 × 256×1×1  compute  gemm

        Operators
             cpu    cuda  calls  operator
          420 µs  4.2 ms     42  aten::mm

        Waits for kernels of
             time   share  line         function
          2.25 ms  22.5 %  train.py:17  Model.forward
    "#]].assert_eq(&text("train.py:18").unwrap());
}

#[test]
fn a_function_is_the_sum_of_its_lines() {
    expect_test::expect![[r#"
        function forward · 3 lines

        Findings
          train.py:18 gpu-idle: the GPU idles 1.5 ms per step while the CPU is here: with launched work
            that waits for something else (15 % of the step)
            Work was launched and waited for something else: streams that wait for each other, copies,
            collectives.
          train.py:18 sync: the CPU waits 2.5 ms per step here (line inferred) for kernels of train.py:17;
            without it the GPU idles up to 1.5 ms less (15 % of the step)
            Wait for the device only where its result is needed, and as late as possible.
          train.py:17 gpu-idle: the GPU idles 500 µs per step while the CPU is here: with launched work
            that waits for something else (5 % of the step)
            Work was launched and waited for something else: streams that wait for each other, copies,
            collectives.

        Amounts
          amount                       per step   share
          thread time, own              5.75 ms  57.5 %
          thread time, self                1 ms    10 %
          CUDA, own                        6 ms    60 %
          CPU, backward of this line     1.5 ms    15 %
          CUDA, backward of this line      4 ms    40 %
          wait for the GPU               2.5 ms    25 %
          waits                               1
          GPU idle                         2 ms    20 %
          communication                  500 µs     5 %
          communication, exposed         200 µs     2 %
          kernels                            43
          calls                              22
          operators                          12
          allocated                     1.5 MiB   100 %
          freed                         512 KiB  33.3 %
          alive at the peak               1 MiB   100 %

        Lines
          share  cpu own  cuda own  gpu wait  gpu idle      line         function
           60 %     3 ms      6 ms              500 µs      train.py:17  Model.forward
           26 %   2.6 ms              2.5 ms    1.5 ms  ~   train.py:18  Model.forward
          1.5 %   150 µs                                fn  train.py:15  Model.forward

        Kernels
            time  calls    mean  longest  occupancy  grid × block      class    kernel
          8.4 ms     84  100 µs   120 µs       50 %  64×1×1 × 256×1×1  compute  gemm

        Operators
             cpu    cuda  calls  operator
          840 µs  8.4 ms     84  aten::mm

        Waits for kernels of
             time   share  line         function
          2.25 ms  22.5 %  train.py:17  Model.forward

        Steps
          step  time
             2  6 ms
             3  6 ms
    "#]].assert_eq(&text("forward").unwrap());
}

#[test]
fn kernels_and_operators_show_their_lines() {
    expect_test::expect![[r#"
        kernels with gemm in their names

        Lines
          calls    cuda     line         function
             42  4.2 ms     train.py:17  Model.forward
             42  4.2 ms  ~  train.py:18  Model.forward

        Kernels
            time  calls    mean  longest  occupancy  grid × block      class    kernel
          8.4 ms     84  100 µs   120 µs       50 %  64×1×1 × 256×1×1  compute  gemm
    "#]]
    .assert_eq(&text("gemm").unwrap());
    expect_test::expect![[r#"
        operator aten::mm

        Lines
          calls     cpu    cuda     line         function
             42  420 µs  4.2 ms     train.py:17  Model.forward
             42  420 µs  4.2 ms  ~  train.py:18  Model.forward
    "#]]
    .assert_eq(&text("aten::mm").unwrap());
}

#[test]
fn amounts_of_a_recording_without_steps_are_of_the_run() {
    let (mut run, sources) = (training(), sources());
    run.merged.steps.clear();
    let shown = build(&recording(&run, &sources), "train.py:18", &options()).unwrap();
    let numbers = shown.sections.iter().find(|it| it.id == "numbers").unwrap();
    assert_eq!(numbers.columns[1].name, "run");
}

#[test]
fn what_was_not_recorded_is_reported_with_what_was() {
    let error = |name: &str| text(name).unwrap_err();
    assert_eq!(
        error("train.py:19"),
        "nothing was recorded on line 19 of `train.py`; the nearest line is train.py:18"
    );
    assert!(error("test.py:1").starts_with("nothing was recorded of a file `test.py`; "));
    assert!(error("nothing").starts_with("nothing that was recorded is called `nothing`; "));
}
