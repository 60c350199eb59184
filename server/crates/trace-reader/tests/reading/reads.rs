//! What each variety of trace becomes.

use crate::dump::{dump, read, unindent};

fn check(input: &str, expected: &str) {
    check_bytes(input.as_bytes(), expected);
}

fn check_bytes(input: &[u8], expected: &str) {
    let actual = dump(&read(input));
    assert_eq!(actual, unindent(expected), "\n{}\n{actual}", String::from_utf8_lossy(input));
}

/// Operators in the spellings of PyTorch 1.8, 1.13 and 2.11.
#[test]
fn operators() {
    check(
        r#"[
  {
    "ph": "X", "cat": "Operator", 
    "name": "aten::empty", "pid": 67844, "tid": "4093687616",
    "ts": 1606910596297023, "dur": 13,
    "args": {
       "Input dims": [[], [3, 4]], "Input type": [], "Input names": [],
       "Device": 0, "External id": 2, "Extra arguments": [],
       "Trace name": "PyTorch Profiler", "Trace iteration": 0
    }
  }
]"#,
        r#"
        thread 67844/4093687616
        Operator "aten::empty" 1606910596297023000+13000 on 0 external=2 dims="[[], [3, 4]]" types="[]"
        1 events, complete
        "#,
    );
    check(
        r#"
{
  "schemaVersion": 1,
  "deviceProperties": [
  ],
  "traceEvents": [
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::zeros", "pid": 31757, "tid": 31757,
    "ts": 1795245582565210, "dur": 33,
    "args": {
      "Trace name": "PyTorch Profiler", "Trace iteration": 0,
      "External id": 1,
      "Profiler Event Index": 0, "Call stack": "<built-in method zeros>;truth.py(49): run;", "Input Dims": [[], []], "Input type": ["", "Scalar"]
    }
  }
  ],
  "traceName": "gpt.json"
}"#,
        r#"
        thread 31757/31757
        Operator "aten::zeros" 1795245582565210000+33000 on 0 external=1 stack="<built-in method zeros>;truth.py(49): run;" dims="[[], []]" types="[\"\", \"Scalar\"]"
        1 events, complete
        "#,
    );
    check(
        r#"{
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::unbind", "pid": 30982, "tid": 30982,
    "ts": 4388527165812.356, "dur": 47.801,
    "args": {
      "External id": 6,"Sequence number": 1620, "Fwd thread id": 0, "Record function id": 0, "Concrete Inputs": ["", "0"], "Input type": ["long int", "Scalar"], "Input Strides": [[1], []], "Input Dims": [[4], []], "Ev Idx": 5
    }
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: SumBackward1", "pid": 30982, "tid": 30983,
    "ts": 4388527165912.000, "dur": 43.365,
    "args": {
      "External id": 33281,"Record function id": 0, "Sequence number": 561, "Fwd thread id": 1, "Ev Idx": 0
    }
  }
  ]
}"#,
        r#"
        base 1790857026000000000
        thread 30982/30982
        thread 30982/30983
        Operator "aten::unbind" 4388527165812356+47801 on 0 external=6 sequence=1620 dims="[[4], []]" types="[\"long int\", \"Scalar\"]" concrete="[\"\", \"0\"]"
        Operator "autograd::engine::evaluate_function: SumBackward1" 4388527165912000+43365 on 1 external=33281 sequence=561 forward_thread=1
        2 events, complete
        "#,
    );
}

/// Python calls: a root, a child with its exact caller, a dangling parent.
#[test]
fn python_calls() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"ph": "X", "cat": "python_function", "name": "a.py(1): <module>", "pid": 1, "tid": 1, "ts": 10, "dur": 100, "args": {"Python id": 1, "Python parent id": null, "Python thread": 0}},
  {"ph": "X", "cat": "python_function", "name": "nn.Module: Linear_0", "pid": 1, "tid": 1, "ts": 11, "dur": 50, "args": {"Python id": 2, "CallFrom": "a.py:7", "Python parent id": 1, "Python module id": 0}},
  {"ph": "X", "cat": "python_function", "name": "<built-in method relu>", "pid": 1, "tid": 2, "ts": 12, "dur": 5, "args": {"Python id": 29937646, "Python parent id": 29937000, "Ev Idx": 3}}]}"#,
        r#"
        thread 1/1
        thread 1/2
        Python "a.py(1): <module>" 10000+100000 on 0 id=1
        Python "nn.Module: Linear_0" 11000+50000 on 0 id=2 parent=1 caller="a.py:7"
        Python "<built-in method relu>" 12000+5000 on 1 id=29937646 parent=29937000
        3 events, complete
        "#,
    );
}

/// Annotations, and the steps that old versions record as operators.
#[test]
fn annotations() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"ph":"X","cat":"user_annotation","name":"Optimizer.step#AdamW.step","pid":1,"tid":1,"ts":1,"dur":2,"args":{"External id":1}},
  {"ph":"X","cat":"Operator","name":"ProfilerStep#3","pid":1,"tid":1,"ts":1,"dur":2,"args":{"External id":2}},
  {"ph":"X","cat":"cpu_op","name":"ProfilerStep#4","pid":1,"tid":1,"ts":4,"dur":2},
  {"ph":"X","cat":"nvtx","name":"range","pid":1,"tid":1,"ts":4,"dur":2}]}"#,
        r#"
        thread 1/1
        Annotation "Optimizer.step#AdamW.step" 1000+2000 on 0
        Annotation "ProfilerStep#3" 1000+2000 on 0
        Annotation "ProfilerStep#4" 4000+2000 on 0
        Annotation "range" 4000+2000 on 0
        4 events, complete
        "#,
    );
}

/// Kernels, copies and fills with their launches, of CUDA in old and new spelling, HIP, a CUDA graph, MTIA, Inductor.
#[test]
fn device_events() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":7,"tid":"7","ts":1,"dur":2,"args":{"cbid":211,"correlation":60032,"external id":862,"external ts":1606910596350436}},
  {"ph":"X","cat":"Kernel","name":"wgrad","pid":0,"tid":"stream 7","ts":5,"dur":379,"args":{"queued":0,"device":0,"context":1,"stream":7,"correlation":60032,"external id":862,"registers per thread":80,"shared memory":6400,"warps per SM":102.4,"grid":[4,8,32],"block":[128,1,1]}},
  {"ph":"X","cat":"Memset","name":"Memset (Device)","pid":1,"tid":"stream 20","ts":6,"dur":1,"args":{"bytes":1048576}},
  {"ph":"X","cat":"cuda_driver","name":"cuLaunchKernelEx","pid":7,"tid":7,"ts":7,"dur":2,"args":{"correlation":162}},
  {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":8.5,"dur":1.25,"args":{"External id":12,"device":3,"stream":9,"correlation":162,"registers per thread":80,"shared memory":6400,"blocks per SM":7.757576,"grid":[4,8,32],"block":[128,1,1],"est. achieved occupancy %":37.5}},
  {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":9.5,"dur":1.25,"args":{"device":3,"stream":9,"correlation":0,"graph id":4,"graph node id":4294967300,"grid":[4,8,32],"block":[128,1,1],"est. achieved occupancy %":0}},
  {"ph":"X","cat":"cuda_runtime","name":"hipMemcpyWithStream","pid":416,"tid":416,"ts":1,"dur":48.081,"args":{"External id":26,"cid":153,"correlation":60909,"src":"0x7dc6ea80","bytes":"616","kind":"1"}},
  {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":2,"tid":0,"ts":3,"dur":1,"args":{"External id":26,"device":2,"stream":0,"correlation":60909,"bytes":"616"}},
  {"ph":"X","cat":"mtia_ccp_events","name":"dma_request","pid":9,"tid":801,"ts":4,"dur":8.136,"args":{"direction":"DEVICE_TO_HOST"}},
  {"ph":"X","cat":"kernel","name":"triton_poi","pid":0,"tid":7,"ts":20,"dur":1,"args":{"stack":"File \"a.py\", line 3, in f","kernel_kwargs":{"name":"x"}}}]}"#,
        r#"
        thread 7/7
        thread 416/416
        Runtime "cudaLaunchKernel" 1000+2000 on 0 correlation=60032 external=862
        Runtime "cuLaunchKernelEx" 7000+2000 on 0 correlation=162
        Runtime "hipMemcpyWithStream" 1000+48081 on 1 correlation=60909 external=26
        Kernel "wgrad" 5000+379000 on 0:7 correlation=60032 external=862 grid=[4, 8, 32] block=[128, 1, 1]
        Memset "Memset (Device)" 6000+1000 on 1:20 bytes=1048576
        Kernel "gemm" 8500+1250 on 3:9 correlation=162 external=12 grid=[4, 8, 32] block=[128, 1, 1] occupancy=375 blocks=7757576
        Kernel "gemm" 9500+1250 on 3:9 correlation=0 graph=4 node=4294967300 grid=[4, 8, 32] block=[128, 1, 1] occupancy=0
        Memcpy "Memcpy HtoD" 3000+1000 on 2:0 correlation=60909 external=26 bytes=616
        Kernel "dma_request" 4000+8136 on 9:801
        Kernel "triton_poi" 20000+1000 on 0:7 stack="\"File \\\"a.py\\\", line 3, in f\""
        10 events, complete
        "#,
    );
}

/// Memory events: PyTorch 1.9, CUDA and HIP; addresses as numbers of either sign and as hexadecimal text.
#[test]
fn memory() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"ph":"i","s":"t","name":"[memory]","pid":25738,"tid":25738,"ts":1623143093496534,"args":{"Device Type":0,"Device Id":-1,"Bytes":4}},
  {"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":5.016,"args":{"Total Reserved":2097152,"Total Allocated":512,"Bytes":-512,"Device Id":0,"Device Type":1,"Addr":139793448042496,"finished":false,"Ev Idx":1}},
  {"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":6,"args":{"Bytes":512,"Device Id":1,"Device Type":6,"Addr":"0xffff800000000000"}},
  {"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":7,"args":{"Bytes":512,"Device Id":1,"Device Type":6,"Addr":-1}},
  {"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":8,"args":{"Bytes":512,"Device Id":1,"Device Type":6,"Addr":18446744073709551615}},
  {"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":9,"args":{"Bytes":512,"Device Type":600,"Addr":"heap"}},
  {"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":9,"args":{"Addr":1}},
  {"ph":"i","cat":"cpu_instant_event","s":"t","name":"[OutOfMemory]","pid":1,"tid":1,"ts":9,"args":{"Bytes":1}}]}"#,
        "\n        thread 25738/25738\n        thread 1/1\n        memory 1623143093496534000 on 0 +4 bytes at 0x0 of 0:-1\n        memory 5016 on 1 -512 bytes at 0x7f2432d00000 of 1:0 allocated=512 reserved=2097152\n        memory 6000 on 1 +512 bytes at 0xffff800000000000 of 6:1\n        memory 7000 on 1 +512 bytes at 0xffffffffffffffff of 6:1\n        memory 8000 on 1 +512 bytes at 0xffffffffffffffff of 6:1\n        memory 9000 on 1 +512 bytes at 0x0 of 0:-1\n        warning NumberOutOfRange @902 x1: an address that is no number was ignored\n        warning NumberOutOfRange @902 x1: a number too large for its column was ignored\n        warning Malformed @1044 x1: a [memory] event without bytes was left out\n        8 events, complete\n        ",
    );
}

/// Flows from forward operators to backward ones; those of launches are left out. The thread of a flow is the same whether
/// its id is a number or a string.
#[test]
fn flows() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"ph":"s","id":270,"pid":1,"tid":1,"ts":1.5,"cat":"fwdbwd","name":"fwdbwd"},
  {"ph":"f","id":270,"pid":1,"tid":"1","ts":2.5,"cat":"fwdbwd","name":"fwdbwd","bp":"e"},
  {"ph":"s","id":16,"pid":1,"tid":1,"ts":3,"cat":"ac2g","name":"ac2g"},
  {"ph":"f","id":16,"pid":0,"tid":7,"ts":4,"cat":"ac2g","name":"ac2g","bp":"e"},
  {"ph":"s","id":60031,"pid":1,"tid":1,"ts":3,"cat":"async","name":"launch"},
  {"ph":"f","id":"0x10","pid":0,"tid":"stream 7","ts":4,"cat":"async_cpu_to_gpu","name":"launch","bp":"e"},
  {"ph":"s","id":"what","pid":1,"tid":1,"ts":3,"cat":"fwdbwd"},
  {"ph":"s","id":3,"pid":1,"tid":1,"ts":3,"cat":"other"}]}"#,
        "\n        thread 1/1\n        flow 270 from 0 at 1500\n        flow 270 to 0 at 2500\n        warning Malformed @545 x1: a flow without a number was left out\n        8 events, complete\n        ",
    );
}

/// Threads are distinguished by the text of their ids; metadata names them, wherever it stands.
#[test]
fn threads() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"name":"thread_name","ph":"M","ts":1,"pid":25738,"tid":25738,"args":{"name":"thread 25738 (python)"}},
  {"name":"process_name","ph":"M","ts":1,"pid":25738,"tid":0,"args":{"name":"python"}},
  {"ph":"X","cat":"cpu_op","name":"a","pid":25738,"tid":"25738","ts":1,"dur":1},
  {"ph":"X","cat":"cpu_op","name":"b","pid":"25738","tid":25738,"ts":1,"dur":1},
  {"ph":"X","cat":"cpu_op","name":"c","pid":-1,"tid":0,"ts":1,"dur":1},
  {"ph":"X","cat":"cpu_op","name":"d","pid":25738,"tid":"pt_autograd \"0\"","ts":1,"dur":1},
  {"ph":"X","cat":"cpu_op","name":"e","ts":1,"dur":1},
  {"ph":"X","cat":"cpu_op","name":"f","pid":null,"tid":{"a":1},"ts":1,"dur":1},
  {"name":"thread_name","ph":"M","ts":1,"pid":-1,"tid":0,"args":{"name":"late"}}]}"#,
        r#"
        thread 25738/25738 "thread 25738 (python)"
        thread -1/0 "late"
        thread 25738/pt_autograd "0"
        thread /
        Operator "a" 1000+1000 on 0
        Operator "b" 1000+1000 on 0
        Operator "c" 1000+1000 on 1
        Operator "d" 1000+1000 on 2
        Operator "e" 1000+1000 on 3
        Operator "f" 1000+1000 on 3
        warning Malformed @666 x1: a list or object stands where a text belongs
        9 events, complete
        "#,
    );
}

/// What is known and of no use leaves no row and no warning.
#[test]
fn left_out() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"ph":"X","cat":"Trace","ts":1,"dur":3281745,"pid":"Spans","tid":"PyTorch Profiler","name":"PyTorch Profiler (0)","args":{"Op count":0}},
  {"name":"Iteration Start: PyTorch Profiler","ph":"i","s":"g","pid":"Traces","tid":"Trace PyTorch Profiler","ts":1},
  {"name":"Record Window End","ph":"i","s":"g","pid":"","tid":"","ts":2},
  {"ph":"X","cat":"gpu_user_annotation","name":"x","pid":0,"tid":7,"ts":1,"dur":1},
  {"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":1,"dur":1,"args":{"stream":7,"correlation":1}},
  {"ph":"X","cat":"overhead","name":"Activity Buffer Request","pid":-1,"tid":0,"ts":1,"dur":1},
  {"ph":"C","name":"counter","pid":1,"ts":1,"args":{"v":1}},
  {"ph":"b","id":"x","cat":"a","name":"n","pid":1,"tid":1,"ts":1}]}"#,
        "\n        8 events, complete\n        ",
    );
}

/// An unknown category is reported once; on a stream it is taken for the work of a device.
#[test]
fn unknown_categories() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"ph":"X","cat":"new","name":"a","pid":0,"tid":7,"ts":1,"dur":1},
  {"ph":"X","cat":"new","name":"b","pid":0,"tid":7,"ts":1,"dur":1},
  {"ph":"X","name":"c","pid":0,"tid":7,"ts":1,"dur":1},
  {"ph":"X","cat":"new","name":"d","pid":0,"tid":"stream 7","ts":1,"dur":1},
  {"cat":"cpu_op","name":"no phase","pid":0,"tid":7,"ts":1,"dur":1},
  {},
  null,
  "text"]}"#,
        r#"
        Kernel "d" 1000+1000 on 0:7
        warning UnknownCategory @37 x2: events of the category "new" were left out: this version does not know it
        warning UnknownCategory @173 x1: events of the category "" were left out: this version does not know it
        warning Malformed @306 x2: an event without a phase was left out
        warning Malformed @381 x2: something that is no event was skipped
        6 events, incomplete, 10 bytes lost
        "#,
    );
}

/// What stands beside the events, before and after them, in every spelling.
#[test]
fn envelope() {
    check(
        r#"{
  "schemaVersion": 1,
  "metadata": {"a": {"b": [{"c": "]}"}]}, "rank": 9},
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85018279936,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    },
    {"id": 1, "name": ""}
  ],
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_count": 1, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1]}, {"pg_name": "3", "ranks": [1], "more": []}, 7]},
  "record_shapes": 1, "with_stack": "1", "profile_memory": false,
  "traceEvents": [],
  "traceName": "x.json", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1790857026000000000
}
"#,
        r#"
        base 1790857026000000000
        rank 3
        group "0" "default_pg" [0, 1]
        group "3" "" [1]
        group "" "" []
        device 0 "NVIDIA H100 80GB HBM3" memory=85018279936 compute=9.0 sms=132
        device 1 "" memory=0 compute=0.0 sms=0
        0 events, complete
        "#,
    );
    check(
        r#"{"with_stack":true,"record_shapes":"0","distributedInfo":{"rank":"5"},"baseTimeNanoseconds":99999999999999999999,"traceEvents":null,"deviceProperties":{}}"#,
        "\n        rank 5\n        warning NumberOutOfRange @92 x1: a number too large for 64 bits was ignored\n        0 events, complete\n        ",
    );
    check(
        r#"{"deviceProperties":[{"id":0,"name":N/A,"numSms":NaN}],"traceEvents":[]}"#,
        r#"
        device 0 "N/A" memory=0 compute=0.0 sms=0
        warning BareWord @49 x1: a word that is not a number was ignored
        0 events, complete
        "#,
    );
}

/// Times are exact in every spelling.
#[test]
fn times() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1795245582565210,"dur":33},{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":4388527165375.866,"dur":2369138.031},{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1.7e15,"dur":1e-3},{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1698745612345678.123499,"dur":0.0005},{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":"1234.5","dur":"0.25"},{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":-5.5,"dur":0},{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1.0000000000000000000000000000001,"dur":.5}]}"#,
        r#"
        thread 1/1
        Operator "a" 1795245582565210000+33000 on 0
        Operator "a" 4388527165375866+2369138031 on 0
        Operator "a" 1700000000000000000+1 on 0
        Operator "a" 1698745612345678123+1 on 0
        Operator "a" 1234500+250 on 0
        Operator "a" -5500+0 on 0
        Operator "a" 1000+500 on 0
        7 events, complete
        "#,
    );
}

/// Events without a usable time.
#[test]
fn unusual_times() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"ph":"X","cat":"cpu_op","name":"no start","pid":1,"tid":1,"dur":1},
  {"ph":"X","cat":"cpu_op","name":"no duration","pid":1,"tid":1,"ts":1,"args":{"finished":false}},
  {"ph":"X","cat":"cpu_op","name":"no duration","pid":1,"tid":1,"ts":2,"dur":null},
  {"ph":"X","cat":"cpu_op","name":"nan","pid":1,"tid":1,"ts":NaN,"dur":1},
  {"ph":"X","cat":"cpu_op","name":"infinite","pid":1,"tid":1,"ts":3,"dur":Infinity},
  {"ph":"X","cat":"cpu_op","name":"n/a","pid":1,"tid":1,"ts":4,"dur":N/A},
  {"ph":"X","cat":"cpu_op","name":"text","pid":1,"tid":1,"ts":"soon","dur":1},
  {"ph":"X","cat":"cpu_op","name":"negative","pid":1,"tid":1,"ts":5,"dur":-3},
  {"ph":"X","cat":"cpu_op","name":"huge","pid":1,"tid":1,"ts":6,"dur":1e300},
  {"ph":"X","cat":"cpu_op","name":"list","pid":1,"tid":1,"ts":[7],"dur":1},
  {"ph":"s","cat":"fwdbwd","id":1,"pid":1,"tid":1},
  {"ph":"i","name":"[memory]","pid":1,"tid":1,"args":{"Bytes":1}}]}"#,
        r#"
        thread 1/1
        Operator "no duration" 1000+0 on 0
        Operator "no duration" 2000+0 on 0
        Operator "infinite" 3000+0 on 0
        Operator "n/a" 4000+0 on 0
        Operator "negative" 5000+0 on 0
        Operator "huge" 6000+0 on 0
        warning MissingTime @37 x6: an event without a start was left out
        warning MissingTime @108 x5: an event without a duration was taken as lasting 0
        warning BareWord @350 x4: a word that is not a number was ignored
        warning NegativeDuration @605 x1: an event with a negative duration was taken as lasting 0
        warning NumberOutOfRange @752 x1: a number too large for 64 bits was ignored
        warning Malformed @822 x1: a list or object stands where a text belongs
        12 events, complete
        "#,
    );
}

/// A number that does not fit is absent, and said to be.
#[test]
fn ids_that_do_not_fit() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"External id":18446744073709551615,"Sequence number":9223372036854775807,"Fwd thread id":4294967296}},
  {"ph":"X","cat":"kernel","name":"k","pid":99999999999,"tid":"x","ts":1,"dur":1,"args":{"correlation":1.0,"grid":[1,-1],"block":7,"registers per thread":null,"est. achieved occupancy %":12.34}}]}"#,
        r#"
        thread 1/1
        Operator "a" 1000+1000 on 0 sequence=9223372036854775807
        Kernel "k" 1000+1000 on -1:-1 correlation=1 grid=[1, 0, 0] block=[0, 0, 0] occupancy=123
        warning NumberOutOfRange @126 x1: a number too large for 64 bits was ignored
        warning NumberOutOfRange @37 x3: a number too large for its column was ignored
        2 events, complete
        "#,
    );
}

/// Ranges as pairs of a begin and an end, nested, on two threads, unended, unbegun.
#[test]
fn begin_and_end() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"ph":"B","cat":"nvtx","name":"outer","pid":1,"tid":1,"ts":1},
  {"ph":"B","cat":"nvtx","name":"inner","pid":1,"tid":1,"ts":2},
  {"ph":"B","cat":"nvtx","name":"elsewhere","pid":1,"tid":2,"ts":2},
  {"ph":"E","pid":1,"tid":1,"ts":3},
  {"ph":"E","pid":1,"tid":1,"ts":4},
  {"ph":"E","pid":1,"tid":1,"ts":5},
  {"ph":"B","cat":"new","name":"left out","pid":1,"tid":1,"ts":6},
  {"ph":"B","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":6},
  {"ph":"E","pid":0,"tid":"stream 7","ts":8},
  {"ph":"E","pid":1,"tid":1,"ts":7}]}"#,
        r#"
        thread 1/1
        thread 1/2
        thread 0/stream 7
        Annotation "outer" 1000+3000 on 0
        Annotation "inner" 2000+1000 on 0
        Annotation "elsewhere" 2000+0 on 1
        Kernel "k" 6000+2000 on 0:7
        warning Malformed @310 x1: the end of a range that never began was ignored
        warning UnknownCategory @347 x1: events of the category "new" were left out: this version does not know it
        warning MissingTime @167 x1: a range that never ends was taken as lasting 0
        10 events, complete
        "#,
    );
}

/// Escapes, text beyond ASCII, braces in strings, raw control characters, Windows paths that were not escaped.
#[test]
fn strings() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"ph":"X","cat":"cpu_op","name":"a\nb\t\u00e9 \ud83d\ude00 \"q\" \/ }{][","pid":1,"tid":1,"ts":1,"dur":1},
  {"ph":"X","cat":"cpu_op","name":"naïve 火","pid":1,"tid":1,"ts":1,"dur":1},
  {"ph":"X","cat":"cpu_op","name":"half \ud83d","pid":1,"tid":1,"ts":1,"dur":1},
  {"ph":"X","cat":"python_function","name":"two
lines","pid":1,"tid":1,"ts":1,"dur":1},
  {"ph":"X","cat":"python_function","name":"C:\Users\new\a.py(1): f","pid":1,"tid":1,"ts":1,"dur":1},
  {"ph":"X","cat":"python_function","name":"C:\\Users\\new\\a.py(1): f","pid":1,"tid":1,"ts":1,"dur":1},
  {"ph":"X","cat":"python_function","pid":1,"tid":1,"ts":1,"dur":1,"name":"D:\dir\"},
  {"ph":"X","cat":"python_function","name":"D:\dir\", "pid":1,"tid":1,"ts":1,"dur":1,"args":{"path":"D:\dir\","Python id":3}}]}"#,
        r#"
        thread 1/1
        Operator "a\nb\té 😀 \"q\" / }{][" 1000+1000 on 0
        Operator "naïve 火" 1000+1000 on 0
        Operator "half �" 1000+1000 on 0
        Python "two\nlines" 1000+1000 on 0
        Python "C:\\Users\\new\\a.py(1): f" 1000+1000 on 0
        Python "C:\\Users\\new\\a.py(1): f" 1000+1000 on 0
        Python "D:\\dir\\" 1000+1000 on 0
        Python "D:\\dir\\" 1000+1000 on 0 id=3
        warning InvalidUtf8 @226 x1: bytes that are not UTF-8 were replaced by U+FFFD
        warning LooseString @307 x4: a raw control character or an escape that JSON does not have was taken literally
        8 events, complete
        "#,
    );
    let input = r#"{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"python_function","name":"caf@","pid":1,"tid":1,"ts":1,"dur":1},{"ph":"X","cat":"python_function","name":"caf@","pid":1,"tid":1,"ts":2,"dur":1}]}"#.replace('@', "\u{e9}");
    // Latin 1.
    let input: Vec<u8> = input.chars().map(|it| u8::try_from(u32::from(it)).unwrap()).collect();
    check_bytes(
        &input,
        r#"
        thread 1/1
        Python "caf�" 1000+1000 on 0
        Python "caf�" 2000+1000 on 0
        warning InvalidUtf8 @34 x2: bytes that are not UTF-8 were replaced by U+FFFD
        2 events, complete
        "#,
    );
}

/// Keys in any order, twice (the last counts), escaped, unknown; args of other kinds.
#[test]
fn keys() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"args":{"External id":5,"x":[{"y":"]"}],"External id":6},"dur":2,"ts":1,"tid":1,"pid":1,"name":"a","cat":"kernel","cat":"cpu_op","ph":"X"},
  {"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":1,"dur":1,"args":[1,2]},
  {"ph":"X","cat":"cpu_op","name":"c","pid":1,"tid":1,"ts":1,"dur":1,"args":null},
  {"ph":"X","cat":"cpu_op","name":"d","pid":1,"tid":1,"ts":1,"dur":1,"args":{}},
  {"ph":"X","cat":"cpu_op","name":["e"],"p\"id":1,"pid":1,"tid":1,"ts":1,"dur":1,"more":{"args":{"External id":7}}},
  {"ph":"X","c\u0061t":"kernel","cat":"cpu_op","name":"f","pid":1,"tid":1,"ts":1,"dur":1, "cname":"good","sf":1,"tts":0.5}]}"#,
        r#"
        thread 1/1
        Operator "a" 1000+2000 on 0 external=6
        Operator "b" 1000+1000 on 0
        Operator "c" 1000+1000 on 0
        Operator "d" 1000+1000 on 0
        Operator "" 1000+1000 on 0
        Operator "f" 1000+1000 on 0
        warning Other @254 x1: the args of an event are no object and were ignored
        warning Malformed @460 x1: a list or object stands where a text belongs
        6 events, complete
        "#,
    );
}

/// Nesting as deep as the file is long.
#[test]
fn deep_nesting() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"x":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":[{"a":1}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}],"External id":4}}]}"#,
        r#"
        thread 1/1
        Operator "a" 1000+1000 on 0 external=4
        1 events, complete
        "#,
    );
}

/// Overlapping, empty and repeated events stay as they are.
#[test]
fn unusual_events() {
    check(
        r#"{"schemaVersion":1,"traceEvents":[
  {"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":5},
  {"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":3,"dur":5},
  {"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":3,"dur":5},
  {"ph":"X","cat":"cpu_op","name":"","pid":1,"tid":1,"ts":3,"dur":0}]}"#,
        r#"
        thread 1/1
        Operator "a" 1000+5000 on 0
        Operator "b" 3000+5000 on 0
        Operator "b" 3000+5000 on 0
        Operator "" 3000+0 on 0
        4 events, complete
        "#,
    );
}

/// Empty input, byte order marks, spaces, commas too many, text after the end, nothing of a trace.
#[test]
fn framing() {
    check("", "\n        0 events, incomplete, no trace\n        ");
    check(" \n\t ", "\n        0 events, incomplete, no trace\n        ");
    check("\u{feff}\n{\"traceEvents\":[]}\n", "\n        0 events, complete\n        ");
    check("[]", "\n        0 events, complete, no trace\n        ");
    check("{}", "\n        0 events, complete, no trace\n        ");
    check(
        r#"{"traceEvents":[,{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"cat":"cpu_op","name":"a",},,{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"cat":"cpu_op","name":"b"},],}"#,
        r#"
        thread 1/2
        Operator "a" 1000+2000 on 0
        Operator "b" 1000+2000 on 0
        warning Malformed @87 x2: a comma too many was skipped
        2 events, complete
        "#,
    );
    check(
        r#"{"traceEvents":[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"cat":"cpu_op","name":"a"}{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"cat":"cpu_op","name":"b"}]}

garbage"#,
        r#"
        thread 1/2
        Operator "a" 1000+2000 on 0
        Operator "b" 1000+2000 on 0
        warning Malformed @154 x1: bytes that cannot be read were skipped
        2 events, incomplete, 7 bytes lost
        "#,
    );
    check(
        "hello",
        "\n        warning Malformed @0 x1: bytes that cannot be read were skipped\n        0 events, incomplete, 5 bytes lost, no trace\n        ",
    );
    check(
        "[1,2]",
        "\n        warning Malformed @1 x2: something that is no event was skipped\n        0 events, incomplete, 2 bytes lost, no trace\n        ",
    );
    check(r#"{"a":{"b":1}}"#, "\n        0 events, complete, no trace\n        ");
    check(
        r#"{"data":{"traceEvents":[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"cat":"cpu_op","name":"a"}]}}"#,
        r#"
        thread 1/2
        Operator "a" 1000+2000 on 0
        warning Malformed @24 x2: bytes that cannot be read were skipped
        1 events, incomplete, 9 bytes lost
        "#,
    );
}

/// More varieties of what stands between values than are remembered.
#[test]
fn many_varieties() {
    let event = |index: usize| {
        let keys: String =
            (0..index % 7).map(|key| format!("\"{key}{}\": {key}, ", index % 1000)).collect();
        format!(
            "{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": {}, \"tid\": {}, {keys}\"ts\": {index}, \"dur\": 1, \"args\": {{{keys}\"External id\": {index}}}}}",
            index % 50,
            index % 3000
        )
    };
    let events: Vec<String> = (0..30_000).map(event).collect();
    let trace = read(format!("[{}]", events.join(",\n")).as_bytes());
    let profile = trace.profile;
    let external: Vec<i64> = (0..30_000).collect();
    assert_eq!(profile.host.operators.external_id, external);
    assert_eq!(profile.threads.len(), 3000);
    for id in profile.host.ids() {
        let thread = &profile.threads[profile.host.thread[id.index()].index()];
        let index = profile.host.start[id.index()].0 / 1000;
        assert_eq!(profile.strings.get(thread.pid), (index % 50).to_string());
        assert_eq!(profile.strings.get(thread.tid), (index % 3000).to_string());
    }
}
