//! What the names of ranges say of the steps that they are.
//!
//! A range of a server of language models is one pass of its model over a batch. vLLM calls it
//! `execute_context_2(4096)_generation_30(30)` (`GPUWorker.annotate_profile`), for ROCm
//! `execute_4126_context_2(sq4096sk4096…)_generation_30(sq30sk9000…)`, in older versions `execute_new_2_cached_30`; SGLang
//! `step[EXTEND bs=4 toks=8192]` and `step[DECODE bs=32]` (`build_step_span_name`).

use ledger::StepWork;

/// What the ranges of a profiler's schedule are called, before the number of the step.
const PROFILER_STEP: &str = "ProfilerStep#";

/// The number in the name of a range that `torch.profiler` makes for each step.
pub(crate) fn profiler_step(name: &str) -> Option<u32> {
    name.strip_prefix(PROFILER_STEP)?.parse().ok()
}

/// Of which kind of step a range may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepRangeKind {
    /// A step of a profiler's schedule, which has this number.
    Scheduled(u32),
    /// A pass of a server of language models, and what it did.
    OfServer(StepWork),
}

/// Of which kind of step a range is that is called `name`; `None` of all that are no steps unless the user says so.
#[must_use]
pub fn step_range_kind(name: &str) -> Option<StepRangeKind> {
    let scheduled = profiler_step(name).map(StepRangeKind::Scheduled);
    scheduled.or_else(|| work_of_server(name).map(StepRangeKind::OfServer))
}

/// What a step did, by the name of its range: one of a server, or any other than that of a profiler's schedule.
#[must_use]
pub fn step_work(name: &str) -> Option<StepWork> {
    if profiler_step(name).is_some() {
        return None;
    }
    work_of_server(name).or_else(|| {
        let kind = name.trim_end_matches(|it: char| it.is_ascii_digit());
        let kind = kind.trim_end_matches(['#', ' ', '_', '-', ':', '=', '/']);
        let kind = if kind.is_empty() { name } else { kind };
        Some(StepWork { kind: kind.to_owned(), requests: None, tokens: None })
    })
}

/// What a server of language models says with the name of a range.
#[must_use]
pub fn work_of_server(name: &str) -> Option<StepWork> {
    if let Some(fields) = name.strip_prefix("step[").and_then(|it| it.strip_suffix(']')) {
        return by_stage(fields);
    }
    let batch = name.strip_prefix("execute_")?;
    let counts = batch.strip_prefix("new_").and_then(|it| it.split_once("_cached_"));
    if let Some((new, cached)) = counts {
        return by_phases((new.parse().ok()?, None), (cached.parse().ok()?, None), None);
    }
    let (before, rest) = batch.split_once("context_")?;
    let tokens = match before.strip_suffix('_') {
        Some(number) => Some(number.parse().ok()?),
        None => before.is_empty().then_some(None)?,
    };
    let (context, generation) = rest.split_once("_generation_")?;
    by_phases(requests_and_tokens(context)?, requests_and_tokens(generation)?, tokens)
}

/// `DECODE bs=32`: a stage, and fields of which more may follow.
fn by_stage(text: &str) -> Option<StepWork> {
    let mut words = text.split(' ');
    let stage = words.next().filter(|it| !it.is_empty())?;
    let (mut requests, mut tokens) = (None, None);
    for (key, value) in words.filter_map(|it| it.split_once('=')) {
        match key {
            "bs" => requests = value.parse().ok(),
            "toks" => tokens = value.parse().ok(),
            _ => {}
        }
    }
    let kind = match stage {
        "EXTEND" => "prefill".to_owned(),
        _ => stage.to_ascii_lowercase(),
    };
    Some(StepWork { kind, requests, tokens })
}

/// `2(4096)`, or `2(sq4096sk4096sqsq…)`, where `sq` is the sum of the tokens asked about: requests, and their tokens.
fn requests_and_tokens(text: &str) -> Option<(u64, Option<u64>)> {
    let (requests, sizes) = text.strip_suffix(')')?.split_once('(')?;
    let sizes = sizes.strip_prefix("sq").unwrap_or(sizes);
    let n_digits = sizes.bytes().take_while(u8::is_ascii_digit).count();
    Some((requests.parse().ok()?, sizes[..n_digits].parse().ok()))
}

/// What is done for requests of which the context is read, and for those that are answered: how many there are, and their tokens.
fn by_phases(
    (context, read): (u64, Option<u64>),
    (generation, written): (u64, Option<u64>),
    tokens: Option<u64>,
) -> Option<StepWork> {
    let kind = match (context, generation) {
        (0, 0) => return None,
        (_, 0) => "prefill",
        (0, _) => "decode",
        _ => "mixed",
    };
    let sum = read.and_then(|read| Some(read.saturating_add(written?)));
    Some(StepWork {
        kind: kind.to_owned(),
        requests: Some(context.saturating_add(generation)),
        tokens: tokens.or(sum),
    })
}

/// Whether a range is called like `pattern`, in which a `*` stands for any text.
pub(crate) fn is_called(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    // The last part is the end of the name, so that the others are looked for from the left.
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers_say_what_a_step_does() {
        let expected = [
            ("execute_context_2(4096)_generation_30(30)", "mixed", Some(32), Some(4126)),
            ("execute_context_1(512)_generation_0(0)", "prefill", Some(1), Some(512)),
            (
                "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)",
                "mixed",
                Some(46),
                Some(8192),
            ),
            (
                "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)",
                "decode",
                Some(32),
                Some(32),
            ),
            ("execute_new_0_cached_12", "decode", Some(12), None),
            ("step[DECODE bs=32]", "decode", Some(32), None),
            ("step[EXTEND bs=4 toks=8192]", "prefill", Some(4), Some(8192)),
            ("step[MIXED bs=4 forward_id=7]", "mixed", Some(4), None),
            ("step[VERIFY bs=1]", "verify", Some(1), None),
        ];
        for (name, kind, requests, tokens) in expected {
            let work = StepWork { kind: kind.to_owned(), requests, tokens };
            assert_eq!(work_of_server(name), Some(work), "{name}");
        }
        let others = [
            "execute_model",
            "execute_context_x(1)_generation_1(1)",
            "execute_context_0(0)_generation_0(0)",
            "execute_new_1_cached_",
            "step",
            "step[]",
            "my_step[0]",
        ];
        for name in others {
            assert_eq!(work_of_server(name), None, "{name}");
        }
    }

    #[test]
    fn other_ranges_are_called_without_their_numbers() {
        let kinds =
            ["train_batch#12", "epoch 3", "12", "loop"].map(|it| step_work(it).unwrap().kind);
        assert_eq!(kinds, ["train_batch", "epoch", "12", "loop"]);
        assert_eq!(step_work("ProfilerStep#3"), None);
    }

    #[test]
    fn stars_stand_for_any_text() {
        let yes = [
            ("step", "step"),
            ("step 3", "step *"),
            ("a.b.c", "*.b*c"),
            ("aXbXc", "a*X*c"),
            ("x", "*"),
        ];
        let no =
            [("steps", "step"), ("my step", "step *"), ("ab", "a*b*b"), ("ab", "ab*b"), ("", "?")];
        for (name, pattern) in yes {
            assert!(is_called(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in no {
            assert!(!is_called(name, pattern), "{name} {pattern}");
        }
    }
}
