//! Each opcode, each layout, and pickles that lie, break off or attack.
//!
//! The snapshots in `testdata` were written by `testdata/make.py`, which shows what is in them.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;

use profile::{Bytes, Ns, SnapshotTensor, StackId, TensorPurpose};
use proptest::prelude::*;

use super::*;
use crate::opcode::{Use, describe};
use crate::values::{Handle, PickleValue, PickleValues};

const LIST: &[u8] = include_bytes!("testdata/list.pickle");
const TORCH_2_0: &[u8] = include_bytes!("testdata/torch2.0.pickle");
const TORCH_2_2: &[u8] = include_bytes!("testdata/torch2.2.pickle");
/// The same snapshot by each protocol.
const TORCH_2_11: [&[u8]; 6] = [
    include_bytes!("testdata/torch2.11.protocol0.pickle"),
    include_bytes!("testdata/torch2.11.protocol1.pickle"),
    include_bytes!("testdata/torch2.11.protocol2.pickle"),
    include_bytes!("testdata/torch2.11.protocol3.pickle"),
    include_bytes!("testdata/torch2.11.protocol4.pickle"),
    include_bytes!("testdata/torch2.11.protocol5.pickle"),
];

// Layouts.

#[test]
fn a_list_of_segments_is_a_snapshot() {
    check(
        LIST,
        "
segment 0x1000+1024 device 0 stream 0 small requested -1 pool 0/0
  0x1000+512 allocated
  0x1200+512
",
    );
}

#[test]
fn torch_2_0_has_history_in_blocks_without_address() {
    check(
        TORCH_2_0,
        "
segment 0x7f0000000000+2048 device 0 stream 0 small requested 500 pool 0/0
  0x7f0000000000+512 requested 500 allocated by train.py:18 step < train.py:40 <module>
  0x7f0000000200+1024 requested 1000 pending
  0x7f0000000600+512 requested 0
device 0
  Snapshot 0x0+1500 stream 0
1 stacks
",
    );
}

#[test]
fn torch_2_2_has_frames_but_no_times() {
    check(
        TORCH_2_2,
        "
segment 0x2000+512 device 0 stream 0 small requested 0 pool 0/0
  0x2000+512 requested 4 pending by train.py:18 step < train.py:40 <module>
device 0
device 1
  Alloc 0x2000+512 stream 7 by train.py:18 step < train.py:40 <module>
  SegmentFree 0x9000+2097152 stream 0
1 stacks
",
    );
}

#[test]
fn torch_2_11_has_everything_whatever_the_protocol() {
    for pickle in TORCH_2_11 {
        check(
            pickle,
            "
segment 0xffff800000000000+4194304 device 0 stream 0 large requested 2000000 pool 0/3 by ??:0 _start
  0xffff800000000000+2097152 requested 2000000 allocated by /site/torch/nn/modules/linear.py:125 forward < train.py:18 step < train.py:40 <module>
  0xffff800000200000+2097152 requested 0
segment 0x3000+512 device 0 stream 0 small requested 0 pool 0/0
device 0
  SegmentMap 0xffff800000000000+2097152 stream 0 at 1783874495959433000 by /site/torch/nn/modules/linear.py:125 forward < train.py:18 step < train.py:40 <module>
  Alloc 0xffff800000000000+2097152 stream 0 at 1783874495959434000 by /site/torch/nn/modules/linear.py:125 forward < train.py:18 step < train.py:40 <module>
  Annotation 0x0+0 stream 0 at 1783874495959435000
  OutOfMemory 0x400+1099511627776 stream 0 at 1783874495959436000 by ??:0 _start < model.py:7 forward
  FreeRequested 0xffff800000000000+2097152 stream 0 at 1783874495959437000
  FreeCompleted 0xffff800000000000+2097152 stream 0 at 1783874495959438000
  SegmentUnmap 0xffff800000000000+2097152 stream 0 at 1783874495959439000
  SegmentAlloc 0x3000+512 stream 0 at 1783874495959440000
  SegmentFree 0x3000+512 stream 0 at 1783874495959441000
  Snapshot 0x0+0 stream 0 at 1783874495959442000
  Other 0x3000+512 stream 0 at 1783874495959443000
START Optimizer.step#AdamW.step device 0 at 1783874495959433000
END Optimizer.step#AdamW.step device 0 at 1783874495959442000
3 stacks
1 × Other: the action \"defragment\" is not known; its events say what they can
1 × Other: the key \"cause\" of an event is not known and was passed over
",
        );
    }
}

#[test]
fn a_part_that_is_wrong_is_left_out_alone() {
    // {'segments': [{}, 3, {'address': 1, 'total_size': 9, 'stream': 'x', 'blocks': [{}, {'size': 9}]}],
    //  'device_traces': [[{'action': 'alloc', 'size': 1}, {'action': 'oom', 'size': -1, 'device_free': 2},
    //                     {'action': 'alloc', 'size': 1, 'addr': 3, 'time_us': 2**62, 'frames': [{}, {'line': 1}]}]]}
    let pickle = concat(&[
        b"}(",
        b"\x8c\x08segments](}K\x03}(\x8c\x07addressK\x01\x8c\x0atotal_sizeK\x09\x8c\x06stream\x8c\x01x",
        b"\x8c\x06blocks](}}\x8c\x04sizeK\x09seue",
        b"\x8c\x0ddevice_traces](](",
        b"}(\x8c\x06action\x8c\x05alloc\x8c\x04sizeK\x01u",
        b"}(\x8c\x06action\x8c\x03oom\x8c\x04sizeJ\xff\xff\xff\xff\x8c\x0bdevice_freeK\x02u",
        b"}(\x8c\x06action\x8c\x05alloc\x8c\x04sizeK\x01\x8c\x04addrK\x03",
        b"\x8c\x07time_us\x8a\x08\0\0\0\0\0\0\0\x40\x8c\x06frames](}}\x8c\x04lineK\x01seu",
        b"eeu.",
    ]);
    check(
        &pickle,
        "
segment 0x1+9 device 0 stream 0 ? requested -1 pool 0/0
  0x1+9
device 0
  Alloc 0x3+1 stream 0
1 × Malformed: a segment without address or total_size was left out
1 × Malformed: a segment is no dict and was left out
1 × NumberOutOfRange: the value of \"stream\" of a segment is not usable and was taken as absent
1 × Malformed: a block without size was left out
2 × Malformed: an event without address or size was left out
1 × NumberOutOfRange: the value of \"size\" of an event is not usable and was taken as absent
1 × NumberOutOfRange: the value of \"time_us\" of an event is not usable and was taken as absent
2 × Malformed: a frame without file and name was left out
",
    );
}

#[test]
fn stacks_that_say_the_same_are_one_and_shared_frames_are_converted_once() {
    let (snapshot, _) = read_snapshot(TORCH_2_11[5]).unwrap();
    let stacks: Vec<StackId> =
        snapshot.devices[0].events.iter().take(2).map(|event| event.stack).collect();
    assert_eq!(stacks[0], stacks[1], "the second is a copy of the list");
    assert_eq!(snapshot.stacks.iter().collect::<HashSet<_>>().len(), snapshot.stacks.len());
    // Nothing but what the tables refer to is in the interner.
    assert_eq!(snapshot.strings.find("device_traces"), None);
    assert_eq!(
        snapshot.strings.find("model.py").map(|id| snapshot.strings.get(id)),
        Some("model.py")
    );
}

#[test]
fn other_pickles_are_no_snapshots() {
    let cases: [(&[u8], &str); 6] = [
        (b"\x80\x04K\x01.", "a single value (at byte 0)"),
        (b"\x80\x04\x8c\x01x.", "a text (at byte 0)"),
        (b"\x80\x04).", "a tuple (at byte 2)"),
        (b"\x80\x04}.", "an empty dict (at byte 2)"),
        (b"\x80\x04}\x8c\x01xK\x01s.", "a dict without segments and device_traces (at byte 2)"),
        (b"\x80\x04]K\x01a.", "a list without segments (at byte 2)"),
    ];
    for (pickle, found) in cases {
        let expected = format!(
            "the pickle holds {found}, not a memory snapshot; \
             use a file written by torch.cuda.memory._dump_snapshot"
        );
        assert_eq!(read_snapshot(pickle).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_snapshot_is_distinguished_from_other_pickles_by_its_first_bytes() {
    let yes: [&[u8]; 6] = [
        b"\x80\x02}q\x00",
        b"\x80\x02]q\x00",
        b"\x80\x03}q\x00",
        b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94",
        b"\x80\x05\x95\x10\0\0\0\0\0\0\0]\x94",
        b"\x80\x04",
    ];
    for prefix in yes.into_iter().chain([LIST, TORCH_2_0]).chain(TORCH_2_11.into_iter().skip(2)) {
        assert!(looks_like_snapshot(prefix), "{prefix:?}");
    }
    // The second is how `torch.save` began its files before it wrote archives.
    let no: [&[u8]; 6] =
        [b"", b"\x80\x02\x8a\x0al\xfc\x9cF", b"\x80\x01}", b"\x80\x06}", b"{\"a\"", b"\x1f\x8b"];
    for prefix in no {
        assert!(!looks_like_snapshot(prefix), "{prefix:?}");
    }
}

// Opcodes.

/// Opcodes, a pickle of them, and the value that it stands for.
const OPCODES: &[(&str, &[u8], &str)] = &[
    ("PROTO FRAME NONE STOP", b"\x80\x04\x95\x02\0\0\0\0\0\0\0N.", "None"),
    ("NEWTRUE", b"\x88.", "True"),
    ("NEWFALSE", b"\x89.", "False"),
    ("INT", b"I01\n.", "True"),
    ("INT", b"I00\n.", "False"),
    ("INT", b"I-12\n.", "-12"),
    ("INT", b"I0\n.", "0"),
    ("BININT", b"J\xfe\xff\xff\xff.", "-2"),
    ("BININT", b"J\xff\xff\xff\x7f.", "2147483647"),
    ("BININT1", b"K\xff.", "255"),
    ("BININT2", b"M\xff\xff.", "65535"),
    ("LONG", b"L18446603336221196288L\n.", "18446603336221196288"),
    ("LONG", b"L-5L\n.", "-5"),
    ("LONG", b"L99999999999999999999999L\n.", "scalar"),
    ("LONG1", b"\x8a\x00.", "0"),
    ("LONG1", b"\x8a\x01\xff.", "-1"),
    ("LONG1", b"\x8a\x02\xff\x00.", "255"),
    ("LONG1", b"\x8a\x08\0\0\0\0\0\0\0\x80.", "-9223372036854775808"),
    ("LONG1", b"\x8a\x09\0\0\0\0\0\x80\xff\xff\x00.", "18446603336221196288"),
    ("LONG1", b"\x8a\x09\0\0\0\0\0\0\0\x7f\xff.", "scalar"),
    ("LONG1", b"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff.", "-1"),
    ("LONG4", b"\x8b\x01\0\0\0\x07.", "7"),
    ("FLOAT", b"F0.5\n.", "scalar"),
    ("BINFLOAT", b"G\x3f\xe0\0\0\0\0\0\0.", "scalar"),
    ("SHORT_BINSTRING", b"U\x02ab.", "'ab'"),
    ("BINSTRING", b"T\x02\0\0\0ab.", "'ab'"),
    ("UNICODE", b"Va\\u005cb\\U0001f525\\n\xe9\\u00\n.", "'a\\b\u{1f525}\\n\u{e9}\\u00'"),
    ("BINUNICODE", b"X\x02\0\0\0\xc3\xa9.", "'\u{e9}'"),
    ("SHORT_BINUNICODE", b"\x8c\x01a.", "'a'"),
    ("BINUNICODE8", b"\x8d\x01\0\0\0\0\0\0\0a.", "'a'"),
    ("SHORT_BINUNICODE", b"\x8c\x03a\xffb.", "'a\u{fffd}b'"),
    ("BINBYTES", b"B\x02\0\0\0\xff\xff.", "scalar"),
    ("SHORT_BINBYTES", b"C\x01\xff.", "scalar"),
    ("BINBYTES8", b"\x8e\x01\0\0\0\0\0\0\0\xff.", "scalar"),
    ("BYTEARRAY8", b"\x96\x01\0\0\0\0\0\0\0\xff.", "scalar"),
    ("EMPTY_LIST APPEND", b"]K\x01aK\x02a.", "[1, 2]"),
    ("MARK APPENDS", b"](K\x01K\x02e(e(K\x03e.", "[1, 2, 3]"),
    ("LIST", b"(K\x01K\x02l.", "[1, 2]"),
    ("EMPTY_TUPLE", b").", "()"),
    ("TUPLE", b"(K\x01K\x02K\x03K\x04t.", "(1, 2, 3, 4)"),
    ("TUPLE1", b"K\x01\x85.", "(1)"),
    ("TUPLE2", b"K\x01K\x02\x86.", "(1, 2)"),
    ("TUPLE3", b"K\x01K\x02K\x03\x87.", "(1, 2, 3)"),
    ("EMPTY_DICT SETITEM", b"}K\x01K\x02s.", "{1, 2}"),
    ("SETITEMS", b"}(K\x01NK\x02Nu.", "{1, None, 2, None}"),
    ("DICT", b"(K\x01Nd.", "{1, None}"),
    ("EMPTY_SET ADDITEMS", b"\x8f(K\x01\x90.", "set"),
    ("FROZENSET", b"(K\x01\x91.", "set"),
    ("MEMOIZE BINGET", b"]\x94\x8c\x01a\x94ah\x01ah\x01a.", "['a', 'a', 'a']"),
    ("BINPUT", b"]q\x00\x8c\x01aq\x01ah\x01a.", "['a', 'a']"),
    ("LONG_BINPUT LONG_BINGET", b"]\x8c\x01ar\xff\xff\xff\xffaj\xff\xff\xff\xffa.", "['a', 'a']"),
    ("PUT GET", b"]K\x09p70\nag70\na.", "[9, 9]"),
    // MEMOIZE counts the entries, however they are numbered.
    ("MEMOIZE", b"](K\x07q\x05K\x08\x94h\x05h\x01e.", "[7, 8, 7, 8]"),
    ("POP", b"K\x01K\x020.", "1"),
    ("POP", b"K\x01(0.", "1"),
    ("POP_MARK", b"K\x01(K\x02K\x031.", "1"),
    ("DUP", b"]K\x012\x86a.", "[(1, 1)]"),
];

#[test]
fn every_opcode_of_plain_data_does_what_python_does() {
    let mut tried = BTreeSet::new();
    for (names, pickle, expected) in OPCODES {
        let loaded = machine::load(pickle, &mut Warnings::default());
        let loaded = loaded.unwrap_or_else(|error| panic!("{names}: {error}"));
        assert_eq!(loaded.damage, None, "{names}");
        assert_eq!(repr(&loaded.values, loaded.root), *expected, "{names}");
        tried.extend(names.split(' '));
    }
    let all = (0..=u8::MAX).filter_map(describe).filter(|it| it.1 == Use::Data);
    assert_eq!(tried, all.map(|it| it.0).collect());
}

#[test]
fn no_opcode_runs_code() {
    for opcode in 0..=u8::MAX {
        let Some((name, Use::Code)) = describe(opcode) else { continue };
        let segment = b"}(\x8c\x07addressK\x01\x8c\x0atotal_sizeK\x09u";
        let pickle = concat(&[b"\x80\x04](", segment, &[opcode], b"os\nsystem\nN)e."]);
        let error = read_snapshot(&pickle).unwrap_err();
        assert_eq!(error, Error::Code { opcode: name, offset: 4 + segment.len() as u64 });
    }
    let error = read_snapshot(b"cos\nsystem\n(S'echo pwned'\ntR.").unwrap_err();
    assert_eq!(
        error.to_string(),
        "GLOBAL at byte 0 asks to run code, which no memory snapshot needs; nothing was run, \
         use a file written by torch.cuda.memory._dump_snapshot"
    );
}

#[test]
fn an_opcode_that_cannot_be_obeyed_is_named_with_its_place() {
    let cases: [(&[u8], &str); 24] = [
        (b"", "the pickle ends early: STOP at byte 0 is missing or cut off"),
        (b"\x80", "the pickle ends early: PROTO at byte 0 is missing or cut off"),
        (b"N", "the pickle ends early: STOP at byte 1 is missing or cut off"),
        (b"NI12", "the pickle ends early: INT at byte 1 is missing or cut off"),
        (
            b"X\xff\xff\xff\xffab",
            "the pickle ends early: BINUNICODE at byte 0 is missing or cut off",
        ),
        (
            b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffab",
            "the pickle ends early: BINUNICODE8 at byte 0 is missing or cut off",
        ),
        (b"\x8b\xff\xff\xff\x7fab", "the pickle ends early: LONG4 at byte 0 is missing or cut off"),
        (b"\x8b\xff\xff\xff\xff", "LONG4 at byte 0 cannot be read: its length is negative"),
        (b".", "STOP at byte 0 cannot be read: it needs more values than there are"),
        (b"N(.", "STOP at byte 2 cannot be read: it needs more values than there are"),
        (b"K\x01\x86.", "TUPLE2 at byte 2 cannot be read: it needs more values than there are"),
        (b"Nt.", "TUPLE at byte 1 cannot be read: there is no MARK before it"),
        (b"K\x01K\x01a.", "APPEND at byte 4 cannot be read: there is no list to append to"),
        (b"(e.", "APPENDS at byte 1 cannot be read: there is no list to append to"),
        (b"](K\x01a.", "APPEND at byte 4 cannot be read: there is no list to append to"),
        (b"]NNs.", "SETITEM at byte 3 cannot be read: there is no dict to set items of"),
        (b"(NNNd.", "DICT at byte 4 cannot be read: a key has no value"),
        (b"](N\x90.", "ADDITEMS at byte 3 cannot be read: there is no set to add to"),
        (b"h\x00.", "BINGET at byte 0 cannot be read: nothing was memoized under its number"),
        (b"gx\n.", "GET at byte 0 cannot be read: it has no number of a memo entry"),
        (b"Ix\n.", "INT at byte 0 cannot be read: it is not a number"),
        (b"\x80\x06N.", "PROTO at byte 0 cannot be read: the protocol is newer than 5"),
        (b"N\x97.", "NEXT_BUFFER at byte 1 cannot be read: no snapshot has it"),
        (b"N\xff.", "byte 1 is 0xff, which no pickle protocol knows"),
    ];
    for (pickle, expected) in cases {
        let error = read_snapshot(pickle).unwrap_err().to_string();
        let advice = "; copy the file again or take a new snapshot";
        assert_eq!(error, format!("{expected}{advice}"), "{pickle:?}");
    }
}

#[test]
fn text_that_is_not_utf8_is_reported_once_per_text() {
    let (_, warnings) = read_snapshot(b"}(\x8c\x08segments]\x8c\x01\xffNu.").unwrap();
    let reported: Vec<_> = warnings.iter().map(|it| (it.kind, it.offset, it.count)).collect();
    assert_eq!(
        reported,
        [(WarningKind::InvalidUtf8, Some(13), 1), (WarningKind::Other, Some(0), 1)]
    );
}

// Pieces.

#[test]
fn how_a_pickle_is_cut_into_pieces_makes_no_difference() {
    let long = concat(&[b"}(\x8c\x08segments]X", &5000_u32.to_le_bytes(), &[b'x'; 5000], b"Nu."]);
    let behind = concat(&[LIST, b"more"]);
    let cut_off = &LIST[..LIST.len() / 2];
    let all =
        [LIST, TORCH_2_0, TORCH_2_2, &long, &behind, cut_off, b"}\xff", b"cos\nsystem\n", b""];
    for pickle in all.into_iter().chain(TORCH_2_11) {
        let whole = reported(read_snapshot(pickle));
        for len in [1, 2, 3, 7, 64, 65, 1000] {
            let mut reader = SnapshotReader::new();
            pickle.chunks(len).for_each(|piece| reader.feed(piece));
            assert_eq!(reported(reader.finish()), whole, "pieces of {len} bytes");
        }
    }
}

/// Rows and warnings, or the error.
fn reported(read: Result<(Snapshot, Warnings), Error>) -> Result<(Vec<String>, Warnings), Error> {
    read.map(|(snapshot, warnings)| (lines(&snapshot), warnings))
}

// Damage.

#[test]
fn a_pickle_that_breaks_off_gives_what_came_before_and_nothing_else() {
    for pickle in [LIST, TORCH_2_0, TORCH_2_2].into_iter().chain(TORCH_2_11) {
        let whole = lines(&read_snapshot(pickle).unwrap().0);
        let mut most = 0;
        for len in 0..pickle.len() {
            let Ok((snapshot, warnings)) = read_snapshot(&pickle[..len]) else { continue };
            let truncated: Vec<_> =
                warnings.iter().filter(|it| it.kind == WarningKind::Truncated).collect();
            assert_eq!(truncated.len(), 1);
            assert!(truncated[0].offset.is_some_and(|it| it <= len as u64));
            // What is there is what the whole file says, in its order.
            let part = lines(&snapshot);
            let mut rest = whole.iter();
            for line in &part {
                assert!(rest.any(|it| it == line), "{line} of the first {len} bytes");
            }
            assert!(part.len() >= most, "more bytes gave less: {len}");
            most = part.len();
        }
        assert!(most + 3 >= whole.len(), "{most} of {} lines before the last byte", whole.len());
    }
}

#[test]
fn what_tensors_are_for() {
    let pickle = concat(&[
        b"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces]\x8c\x08perfline}(\x8c\x08since_usK\x05",
        b"\x8c\x07address](K\x10K\x20K\x30e\x8c\x07purpose](\x8c\x09parameter\x8c\x04mine\x8c\x0foptimizer statee",
        b"\x8c\x07time_us](K\x01K\x02K\x03K\x04euu.",
    ]);
    let (snapshot, warnings) = read_snapshot(&pickle).unwrap();
    assert_eq!(snapshot.purposes.since, Ns(5_000));
    let tensor = |address, purpose, at| SnapshotTensor { address, purpose, at: Ns(at) };
    assert_eq!(
        snapshot.purposes.tensors,
        [
            tensor(0x10, TensorPurpose::Parameter, 1_000),
            tensor(0x30, TensorPurpose::OptimizerState, 3_000),
        ]
    );
    assert_eq!(warnings.iter().count(), 0);
    for broken in
        [&b"K\x01"[..], b"]K\x01a", b"}\x8c\x07addressK\x01s", b"}\x8c\x07purpose]K\x01as"]
    {
        let pickle = concat(&[b"}(\x8c\x08segments]\x8c\x08perfline", broken, b"u."]);
        let (snapshot, _) = read_snapshot(&pickle).unwrap();
        assert_eq!(snapshot.purposes.tensors, []);
    }
}

#[test]
fn segments_survive_when_the_traces_are_cut_off() {
    let pickle = TORCH_2_11[5];
    let alloc = pickle.windows(8).position(|it| it == b"annotate").unwrap();
    let (snapshot, warnings) = read_snapshot(&pickle[..alloc]).unwrap();
    assert_eq!((snapshot.segments.len(), snapshot.devices[0].events.len()), (2, 2));
    let text: Vec<_> = warnings.iter().map(|it| (it.offset, it.message.as_str())).collect();
    assert_eq!(
        text,
        [(
            Some(alloc as u64 - 2),
            "the pickle ends early; the segments and events before were read"
        )]
    );
}

#[test]
fn what_lies_before_damage_is_kept_and_the_lost_share_reported() {
    let mut pickle = TORCH_2_11[5].to_vec();
    let at = pickle.windows(8).position(|it| it == b"annotate").unwrap() - 2;
    pickle[at] = 0xff;
    let (snapshot, warnings) = read_snapshot(&pickle).unwrap();
    assert_eq!((snapshot.segments.len(), snapshot.devices[0].events.len()), (2, 2));
    let lost = ((pickle.len() - at) * 100).div_ceil(pickle.len());
    let text: Vec<_> = warnings.iter().map(|it| (it.kind, it.offset, it.message.clone())).collect();
    let message = format!(
        "the pickle is damaged; the segments and events before were read, {lost} % of the bytes were not"
    );
    assert_eq!(text, [(WarningKind::Malformed, Some(at as u64), message)]);
}

#[test]
fn bytes_behind_the_end_are_reported() {
    let pickle = concat(&[LIST, b"more"]);
    let (snapshot, warnings) = read_snapshot(&pickle).unwrap();
    assert_eq!(snapshot.segments.len(), 1);
    assert_eq!(warnings.iter().map(|it| it.offset).collect::<Vec<_>>(), [Some(LIST.len() as u64)]);
}

// Attacks.

#[test]
fn a_million_levels_deep_is_no_deeper_than_one() {
    let depth = 1_000_000;
    let tuples = concat(&[b")", &vec![0x85; depth], b"."]);
    let lists = concat(&[&vec![b']'; depth], &vec![b'a'; depth - 1], b"."]);
    let open = concat(&[b"}\x8c\x08segments", &vec![b']'; depth]]);
    let marks = concat(&[&vec![b'('; depth], b"."]);
    for pickle in [tuples, lists, open, marks] {
        let error = read_snapshot(&pickle).unwrap_err().to_string();
        assert!(error.len() < 200, "{error}");
    }
}

#[test]
fn containers_that_contain_themselves_come_to_an_end() {
    let cases: [&[u8]; 5] = [
        // A list in itself.
        b"]q\0h\0a.",
        // A dict that is its own segments and traces.
        b"}q\0(\x8c\x08segmentsh\0\x8c\x0ddevice_tracesh\0u.",
        // A list of traces that is its own first trace.
        b"}\x8c\x0ddevice_traces]q\0h\0as.",
        // Segments whose blocks, frames and history are the segments.
        b"}\x8c\x08segments]q\0}(\x8c\x07addressK\x01\x8c\x0atotal_sizeK\x01\x8c\x06blocksh\0\
          \x8c\x06framesh\0uas.",
        // A stack that is a frame of itself, and a frame that is its own name.
        b"}\x8c\x0ddevice_traces]](}(\x8c\x06action\x8c\x05alloc\x8c\x04addrK\x01\x8c\x04sizeK\x01\
          \x8c\x06frames]q\0(h\0}q\x01\x8c\x04nameh\x01seueas.",
    ];
    for pickle in cases {
        // Reaching the next line is the point; what was usable is a segment or an event at most.
        if let Ok((snapshot, warnings)) = read_snapshot(pickle) {
            assert!(snapshot.segments.len() <= 1 && snapshot.stacks.is_empty());
            assert!(!warnings.is_empty());
        }
    }
}

#[test]
fn few_bytes_that_refer_to_each_other_give_few_rows() {
    // 2,000 segments that share a list of 2,000 references to one block: 4 million blocks in 9 kB.
    let many = |reference: &[u8]| concat(&[b"(", &reference.repeat(2000), b"e"]);
    let pickle = concat(&[
        b"}\x8c\x04sizeK\x01sq\0",
        b"]q\x01",
        &many(b"h\0"),
        b"}q\x02(\x8c\x07addressK\x01\x8c\x0atotal_sizeK\x01\x8c\x06blocksh\x01u",
        b"]",
        &many(b"h\x02"),
        b".",
    ]);
    let (snapshot, warnings) = read_snapshot(&pickle).unwrap();
    let blocks: usize = snapshot.segments.iter().map(|it| it.blocks.len()).sum();
    assert!((1..pickle.len()).contains(&blocks), "{blocks}");
    let messages: Vec<_> = warnings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        messages,
        ["the file refers to the same parts over and over; only the first were kept"]
    );
}

#[test]
fn a_stack_is_never_taken_for_a_frame() {
    // The second stack holds the first, which was converted before.
    let event = |frames: &[u8]| {
        concat(&[
            b"}(\x8c\x06action\x8c\x05alloc\x8c\x04addrK\x01\x8c\x04sizeK\x01\x8c\x06frames",
            frames,
            b"u",
        ])
    };
    let first = event(b"]q\0}\x8c\x04name\x8c\x01fsa");
    let pickle = concat(&[b"}\x8c\x0ddevice_traces]](", &first, &event(b"](h\0h\0e"), b"eas."]);
    let (snapshot, warnings) = read_snapshot(&pickle).unwrap();
    let stacks: Vec<_> = snapshot.devices[0].events.iter().map(|it| it.stack).collect();
    assert_eq!(stacks, [StackId(0), StackId::NONE]);
    assert_eq!(warnings.iter().map(|it| it.count).collect::<Vec<_>>(), [2]);
}

/// An opcode of plain data with a plausible argument.
fn operation() -> impl Strategy<Value = Vec<u8>> {
    let of = |texts: &'static [&'static [u8]]| prop::sample::select(texts).prop_map(<[u8]>::to_vec);
    prop_oneof![
        of(&[b"(", b"]", b"}", b")", b"a", b"e", b"s", b"u", b"t", b"l", b"d", b"0", b"1", b"2"]),
        of(&[b"N", b"\x94", b"\x85", b"\x86", b"\x8f", b"\x90", b"K\x01", b"\x8a\x01\xff"]),
        of(&[b"\x8c\x08segments", b"\x8c\x0ddevice_traces", b"\x8c\x06blocks", b"\x8c\x06frames"]),
        of(&[b"\x8c\x07address", b"\x8c\x0atotal_size", b"\x8c\x04size", b"\x8c\x04name"]),
        of(&[b"\x8c\x06action", b"\x8c\x05alloc", b"\x8c\x04addr", b"\x8c\x07history"]),
        (0..8u8).prop_map(|index| vec![b'h', index]),
        (0..8u8).prop_map(|index| vec![b'q', index]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn flipped_bytes_never_panic_nor_blow_up(
        which in 0..8usize,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let all = [TORCH_2_0, TORCH_2_2].into_iter().chain(TORCH_2_11);
        let mut pickle = all.into_iter().nth(which).unwrap().to_vec();
        for (at, byte) in flips {
            let at = at.index(pickle.len());
            pickle[at] = byte;
        }
        read_within_bounds(&pickle)?;
    }

    #[test]
    fn random_operations_never_panic_nor_blow_up(
        operations in prop::collection::vec(operation(), 0..200),
    ) {
        read_within_bounds(&concat(&[b"}", &operations.concat(), b"."]))?;
    }
}

fn read_within_bounds(pickle: &[u8]) -> Result<(), TestCaseError> {
    if let Ok((snapshot, _)) = read_snapshot(pickle) {
        let blocks: usize = snapshot.segments.iter().map(|it| it.blocks.len()).sum();
        let events: usize = snapshot.devices.iter().map(|it| it.events.len()).sum();
        let frames: usize = snapshot.stacks.iter().map(Vec::len).sum();
        let rows = snapshot.segments.len() + snapshot.devices.len() + blocks + events + frames;
        prop_assert!(rows <= pickle.len(), "{rows} rows of {} bytes", pickle.len());
    }
    Ok(())
}

// Showing.

fn concat(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

#[track_caller]
fn check(pickle: &[u8], expected: &str) {
    let (snapshot, warnings) = read_snapshot(pickle).unwrap();
    let mut actual = lines(&snapshot);
    if !snapshot.stacks.is_empty() {
        actual.push(format!("{} stacks", snapshot.stacks.len()));
    }
    for warning in warnings.iter() {
        actual.push(format!("{} × {:?}: {}", warning.count, warning.kind, warning.message));
    }
    assert_eq!(actual.join("\n"), expected.trim_matches('\n'));
}

/// One line per row.
fn lines(snapshot: &Snapshot) -> Vec<String> {
    let mut lines = Vec::new();
    let text = |id| snapshot.strings.get(id);
    let at = |Ns(at)| if at < 0 { String::new() } else { format!(" at {at}") };
    let by = |stack| {
        let frames = snapshot.frames(stack).iter();
        let frames: Vec<String> = frames
            .map(|frame| format!("{}:{} {}", text(frame.file), frame.line, text(frame.function)))
            .collect();
        if frames.is_empty() { String::new() } else { format!(" by {}", frames.join(" < ")) }
    };
    for segment in &snapshot.segments {
        let mut line = format!(
            "segment {:#x}+{} device {} stream {}",
            segment.address, segment.total_size.0, segment.device, segment.stream
        );
        let kind = segment.is_large.map_or("?", |large| if large { "large" } else { "small" });
        write!(
            line,
            " {kind} requested {} pool {}/{}{}",
            segment.requested_size.0,
            segment.pool.0,
            segment.pool.1,
            by(segment.stack)
        )
        .unwrap();
        lines.push(line);
        for block in &segment.blocks {
            let mut line = format!("  {:#x}+{}", block.address, block.size.0);
            if block.requested_size >= Bytes(0) {
                write!(line, " requested {}", block.requested_size.0).unwrap();
            }
            line += if block.is_allocated { " allocated" } else { "" };
            line += if block.is_pending_free { " pending" } else { "" };
            lines.push(line + &by(block.stack));
            let former = block.former.iter();
            lines.extend(former.map(|&(it, Bytes(size))| format!("    former {size}{}", by(it))));
        }
    }
    for device in &snapshot.devices {
        lines.push(format!("device {}", device.device));
        for event in &device.events {
            let line = format!(
                "  {:?} {:#x}+{} stream {}{}",
                event.action,
                event.address,
                event.size.0,
                event.stream,
                at(event.at)
            );
            lines.push(line + &by(event.stack));
        }
    }
    for it in &snapshot.annotations {
        let stage = if it.is_start { "START" } else { "END" };
        lines.push(format!("{stage} {} device {}{}", text(it.name), it.device, at(it.at)));
    }
    lines
}

/// A value as Python might show it; only for values that are trees of little depth.
fn repr(values: &PickleValues, handle: Handle) -> String {
    let items = |chain| {
        let items: Vec<String> =
            values.runs(chain).flatten().map(|&item| repr(values, item)).collect();
        items.join(", ")
    };
    match values.get(handle) {
        PickleValue::None => "None".to_owned(),
        PickleValue::Bool(true) => "True".to_owned(),
        PickleValue::Bool(false) => "False".to_owned(),
        PickleValue::Int(int) => int.to_string(),
        PickleValue::Unsigned(int) => int.to_string(),
        PickleValue::Text(id) => format!("'{}'", values.texts().get(id)),
        PickleValue::List(chain) => format!("[{}]", items(chain)),
        PickleValue::Tuple(chain) => format!("({})", items(chain)),
        PickleValue::Dict(chain) => format!("{{{}}}", items(chain)),
        PickleValue::Set => "set".to_owned(),
        PickleValue::Scalar => "scalar".to_owned(),
    }
}
