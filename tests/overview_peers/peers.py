"""What TensorBoard's PyTorch plugin and HTA say about traces: the numbers that Perfline's run summary is held against.

    python -m venv venv && venv/bin/pip install torch_tb_profiler==0.4.3 HolisticTraceAnalysis==0.5.0 "setuptools<81"
    venv/bin/python tests/overview_peers/peers.py [--data FOLDER] > tests/overview_peers/expected.json

reads the fixtures of this repository and, with --data, other traces below FOLDER. `tests/tests/overview_peers.rs` compares.

Both tools know the categories and names of their time only. So that their formulas are compared, and not their lists of
names, they get each trace with every name that they lack replaced by one that they have (`for_plugin`, `for_hta`), and
with times relative to the first event, since a float loses a quarter of a microsecond at the size of an epoch.
HTA's filter, which drops the last step and what no call launched, is turned off.
"""

import argparse
import collections
import contextlib
import gzip
import json
import logging
import os
import pathlib
import sys
import tempfile
import types
from decimal import Decimal

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
logging.disable(logging.CRITICAL)

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNTIME = ("cuda_runtime", "cuda_driver", "runtime", "hip_runtime")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")
HOST = ("cpu_op", "operator", "user_annotation")
LOADERS = ("enumerate(DataLoader)#", "enumerate(DataPipe)#")
BACK_ENDS = ("nccl:", "gloo:", "mpi:", "ucc:", "xccl:", "hccl:")


def read(path):
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        trace = json.loads(file.read().decode("utf-8", "replace"), parse_float=Decimal, strict=False)
    trace = {"traceEvents": trace} if isinstance(trace, list) else trace
    events = [
        it
        for it in trace["traceEvents"]
        if it.get("ph") == "X" and it.get("cat", "").lower() in RUNTIME + DEVICE + HOST and "ts" in it
    ]
    first = min((Decimal(it["ts"]) for it in events), default=0)
    for it in events:
        it["ts"], it["dur"] = float(Decimal(it["ts"]) - first), float(Decimal(it.get("dur", 0)))
        it["args"] = {
            key: float(value) if isinstance(value, Decimal) else value for key, value in it.get("args", {}).items()
        }
    return events, trace.get("deviceProperties") or []


def for_plugin(events):
    """Categories as torch 1.9 wrote them, and names of collectives that the plugin knows."""
    for it in events:
        category, name = it["cat"].lower(), it["name"]
        it = dict(it, args=dict(it["args"]))
        if category in RUNTIME:
            it["cat"] = "Runtime"
        elif name.startswith(LOADERS):
            it.update(cat="Operator", name="enumerate(DataLoader)#x.__next__")
        elif name.startswith(BACK_ENDS):
            it.update(cat="Operator", name="nccl:all_reduce")
        yield it


def plugin(events, devices):
    from torch_tb_profiler.profiler.event_parser import EventParser
    from torch_tb_profiler.profiler.gpu_metrics_parser import GPUMetricsParser
    from torch_tb_profiler.profiler.overall_parser import OverallParser
    from torch_tb_profiler.profiler.tensor_core import TC_Allowlist
    from torch_tb_profiler.profiler.trace import EventTypes, create_event

    parsed = [it for it in (create_event(it, False) for it in for_plugin(events)) if it is not None]
    parsed.sort(key=lambda it: it.ts)
    parser = EventParser()
    with quiet():
        parser.parse_nodes(parsed)
    # It identifies the kernels of collectives by the External id of an operator, which not every recording has there.
    stand_in = types.SimpleNamespace(kernel_ranges=[], total_time=0)
    for it in parsed:
        if it.type == EventTypes.KERNEL:
            it.external_id = "collective" if "nccl" in it.name.lower() else None
    parser.parse_steps(parsed, {"collective": stand_in})
    parser.update_device_steps(parser.runtime_node_list)
    overall = OverallParser()
    overall.aggregate(parser.steps, parser.role_ranges)
    metrics = GPUMetricsParser.parse_events(
        parsed, parser.global_start_ts, parser.global_end_ts, parser.steps[0][0], parser.steps[-1][1]
    )
    roles = ["kernel", "memcpy", "memset", "communication", "runtime", "data_loader", "cpu", "other", "time"]
    steps = []
    for name, costs, shared in zip(parser.steps_names, overall.steps_costs, overall.communication_overlap):
        step = {"name": name, **{role: round(cost, 3) for role, cost in zip(roles, costs.costs)}}
        step["overlap"] = {
            "compute": round(shared.computation - shared.overlap, 3),
            "both": round(shared.overlap, 3),
            "communication": round(shared.communication - shared.overlap, 3),
            "other": round(shared.other, 3),
        }
        steps.append(step)
    kernels = [it for it in parsed if it.type == EventTypes.KERNEL]
    total = sum(it.duration for it in kernels)
    result = {"steps": steps, "devices": {}}
    if total:
        result["tensor_core_share"] = sum(it.duration for it in kernels if it.name in TC_Allowlist) / total
    for device in sorted(metrics.gpu_ids):
        result["devices"][str(device)] = {
            "utilisation": metrics.gpu_utilization[device],
            "multiprocessor_efficiency": metrics.avg_approximated_sm_efficiency_per_device[device],
            "occupancy": metrics.avg_occupancy_per_device[device],
        }
    if total:
        result["eligible_share"] = eligible(events, devices) / total
    return result


def eligible(events, devices):
    """Kernel time of operators that could use tensor cores. (The plugin divides it by the kernel time of the operators
    that its tree holds; some are missing there.)"""
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.tensor_cores_parser import TensorCoresParser

    with quiet():
        body = {"traceEvents": list(for_plugin(events)), "deviceProperties": devices}
        for it in body["traceEvents"]:
            it["args"].setdefault("External id", 0)
        profile = RunProfileData("worker", "span", body)
        profile.process()
        operators = [
            it for root in profile.tid2tree.values() for it in TensorCoresParser._get_bottom_tc_eligible_operators(root)
        ]
    return sum(
        kernel.end_time - kernel.start_time for it in operators for call in it.runtimes for kernel in call.get_kernels()
    )


def for_hta(events):
    """Names of launches that HTA knows."""
    for it in events:
        it = dict(it, args=dict(it["args"]))
        if it["cat"].lower() in RUNTIME:
            name = it["name"]
            it["cat"] = "cuda_runtime"
            if "Memcpy" in name:
                it["name"] = "cudaMemcpyAsync"
            elif "Memset" in name:
                it["name"] = "cudaMemsetAsync"
            elif "Launch" in name and "Graph" not in name:
                it["name"] = "cudaLaunchKernel"
        elif it["cat"].lower() in DEVICE:
            it["cat"] = {"memcpy": "gpu_memcpy", "memset": "gpu_memset"}.get(it["cat"].lower(), it["cat"].lower())
            it["args"].setdefault("stream", 0)
        # What has a stream is a kernel to HTA; some recordings name the stream with the call, too.
        kept = ("correlation", "stream", "device") if it["cat"] in DEVICE else ("correlation",)
        it["args"] = {key: it["args"][key] for key in kept if key in it["args"]}
        yield it


def hta(events):
    """By device, since HTA would take several devices of a rank for one."""
    from hta.analyzers.breakdown_analysis import BreakdownAnalysis
    from hta.analyzers.communication_analysis import CommunicationAnalysis
    from hta.analyzers.cuda_kernel_analysis import CudaKernelAnalysis
    from hta.common.trace import Trace

    Trace._filter_irrelevant_gpu_kernels = lambda *_: None
    ordinals = sorted({it["args"].get("device", 0) for it in events if it["cat"].lower() in DEVICE})
    result = {}
    for ordinal in ordinals:
        own = [it for it in for_hta(events) if it["cat"] not in DEVICE or it["args"].get("device", 0) == ordinal]
        with tempfile.TemporaryDirectory() as folder, quiet():
            path = pathlib.Path(folder, "rank.json")
            path.write_text(json.dumps({"traceEvents": own, "distributedInfo": {"rank": 0}}))
            trace = Trace({0: str(path)}, folder)
            trace.parse_traces(use_multiprocessing=False)
            trace.align_and_filter_trace()
            temporal = BreakdownAnalysis.get_temporal_breakdown(trace, visualize=False).iloc[0]
            idle, _ = BreakdownAnalysis.get_idle_time_breakdown(trace, 30, 0, visualize=False)
            launches = CudaKernelAnalysis.cuda_kernel_launch_stats(trace, [0], visualize=False)[0]
            has_communication = any("nccl" in it["name"].lower() for it in own if it["cat"] == "kernel")
            overlap = (
                CommunicationAnalysis.get_comm_comp_overlap(trace, visualize=False).iloc[0]
                if has_communication
                else None
            )
        classes = collections.defaultdict(dict)
        for _, row in idle.iterrows():
            classes[str(row["stream"])][row["idle_category"]] = float(row["idle_time"])
        delay, call, time = launches["launch_delay"], launches["cpu_duration"], launches["gpu_duration"]
        result[str(ordinal)] = {
            "span": float(temporal["kernel_time(us)"]),
            "idle": float(temporal["idle_time(us)"]),
            "compute": float(temporal["compute_time(us)"]),
            "non_compute": float(temporal["non_compute_time(us)"]),
            "overlap_percent": None if overlap is None else float(overlap["comp_comm_overlap_pctg"]),
            "idle_classes": classes,
            "launches": {
                "count": len(launches),
                "delay": float(delay.sum()),
                "long_delays": int((delay > 100).sum()),
                "call": float(call.sum()),
                "long_calls": int((call > 50).sum()),
                "shorter_than_call": int((time < call).sum()),
            },
        }
    return result


@contextlib.contextmanager
def quiet():
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        yield


def traces(folder):
    for path in sorted(folder.rglob("*.json*")):
        if path.suffix in (".json", ".gz") and "callers" not in path.name and path.stat().st_size < 8 << 20:
            yield path


def rounded(value):
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: rounded(it) for key, it in value.items()}
    return [rounded(it) for it in value] if isinstance(value, list) else value


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", type=pathlib.Path, help="also all traces below this folder")
    data = arguments.parse_args().data
    inputs = {f"fixtures/{it.relative_to(ROOT / 'fixtures')}": it for it in traces(ROOT / "fixtures/simulated_cuda")}
    if data:
        inputs |= {
            f"data/{it.relative_to(data)}": it
            for part in ("cuda", "multirank", "rocm", "misc")
            for it in traces(data / part)
        }
    result = {}
    for name, path in inputs.items():
        events, devices = read(path)
        if not any(it["cat"].lower() in DEVICE for it in events):
            continue
        result[name] = {"plugin": attempt(plugin, events, devices), "hta": attempt(hta, events)}
        print(name, *(f"{key}: {it['failed']}" for key, it in result[name].items() if "failed" in it), file=sys.stderr)
    json.dump(rounded(result), sys.stdout, indent=1, sort_keys=True)
    print()


def attempt(tool, *arguments):
    """What a tool says, or how it fails: not every trace can be read by both."""
    try:
        return tool(*arguments)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"[:200]}


if __name__ == "__main__":
    main()
