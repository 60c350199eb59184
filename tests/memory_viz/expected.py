"""Writes expected.json: what PyTorch itself computes from memory snapshots, for tests/tests/memory.rs to hold Perfline against.

    python tests/memory_viz/expected.py --viz MemoryViz.js SNAPSHOT.pickle.gz...

Two of PyTorch's own computations are run, on the unchanged file:

- `torch.cuda._memory_viz` (the Python module): `segsum` asserts that the state at the end adds up; `calc_active` and
  the segments' sizes give `active_bytes` and `reserved_bytes`, and the stacks of `memory` add up to the same.
- `process_alloc_data` of torch/utils/viz/MemoryViz.js, which draws the Active Memory Timeline that `trace_plot` embeds.
  The wheels do not hold that file (pages load it from a network): name a copy from PyTorch's repository. It runs in
  `node`, without its imports. `peak_bytes` is the highest point of the curve that it draws.

Both count a block as the bytes that were asked for, not as the bytes that it takes.

Needs an environment with torch, and node.
"""

import argparse
import gzip
import json
import pickle
import subprocess
import tempfile
from pathlib import Path

from torch.cuda import _memory_viz

HARNESS = """
const snapshot = JSON.parse(require('fs').readFileSync(process.argv[2], 'utf8'));
const out = [];
annotate_snapshot(snapshot);
for (let device = 0; device < snapshot.device_traces.length; device++) {
  const data = process_alloc_data(snapshot, device, false, 15000);
  let peak = data.max_size;
  for (const size of data.max_at_time) peak = Math.max(peak, size);
  out.push(peak);
}
console.log(JSON.stringify(out));
"""


def timeline_peaks(viz, snapshot):
    """Highest point of the Active Memory Timeline, by device."""
    text = viz.read_text(encoding="utf-8")
    names = ["version_space", "annotate_snapshot", "process_alloc_data"]
    functions = "\n".join(function(text, name) for name in names)
    with tempfile.TemporaryDirectory() as folder:
        program, data = Path(folder, "peaks.cjs"), Path(folder, "snapshot.json")
        program.write_text(functions + HARNESS, encoding="utf-8")
        data.write_text(json.dumps(snapshot), encoding="utf-8")
        out = subprocess.run(["node", program, data], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def function(text, name):
    """The text of a top-level function."""
    start = text.index(f"function {name}(")
    return text[start : text.index("\n}\n", start) + 3]


def expected(viz, path):
    with gzip.open(path) as file:
        snapshot = pickle.load(file)
    _memory_viz.segsum(snapshot)
    stacks = _memory_viz.memory(snapshot, format_flamegraph=lambda text: text)
    in_stacks = sum(int(line.rsplit(" ", 1)[1]) for line in stacks.strip().splitlines())
    assert in_stacks == sum(it["total_size"] for it in snapshot["segments"]), path
    peaks = timeline_peaks(viz, snapshot)
    devices = []
    for ordinal, peak in enumerate(peaks):
        segments = [it for it in snapshot["segments"] if it["device"] == ordinal]
        if not segments and not snapshot["device_traces"][ordinal]:
            continue
        devices.append(
            {
                "device": ordinal,
                "peak_bytes": peak,
                "active_bytes": sum(_memory_viz.calc_active(it) for it in segments),
                "reserved_bytes": sum(it["total_size"] for it in segments),
            }
        )
    return devices


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--viz", type=Path, required=True, help="torch/utils/viz/MemoryViz.js")
    parser.add_argument("snapshots", nargs="+", type=Path)
    args = parser.parse_args()
    out = {path.name: expected(args.viz, path) for path in sorted(args.snapshots)}
    target = Path(__file__).with_name("expected.json")
    target.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
