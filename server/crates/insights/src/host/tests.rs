//! Patterns on a line, by hand, to what the rules find.

use ledger::{
    DeviceBooks, DeviceKey, Ledger, LineBooks, LineKey, LoaderWorkers, Ns, Overview, Pattern,
    PatternBooks, SourceFile,
};

use crate::{RuleOptions, Severities, Severity, find};

fn key() -> LineKey {
    LineKey { file: "train.py".to_owned(), line: 7 }
}

/// Two steps of 1 ms, and a line with one pattern.
fn ledger(pattern: Pattern, books: PatternBooks) -> Ledger {
    let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
    ledger.steps.extend([(1, Ns(1_000_000)), (2, Ns(1_000_000))]);
    let mut line = LineBooks::default();
    line.patterns.insert(pattern, books);
    ledger.lines.insert(key(), Box::new(line));
    ledger
}

/// Rule, cost per step, share in permille and severity of what is found.
fn found(ledger: &Ledger) -> Vec<(&'static str, Ns, u32, Severity)> {
    let findings = find(ledger, &RuleOptions::default()).into_iter();
    findings
        .map(|it| {
            assert_eq!(it.place, key());
            (it.rule, it.cost_per_step.unwrap(), (it.share * 1000.0).round() as u32, it.severity)
        })
        .collect()
}

fn with_device(mut ledger: Ledger) -> Ledger {
    ledger.devices.insert(DeviceKey { rank: 0, device: 0 }, DeviceBooks::default());
    ledger
}

const NONE: [(&str, Ns, u32, Severity); 0] = [];

#[test]
fn loops_over_rows() {
    let books = |most, ops| PatternBooks {
        count: most,
        most,
        ops,
        cpu: Ns(200_000),
        ..PatternBooks::default()
    };
    let of = |it| found(&ledger(Pattern::ForLoopIndexing, it));
    assert_eq!(of(books(10, 30)), [("for-loop-indexing", Ns(100_000), 100, Severity::Warning)]);
    assert_eq!(of(books(9, 30)), NONE, "too few");
    assert_eq!(of(books(10, 1)), NONE, "operators that take long");
}

#[test]
fn optimizers() {
    let books = |ops| PatternBooks { count: 2, ops, cpu: Ns(200_000), ..PatternBooks::default() };
    let of = |ops| ledger(Pattern::OptimizerSingleTensor, books(ops));
    let id = "optimizer-single-tensor";
    assert_eq!(found(&with_device(of(40))), [(id, Ns(100_000), 100, Severity::Warning)]);
    assert_eq!(found(&of(40)), [(id, Ns(100_000), 100, Severity::Hint)], "the default on a CPU");
    assert_eq!(found(&of(39)), NONE);
}

#[test]
fn data() {
    let of = |pattern, cpu| {
        found(&ledger(pattern, PatternBooks { count: 2, cpu, ..PatternBooks::default() }))
    };
    for pattern in [Pattern::DataLoaderAlone, Pattern::DataLoaderWorkers] {
        assert_eq!(of(pattern, Ns(100_000)), [("dataloader", Ns(50_000), 50, Severity::Warning)]);
        assert_eq!(of(pattern, Ns(99_000)), NONE);
    }
}

#[test]
fn the_line_that_makes_a_batch_slow_is_named() {
    let line = |number| LineKey { file: "data.py".to_owned(), line: number };
    let called = |time: i64, callers: &[(LineKey, i64)]| {
        let callers = callers.iter().map(|(caller, time)| (caller.clone(), Ns(*time))).collect();
        Box::new(LineBooks { cpu_total: Ns(time), callers, ..LineBooks::default() })
    };
    let related = |loop_time: i64| {
        let books = PatternBooks { count: 2, cpu: Ns(100_000), ..PatternBooks::default() };
        let mut ledger = ledger(Pattern::DataLoaderAlone, books);
        let looping = ledger.lines.get_mut(&key()).unwrap();
        (looping.cpu_total, looping.cpu_in_steps) = (Ns(loop_time), Ns(loop_time));
        let yours = SourceFile { is_user_code: true, ..SourceFile::default() };
        ledger.files.insert("data.py".to_owned(), yours);
        let library = LineKey { file: "fetch.py".to_owned(), line: 1 };
        ledger.lines.insert(library, called(99_000, &[(key(), 99_000)]));
        let items = [
            (1, called(90_000, &[(key(), 90_000)])),
            (2, called(10_000, &[(key(), 10_000)])),
            // Half of its time is below another line.
            (3, called(140_000, &[(line(1), 70_000), (line(9), 70_000)])),
            (4, called(60_000, &[(line(3), 60_000)])),
        ];
        ledger.lines.extend(items.map(|(number, books)| (line(number), books)));
        let finding = find(&ledger, &RuleOptions::default()).remove(0);
        let related = finding.related.into_iter().map(|it| (it.place.line, it.time));
        related.collect::<Vec<_>>()
    };
    // 90 % of the loop, of that 70 of 90; of line 3 60 of 140.
    assert_eq!(related(100_000), [(3, Ns(70_000))]);
    assert_eq!(related(200_000), [], "the loop does other things, too");
}

#[test]
fn what_workers_do_says_what_helps() {
    let remedy = |worked: Option<i64>| {
        let books = PatternBooks { count: 2, cpu: Ns(100_000), ..PatternBooks::default() };
        let mut ledger = ledger(Pattern::DataLoaderWorkers, books);
        let workers = worked.map(|it| LoaderWorkers { count: 1, worked: Ns(it), time: Ns(100) });
        let overview =
            Overview { loader_workers: workers.unwrap_or_default(), ..Overview::default() };
        ledger.overviews.insert(0, overview);
        find(&ledger, &RuleOptions::default())[0].remedy
    };
    assert!(remedy(Some(49)).contains("they wait, for files"), "{}", remedy(Some(49)));
    assert!(remedy(Some(50)).contains("and busy"), "{}", remedy(Some(50)));
    assert!(remedy(None).contains("slower than the loop: more of them"), "{}", remedy(None));
}

#[test]
fn what_costs_too_little_is_not_reported() {
    let rows = [
        (Pattern::ZeroGrad, "zero-grad"),
        (Pattern::ExtraCopy, "extra-copy"),
        (Pattern::CpuFallback, "cpu-fallback"),
        (Pattern::Compilation, "recompile"),
        (Pattern::PageableCopy, "h2d-copy"),
    ];
    for (pattern, rule) in rows {
        let books = |time| PatternBooks {
            count: 1,
            cpu: time,
            wait: time,
            avoidable: time,
            ..PatternBooks::default()
        };
        let of = |time| found(&ledger(pattern, books(time)));
        assert_eq!(of(Ns(10_000)), [(rule, Ns(5_000), 5, Severity::Information)]);
        assert_eq!(of(Ns(100_000)), [(rule, Ns(50_000), 50, Severity::Warning)]);
        assert_eq!(of(Ns(9_900)), NONE, "{rule}");
    }
}

#[test]
fn what_is_a_part_of_something_larger() {
    let books =
        PatternBooks { count: 2, cpu: Ns(2_000), around: Ns(40_000), ..PatternBooks::default() };
    let of = |pattern| found(&ledger(pattern, books.clone()));
    assert_eq!(
        of(Pattern::ConvBias),
        [("conv-bias-before-batchnorm", Ns(1_000), 20, Severity::Hint)]
    );
    assert_eq!(of(Pattern::GraphBreak), [("graph-break", Ns(1_000), 21, Severity::Information)]);
    let parallel = PatternBooks { cpu: Ns(40_000), ..books.clone() };
    assert_eq!(
        found(&ledger(Pattern::DataParallel, parallel)),
        [("data-parallel", Ns(20_000), 20, Severity::Information)],
        "too little for a warning"
    );
    let one_device = PatternBooks { cpu: Ns(0), ..books };
    assert_eq!(found(&ledger(Pattern::DataParallel, one_device)), NONE);
}

#[test]
fn a_wait_for_a_copy_is_reported_once() {
    let (wait, avoidable) = (Ns(180_000), Ns(90_000));
    let books = PatternBooks { count: 2, wait, cpu: wait, avoidable, ..PatternBooks::default() };
    let mut ledger = with_device(ledger(Pattern::PageableCopy, books));
    let line = ledger.lines.get_mut(&key()).unwrap();
    line.sync = Ns(200_000);
    (line.avoidable_idle, line.avoidable_in_steps) = (Ns(80_000), Ns(80_000));
    assert_eq!(found(&ledger), [("h2d-copy", Ns(45_000), 45, Severity::Information)]);
    let mut severities = Severities::default();
    severities.set("h2d-copy", None);
    let findings = find(&ledger, &RuleOptions { severities, ..RuleOptions::default() });
    assert_eq!(findings.iter().map(|it| it.rule).collect::<Vec<_>>(), ["sync"]);
    ledger.lines.get_mut(&key()).unwrap().sync = Ns(400_000);
    assert_eq!(found(&ledger).len(), 2, "it waits for more than copies");
}

#[test]
fn tensors_one_by_one() {
    let books =
        |most, cpu| PatternBooks { count: 2, most, ops: 20, cpu, ..PatternBooks::default() };
    let of = |most, cpu| found(&ledger(Pattern::UpdateOneByOne, books(most, cpu)));
    assert_eq!(of(8, Ns(200_000)), [("foreach", Ns(100_000), 100, Severity::Warning)]);
    assert_eq!(of(7, Ns(200_000)), NONE, "too few");
    assert_eq!(of(8, Ns(2_000_001)), NONE, "operators that take long");
}

#[test]
fn python_between_operators() {
    let of = |count, own| {
        let books = PatternBooks { count, cpu: Ns(400_000), ..PatternBooks::default() };
        let mut ledger = ledger(Pattern::PythonBetween, books);
        ledger.lines.get_mut(&key()).unwrap().cpu_own = own;
        ledger
    };
    let id = "python-overhead";
    let mut short = of(400, Ns(80_000));
    short.steps.values_mut().for_each(|it| *it = Ns(100_000));
    let books = &mut short.lines.get_mut(&key()).unwrap().patterns;
    books.get_mut(&Pattern::PythonBetween).unwrap().cpu = Ns(80_000);
    let expected = [(id, Ns(40_000), 400, Severity::Information)];
    assert_eq!(found(&short), expected, "much of a step in which next to nothing happens");
    assert_eq!(found(&of(400, Ns(800_000))), [(id, Ns(200_000), 200, Severity::Information)]);
    assert_eq!(found(&of(399, Ns(800_000))), NONE, "too few calls");
    assert_eq!(found(&of(400, Ns(800_001))), NONE, "most of the time is something else");
    let mut ledger = with_device(of(400, Ns(800_000)));
    assert_eq!(found(&ledger), NONE, "the device works meanwhile");
    let line = ledger.lines.get_mut(&key()).unwrap();
    line.gpu_idle = Ns(370_000);
    line.launching.idle_after_wait = Ns(50_000);
    assert_eq!(found(&ledger), [(id, Ns(160_000), 160, Severity::Information)]);
}

#[test]
fn collections() {
    let books = |cpu| PatternBooks { count: 4, cpu, ..PatternBooks::default() };
    let of = |cpu| found(&ledger(Pattern::GarbageCollection, books(cpu)));
    assert_eq!(of(Ns(100_000)), [("gc-pause", Ns(50_000), 50, Severity::Warning)]);
    assert_eq!(of(Ns(9_000)), NONE);
}
