//! How the input is cut into pieces makes no difference.

use crate::dump::{dump, read, read_pieces};
use proptest::prelude::*;

/// A little of everything, damage included.
const TRACE: &str = concat!(
    "\u{feff}\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"H100 \\u00e9\"}],\n",
    "  \"with_stack\": 1,\n  \"traceEvents\": [\n  {\n    ",
    r#""ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7,
    "ts": 4388527165375.866, "dur": 9.031,
    "args": {
      "External id": 1,"Input Dims": [[2, 3], []], "Input type": ["float", "]"], "Ev Idx": 0
    }
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7,
    "ts": 4388527165475.866, "dur": 11,
    "args": {
      "External id": 2,"Input Dims": [[2, 3], []], "Input type": ["float", "]"], "Ev Idx": 1
    }
  },
  {"ph": "X", "cat": "python_function", "name": "C:\dir\", "pid": 7, "tid": 7, "ts": 1, "dur": 1.0005},
  {"ph": "X", "cat": "python_function", "name": "lost, "pid": 7, "tid": 7, "ts": 1, "dur": 1},
  {"ph": "X", "cat": "python_function", "name": "say \"hi\", naïve", "pid": 7, "tid": 7, "ts": NaN, "dur": 1,,},
  {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": "1e1", "args": {"grid": [1, 2, 3]}},
  {"name": "thread_name", "ph": "M", "ts": 1, "pid": 7, "tid": 7, "args": {"name": "main"}},
  "traceName": "the end of the list is missing", "baseTimeNanoseconds": 1790857026000000000}
"#
);

#[test]
fn any_two_pieces_give_the_same() {
    let whole = dump(&read(TRACE.as_bytes()));
    for at in 0..=TRACE.len() {
        let (head, tail) = TRACE.as_bytes().split_at(at);
        assert_eq!(dump(&read_pieces(&[head, tail])), whole, "cut at {at}");
    }
}

/// Long enough that the reader has to wait more than once before it tries an unfinished value again.
fn long_trace() -> Vec<u8> {
    let event = |index: usize| {
        let name = "x".repeat(index * 37 % 9000);
        format!(
            r#"{{"ph": "X", "cat": "cpu_op", "name": "{index}{name}", "pid": 1, "tid": 1, "ts": {index}, "dur": 1}}"#
        )
    };
    let events: Vec<String> = (0..60).map(event).collect();
    format!("{{\"traceEvents\": [{}, {}]}}", events.join(",\n"), TRACE).into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_pieces_give_the_same(cuts in proptest::collection::vec(0_usize..200_000, 0..30), step in 1_usize..70_000) {
        let trace = long_trace();
        let whole = dump(&read(&trace));
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|&it| it < trace.len()).collect();
        cuts.extend([0, trace.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|it| &trace[it[0]..it[1]]).collect();
        prop_assert_eq!(&dump(&read_pieces(&pieces)), &whole);
        let pieces: Vec<&[u8]> = trace.chunks(step).collect();
        prop_assert_eq!(&dump(&read_pieces(&pieces)), &whole);
    }
}
