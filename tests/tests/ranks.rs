//! What is said of several ranks, on recordings of which the late rank and its cause are known.

#![expect(clippy::expect_used, reason = "a test may fail anywhere")]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ledger::{CollectiveKind, Ledger, Ns};
use loader::{LoadOptions, Watch, load};
use ranks::{CauseReason, Comparison};
use tests::fixtures::repository;

/// The books of the traces below a folder, all ranks together.
fn books(folder: PathBuf) -> Ledger {
    let mut inputs: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|it| it.expect("an entry").path())
        .filter(|it| it.is_file())
        .collect();
    inputs.sort();
    books_of(&inputs)
}

/// The books of traces, all ranks together.
fn books_of(inputs: &[PathBuf]) -> Ledger {
    let options = LoadOptions::new(repository().join("fixtures/workloads"), Some(Vec::new()));
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let run = load(inputs, &options, &watch).expect("loads");
    assert!(run.merged.adds_up());
    run.merged
}

fn fixture(name: &str) -> Ledger {
    books(repository().join("fixtures/cpu/torch2.15.0").join(name))
}

fn compared(ledger: &Ledger) -> Comparison {
    Comparison::new(ledger).expect("several ranks")
}

/// The text of a line of the workload.
fn text(line: u32) -> String {
    let path = repository().join("fixtures/workloads/late_rank.py");
    let text = std::fs::read_to_string(path).expect("the workload");
    text.lines().nth(line as usize - 1).expect("a line").trim().to_owned()
}

/// Rank, lateness per step in ms, the line where others wait, the line that differs.
fn straggler(ledger: &Ledger) -> (u32, f64, String, String) {
    let it = compared(ledger).straggler.expect("a straggler");
    let line = |it: Option<u32>| it.map_or_else(String::new, text);
    let waits_at = line(it.waits_at.map(|it| it.line));
    let cause = line(it.cause.map(|it| it.line.line));
    (it.rank, it.lateness.as_f64() / 1e6, waits_at, cause)
}

/// What the rules over several ranks find: rule, line of the workload.
fn findings(ledger: &Ledger) -> Vec<String> {
    let found = insights::find(ledger, &insights::RuleOptions::default());
    let of_ranks = found.iter().filter(|it| ["straggler", "imbalance"].contains(&it.rule));
    of_ranks.map(|it| format!("{}: {}", it.rule, text(it.place.line))).collect()
}

#[test]
fn the_rules_name_the_cause_alone() {
    let slow_line = findings(&fixture("late_rank.slow_line"));
    assert_eq!(slow_line, ["straggler: scores = torch.tanh(scores @ scores)"]);
    let slow_data = findings(&fixture("late_rank.slow_data"));
    assert_eq!(slow_data, ["straggler: time.sleep(self.delay)"]);
}

#[test]
fn a_slow_line_of_one_rank_is_named() {
    let (rank, lateness, waits_at, cause) = straggler(&fixture("late_rank.slow_line"));
    assert_eq!((rank, waits_at.as_str()), (1, "loss.backward()"));
    assert_eq!(cause, "scores = torch.tanh(scores @ scores)");
    assert!((10.0..80.0).contains(&lateness), "{lateness}");
}

#[test]
fn slow_data_of_one_rank_are_named() {
    let (rank, lateness, waits_at, cause) = straggler(&fixture("late_rank.slow_data"));
    assert_eq!((rank, waits_at.as_str()), (1, "loss.backward()"));
    assert_eq!(cause, "time.sleep(self.delay)");
    assert!((50.0..70.0).contains(&lateness), "{lateness}");
}

/// What a step of the job is shorter by without the cause of the lateness, in ms.
fn saving(ledger: &Ledger) -> f64 {
    compared(ledger).straggler.expect("a straggler").saving.as_f64() / 1e6
}

#[test]
fn a_step_of_the_job_is_shorter_by_what_was_planted() {
    // The batch of rank 1 takes 60 ms of sleep, that of rank 0 none; the line of rank 1 takes 29.1 ms in the mean step.
    assert!((57.0..60.0).contains(&saving(&fixture("late_rank.slow_data"))));
    assert!((27.0..29.2).contains(&saving(&fixture("late_rank.slow_line"))));
}

#[test]
fn without_a_change_a_replay_lasts_as_long_as_the_recording() {
    for name in ["late_rank.slow_data", "late_rank.slow_line"] {
        let ledger = fixture(name);
        let replayed = compared(&ledger).replay.expect("a replay").step().as_f64();
        // Steps are as long as their longest rank; between them the profiler works for 0.1 ms.
        let recorded =
            ledger.steps.values().copied().sum::<Ns>().as_f64() / ledger.steps.len() as f64;
        assert!((replayed / recorded - 1.0).abs() < 0.01, "{name}: {replayed} of {recorded}");
    }
}

#[test]
fn ranks_that_are_alike_hardly_wait() {
    let ledger = fixture("late_rank.balanced");
    assert_eq!(compared(&ledger).straggler, None);
    assert_eq!(findings(&ledger), [""; 0]);
}

#[test]
fn every_collective_is_matched_and_has_a_line() {
    let compared = compared(&fixture("late_rank.slow_line"));
    assert_eq!((compared.matched.len(), compared.unmatched), (10, 0));
    assert!(compared.matched.iter().all(|it| it.parts.len() == 4));
    assert!(compared.matched.iter().flat_map(|it| &it.parts).all(|it| it.line.is_some()));
    let lines: Vec<(String, CollectiveKind, u64, Option<i64>)> = compared
        .lines
        .iter()
        .map(|it| {
            let line = it.line.as_ref().map_or_else(String::new, |it| text(it.line));
            (line, it.kind, it.collectives, it.bytes.map(|it| it.0))
        })
        .collect();
    // 18696 parameters of four bytes, and the loss, in each of five steps.
    let expected = [
        ("loss.backward()".to_owned(), CollectiveKind::AllReduce, 5, Some(5 * 4 * 18696)),
        ("dist.all_reduce(total)".to_owned(), CollectiveKind::AllReduce, 5, Some(5 * 4)),
    ];
    assert_eq!(lines, expected);
    assert_eq!((compared.world_size, compared.missing()), (Some(4), None));
}

#[test]
fn clocks_that_differ_are_aligned_by_the_collectives() {
    let ledger = fixture("late_rank.slow_data");
    let mut shifted = ledger.clone();
    let by = Ns(7_300_000_000);
    let of_rank_1 = shifted.communication.get_mut(&1).expect("rank 1");
    for call in of_rank_1.sites.values_mut().flatten() {
        call.start += by;
        call.end += by;
    }
    let (before, after) = (compared(&ledger), compared(&shifted));
    assert!(!before.clocks.are_shifted() && after.clocks.are_shifted());
    let uncertainty = after.clocks.uncertainty();
    assert!(Ns::ZERO < uncertainty && uncertainty < Ns(1_000_000), "{uncertainty:?}");
    let error = (after.clocks.0[&1].shift + by).abs();
    assert!(error <= uncertainty, "{error:?} of {uncertainty:?}");
    let lateness = |it: Comparison| it.straggler.expect("a straggler").lateness;
    let difference = (lateness(before) - lateness(after)).abs();
    assert!(difference <= uncertainty, "{difference:?} of {uncertainty:?}");
}

#[test]
fn ranks_of_one_machine_have_one_clock() {
    let mut ledger = fixture("late_rank.slow_data");
    for rank in ledger.communication.values_mut() {
        rank.host = "node".to_owned();
    }
    // One collective that cannot be what it is taken for.
    let of_rank_1 = ledger.communication.get_mut(&1).expect("rank 1");
    let call = of_rank_1.sites.values_mut().flatten().next().expect("a collective");
    call.start += Ns(500_000_000);
    call.end += Ns(500_000_000);
    let compared = compared(&ledger);
    assert!(!compared.clocks.are_shifted());
    assert_eq!((compared.matched.len(), compared.unmatched), (9, 1));
}

#[test]
fn each_line_says_what_each_rank_spends_on_it() {
    let ledger = fixture("late_rank.slow_line");
    let of_rank = |books: &ledger::LineBooks, rank: u32| books.by_rank.host().on(rank, 4);
    let on_ranks = |books: &ledger::LineBooks| (0..4).map(|it| of_rank(books, it)).sum::<Ns>();
    assert!(ledger.lines.values().all(|it| on_ranks(it) == it.cpu_own));
    let compared = compared(&ledger);
    let waits = compared.waits_by_line();
    let sum =
        |of: fn(&(Ns, Ns)) -> Ns| -> Ns { waits.values().flat_map(|it| it.values()).map(of).sum() };
    let lines = || compared.lines.iter();
    assert_eq!(sum(|it| it.0), lines().map(|it| it.wait).sum());
    assert_eq!(sum(|it| it.1), lines().map(|it| it.transfer).sum());
}

#[test]
fn the_steps_of_a_rank_add_up_to_it() {
    for name in ["late_rank.slow_line", "late_rank.slow_data", "late_rank.balanced"] {
        let ledger = fixture(name);
        let compared = compared(&ledger);
        let steps = ranks::rank_steps(&ledger, &compared);
        for it in &compared.ranks {
            let of_rank = || steps.iter().filter(|step| step.rank == it.rank);
            let run = &ledger.overviews[&it.rank].run;
            assert_eq!(of_rank().count() as u64, it.steps);
            assert_eq!(of_rank().map(|step| step.time).sum::<Ns>(), run.time);
            assert_eq!(of_rank().map(|step| step.compute).sum::<Ns>(), run.breakdown.cpu);
            // Means are rounded down.
            let mean = |sum: Ns| sum / i64::try_from(it.steps).expect("few");
            assert_eq!(mean(of_rank().map(|step| step.wait).sum()), it.wait);
            assert_eq!(mean(of_rank().map(|step| step.transfer).sum()), it.transfer);
            assert_eq!(mean(of_rank().map(|step| step.waited_for).sum()), it.waited_for);
        }
    }
}

#[test]
fn one_rank_alone_says_which_it_is() {
    let mut ledger = fixture("late_rank.slow_line");
    ledger.communication.retain(|rank, _| *rank == 3);
    ledger.overviews.retain(|rank, _| *rank == 3);
    ledger.threads.retain(|thread, _| thread.rank == 3);
    assert_eq!(compared(&ledger).missing().as_deref(), Some("rank 3 of 4 only was read"));
}

/// The set of eight ranks of `param`, recorded on NCCL without stacks; waits are in microseconds.
#[test]
fn nccl_ranks_wait_as_a_plain_count_says() {
    let folder = repository().join("../shared/data/multirank");
    if !folder.is_dir() {
        return;
    }
    let compared = compared(&books(folder));
    let waits: Vec<i64> = compared.ranks.iter().map(|it| it.wait.0 / 1000).collect();
    assert_eq!(waits, [5580, 11125, 3280, 9571, 6370, 6041, 3342, 1534]);
    let waited_for: Vec<i64> = compared.ranks.iter().map(|it| it.waited_for.0 / 1000).collect();
    assert_eq!(waited_for, [0, 0, 0, 0, 885, 1117, 0, 9150]);
    let late: Vec<u64> = compared.ranks.iter().map(|it| it.late).collect();
    assert_eq!(late, [0, 0, 0, 0, 1, 2, 0, 5]);
    assert_eq!(compared.unmatched, 0);
    let straggler = compared.straggler.expect("a straggler");
    // Rank 7 begins the only step late: what it computes within that saves little.
    assert_eq!((straggler.rank, straggler.saving.0 / 1000), (7, 771));
    // From the first begin to the last end; the longest step of a rank takes 18.7 ms.
    assert_eq!(compared.replay.expect("a replay").step().0 / 1000, 19_526);
}

/// The text of a line of the workload of the pipeline.
fn pipeline_text(line: Option<&ledger::LineKey>) -> String {
    let path = repository().join("fixtures/workloads/pipeline.py");
    let text = std::fs::read_to_string(path).expect("the workload");
    let line = line.and_then(|it| text.lines().nth(it.line as usize - 1));
    line.unwrap_or_default().trim().to_owned()
}

#[test]
fn the_late_stage_of_a_pipeline_and_its_line_are_named() {
    let ledger = fixture("pipeline.slow_stage");
    let straggler = compared(&ledger).straggler.expect("a straggler");
    assert_eq!(straggler.rank, 1);
    let cause = straggler.cause.expect("a cause");
    assert_eq!(pipeline_text(Some(&cause.line)), "scores = torch.tanh(scores @ scores)");
    let waits_at = pipeline_text(straggler.waits_at.as_ref());
    assert_eq!(waits_at, "dist.recv(x, RANK - 1, tag=number)");
    // The line takes 8.9 ms of a step of rank 1, and nothing on the others: a step of the job is shorter by as much.
    assert_eq!((cause.here, cause.others), (Ns(8_889_001), Ns::ZERO));
    assert_eq!(straggler.saving, cause.here);
    let found = insights::find(&ledger, &insights::RuleOptions::default());
    let straggler = found.iter().find(|it| it.rule == "straggler").expect("a finding");
    assert_eq!(straggler.place.line, cause.line.line);
}

#[test]
fn what_is_waited_for_is_the_stage_that_is_late_and_not_the_one_before() {
    // Rank 3 waits for rank 2 directly, which stands still for rank 1.
    let compared = compared(&fixture("pipeline.slow_stage"));
    let waited_for: Vec<i64> = compared.ranks.iter().map(|it| it.waited_for.0 / 1000).collect();
    assert_eq!(waited_for, [608, 14_507, 2_056, 1_071]);
}

#[test]
fn every_message_of_a_pipeline_is_matched_and_has_a_line() {
    let compared = compared(&fixture("pipeline.slow_stage"));
    // In each of four steps two microbatches go over three borders of stages, there and back.
    assert_eq!((compared.matched.len(), compared.unmatched), (4 * 2 * 3 * 2, 0));
    let mut lines: Vec<(String, u64, Option<i64>)> = compared
        .lines
        .iter()
        .map(|it| (pipeline_text(it.line.as_ref()), it.collectives, it.bytes.map(|it| it.0)))
        .collect();
    lines.sort();
    // Each line has one end of all in one direction: 32 rows of 64 numbers of four bytes.
    let bytes = Some(24 * 32 * 64 * 4);
    let expected = [
        "dist.recv(x, RANK - 1, tag=number)",
        "dist.send(x.grad, RANK - 1, tag=number)",
        "received = dist.irecv(gradient, RANK + 1, tag=number)",
        "sent.append(dist.isend(hidden.detach(), RANK + 1, tag=number))",
    ];
    assert_eq!(lines, expected.map(|it| (it.to_owned(), 24, bytes)));
    for it in &compared.matched {
        let route = it.route.expect("a message");
        assert_eq!(route.source.abs_diff(route.destination), 1, "{it:?}");
        assert_eq!(route.tag, route.tag.filter(|it| (0..2).contains(it)));
        assert!(route.tag.is_some(), "{it:?}");
    }
}

#[test]
fn a_replay_of_a_pipeline_lasts_as_long_as_the_recording() {
    let compared = compared(&fixture("pipeline.slow_stage"));
    let replayed = compared.replay.expect("a replay").step();
    let steps = |it: &ledger::Overview| it.steps.values().map(|it| it.time).sum::<Ns>();
    let ledger = fixture("pipeline.slow_stage");
    let longest = ledger.overviews.values().map(steps).max().expect("ranks") / 4;
    // From the first begin of a rank to the last end of one.
    assert!(longest <= replayed && replayed < longest + longest / 10, "{replayed:?} {longest:?}");
}

#[test]
fn the_order_in_which_ranks_are_named_makes_no_difference() {
    let folder = repository().join("fixtures/cpu/torch2.15.0/pipeline.slow_stage");
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut inputs: Vec<PathBuf> = entries.map(|it| it.expect("an entry").path()).collect();
    let one = compared(&fixture("pipeline.slow_stage"));
    for _ in 0..inputs.len() {
        inputs.rotate_left(1);
        let other = compared(&books_of(&inputs));
        assert_eq!((&one.ranks, &one.lines), (&other.ranks, &other.lines));
        assert_eq!((&one.matched, one.unmatched), (&other.matched, other.unmatched));
        assert_eq!((&one.waited_for, &one.straggler), (&other.waited_for, &other.straggler));
    }
}

#[test]
fn a_stage_that_is_missing_makes_no_false_message() {
    let ledger = fixture("pipeline.slow_stage");
    let all = compared(&ledger);
    for missing in 0..4 {
        let mut rest = ledger.clone();
        rest.communication.remove(&missing);
        rest.overviews.remove(&missing);
        let rest = compared(&rest);
        let is_whole = |it: &&ranks::Matched| it.parts.iter().all(|part| part.rank != missing);
        let expected: Vec<_> = all.matched.iter().filter(is_whole).cloned().collect();
        // The other end of each message of the rank is left.
        let alone = (all.matched.len() - expected.len()) as u64;
        assert_eq!((rest.matched, rest.unmatched), (expected, alone), "without rank {missing}");
    }
}

#[test]
fn clocks_of_stages_are_aligned_by_messages_in_both_directions() {
    let ledger = fixture("pipeline.slow_stage");
    let by = Ns(7_300_000_000);
    let mut shifted = ledger.clone();
    let of_rank_2 = shifted.communication.get_mut(&2).expect("rank 2");
    for call in of_rank_2.sites.values_mut().flatten() {
        call.start += by;
        call.end += by;
    }
    let aligned = compared(&shifted);
    assert_eq!((aligned.matched.len(), aligned.unmatched), (48, 0));
    let clock = aligned.clocks.0[&2];
    let error = (clock.shift + by).abs();
    assert!(error <= clock.uncertainty && clock.uncertainty < Ns(1_000_000), "{clock:?} {error:?}");
    assert_eq!(aligned.straggler.expect("a straggler").rank, 1);
}

/// A kernel of NCCL that sends or receives, as PyTorch 2.5 records it: the arguments are those of `saveNcclMeta` in
/// `torch/csrc/profiler/util.cpp`, which Kineto copies from `record_param_comms` to the kernel that is launched in it. Times
/// are in microseconds.
struct NcclEnd {
    name: &'static str,
    peer: u32,
    elements: u32,
    start: u32,
    end: u32,
}

impl NcclEnd {
    fn arguments(&self) -> String {
        let Self { name, peer, elements, .. } = self;
        let side = if *name == "send" { "Dst Rank" } else { "Src Rank" };
        format!(
            r#""Collective name": "{name}", "In msg nelems": {elements}, "Out msg nelems": {elements}, "Group size": 4,
               "dtype": "Float", "Process Group Name": "7", "Process Group Description": "pp",
               "Process Group Ranks": "[0, 2, 4, 6]", "Rank": 1, "{side}": {peer}, "Seq": 3"#
        )
    }
}

const WAIT: &str = r#"{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": 100, "dur": 1, "args": {"Collective name": "wait"}}"#;
const KERNEL: &str = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

/// The events of a message of its own: what registers it, the launch within that, and the kernel.
fn alone(number: u32, it: &NcclEnd) -> Vec<String> {
    let (at, arguments) = (it.start - 10, it.arguments());
    vec![
        format!(
            r#"{{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": {at}, "dur": 5, "args": {{"External id": {number}, {arguments}}}}}"#
        ),
        launch(number, at + 1),
        kernel(number, it.start, it.end, &format!(", {arguments}")),
    ]
}

/// The events of messages in one kernel (`batch_isend_irecv`): it is launched after all are registered, and has no arguments of its own.
fn batch(number: u32, ends: &[NcclEnd], start: u32, end: u32) -> Vec<String> {
    let registered = ends.iter().zip(start - 40..).map(|(it, at)| {
        let arguments = it.arguments();
        format!(r#"{{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": {at}, "dur": 0.5, "args": {{{arguments}}}}}"#)
    });
    registered.chain([launch(number, start - 10), kernel(number, start, end, "")]).collect()
}

fn launch(number: u32, at: u32) -> String {
    format!(
        r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 1, "tid": 1, "ts": {at}, "dur": 2, "args": {{"correlation": {number}}}}}"#
    )
}

fn kernel(number: u32, start: u32, end: u32, arguments: &str) -> String {
    let duration = end - start;
    format!(
        r#"{{"ph": "X", "cat": "kernel", "name": "{KERNEL}", "pid": 0, "tid": 20, "ts": {start}, "dur": {duration}, "args": {{"correlation": {number}, "device": 0, "stream": 20{arguments}}}}}"#
    )
}

/// The books of ranks with these events.
fn nccl(ranks: &[(u32, Vec<String>)]) -> Ledger {
    let folder = tempfile::tempdir().expect("a folder");
    for (rank, events) in ranks {
        let text = format!(
            r#"{{"distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": 8}}, "traceEvents": [{}]}}"#,
            events.join(",\n")
        );
        std::fs::write(folder.path().join(format!("rank{rank}.json")), text).expect("written");
    }
    books(folder.path().to_path_buf())
}

/// From whom to whom, bytes, and in microseconds how long the sender and the receiver wait, and the transfer.
type MessageRow = (u32, u32, Option<i64>, i64, i64, i64);

fn message_rows(compared: &Comparison) -> Vec<MessageRow> {
    let rows = compared.matched.iter().map(|it| {
        let route = it.route.expect("a message");
        let wait = |n: usize| it.meeting().wait(&it.parts[n]).0 / 1000;
        let bytes = it.bytes.map(|it| it.0);
        (route.source, route.destination, bytes, wait(0), wait(1), it.transfer().0 / 1000)
    });
    rows.collect()
}

#[test]
fn messages_of_nccl_are_matched_by_the_ranks_in_the_arguments_of_kernels() {
    let end = |name, peer, elements, start, end| NcclEnd { name, peer, elements, start, end };
    let of_2 = [end("send", 4, 256, 1000, 1600), end("recv", 4, 512, 2000, 2500)];
    let of_4 = [end("recv", 2, 256, 1500, 1601), end("send", 2, 512, 2400, 2501)];
    let events = |ends: &[NcclEnd]| (1..).zip(ends).flat_map(|(n, it)| alone(n, it)).collect();
    let compared = compared(&nccl(&[(2, events(&of_2)), (4, events(&of_4))]));
    let expected = [(2, 4, Some(1024), 500, 0, 101), (4, 2, Some(2048), 0, 400, 101)];
    assert_eq!((message_rows(&compared).as_slice(), compared.unmatched), (&expected[..], 0));
    assert_eq!(compared.matched[0].group.name, "7");
}

#[test]
fn messages_of_a_batch_are_those_that_were_registered_before_its_kernel() {
    let end = |name, peer, elements| NcclEnd { name, peer, elements, start: 0, end: 0 };
    // Rank 2 sends to 4 and receives from 0 in one kernel; rank 4 receives alone.
    let both = [end("send", 4, 256), end("recv", 0, 128)];
    let of_4 = NcclEnd { start: 1400, end: 1601, ..end("recv", 2, 256) };
    let of_0 = NcclEnd { start: 1200, end: 1600, ..end("send", 2, 128) };
    let alone = |it: &NcclEnd| alone(1, it);
    // Waiting for an earlier one is registered too, and is no part of the batch.
    let mut of_2 = vec![WAIT.to_owned()];
    of_2.extend(batch(1, &both, 1000, 1600));
    let ranks = [(0, alone(&of_0)), (2, of_2), (4, alone(&of_4))];
    let compared = compared(&nccl(&ranks));
    let expected = [(0, 2, Some(512), 0, 200, 400), (2, 4, Some(1024), 400, 0, 201)];
    assert_eq!((message_rows(&compared).as_slice(), compared.unmatched), (&expected[..], 0));
    // In the kernel of rank 2 it waits until the later of both is there, and no longer.
    let of_2 = compared.ranks.iter().find(|it| it.rank == 2).expect("rank 2");
    assert_eq!((of_2.wait, of_2.transfer), (Ns(400_000), Ns(200_000)));
}

#[test]
fn of_a_batch_in_several_kernels_it_is_not_known_which_one_sends_what() {
    let end = |name, peer, elements| NcclEnd { name, peer, elements, start: 0, end: 0 };
    let mut of_2 = batch(1, &[end("send", 4, 256), end("recv", 4, 256)], 1000, 1600);
    of_2.extend([launch(2, 1602), kernel(2, 1610, 1700, "")]);
    let of_4 = batch(1, &[end("recv", 2, 256), end("send", 2, 256)], 1400, 1601);
    let compared = compared(&nccl(&[(2, of_2), (4, of_4)]));
    assert_eq!((compared.matched.len(), compared.unmatched), (0, 4));
}

#[test]
fn kernels_without_arguments_have_their_ranks_in_the_range_around_the_launch() {
    // As PyTorch 2.2 records it. The numbers are those in the process group, which is not recorded and taken for that of all.
    let message = |range: &str, start: u32, end: u32| {
        let at = start - 10;
        vec![
            format!(
                r#"{{"ph": "X", "cat": "user_annotation", "name": "{range}", "pid": 1, "tid": 1, "ts": {at}, "dur": 8, "args": {{"External id": 1, "Input Dims": [[32, 8]], "Input type": ["float"]}}}}"#
            ),
            launch(1, at + 1),
            kernel(1, start, end, ""),
        ]
    };
    let ranks =
        [(0, message("nccl:send 0->1", 1000, 1600)), (1, message("nccl:recv 1<-0", 1500, 1601))];
    let compared = compared(&nccl(&ranks));
    let expected = [(0, 1, Some(1024), 500, 0, 101)];
    assert_eq!((message_rows(&compared).as_slice(), compared.unmatched), (&expected[..], 0));
}

#[test]
fn why_a_rank_takes_longer_is_said() {
    let it = compared(&fixture("uneven_rank.long_batches"));
    let late = it.straggler.expect("a straggler");
    // Its sequences are three times as long.
    let Some(CauseReason::LargerInputs { here, others }) = late.cause.expect("a cause").reason
    else {
        panic!("the inputs are larger");
    };
    assert!((2.5..3.1).contains(&(here as f64 / others as f64)), "{here} and {others}");
    // The line takes that much longer.
    assert!(Ns(1_000_000) < late.saving, "{:?}", late.saving);
    for name in ["late_rank.slow_line", "late_rank.slow_data"] {
        let cause = compared(&fixture(name)).straggler.and_then(|it| it.cause).expect("a cause");
        assert_eq!(cause.reason, None, "{name}: the same number of inputs");
    }
}
