"""Makes the traces of a large run out of those of a small one, with one rank that is late for a known reason.

    python benches/synthetic_ranks.py fixtures/cpu/torch2.15.0/late_rank.balanced /tmp/ranks --ranks 1024 --slow 700
    perfline ranks /tmp/ranks --root fixtures/workloads

Rank i is a copy of trace i modulo the number of those that are there. On the slow rank, each step is stopped for a while in
the middle of the first event called `--at`: what was going on then lasts longer, what comes later is moved. On all other
ranks each step is stopped as long in its first collective, which waits for that rank, when operators beside it are done.
"""

import argparse
import gzip
import json
import pathlib


def last_gap(events, start, end):
    """The middle of the last time from `start` to `end` in which no operator is open, in microseconds."""
    operators = sorted((it["ts"], it["ts"] + it["dur"]) for it in events if it.get("cat") == "cpu_op")
    gap, at = (start + end) / 2, start
    for begins, ends in [it for it in operators if start < it[1] and it[0] < end] + [(end, end)]:
        if at < begins:
            gap = (at + begins) / 2
        at = max(at, ends)
    return gap


def middle_in_steps(events, name, is_waiting):
    """The middle of the first event called `name` in each step, in microseconds; if `is_waiting`, of the last time in it without operators."""
    steps = [it for it in events if it.get("name", "").startswith("ProfilerStep#") and "dur" in it]
    middles = []
    for step in steps:
        end = step["ts"] + step["dur"]
        inside = [it for it in events if it.get("name") == name and step["ts"] <= it["ts"] < end and "dur" in it]
        if inside:
            first = min(inside, key=lambda it: it["ts"])
            start, end = first["ts"], first["ts"] + first["dur"]
            middles.append(last_gap(events, start, end) if is_waiting else (start + end) / 2)
    return sorted(set(middles))


def stopped(trace, instants, microseconds):
    """The trace as it would be if everything had stood still for so long at each of `instants`."""
    events = []
    for event in trace["traceEvents"]:
        if "ts" in event:
            start = event["ts"]
            before = sum(it <= start for it in instants)
            event = {**event, "ts": start + before * microseconds}
            if "dur" in event:
                inside = sum(start < it < start + event["dur"] for it in instants)
                event["dur"] += inside * microseconds
        events.append(event)
    return {**trace, "traceEvents": events}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=pathlib.Path, help="folder with the traces of a run whose ranks are alike")
    parser.add_argument("output", type=pathlib.Path, help="folder to write to")
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--slow", type=int, default=700, help="the rank that is late")
    parser.add_argument("--by", type=float, default=30.0, help="milliseconds of each step")
    parser.add_argument("--at", default="aten::tanh", help="the event that takes longer on it")
    parser.add_argument("--collective", default="gloo:all_reduce")
    args = parser.parse_args()
    paths = sorted(it for it in args.traces.glob("*.json.gz") if ".callers." not in it.name)
    traces = [json.loads(gzip.decompress(it.read_bytes())) for it in paths]
    args.output.mkdir(parents=True, exist_ok=True)

    def text(trace, name, is_waiting):
        instants = middle_in_steps(trace["traceEvents"], name, is_waiting)
        return json.dumps(stopped(trace, instants, 1000 * args.by))

    # Of a trace, only the rank differs from copy to copy.
    waiting = [text(it, args.collective, True) for it in traces]
    for rank in range(args.ranks):
        index = rank % len(traces)
        written = text(traces[index], args.at, False) if rank == args.slow else waiting[index]
        info = traces[index]["distributedInfo"]
        group = {**info["pg_config"][0], "pg_size": args.ranks, "ranks": list(range(args.ranks))}
        mine = {**info, "rank": rank, "world_size": args.ranks, "pg_config": [group]}
        written = written.replace(json.dumps(info), json.dumps(mine), 1)
        path = args.output / f"rank{rank}.json.gz"
        path.write_bytes(gzip.compress(written.encode(), compresslevel=1, mtime=0))


if __name__ == "__main__":
    main()
