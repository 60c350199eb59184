"""How fast Perfline is beside what only parses, or does part of the work: the tables of docs/performance.md.

    python3 benches/compare.py                  # builds, makes the inputs, installs the peers, runs, prints the tables
    python3 benches/compare.py --slope 4G       # Perfline alone, on traces from 100 MB to that size
    python3 benches/compare.py --results FILE   # adds every single run to a CSV file, to compare commits by

Peers are installed with pip into a virtual environment below the folder of the inputs. Every round runs each of them once,
Perfline among them, so that what else the machine does hits all alike; the tables show medians over the rounds;
multiples are of the same round. Time is that of the whole process, from its start to its end; `cpu` is user and system time of all its threads.
"""

import argparse
import csv
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import inputs

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
PACKAGES = ["pysimdjson", "orjson", "HolisticTraceAnalysis", "torch_tb_profiler"]

SIMDJSON = "import sys, simdjson; simdjson.Parser().load(sys.argv[1])"
ORJSON = "import sys, orjson; orjson.loads(open(sys.argv[1], 'rb').read())"
JSON = "import sys, json; json.load(open(sys.argv[1], 'rb'))"
PICKLE = "import sys, pickle; pickle.load(open(sys.argv[1], 'rb'))"
# The columns of `--results`.
COLUMNS = ["commit", "input", "input_bytes", "program", "round", "wall_s", "cpu_s", "peak_bytes"]
HTA = "import sys; from hta.common.trace import Trace; Trace(trace_files={0: sys.argv[1]}, trace_dir='').parse_traces(use_multiprocessing=False)"
TENSORBOARD = "import sys; from torch_tb_profiler.profiler.data import RunProfileData; RunProfileData.parse('worker', 0, sys.argv[1], sys.argv[2])"


def main():
    # What was kept of a recording would not be read again.
    os.environ["PERFLINE_CACHE_DIR"] = ""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="400M", help="of the traces (default: %(default)s)")
    parser.add_argument("--snapshot-size", default="500M", help="of the snapshot (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each (default: %(default)s)")
    parser.add_argument(
        "--slow-rounds", type=int, default=1, help="runs of what takes ten times as long (default: %(default)s)"
    )
    parser.add_argument("--dir", type=Path, default=ROOT / "target/benches", help="where inputs and peers lie")
    parser.add_argument(
        "--site", help="a site-packages folder with the PyTorch of the fixtures, for inference in libraries"
    )
    parser.add_argument("--perfline", type=Path, help="a binary to run instead of building one")
    parser.add_argument(
        "--slope", metavar="SIZE", help="run Perfline alone, on traces of SIZE and, halving, down to 100 MB"
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FILE",
        help="add each run to this CSV file, with the commit: bytes of input and memory, seconds of time",
    )
    options = parser.parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    bench = Bench(options)
    print(bench.machine(), end="\n\n")
    if options.slope:
        bench.slope(inputs.n_bytes(options.slope))
    else:
        bench.tables()


class Bench:
    def __init__(self, options):
        self.options, self.dir = options, options.dir
        if options.perfline is None:
            subprocess.run(["cargo", "build", "--release", "--package", "perfline"], cwd=ROOT, check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        self.binary = options.perfline or target / "release/perfline"
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        self.commit = described.stdout.strip() or "unknown"

    def machine(self):
        """What the numbers were taken on."""
        described = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((it.split(":")[1].strip() for it in described if it.startswith("model name")), platform.machine())
        load = os.getloadavg()[0]
        return f"{model}, {len(os.sched_getaffinity(0))} cores, load {load:.1f} when the runs began, {self.options.rounds} rounds"

    def tables(self):
        python = self.peers()
        size = self.options.size
        for version in ["torch2.15.0", "torch2.11.0"]:
            trace = self.trace("cpu", version, size, ".json")
            runs = {"Perfline": self.lines(trace), "pysimdjson, parse alone": [python, "-c", SIMDJSON, trace]}
            slow = {}
            if version == "torch2.15.0":
                runs["cat"] = ["cat", trace]
                slow = {
                    "orjson, parse alone": [python, "-c", ORJSON, trace],
                    "Python json, parse alone": [python, "-c", JSON, trace],
                    "HTA, parse alone": [python, "-c", HTA, trace],
                    "TensorBoard plugin": [python, "-c", TENSORBOARD, trace, self.dir],
                }
            self.table(f"{version}, .json", trace, runs, slow, "pysimdjson, parse alone", trace.stat().st_size)
        trace = self.trace("simulated_cuda", "torch2.15.0", size, ".json")
        runs = {"Perfline": self.lines(trace), "pysimdjson, parse alone": [python, "-c", SIMDJSON, trace]}
        title = "torch2.15.0 with a simulated GPU, .json"
        self.table(title, trace, runs, {}, "pysimdjson, parse alone", trace.stat().st_size)
        raw = self.trace("cpu", "torch2.15.0", size, ".json").stat().st_size
        trace = self.trace("cpu", "torch2.15.0", size, ".json.gz")
        runs = {"Perfline": self.lines(trace), "gzip -dc": ["gzip", "-dc", trace]}
        for name, command in [("pigz -dc", ["pigz", "-dc"]), ("igzip -dc", ["igzip", "-dc"])]:
            if shutil.which(command[0]):
                runs[name] = [*command, trace]
        self.table("torch2.15.0, .json.gz", trace, runs, {}, "gzip -dc", raw)
        snapshot = self.dir / f"snapshot-{self.options.snapshot_size}.pickle"
        self.make(snapshot, "snapshot", self.options.snapshot_size)
        runs = {"Perfline": [self.binary, "memory", "--format", "json", snapshot]}
        slow = {"pickle.load": [python, "-c", PICKLE, snapshot]}
        self.table("memory snapshot", snapshot, runs, slow, "pickle.load", snapshot.stat().st_size)

    def slope(self, largest):
        """Traces of `largest` bytes and, halving, down to 100 MB; each is made, run and deleted again."""
        print("| size | time | MB/s | cpu | peak memory | of the size |\n|---|---|---|---|---|---|")
        n_halvings = (largest // 10**8).bit_length() - 1
        for n in range(n_halvings, -1, -1):
            size = largest >> n
            trace = self.trace("cpu", "torch2.15.0", f"{size // 10**6}M", ".json")
            results = [run(self.lines(trace)) for _ in range(self.options.rounds)]
            self.keep(f"{size // 10**6}M", trace, {"Perfline": dict(enumerate(results))})
            wall, cpu, memory = medians(results)
            n = trace.stat().st_size
            trace.unlink()
            print(
                f"| {megabytes(n)} | {wall:.2f} s | {n / wall / 1e6:.0f} | {cpu:.2f} s | {megabytes(memory)} | {memory / n:.1%} |",
                flush=True,
            )

    def lines(self, trace):
        site = ["--site", self.options.site] if self.options.site else []
        return [self.binary, "lines", "--format", "json", "--root", FIXTURES / "workloads", *site, trace]

    def trace(self, recorded, version, size, ending):
        """A trace made of that of `recorded`, a folder of the fixtures; with devices, one whose texts grow in number."""
        kind = "trace" if recorded == "cpu" else "growing"
        path = self.dir / f"{recorded}-{version}-{size}{ending}"
        self.make(path, kind, FIXTURES / recorded / version / "transformer.json.gz", size)
        return path

    def keep(self, title, path, results):
        """Adds `results`, by program and round, to the file that was asked for."""
        if self.options.results is None:
            return
        is_new = not self.options.results.exists()
        with self.options.results.open("a", newline="") as file:
            writer = csv.writer(file)
            if is_new:
                writer.writerow(COLUMNS)
            for name, rounds in results.items():
                for n, (wall, cpu, memory) in rounds.items():
                    row = [self.commit, title, path.stat().st_size, name, n, f"{wall:.4f}", f"{cpu:.4f}", memory]
                    writer.writerow(row)

    def make(self, path, *what):
        """An input that is there is used again; one that was not finished has another name."""
        if not path.exists():
            print(f"making {path.name}", file=sys.stderr)
            part = path.with_name("part-" + path.name)
            # In a process of its own: what this one holds would count for those it starts.
            subprocess.run(
                [sys.executable, ROOT / "benches/inputs.py", *what, part], check=True, stdout=subprocess.DEVNULL
            )
            part.rename(path)

    def peers(self):
        """The Python that has the peers."""
        python = self.dir / "peers/bin/python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", self.dir / "peers"], check=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], check=True
        )
        return python

    def table(self, title, path, runs, slow, unit, raw):
        results = {name: {} for name in [*runs, *slow]}
        for n in range(self.options.rounds):
            for name, command in {**runs, **(slow if n < self.options.slow_rounds else {})}.items():
                if (result := run(command)) is not None:
                    results[name][n] = result
        print(
            f"**{title}**: {megabytes(path.stat().st_size)}"
            + (f" ({megabytes(raw)} raw)" if raw != path.stat().st_size else "")
        )
        print(
            f"\nMultiples are of {unit}.\n\n| | time | × | cpu | × | peak memory | of the raw size |\n|---|---|---|---|---|---|---|"
        )
        self.keep(title, path, results)
        rows = {name: medians(it.values()) for name, it in results.items() if it}
        for name, (wall, cpu, memory) in sorted(rows.items(), key=lambda it: it[1][0]):
            # Of the same round, because what else the machine does changes from one to the next.
            ratios = [
                [mine / its for mine, its in zip(it[:2], results[unit][n])]
                for n, it in results[name].items()
                if n in results[unit]
            ]
            slower, more = medians(ratios) if ratios else (float("nan"), float("nan"))
            print(
                f"| {name} | {wall:.2f} s | {slower:.2f} | {cpu:.2f} s | {more:.2f} | {megabytes(memory)} | {memory / raw:.0%} |"
            )
        for name in results.keys() - rows.keys():
            print(f"| {name} | failed | | | | | |")
        print(flush=True)


def run(command):
    """Wall time, CPU time and peak memory of a process; `None` if it fails."""
    begin = time.perf_counter()
    process = subprocess.Popen([str(it) for it in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    memory = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return (wall, usage.ru_utime + usage.ru_stime, memory) if process.returncode == 0 else None


def medians(results):
    return tuple(statistics.median(column) for column in zip(*results))


def megabytes(n):
    return f"{n / 1e6:.0f} MB"


if __name__ == "__main__":
    main()
