//! From a ledger built by hand to findings, rule by rule.

use ledger::{
    Breakdown, Call, DeviceBooks, DeviceKey, DeviceOverview, IdleClasses, Kernel, KernelClass,
    KernelKey, LaunchSummary, Launching, Ledger, LineBooks, LineKey, LoopBooks, Ns, Operator,
    Overview, Pattern, PatternBooks, PerStep, ProductSizes, RankShare, TensorCores,
};

use super::{DeviceDetail, LaunchBoundRun, Product, launch_bound_run};
use crate::{Detail, Finding, RuleOptions, Severity, find};

/// Two steps of 1 ms on a device with 100 multiprocessors.
fn ledger() -> Ledger {
    let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
    ledger.steps.extend([(1, Ns(1_000_000)), (2, Ns(1_000_000))]);
    ledger.devices.insert(DeviceKey { rank: 0, device: 0 }, DeviceBooks::default());
    let device =
        DeviceOverview { multiprocessors: 100, capability: (8, 0), ..DeviceOverview::default() };
    ledger.overviews.insert(0, Overview { devices: [(0, device)].into(), ..Overview::default() });
    ledger
}

fn key(line: u32) -> LineKey {
    LineKey { file: "train.py".to_owned(), line }
}

/// A line with the same in both steps.
fn add(ledger: &mut Ledger, line: u32, books: LineBooks) {
    let step =
        PerStep { cpu: books.cpu_own / 2, gpu_idle: books.gpu_idle / 2, ..PerStep::default() };
    let by_rank = [RankShare::of_thread(0, books.cpu_own)].into_iter().collect();
    let books = LineBooks { steps: [(1, step), (2, step)].into(), by_rank, ..books };
    ledger.lines.insert(key(line), Box::new(books));
}

fn kernel(name: &str, blocks: u32, calls: u64, total: i64) -> (KernelKey, Kernel) {
    let key = KernelKey { name: name.to_owned(), grid: [blocks, 1, 1], block: [128, 1, 1] };
    (
        key,
        Kernel {
            calls,
            total: Ns(total),
            occupancy_time: i128::from(total) * 500,
            ..Kernel::default()
        },
    )
}

/// Rule and line of what is found.
fn found(ledger: &Ledger) -> Vec<(&'static str, u32)> {
    find(ledger, &RuleOptions::default()).iter().map(|it| (it.rule, it.place.line)).collect()
}

fn only(ledger: &Ledger) -> Finding {
    let mut findings = find(ledger, &RuleOptions::default());
    assert_eq!(findings.len(), 1, "{findings:?}");
    findings.remove(0)
}

/// 40 kernels of 3 µs each, for which the host takes 10 µs each; the device is idle for 200 µs meanwhile.
fn launch_bound() -> LineBooks {
    LineBooks {
        cpu_own: Ns(400_000),
        cuda_own: Ns(120_000),
        kernels: 40,
        gpu_idle: Ns(200_000),
        launching: Launching {
            launches: 40,
            launch_time: Ns(160_000),
            short: 36,
            idle_host: Ns(200_000),
            ..Launching::default()
        },
        kernel_table: [kernel("mul", 1000, 40, 120_000)].into(),
        ..LineBooks::default()
    }
}

#[test]
fn kernels_that_are_over_before_the_next_is_launched() {
    let mut ledger = ledger();
    add(&mut ledger, 3, launch_bound());
    let finding = only(&ledger);
    assert_eq!((finding.rule, finding.place.line, finding.share), ("launch-bound", 3, 0.1));
    assert_eq!(finding.cost_per_step, Some(Ns(100_000)));
    let detail =
        DeviceDetail::LaunchBound { kernels: 40, cuda: Ns(120_000), host: Ns(400_000), short: 36 };
    assert_eq!(finding.detail, Detail::Device(detail));
}

#[test]
fn what_is_not_the_launching() {
    type Change = fn(&mut LineBooks);
    let rows: [(&str, Change); 5] = [
        ("gpu-idle", |it| it.launching.launches = 19),
        ("gpu-idle", |it| it.launching.short = 19),
        ("gpu-idle", |it| it.kernel_table = [kernel("mul", 1000, 40, 400_000)].into()),
        ("gpu-idle", |it| it.cpu_own = Ns(40 * 500_001)),
        ("", |it| it.launching.idle_after_wait = Ns(150_000)),
    ];
    for (rule, change) in rows {
        let mut books = launch_bound();
        change(&mut books);
        let mut ledger = ledger();
        add(&mut ledger, 3, books);
        let rules: Vec<_> = found(&ledger).into_iter().map(|it| it.0).collect();
        assert_eq!(rules, [rule].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>());
    }
}

fn calls(name: &str, cpu: i64) -> (String, Call) {
    (name.to_owned(), Call { calls: 2, cpu: Ns(cpu) })
}

fn operator(name: &str, cpu: i64, cuda: i64) -> (String, Operator) {
    (name.to_owned(), Operator { calls: 2, cpu: Ns(cpu), cuda: Ns(cuda) })
}

#[test]
fn what_helps_against_many_launches() {
    type Change = fn(&mut LineBooks);
    let rows: [(&str, Change); 12] = [
        ("Launch fewer", |_| {}),
        ("This code is compiled", |it| {
            it.kernel_table =
                [kernel("triton_poi_fused_add_0", 9, 8, 1), kernel("gemm", 9, 32, 1)].into();
        }),
        ("Launch fewer", |it| {
            it.kernel_table =
                [kernel("triton_poi_fused_add_0", 9, 7, 1), kernel("triton_own", 9, 33, 1)].into();
        }),
        ("Compile the forward code", |it| {
            let node = operator("autograd::engine::evaluate_function: MmBackward0", 60, 9);
            it.operators = [node, operator("aten::ones_like", 40, 1)].into();
        }),
        ("Launch fewer", |it| {
            let node = operator("autograd::engine::evaluate_function: MmBackward0", 40, 9);
            it.operators = [node, operator("aten::mm", 60, 1)].into();
        }),
        ("This code is compiled", |it| {
            let name = "autograd::engine::evaluate_function: CompiledFunctionBackward";
            it.operators = [operator(name, 60, 9)].into();
        }),
        ("fused=True", |it| {
            it.cpu_total = Ns(400_000);
            it.callees = [calls("torch/optim/optimizer.py(512): wrapper", 390_000)].into();
            it.operators = [operator("aten::_foreach_add_", 50, 9)].into();
        }),
        ("The optimizer is fused", |it| {
            it.cpu_total = Ns(400_000);
            it.callees = [calls(r"C:\venv\torch\optim\optimizer.py(512): wrapper", 390_000)].into();
            it.operators = [operator("aten::_fused_adamw_", 50, 9)].into();
        }),
        ("fused=True", |it| {
            it.patterns.insert(Pattern::OptimizerSingleTensor, PatternBooks::default());
        }),
        ("fused=True", |it| {
            it.cpu_total = Ns(400_000);
            it.callees = [calls("torch/amp/grad_scaler.py(375): step", 390_000)].into();
        }),
        ("Launch fewer", |it| {
            it.cpu_total = Ns(400_000);
            it.callees = [calls("torch/optim/swa_utils.py(9): update_parameters", 390_000)].into();
        }),
        ("Launch fewer", |it| {
            it.cpu_total = Ns(400_000);
            it.callees = [calls("my_torch/optim/own.py(9): step", 390_000)].into();
        }),
    ];
    for (remedy, change) in rows {
        let mut books = launch_bound();
        change(&mut books);
        let mut ledger = ledger();
        add(&mut ledger, 3, books);
        let findings = find(&ledger, &RuleOptions::default());
        let found = findings.iter().find(|it| it.rule == "launch-bound").unwrap();
        assert!(found.remedy.starts_with(remedy), "{remedy}: {}", found.remedy);
    }
}

#[test]
fn of_a_run_that_is_launch_bound_the_costliest_lines_are_reported() {
    let mut ledger = ledger();
    for line in 3..8 {
        let mut books = launch_bound();
        books.gpu_idle += Ns(2 * i64::from(line));
        books.launching.idle_host = books.gpu_idle;
        add(&mut ledger, line, books);
    }
    assert_eq!(found(&ledger).len(), 5);
    let overview = ledger.overviews.get_mut(&0).unwrap();
    overview.run.time = Ns(2_000_000);
    overview.run.breakdown = Breakdown { cpu: Ns(2_000_000), ..Breakdown::default() };
    overview.devices.get_mut(&0).unwrap().launches =
        LaunchSummary { count: 400, ..LaunchSummary::default() };
    assert_eq!(
        found(&ledger),
        [("launch-bound", 7), ("launch-bound", 6), ("launch-bound", 5)],
        "and no other rule reports the rest"
    );
}

#[test]
fn an_idle_device_by_cause() {
    let mut ledger = ledger();
    let launching =
        Launching { idle_host: Ns(300_000), idle_kernel: Ns(20_000), ..Launching::default() };
    let books = LineBooks { gpu_idle: Ns(400_000), launching, ..LineBooks::default() };
    add(&mut ledger, 3, books);
    let finding = only(&ledger);
    assert_eq!((finding.rule, finding.severity), ("gpu-idle", Severity::Warning));
    let detail = DeviceDetail::GpuIdle { host: Ns(300_000), kernel: Ns(20_000), other: Ns(80_000) };
    assert_eq!(finding.detail, Detail::Device(detail));
    // With a second device nothing more can be saved.
    ledger.devices.insert(DeviceKey { rank: 0, device: 1 }, DeviceBooks::default());
    assert_eq!(only(&ledger).cost_per_step, Some(Ns(100_000)));
    // What lies outside of the steps does not slow them down.
    ledger.lines.get_mut(&key(3)).unwrap().steps.clear();
    assert_eq!(found(&ledger), []);
}

#[test]
fn work_is_moved_from_where_it_can_be() {
    type Change = fn(&mut LineBooks);
    let rows: [(bool, Change); 8] = [
        (true, |it| it.callees = [calls("json/__init__.py(183): dumps", 390_000)].into()),
        (true, |it| it.operators = [operator("aten::stack", 390_000, 0)].into()),
        (true, |it| {
            it.callees = [calls("torch/utils/data/dataloader.py(720): __next__", 390_000)].into();
        }),
        (false, |it| it.operators = [operator("aten::clone", 390_000, 5)].into()),
        (false, |it| it.callees = [calls("torch/cuda/graphs.py(121): replay", 390_000)].into()),
        (false, |it| {
            it.callees =
                [calls("/x/site-packages/torch/optim/optimizer.py(9): zero_grad", 390_000)].into();
        }),
        (false, |it| it.callees = [calls("nn.Module: model (Linear)", 390_000)].into()),
        (false, |it| it.launching.launches = 1),
    ];
    for (is_movable, change) in rows {
        let mut books = LineBooks {
            cpu_own: Ns(400_000),
            gpu_idle: Ns(300_000),
            launching: Launching { idle_host: Ns(300_000), ..Launching::default() },
            ..LineBooks::default()
        };
        change(&mut books);
        let mut ledger = ledger();
        add(&mut ledger, 3, books.clone());
        let finding = only(&ledger);
        assert_eq!(finding.rule, "gpu-idle");
        assert_eq!(finding.remedy.contains("DataLoader"), is_movable, "{books:?}");
    }
}

/// A loop of lines 2 to 4 that runs 10 times in a step.
fn hot_loop() -> LoopBooks {
    LoopBooks {
        first_line: 3,
        last_line: 4,
        iterations: 20,
        time: Ns(800_000),
        cuda: Ns(300_000),
        kernels: 80,
        launches: 80,
        launch_time: Ns(320_000),
        gpu_idle: Ns(400_000),
        ..LoopBooks::default()
    }
}

#[test]
fn a_loop_explains_its_lines() {
    let mut ledger = ledger();
    add(&mut ledger, 3, launch_bound());
    add(&mut ledger, 4, LineBooks { cpu_total: Ns(500_000), ..launch_bound() });
    add(&mut ledger, 5, launch_bound());
    ledger.loops.insert(key(2), hot_loop());
    assert_eq!(found(&ledger), [("hot-loop", 2), ("launch-bound", 5)]);
    let findings = find(&ledger, &RuleOptions::default());
    assert_eq!((findings[0].cost_per_step, findings[0].count), (Some(Ns(200_000)), 20));
    let related: Vec<_> = findings[0].related.iter().map(|it| (it.place.line, it.time)).collect();
    assert_eq!(related, [(4, Ns(500_000))]);
    // A loop that is not reported explains nothing.
    let mut options = RuleOptions::default();
    options.severities.set("hot-loop", None);
    let rules: Vec<_> = find(&ledger, &options).iter().map(|it| it.place.line).collect();
    assert_eq!(rules, [3, 4, 5]);
}

#[test]
fn loops_that_are_not_hot() {
    let rows: [fn(&mut LoopBooks); 6] = [
        |it| it.iterations = 7,
        |it| (it.kernels, it.launches) = (4001, 4001),
        |it| (it.kernels, it.launches) = (19, 19),
        |it| it.kernels = 161,
        |it| it.gpu_idle = Ns(230_000),
        |it| it.idle_after_wait = Ns(200_000),
    ];
    for change in rows {
        let mut ledger = ledger();
        add(&mut ledger, 3, LineBooks::default());
        let mut it = hot_loop();
        change(&mut it);
        ledger.loops.insert(key(2), it);
        assert_eq!(found(&ledger), []);
    }
}

#[test]
fn kernels_of_graphs_are_not_launched_by_a_loop() {
    let mut ledger = ledger();
    add(&mut ledger, 3, LineBooks::default());
    let it = LoopBooks { kernels: 120, launches: 80, ..hot_loop() };
    ledger.loops.insert(key(2), it);
    let Detail::Device(DeviceDetail::HotLoop { kernels, cuda, launches, .. }) =
        only(&ledger).detail
    else {
        unreachable!("the only rule over loops")
    };
    assert_eq!((kernels, launches, cuda), (80, 80, Ns(200_000)));
}

#[test]
fn of_loops_inside_of_each_other_the_one_that_holds_most_is_reported() {
    for (idle_of_inner, expected) in [(200_000, 3), (150_000, 2)] {
        let mut ledger = ledger();
        add(&mut ledger, 3, LineBooks::default());
        ledger.loops.insert(key(2), hot_loop());
        let inner = LoopBooks {
            first_line: 4,
            time: Ns(400_000),
            gpu_idle: Ns(idle_of_inner),
            within: [key(2)].into(),
            ..hot_loop()
        };
        ledger.loops.insert(key(3), inner);
        assert_eq!(found(&ledger).first(), Some(&("hot-loop", expected)));
    }
}

#[test]
fn kernels_that_do_not_fill_the_device() {
    let with = |(key, kernel): (KernelKey, Kernel)| {
        let mut ledger = ledger();
        add(
            &mut ledger,
            3,
            LineBooks { kernel_table: [(key, kernel)].into(), ..LineBooks::default() },
        );
        found(&ledger)
    };
    let reported = [("low-occupancy", 3)];
    assert_eq!(with(kernel("sum", 49, 4, 200_000)), reported, "fewer blocks than multiprocessors");
    assert_eq!(with(kernel("sum", 50, 4, 200_000)), []);
    assert_eq!(with(kernel("sum", 1, 11, 200_000)), [], "too short to gain from");
    let slight = |name| {
        let (key, it) = kernel(name, 100, 4, 200_000);
        (key, Kernel { occupancy_time: 99 * 200_000, ..it })
    };
    assert_eq!(with(slight("sum")), reported, "few warps");
    assert_eq!(
        with(slight("ampere_sgemm_128x64_nn_gemm")),
        [("tensor-cores-unused", 3)],
        "by design"
    );
    let (key, it) = kernel("ncclDevKernel_AllReduce", 8, 4, 200_000);
    assert_eq!(with((key, Kernel { class: KernelClass::Communication, ..it })), []);
}

#[test]
fn products_beside_the_tensor_cores() {
    let mut ledger = ledger();
    let table = [kernel("ampere_sgemm_128x64_nn", 200, 4, 200_000)].into();
    add(&mut ledger, 3, LineBooks { kernel_table: table, kernels: 9, ..LineBooks::default() });
    let finding = only(&ledger);
    assert_eq!(
        (finding.rule, finding.cost_per_step, finding.count),
        ("tensor-cores-unused", Some(Ns(100_000)), 4)
    );
    let kernel = "ampere_sgemm_128x64_nn".to_owned();
    let detail = DeviceDetail::TensorCores {
        kernel,
        product: Product::Float32,
        here: Ns(200_000),
        sizes: None,
    };
    assert_eq!(finding.detail, Detail::Device(detail));
    let device = |ledger: &mut Ledger, capability| {
        ledger.overviews.get_mut(&0).unwrap().devices.get_mut(&0).unwrap().capability = capability;
    };
    device(&mut ledger, (7, 5));
    assert_eq!(found(&ledger), [], "TF32 is younger");
    device(&mut ledger, (0, 0));
    assert_eq!(found(&ledger), [], "it is not known what the device can do");
    ledger.overviews.clear();
    assert_eq!(found(&ledger), []);
}

#[test]
fn products_are_reported_once_on_the_forward_line() {
    let mut ledger = ledger();
    for (line, total, cuda_backward) in [(3, 40_000, 90_000), (4, 60_000, 90_000), (9, 300_000, 0)]
    {
        let kernel_table = [kernel("ampere_sgemm_128x64_nn", 200, 4, total)].into();
        add(
            &mut ledger,
            line,
            LineBooks { kernel_table, cuda_backward: Ns(cuda_backward), ..LineBooks::default() },
        );
    }
    let finding = only(&ledger);
    assert_eq!((finding.place.line, finding.cost_per_step), (4, Some(Ns(200_000))));
    let related: Vec<_> = finding.related.iter().map(|it| (it.place.line, it.time)).collect();
    assert_eq!(related, [(9, Ns(300_000)), (3, Ns(40_000))]);
}

#[test]
fn half_precision_with_sizes_that_do_not_fit() {
    let mut ledger = ledger();
    let (key, it) = kernel(
        "cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_128x2_tn_align2",
        200,
        4,
        200_000,
    );
    let table = [(key, Kernel { tensor_cores: TensorCores::Yes, ..it })].into();
    let sizes = |m| ProductSizes { batch: 16, m, n: 64, k: 64 };
    let products = [(sizes(3600), Ns(90_000)), (sizes(3601), Ns(70_000)), (sizes(7), Ns(9))].into();
    add(&mut ledger, 3, LineBooks { kernel_table: table, products, ..LineBooks::default() });
    let finding = only(&ledger);
    assert_eq!(finding.rule, "tensor-cores-unaligned");
    let Detail::Device(DeviceDetail::TensorCores { product, sizes: found, .. }) = finding.detail
    else {
        panic!()
    };
    assert_eq!((product, found), (Product::Misaligned, Some(sizes(3601))));
}

#[test]
fn collectives_that_nothing_hides() {
    let mut ledger = ledger();
    add(
        &mut ledger,
        3,
        LineBooks { comm: Ns(500_000), comm_exposed: Ns(120_000), ..LineBooks::default() },
    );
    add(
        &mut ledger,
        4,
        LineBooks { comm: Ns(500_000), comm_exposed: Ns(90_000), ..LineBooks::default() },
    );
    let finding = only(&ledger);
    assert_eq!((finding.rule, finding.place.line, finding.share), ("comm-exposed", 3, 0.06));
    assert_eq!(
        finding.detail,
        Detail::Device(DeviceDetail::CommExposed { comm: Ns(500_000), wait: None })
    );
}

#[test]
fn a_first_step_that_warms_up() {
    let mut ledger = ledger();
    ledger.steps = [(4, Ns(1_425_000)), (5, Ns(900_000)), (6, Ns(1_000_000))].into();
    let steps = |times: [i64; 3]| {
        let step = |(number, cpu)| (number, PerStep { cpu: Ns(cpu), ..PerStep::default() });
        LineBooks {
            steps: [4, 5, 6].into_iter().zip(times).map(step).collect(),
            ..LineBooks::default()
        }
    };
    ledger.lines.insert(key(3), Box::new(steps([400_000, 390_000, 380_000])));
    ledger.lines.insert(key(4), Box::new(steps([700_000, 300_000, 310_000])));
    let finding = only(&ledger);
    assert_eq!((finding.rule, finding.place.line, finding.cost), ("first-step", 4, Ns(475_000)));
    let detail = DeviceDetail::FirstStep {
        number: 4,
        first: Ns(1_425_000),
        median: Ns(950_000),
        here: Ns(395_000),
    };
    assert_eq!(finding.detail, Detail::Device(detail));
    assert!(finding.remedy.contains("schedule(wait=1"), "{}", finding.remedy);
    ledger.overviews.get_mut(&0).unwrap().command = Some("train.py".to_owned());
    let finding = only(&ledger);
    assert!(finding.remedy.contains("perfline record --after N"), "{}", finding.remedy);
    // Steps that were measured before recording, of which the last is no longer equally long.
    for (last, is_even) in [(800_000, true), (1_049_999, true), (1_050_000, false)] {
        let plain_steps = vec![Ns(690_000), Ns(700_000), Ns(last)];
        ledger.overviews.get_mut(&0).unwrap().plain_steps = plain_steps;
        let remedy = only(&ledger).remedy;
        assert_eq!(remedy.contains("the profiler to begin"), is_even, "{last}: {remedy}");
    }
    ledger.steps.insert(4, Ns(1_424_999));
    assert_eq!(found(&ledger), []);
    ledger.steps = [(4, Ns(1_425_000)), (5, Ns(900_000))].into();
    assert_eq!(found(&ledger), [], "one other step says nothing");
}

#[test]
fn graphs_whose_kernels_have_no_lines() {
    let mut ledger = ledger();
    let launching = Launching { replayed: Ns(300_000), ..Launching::default() };
    let books = LineBooks { launching, kernels: 4, ..LineBooks::default() };
    ledger.lines.insert(key(3), Box::new(books));
    let finding = only(&ledger);
    assert_eq!((finding.rule, finding.place.line), ("replayed-graph", 3));
    assert_eq!((finding.cost, finding.severity), (Ns(300_000), Severity::Information));
    ledger.lines.get_mut(&key(3)).unwrap().launching.replayed = Ns(199_999);
    assert_eq!(found(&ledger), [], "a tenth of the step is not reached");
}

#[test]
fn a_run_that_is_launch_bound() {
    let run = |kernel, loader, launches, late| {
        let mut ledger = ledger();
        let overview = ledger.overviews.get_mut(&0).unwrap();
        overview.run.time = Ns(1_000_000);
        overview.run.breakdown = Breakdown {
            kernel: Ns(kernel),
            data_loader: Ns(loader),
            cpu: Ns(1_000_000 - kernel - loader),
            ..Breakdown::default()
        };
        let device = overview.devices.get_mut(&0).unwrap();
        device.launches =
            LaunchSummary { count: launches, shorter_than_call: 9, ..LaunchSummary::default() };
        let idle =
            IdleClasses { host_wait: Ns(late), other: Ns(100 - late), ..IdleClasses::default() };
        device.idle = [(7, idle)].into();
        launch_bound_run(&ledger)
    };
    let expected =
        LaunchBoundRun { kernels: 0.1, host: 45_000.0, launches: 20, shorter_than_call: 9 };
    assert_eq!(run(100_000, 0, 20, 80), Some(expected));
    assert_eq!(run(500_000, 0, 20, 80), None, "the device is busy");
    assert_eq!(run(100_000, 401_000, 20, 80), None, "it waits for data");
    assert_eq!(run(100_000, 0, 4, 80), None, "the host does something else");
    assert_eq!(run(100_000, 0, 20, 79), None, "streams wait for each other");
    assert_eq!(launch_bound_run(&Ledger::default()), None);
}
