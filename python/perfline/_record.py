"""``perfline record``: runs a program as it is, and records a few of its steps."""

import argparse
import glob
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from perfline import _run
from perfline._attached import CALLS, VARIABLE, shown
from perfline.recorder import COMPILE_LOG_ENDING, TRACE_ENDING

N_FINDINGS = 3
"""Findings that are printed when the program has ended."""

DESCRIPTION = """\
Run a program and record a few of its steps with torch.profiler, with the source line of every call.

A step ends when the program's optimizer has stepped; in a program without optimizers, when it takes the next batch from
a data loader; in one without either, when a backward pass has ended; in a script that has none of these, two seconds are
recorded after a minute. Each rank records its own steps.
"""

EPILOG = """\
examples:
  perfline record train.py --epochs 1
  perfline record --steps 5 -m package.train
  perfline record torchrun --nproc-per-node 2 train.py
"""


def main(arguments):
    """Runs the command that ``arguments`` name, and returns its exit status."""
    options, command = parse(arguments)
    folder = os.path.abspath(options.folder)
    environment = dict(os.environ)
    attach = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_attach")
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [attach, environment.get("PYTHONPATH")]))
    # Data-loader workers and what launchers start have other parents: only a script is recorded by the clock.
    parent = os.getpid() if command[0] == sys.executable else None
    environment[VARIABLE] = json.dumps(
        {
            "folder": folder,
            "after": options.after,
            "steps": options.steps,
            "then": options.then,
            "function": options.function,
            "lines": options.lines == "on",
            "sources": options.sources == "on",
            "memory": options.memory == "on",
            "parent": parent,
        }
    )
    before = time.time_ns()
    # What a recording needs of the logs is written beside it.
    logs = tempfile.mkdtemp(prefix="perfline-")
    environment["PERFLINE_COMPILE_LOG"] = logs
    try:
        status = run(command, environment)
    finally:
        shutil.rmtree(logs, ignore_errors=True)
    show(written(folder, f"*{TRACE_ENDING}", before), written(folder, "*.snapshot.pickle.gz", before))
    return 128 - status if status < 0 else status


def written(folder, names, since):
    """The files in ``folder`` that fit ``names`` and were written at ``since``, in nanoseconds since 1970, or later."""
    paths = glob.glob(os.path.join(glob.escape(folder), names))
    return sorted(path for path in paths if since <= os.stat(path).st_mtime_ns)


def run(command, environment):
    """Runs a command to its end, and returns its exit status as ``subprocess`` gives it."""
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        reason = "there is no such program; check its name and the PATH" if missing else error.strerror
        sys.exit(f"perfline: {command[0]} cannot be run: {reason}")
    # Ctrl-C reaches the program too. Both wait until it has written what was recorded.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))
    return process.wait()


def parse(arguments):
    """Splits the arguments into the options of this command and the command to run."""
    parser = argparse.ArgumentParser(
        "perfline record", "perfline record [OPTIONS] COMMAND...", DESCRIPTION, EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("--folder", default="perfline-runs", help="where to write (default: %(default)s)")
    parser.add_argument(
        "--after", type=_count, metavar="N",
        help="steps before recording (default: until steps take equally long, 5 at least; 10 with several ranks)",
    )  # fmt: skip
    parser.add_argument(
        "--function", type=_function, metavar="[FILE:]NAME",
        help="record calls of this function (forward, Net.forward, net.py:Net.forward), whose ends are the ends of steps "
        f"(--after is {CALLS} then, or more: the function is found by its first call)",
    )  # fmt: skip
    parser.add_argument("--steps", type=_positive, default=3, metavar="N", help="steps to record (default: 3)")
    parser.add_argument(
        "--then", choices=("continue", "exit"), default="continue",
        help="let the program run on when they are recorded, or end it (default: continue)",
    )  # fmt: skip
    parser.add_argument(
        "--lines", choices=("on", "off"), default="on",
        help="note when each line of your code begins, so that operators have exact lines (default: on)",
    )  # fmt: skip
    parser.add_argument(
        "--sources", choices=("on", "off"), default="on",
        help="write the texts of your files beside the trace, so that numbers stay on their lines (default: on)",
    )  # fmt: skip
    parser.add_argument(
        "--memory", choices=("on", "off"), default="on",
        help="write a snapshot of the memory of CUDA devices, also when it runs out (default: on)",
    )  # fmt: skip
    parser.add_argument(
        "command", nargs="?", metavar="COMMAND", help="script.py, -m module, or a program, with its arguments"
    )
    n_ours = 0
    while n_ours < len(arguments) and arguments[n_ours].startswith("-") and arguments[n_ours] not in ("--", "-m"):
        n_ours += 1 if "=" in arguments[n_ours] else 2
    options, unknown = parser.parse_known_args(arguments[:n_ours])
    if unknown:
        # Such as `-o`, which other commands of Perfline have.
        known = [action.option_strings[-1] for action in parser._actions if action.option_strings]
        parser.error(f"unknown option `{unknown[0]}`, expected one of: {', '.join(sorted(known))}")
    command = arguments[n_ours:]
    if command[:1] == ["--"]:
        command = command[1:]
    if options.function is not None and options.after is not None:
        options.after = max(options.after, CALLS)
    if not command:
        parser.error("name the program to record: script.py, -m module, or a command such as torchrun")
    if command[0] == "-m" or command[0].endswith(".py"):
        command = [sys.executable, *command]
    return options, command


def _count(text):
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return number


def _function(text):
    names = text.rpartition(":")[2].split(".")
    if not all(name.isidentifier() for name in names):
        raise argparse.ArgumentTypeError(f"{text} names no function, expected NAME, Class.NAME or FILE:NAME")
    return text


def _positive(text):
    number = _count(text)
    if number == 0:
        raise argparse.ArgumentTypeError("at least one step is recorded")
    return number


def show(traces, snapshots):
    """Prints what was recorded and its first findings, on the standard error stream: the output is the program's.

    There are snapshots without traces where memory ran out before steps were recorded.
    """
    recording = traces + snapshots
    if not recording:
        return
    try:
        # With the libraries of this Python, which is the one that ran the program, or beside it.
        report = _run.ask("report", "perfline.report/1", recording)
    except (OSError, _run.ReadError) as error:
        print(f"perfline: the recording cannot be shown: {error}", file=sys.stderr)
        return
    run, findings = report["run"], report["findings"]
    lines = ["", run["title"], *(mark(note) for note in run["notes"])]
    for finding in findings[:N_FINDINGS]:
        lines += ["", f"{finding['file']}:{finding['line']} {finding['message']}", f"  {finding['remedy']}"]
    more = len(findings) - N_FINDINGS + report["findings_left_out"]
    named = command_line(recording)
    lines += [
        "",
        f"{more} more {'finding' if more == 1 else 'findings'} and all tables: perfline report --all {named}"
        if more > 0
        else f"All tables: perfline report --all {named}",
    ]
    compiled = [it for it in traces if os.path.exists(it.removesuffix(TRACE_ENDING) + COMPILE_LOG_ENDING)]
    if compiled:
        lines += [f"What torch.compile made: perfline compile {command_line(compiled)}"]
    if snapshots:
        lines += [f"Which lines hold memory: perfline memory {command_line(snapshots)}"]
    lines += [f"Your source with the cost of each line: perfline annotate {named}"]
    print("\n".join(lines), file=sys.stderr)


def command_line(paths):
    """Paths as arguments of a command that can be copied."""
    return " ".join(shlex.quote(shown(path)) for path in paths)


def mark(note):
    """A note as the report prints it: with a mark, unless it merely informs."""
    return note["text"] if note["level"] == "plain" else f"! {note['text']}"
