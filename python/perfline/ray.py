"""Reads the traces of a large run where they lie, on a Ray cluster.

    import perfline.ray

    run = perfline.ray.report("/tmp/traces", root="src", output="run.perfline")
    for line in run.lines[:10]:
        print(line["file"], line["line"], line["cpu_own_us"])

``python -m perfline.ray /tmp/traces --root src -o run.perfline`` prints the report. Each trace is read by a task on a node that
has it, or on any node if it is in an object store (``s3://bucket/traces/``); what comes back is a ledger, less than a hundredth of the trace. Ledgers are added in a tree, on any node, so that
this process holds none but the last. Tasks whose worker is lost run again.

Ray comes with ``pip install perfline[ray]``. Perfline has to be installed on every node.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from perfline import _binary
from perfline._run import ReadError, Run, read

FAN_IN = 16
"""Ledgers that one task adds."""

ENDINGS = (".json", ".json.gz", ".json.zst")

URLS = ("s3://", "gs://", "az://", "http://", "https://")
"""How folders and files begin that any node can read."""


@dataclasses.dataclass(frozen=True)
class Part:
    """What tasks hand on: the bytes of a ledger file, none where nothing could be read, and what could not be."""

    ledger: bytes | None
    failures: tuple[str, ...] = ()


class Executor(Protocol):
    """Who runs the tasks. ``report`` uses Ray; tests have one of their own."""

    def nodes(self) -> list[str]:
        """Names all nodes."""

    def submit(self, task: Callable[..., Any], *args: Any, node: str | None = None) -> Any:
        """Begins ``task``, on ``node`` if one is given, and returns what stands for its result; such are allowed as arguments."""

    def wait(self, results: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Waits for one result at least; returns those that are there, and the others."""

    def get(self, results: Sequence[Any]) -> list[Any]:
        """Waits for the results and returns them."""


def report(
    *folders: str | os.PathLike[str],
    output: str | os.PathLike[str],
    root: str | os.PathLike[str] = ".",
    sites: Iterable[str | os.PathLike[str]] | None = None,
    fan_in: int = FAN_IN,
    retries: int = 3,
    progress: bool = True,
    executor: Executor | None = None,
) -> Run:
    """Reads all traces in ``folders``, each of them on a node that has it, and returns what each line cost.

    ``folders`` hold the traces of one run: the same absolute path on every node, shared between nodes or local to each; or URLs
    of object stores, which any node reads with its own credentials. ``output`` is where the ledger of all ranks is written, which every command of Perfline reads as it reads traces: ``perfline ranks run.perfline``.
    ``root`` and ``sites`` are those of ``perfline.read``, on the nodes. A task whose worker is lost runs again, ``retries`` times.
    What could not be read is in ``Run.failures``.

    Without ``executor`` the cluster is the one that ``ray.init`` was called for, or that it finds; without one, Ray runs on this machine.
    Raises ``ReadError`` where no trace can be read.
    """
    executor = executor or _RayExecutor(retries)
    say = _say if progress else (lambda _: None)
    named = [os.fspath(it) for it in folders]
    places = [it if it.startswith(URLS) else os.path.abspath(it) for it in named]
    part = _ledger(executor, places, _options(root, sites), fan_in, say)
    if part.ledger is None:
        raise ReadError("\n".join(part.failures) or f"no traces in {', '.join(map(str, folders))} on any node")
    pathlib.Path(output).write_bytes(part.ledger)
    run = read(output, root=root, sites=sites)
    return dataclasses.replace(run, failures=[*run.failures, *part.failures])


def _options(root: str | os.PathLike[str], sites: Iterable[str | os.PathLike[str]] | None) -> list[str]:
    if sites is None:
        sites = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib"))
    # Tasks may run in another folder.
    return [f"--root={os.path.abspath(root)}", *(f"--site={os.path.abspath(site)}" for site in sites)]


def _ledger(
    executor: Executor, folders: list[str], options: list[str], fan_in: int, say: Callable[[str], None]
) -> Part:
    """The ledger of all traces."""
    nodes = executor.nodes()
    urls = [it for it in folders if it.startswith(URLS)]
    local = [it for it in folders if it not in urls]
    listing = [executor.submit(list_traces, local, node=node) for node in nodes if local]
    remote, failures = [], []
    for files, failure in executor.get([executor.submit(list_urls, url) for url in urls]):
        remote += files
        failures += failure
    listed = executor.get(listing)
    # A file that several nodes have is one on a disk that they share: they take such files in turn.
    having: dict[tuple[str, int, int], list[str]] = {}
    for node, traces in zip(nodes, listed):
        for trace in traces:
            having.setdefault(trace, []).append(node)
    tasks: list[tuple[str, str | None]] = [
        (path, on[index % len(on)]) for index, ((path, *_), on) in enumerate(sorted(having.items()))
    ]
    # Wherever there is room.
    tasks += [(url, None) for url in remote]
    say(f"{len(tasks)} traces, read on {len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}")
    reading = {executor.submit(read_trace, path, options, node=node) for path, node in tasks}
    pending, ready, n_read = list(reading), [], 0
    while pending:
        done, pending = executor.wait(pending)
        if reading.intersection(done):
            n_read += len(reading.intersection(done))
            say(f"{n_read} of {len(tasks)} traces read")
        ready += done
        while len(ready) >= fan_in or (not pending and len(ready) > 1):
            pending.append(executor.submit(add_ledgers, options, *ready[:fan_in]))
            del ready[:fan_in]
    part = executor.get(ready)[0] if ready else Part(None)
    return dataclasses.replace(part, failures=(*failures, *part.failures))


def list_traces(folders: list[str]) -> list[tuple[str, int, int]]:
    """A task: the traces in ``folders`` on this node, each with its size and when it was written, in nanoseconds."""
    found = []
    for folder in map(pathlib.Path, folders):
        files = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
        for file in files:
            if file.is_file() and file.name.endswith(ENDINGS) and ".callers." not in file.name:
                status = file.stat()
                found.append((str(file.resolve()), status.st_size, status.st_mtime_ns))
    return found


def list_urls(url: str) -> tuple[list[str], list[str]]:
    """A task: the files of recordings below ``url``, or that one; and what went wrong."""
    if url.startswith("http"):
        # A file, with what signs it.
        return [url], []
    command = [_binary.find(), "list", "--files", "--", url]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    found = done.stdout.decode("utf-8", "replace").splitlines()
    message = done.stderr.decode("utf-8", "replace").strip()
    return found, [message or f"{url}: perfline ended with {done.returncode}"] if done.returncode else []


def read_trace(path: str, options: list[str]) -> Part:
    """A task: the ledger of a trace."""
    return _run_program([path], options)


def add_ledgers(options: list[str], *parts: Part) -> Part:
    """A task: the ledger of several, in any order."""
    failures = tuple(failure for part in parts for failure in part.failures)
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for part in parts:
            if part.ledger is not None:
                path = pathlib.Path(folder, f"{len(paths)}.perfline")
                path.write_bytes(part.ledger)
                paths.append(str(path))
        if not paths:
            return Part(None, failures)
        added = _run_program(paths, options)
    return Part(added.ledger, failures + added.failures)


def _run_program(paths: list[str], options: list[str]) -> Part:
    """What ``perfline ledger`` makes of the files."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "ledger.perfline")
        command = [_binary.find(), "ledger", *options, f"--output={output}", "--", *paths]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        message = done.stderr.decode("utf-8", "replace").strip()
        failures = (message or f"{paths[0]}: perfline ended with {done.returncode}",) if done.returncode else ()
        return Part(output.read_bytes() if output.is_file() else None, failures)


class _RayExecutor:
    """Runs tasks on a Ray cluster."""

    def __init__(self, retries: int) -> None:
        try:
            import ray
        except ImportError as error:
            raise ReadError("Ray is not installed: `pip install perfline[ray]`") from error
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self.ray, self.affinity, self.retries = ray, NodeAffinitySchedulingStrategy, retries
        if not ray.is_initialized():
            ray.init(log_to_driver=False)

    def nodes(self) -> list[str]:
        return [node["NodeID"] for node in self.ray.nodes() if node["Alive"]]

    def submit(self, task: Callable[..., Any], *args: Any, node: str | None = None) -> Any:
        options: dict[str, Any] = {"max_retries": self.retries}
        if node is not None:
            # Where the node is lost, another one may have the file.
            options["scheduling_strategy"] = self.affinity(node_id=node, soft=True)
        return self.ray.remote(task).options(**options).remote(*args)

    def wait(self, results: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return self.ray.wait(list(results), num_returns=1, fetch_local=False)

    def get(self, results: Sequence[Any]) -> list[Any]:
        return self.ray.get(list(results))


def _say(text: str) -> None:
    end = "" if sys.stderr.isatty() else "\n"
    print(f"\r\x1b[Kperfline: {text}" if not end else f"perfline: {text}", end=end, file=sys.stderr, flush=True)


def main() -> None:
    """``python -m perfline.ray FOLDER... -o FILE``: reads the traces, writes their ledger, prints the report."""
    parser = argparse.ArgumentParser(
        prog="python -m perfline.ray", description="Reads the traces of a run where they lie, on a Ray cluster."
    )
    parser.add_argument(
        "folders",
        nargs="+",
        metavar="FOLDER",
        help="the traces of one run, on every node or on some, or a URL (s3://…)",
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write the ledger of all ranks")
    parser.add_argument("--root", default=".", metavar="DIR", help="where your code is, on the nodes")
    parser.add_argument("--html", metavar="FILE", help="also write the report as a page")
    arguments = parser.parse_args()
    try:
        run = report(*arguments.folders, output=arguments.output, root=arguments.root)
    except ReadError as error:
        sys.exit(f"perfline: {error}")
    if sys.stderr.isatty():
        print(file=sys.stderr)
    for failure in run.failures:
        print(f"perfline: {failure}", file=sys.stderr)
    html = [] if arguments.html is None else [f"--html={arguments.html}"]
    command = [_binary.find(), "report", f"--root={arguments.root}", *html, arguments.output]
    sys.exit(subprocess.run(command, check=False).returncode or (2 if run.failures else 0))


if __name__ == "__main__":
    # Tasks are found on the nodes by the name of the module, which is not `__main__` there.
    from perfline.ray import main as run_main

    run_main()
