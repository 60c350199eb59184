//! Logs that are whole, and logs that are not.

use profile::{CompileLog, FunctionCompile, GeneratedFile, Ns, WarningKind};
use proptest::prelude::*;

use crate::{CompileLogReader, looks_like_compile_log};

const PREFIX: &str = "V1121 20:49:57.438000 17948 torch/_inductor/compile_fx.py:1961] ";
const PATH: &str = "/tmp/cache/4z/c4z76kcfplyj6oqxvqvx3n4ydi6cfdyxkd3zmm3kxv4jn3vt5qnq.py";

/// One record with its payload.
fn record(json: &str, payload: &str) -> String {
    let payload: String = payload.lines().map(|line| format!("\t{line}\n")).collect();
    format!("{PREFIX}{json}\n{payload}")
}

fn code(path: &str, frame: u32) -> String {
    let text = "\
import torch
def call(self, args):
    args.clear()
    assert_size_stride(a, (8, 8))
    buf0 = empty_strided_cpu((8, 8), (8, 1), torch.float32)
    # Topologically Sorted Source Nodes: [y]
    # [Provenance debug handles] extern_kernels.addmm:1
    extern_kernels.addmm(a, b, out=buf0)
    del a
    buf1 = empty_strided_cpu((8, 8), (8, 1), torch.float32)
    # [Provenance debug handles] cpp_fused_add_gelu_0:2
    stream0 = get_raw_stream(0)
    cpp_fused_add_gelu_0(buf0, buf1)
    del buf0
    return (buf1, )
def benchmark():
    call([])";
    record(
        &format!(r#"{{"inductor_output_code": {{"filename": "{path}"}}, "frame_id": {frame}}}"#),
        text,
    )
}

fn stacks(frame: u32, lines: [u32; 3]) -> String {
    let stack = |line| format!(r#""  File \"/w/t.py\", line {line}, in forward\n    x\n    ^\n""#);
    let [first, second, third] = lines.map(stack);
    record(
        &format!(
            r#"{{"artifact": {{"name": "inductor_provenance_tracking_kernel_stack_traces"}}, "frame_id": {frame}}}"#
        ),
        &format!(
            r#"{{"extern_kernels.addmm:1": [{first}], "cpp_fused_add_gelu_0:2": [{second}, {third}, {second}]}}"#
        ),
    )
}

fn read(text: &[u8]) -> (CompileLog, Vec<(WarningKind, Option<u64>)>) {
    let mut reader = CompileLogReader::new();
    reader.feed(text);
    let (log, warnings) = reader.finish();
    (log, warnings.iter().map(|it| (it.kind, it.offset)).collect())
}

/// The calls of a file: first and last line, and the lines that each was made from.
fn calls(file: &GeneratedFile) -> Vec<(u32, u32, Vec<Vec<u32>>)> {
    let call = |it: &profile::GeneratedCall| {
        let stack = |it: &Vec<profile::OriginFrame>| it.iter().map(|it| it.line).collect();
        (it.first_line, it.last_line, it.origins.iter().map(stack).collect())
    };
    file.calls.iter().map(call).collect()
}

#[test]
fn the_lines_of_a_kernel_are_those_that_it_was_made_from() {
    let other = record(r#"{"chromium_event": {}, "has_payload": "1"}"#, "{\n}");
    let text = format!("{other}{}{}{other}", code(PATH, 0), stacks(0, [7, 8, 9]));
    let (log, warnings) = read(text.as_bytes());
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(log.processes, [17948]);
    let [file] = &log.files[..] else { panic!("{:?}", log.files) };
    assert_eq!(log.strings.get(file.path), PATH);
    let fused = || vec![vec![8], vec![9]];
    assert_eq!(
        calls(file),
        [(5, 5, vec![vec![7]]), (8, 8, vec![vec![7]]), (10, 10, fused()), (12, 13, fused()),]
    );
}

#[test]
fn each_graph_has_the_lines_that_were_logged_with_it() {
    // Forward and backward have one key, and what was kept in a cache may be logged behind its lines.
    let backward = PATH.replace("4z/c4z", "ab/cab");
    let warm = PATH.replace("4z/c4z", "cd/ccd");
    let text = [
        code(PATH, 0),
        stacks(0, [7, 8, 9]),
        code(&backward, 0),
        stacks(0, [1, 2, 3]),
        stacks(5, [4, 5, 6]),
        code(&warm, 5),
        code("/tmp/none.py", 9),
    ];
    let (log, _) = read(text.concat().as_bytes());
    let first: Vec<_> = log.files.iter().map(|it| calls(it)[0].2.clone()).collect();
    assert_eq!(first, [vec![vec![7]], vec![vec![1]], vec![vec![4]]]);
}

#[test]
fn kernels_without_lines_have_those_of_the_graph() {
    let graph = |key: &str| {
        let text = "\
class GraphModule(torch.nn.Module):
    def forward(self, a: \"f32[8, 8]\", b: \"f32[8, 8]\", c: \"f32[8]\"):
        # File: /w/t.py:3 in forward, code: h = torch.addmm(c, a, b)
        addmm: \"f32[8, 8]\" = torch.ops.aten.addmm.default(c, a, b);  a = b = c = None
        # File: /w/t.py:4 in forward, code: return h.relu()
        relu: \"f32[8, 8]\" = torch.ops.aten.relu.default(addmm)
        return (relu,)";
        record(&format!(r#"{{"{key}": {{}}, "frame_id": 0}}"#), text)
    };
    let text = "\
cpp_fused_relu_0 = async_compile.cpp_pybinding(['float*'], '''
extern \"C\" void kernel(const float* in_ptr0, float* out_ptr0)
''')
def call(self, args):
    a, b, c = args
    buf0 = empty_strided_cpu((8, 8), (8, 1), torch.float32)
    # [Provenance debug handles] extern_kernels.addmm:1
    extern_kernels.addmm(c, a, b, out=buf0)
    buf1 = empty_strided_cpu((8, 8), (8, 1), torch.float32)
    # [Provenance debug handles] cpp_fused_relu_0:2
    cpp_fused_relu_0(buf0, buf1)
    return (buf1, )";
    let output = format!(r#"{{"inductor_output_code": {{"filename": "{PATH}"}}, "frame_id": 0}}"#);
    let code = record(&output, text);
    let inferred = |it: &CompileLog| {
        it.files[0].calls.iter().map(|it| it.is_inferred()).collect::<Vec<bool>>()
    };
    for key in ["aot_forward_graph", "aot_backward_graph", "aot_inference_graph"] {
        let (log, warnings) = read(format!("{}{code}", graph(key)).as_bytes());
        assert!(warnings.is_empty());
        let (product, relu) = (vec![vec![3]], vec![vec![4]]);
        let expected =
            [(6, 6, product.clone()), (8, 8, product), (9, 9, relu.clone()), (11, 11, relu)];
        assert_eq!(calls(&log.files[0]), expected);
        assert_eq!(inferred(&log), [true; 4]);
        let said = |it: &profile::CompiledLine| (it.line, log.strings.get(it.text));
        let lines: Vec<(u32, &str)> = log.files[0].lines.iter().map(said).collect();
        assert_eq!(lines, [(3, "h = torch.addmm(c, a, b)"), (4, "return h.relu()")]);
    }
    // What was noted counts, and the graph where nothing was.
    let stacks = stacks(0, [7, 8, 9]).replace("cpp_fused_add_gelu_0:2", "of_another:2");
    let text = format!("{}{code}{stacks}", graph("aot_forward_graph"));
    let (log, _) = read(text.as_bytes());
    let lines: Vec<u32> = calls(&log.files[0]).iter().map(|it| it.2[0][0]).collect();
    assert_eq!(lines, [7, 7, 4, 4]);
    assert_eq!(inferred(&log), [false, false, true, true]);
}

/// PyTorch 2.9 does not name convolutions and attention.
#[test]
fn a_call_that_is_not_named_is_not_the_one_before_it() {
    let called = "    buf9 = extern_kernels.convolution(buf0, c, stride=(1, ))\n    buf8 = buf9[0]\n    buf7 = torch.ops.aten.cumsum.default(buf8, 1)\n";
    let plain = code(PATH, 0);
    let at = plain.find("\t    del a\n").unwrap();
    let called: String = called.lines().map(|it| format!("\t{it}\n")).collect();
    let text = format!("{}{called}{}", &plain[..at], &plain[at..]);
    let (log, _) = read(format!("{text}{}", stacks(0, [7, 8, 9])).as_bytes());
    let fused = || vec![vec![8], vec![9]];
    let expected =
        [(5, 5, vec![vec![7]]), (8, 8, vec![vec![7]]), (13, 13, fused()), (15, 16, fused())];
    assert_eq!(calls(&log.files[0]), expected);
}

#[test]
fn what_a_backward_pass_computes_again_is_what_the_forward_pass_computes() {
    let graph = |key: &str, inputs: &str, nodes: &str, outputs: &str| {
        let text = format!(
            "def forward(self, {inputs}):\n    # File: /w/t.py:3 in forward, code: h = torch.addmm(c, a, b)\n{nodes}    return ({outputs},)"
        );
        record(&format!(r#"{{"{key}": {{}}, "frame_id": 0}}"#), &text)
    };
    let addmm = "    addmm: \"f32[8, 8]\" = torch.ops.aten.addmm.default(c, a, b)\n";
    let relu = "    relu: \"f32[8, 8]\" = torch.ops.aten.relu.default(addmm)\n";
    let mm = "    mm: \"f32[8, 8]\" = torch.ops.aten.mm.default(tangents_1, relu)\n";
    let forward = graph("aot_forward_graph", "a, b, c", &format!("{addmm}{relu}"), "relu");
    let backward =
        graph("aot_backward_graph", "a, b, c, tangents_1", &format!("{addmm}{relu}{mm}"), "mm");
    let kernel = "cpp_fused_relu_0 = async_compile.cpp_pybinding(['float*'], '''\nextern \"C\" void kernel(const float* in_ptr0, float* out_ptr0)\n''')\n";
    let text = |inputs: &str, calls: &str| {
        format!(
            "{kernel}def call(self, args):\n    {inputs} = args\n    buf0 = empty_strided_cpu((8, 8), (8, 1), torch.float32)\n    # [Provenance debug handles] extern_kernels.addmm:1\n    extern_kernels.addmm(c, a, b, out=buf0)\n    buf1 = empty_strided_cpu((8, 8), (8, 1), torch.float32)\n    # [Provenance debug handles] cpp_fused_add_gelu_0:2\n    cpp_fused_relu_0(buf0, buf1)\n{calls}"
        )
    };
    let output = |path: &str, text: &str| {
        let json =
            format!(r#"{{"inductor_output_code": {{"filename": "{path}"}}, "frame_id": 0}}"#);
        record(&json, text)
    };
    let other = PATH.replace("4z/c4z", "ab/cab");
    let product = "    buf2 = empty_strided_cpu((8, 8), (8, 1), torch.float32)\n    # [Provenance debug handles] extern_kernels.mm:3\n    extern_kernels.mm(tangents_1, buf1, out=buf2)\n    return (buf2, )";
    let codes = [
        output(PATH, &text("a, b, c", "    return (buf1, )")),
        output(&other, &text("a, b, c, tangents_1", product)),
    ];
    // The same whether the compiler noted the lines of the calls or not.
    for stacks in [String::new(), stacks(0, [3, 3, 3])] {
        let (log, _) = read([&*forward, &backward, &codes.concat(), &stacks].concat().as_bytes());
        let is_recomputed = |it: &GeneratedFile| {
            let calls = it.calls.iter().map(|it| (it.first_line, it.is_recomputed));
            (it.is_backward, calls.collect::<Vec<_>>())
        };
        let found: Vec<_> = log.files.iter().map(is_recomputed).collect();
        let of_forward = vec![(6, false), (8, false), (9, false), (11, false)];
        let again = vec![(6, true), (8, true), (9, true), (11, true), (12, false), (14, false)];
        assert_eq!(found, [(false, of_forward), (true, again)]);
    }
}

/// `relu` stands for what is left of `x * 1.0`: PyTorch takes it out after the graph of both passes was logged, and gives its place to the product.
#[test]
fn operations_have_the_places_that_they_had_before_the_graph_was_cut() {
    let graph = |key: &str, line_of_product: u32| {
        let text = format!(
            "def forward(self, a: \"f32[8, 8]\", b: \"f32[8, 8]\", c: \"f32[8]\"):
    # File: /w/t.py:{line_of_product} in forward, code: h = torch.addmm(c, a, b)
    addmm: \"f32[8, 8]\" = torch.ops.aten.addmm.default(c, a, b);  a = b = c = None
    # File: /w/t.py:9 in forward, code: return h.relu()
    relu: \"f32[8, 8]\" = torch.ops.aten.relu.default(addmm)
    return (relu,)"
        );
        record(&format!(r#"{{"{key}": {{}}, "frame_id": 0}}"#), &text)
    };
    let text = code(PATH, 0)
        .replace("args.clear()", "a, b, c = args")
        .replace("extern_kernels.addmm(a, b, out=buf0)", "extern_kernels.addmm(c, a, b, out=buf0)");
    let outer = r#"["  File \"/w/t.py\", line 20, in run\n    f(x)\n  File \"/w/t.py\", line 8, in forward\n    x\n"]"#;
    let stacks = stacks(0, [7, 8, 9]);
    let at = stacks.find("\"extern_kernels.addmm:1\": ").unwrap();
    let end = at + stacks[at..].find(']').unwrap() + 1;
    let stacks = format!("{}\"extern_kernels.addmm:1\": {outer}{}", &stacks[..at], &stacks[end..]);
    let found = |joint: &str| {
        let forward = graph("aot_forward_graph", 8);
        let (log, warnings) = read([joint, &forward, &text, &stacks].concat().as_bytes());
        assert!(warnings.is_empty());
        let product = log.files[0].calls.iter().find(|it| it.first_line == 8).unwrap();
        let lines: Vec<u32> = product.origins[0].iter().map(|it| it.line).collect();
        (lines, product.is_inferred())
    };
    assert_eq!(found(""), (vec![20, 8], false));
    assert_eq!(found(&graph("aot_joint_graph", 8)), (vec![20, 8], false));
    assert_eq!(found(&graph("aot_joint_graph", 3)), (vec![20, 3], true));
}

#[test]
fn file_names_may_be_numbers() {
    let name = record(&format!(r#"{{"str": ["{PATH}", 3]}}"#), "");
    let text = format!(
        "{name}{}{}",
        code(PATH, 0).replace(&format!("\"{PATH}\""), "3"),
        stacks(0, [7, 8, 9])
    );
    let (log, _) = read(text.as_bytes());
    assert_eq!(log.strings.get(log.files[0].path), PATH);
}

#[test]
fn damage_costs_the_record_that_it_is_in() {
    let whole = format!("{}{}", code(PATH, 0), stacks(0, [7, 8, 9]));
    let bad = "no record\n";
    let text = format!("{bad}{whole}{PREFIX}{{\"str\": [\n");
    let (log, warnings) = read(text.as_bytes());
    assert_eq!(log.files.len(), 1);
    let second = (bad.len() + whole.len()) as u64;
    assert_eq!(
        warnings,
        [(WarningKind::Malformed, Some(0)), (WarningKind::Malformed, Some(second))]
    );
}

#[test]
fn a_log_is_known_by_its_first_line() {
    assert!(looks_like_compile_log(code(PATH, 0).as_bytes()));
    let others = [
        "",
        "{}",
        "V1121 x] {",
        "V1121 20:49:57.4 17948 x.py:1] text",
        "[W1122 22:05:46] {\"a\": 1}",
    ];
    for other in others {
        assert!(!looks_like_compile_log(other.as_bytes()), "{other}");
    }
}

#[test]
fn a_log_may_end_anywhere() {
    let text = format!("{}{}", code(PATH, 0), stacks(0, [7, 8, 9]));
    for end in 0..text.len() {
        let (log, _) = read(&text.as_bytes()[..end]);
        assert!(log.files.len() <= 1);
    }
}

proptest! {
    #[test]
    fn nothing_panics_and_pieces_make_no_difference(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut text = format!("{}{}", code(PATH, 0), stacks(0, [7, 8, 9])).into_bytes();
        for (at, byte) in changes {
            let at = at.index(text.len());
            text[at] = byte;
        }
        let whole = read(&text);
        let mut reader = CompileLogReader::new();
        let (first, second) = text.split_at(cut.index(text.len()));
        reader.feed(first);
        reader.feed(second);
        let (log, _) = reader.finish();
        prop_assert_eq!(log.files, whole.0.files);
    }
}

/// The numbers are those of a log of PyTorch 2.6, and of what a cache served.
#[test]
fn what_was_compiled_has_the_times_of_its_phases() {
    let metrics = |frame: u32, seconds: f64, phases: &str| {
        record(
            &format!(
                r#"{{"compilation_metrics": {{"co_name": "f", "co_filename": "/w/t.py", "co_firstlineno": 3, "entire_frame_compile_time_s": {seconds}{phases}}}, "frame_id": {frame}, "frame_compile_id": 0}}"#
            ),
            "",
        )
    };
    let whole = r#", "aot_autograd_cumulative_compile_time_us": 1498189, "inductor_cumulative_compile_time_us": 1478406, "inductor_code_gen_cumulative_compile_time_us": 1419267"#;
    let cached = r#", "aot_autograd_cumulative_compile_time_us": 31627, "inductor_cumulative_compile_time_us": 7344, "inductor_code_gen_cumulative_compile_time_us": null"#;
    let no_graph = r#", "aot_autograd_cumulative_compile_time_us": null, "inductor_cumulative_compile_time_us": null"#;
    let backward = record(
        r#"{"bwd_compilation_metrics": {"compile_id": "0/0", "duration_us": 250, "inductor_cumulative_compile_time_us": 200, "inductor_code_gen_cumulative_compile_time_us": 150}}"#,
        "",
    );
    let text = [
        metrics(0, 1.506_278, whole),
        metrics(1, 0.044_881, cached),
        metrics(2, 0.009_207, no_graph),
        metrics(3, 0.5, ""),
        backward,
    ];
    let (log, warnings) = read(text.concat().as_bytes());
    assert_eq!(warnings, []);
    let micros = |it: &FunctionCompile| it.phases.named().map(|(_, time)| time.0 / 1000);
    let found: Vec<[i64; 4]> = log.compiles.iter().map(micros).collect();
    let expected = [
        [8_089, 19_783 + 50, 59_139 + 50, 1_419_267 + 150],
        [13_254, 24_283, 7_344, 0],
        [9_207, 0, 0, 0],
        [0; 4],
    ];
    assert_eq!(found, expected);
    assert!(log.compiles[..3].iter().all(|it| {
        let sum: Ns = it.phases.named().into_iter().map(|(_, time)| time).sum();
        sum == it.time
    }));
}

#[test]
fn what_was_compiled_has_the_time_of_its_backward_pass() {
    let metrics = |version: u32, reason: &str| {
        record(
            &format!(
                r#"{{"compilation_metrics": {{"co_name": "f", "co_filename": "/w/t.py", "co_firstlineno": 3, "entire_frame_compile_time_s": 0.5, "recompile_reason": {reason}}}, "frame_id": 2, "frame_compile_id": {version}}}"#
            ),
            "",
        )
    };
    let backward =
        record(r#"{"bwd_compilation_metrics": {"compile_id": "2/1", "duration_us": 250}}"#, "");
    let of_another =
        record(r#"{"bwd_compilation_metrics": {"compile_id": "7/0", "duration_us": 9}}"#, "");
    let broken = record(
        r#"{"artifact": {"name": "dynamo_graph_break_reason"}}"#,
        "Graph break in user code at /w/t.py:5\n  Explanation: No branches. Else",
    );
    let text = [
        metrics(0, "null"),
        metrics(1, r#""2/0: x == 3  # why""#),
        backward,
        of_another,
        broken.clone(),
        broken,
    ];
    let (log, warnings) = read(text.concat().as_bytes());
    assert_eq!(warnings, []);
    let found: Vec<_> = log
        .compiles
        .iter()
        .map(|it| {
            (log.strings.get(it.function), it.line, it.frame, it.time.0, log.strings.get(it.reason))
        })
        .collect();
    assert_eq!(found, [("f", 3, 2, 500_000_000, ""), ("f", 3, 2, 500_250_000, "x == 3")]);
    let breaks: Vec<_> =
        log.breaks.iter().map(|it| (it.line, log.strings.get(it.reason))).collect();
    assert_eq!(breaks, [(5, "No branches")]);
}
