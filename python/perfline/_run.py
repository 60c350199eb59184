"""Reads recordings with the program and returns what it says as Python values."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import subprocess
import sysconfig
from collections.abc import Iterable
from typing import Any

from perfline import _binary, _ipc
from perfline._rows import FindingRow, KernelRow, LineRow, ModuleRow, OperatorRow, RankRow, StepRow
from perfline._table import Table

SCHEMA = "perfline.lines/1"


class ReadError(RuntimeError):
    """Nothing could be read; the message is what the program says about it."""


@dataclasses.dataclass(frozen=True)
class Run:
    """What was recorded. Tables have the columns that ``docs/export.md`` lists; the other fields are those of the object
    ``perfline.lines/1`` (``docs/cli.md``).

    Times are microseconds, exact to the nanosecond; sizes are bytes. All are sums over the recording and its ranks, unless
    their names say so.
    """

    lines: Table[LineRow]
    """One row for each file and line, by ``cpu_own_us``, largest first."""

    findings: Table[FindingRow]
    """What the rules found, the costliest first."""

    modules: Table[ModuleRow]
    """The modules of the model, those that took longest first; none where no calls of modules are recorded."""

    step_times: Table[StepRow]
    """Each step of each rank, in their order."""

    ranks: Table[RankRow]
    """The ranks of a run of several; none of a run of one."""

    totals: dict[str, Any]
    """What the recording holds."""

    unattributed: dict[str, Any]
    """What no line was charged with, and in ``reasons`` why."""

    books: dict[str, Any]
    """For each metric: ``lines`` + ``unattributed`` = ``total``."""

    steps: int
    """The number of steps."""

    inputs: list[dict[str, Any]]
    """The files that were read, each with its rank, and the warnings about it."""

    failures: list[str]
    """The files that could not be read at all, and why; empty when all were."""

    _question: _Question = dataclasses.field(repr=False, compare=False)

    @property
    def kernels(self) -> Table[KernelRow]:
        """What ran on devices, by device time, longest first. When it is first asked for, the recording is read again: whole
        stacks are needed, which are not kept.

        Raises ``ReadError`` of a file of ledgers, which has no stacks.
        """
        return self._of_stacks[0]

    @property
    def operators(self) -> Table[OperatorRow]:
        """The operators of PyTorch, those with most device time (without any, thread time) first. It is read as ``kernels``,
        both at once.
        """
        return self._of_stacks[1]

    @functools.cached_property
    def _of_stacks(self) -> tuple[Table[KernelRow], Table[OperatorRow]]:
        lines, kernels, operators = self._question.tables("lines", "kernels", "operators")
        if _head(lines)["inputs"] != self.inputs:
            names = ", ".join(it["path"] for it in self.inputs)
            raise ReadError(f"{names}: the recording was changed, or there is a newer one: read it again")
        return Table(kernels), Table(operators)


def read(
    *paths: str | os.PathLike[str],
    root: str | os.PathLike[str] = ".",
    sites: Iterable[str | os.PathLike[str]] | None = None,
) -> Run:
    """Reads the traces and memory snapshots of one run, and returns what each line cost.

    A folder stands for the newest recording below it, no path for the newest below the current folder. Lines below
    ``root`` are yours; all others are a library's, and their time counts to the line of yours that called them.
    ``sites`` are the folders of libraries, by default those of this Python.

    Raises ``ReadError`` where no input can be read. What is wrong with some of several is in ``Run.failures``.
    """
    question = _Question(_options(root, sites), [os.fspath(path) for path in paths], os.getcwd())
    lines, findings, modules, step_times, ranks = question.tables("lines", "findings", "modules", "steps", "ranks")
    head = _head(lines)
    names = ("totals", "unattributed", "books", "steps", "inputs", "failures")
    return Run(
        lines=Table(lines),
        findings=Table(findings),
        modules=Table(modules),
        step_times=Table(step_times),
        ranks=Table(ranks),
        _question=question,
        **{name: head[name] for name in names},
    )


def library_folders() -> list[str]:
    """The folders of the libraries of this Python."""
    return list(dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")))


def ask(
    command: str,
    schema: str,
    paths: Iterable[str | os.PathLike[str]],
    root: str | os.PathLike[str] = ".",
    sites: Iterable[str | os.PathLike[str]] | None = None,
) -> dict[str, Any]:
    """Runs ``perfline COMMAND --format json`` on ``paths`` and returns what it prints, an object of ``schema``.

    ``root`` and ``sites`` are those of ``read``, and so is the error.
    """
    arguments = [command, "--format", "json", *_options(root, sites), "--", *map(os.fspath, paths)]
    program, answer = _answer(arguments, None)
    return _object(answer, schema, program)


@dataclasses.dataclass(frozen=True)
class _Question:
    """What is read, and against which sources."""

    options: list[str]
    paths: list[str]
    folder: str
    """By which the paths are meant."""

    def tables(self, *names: str) -> list[_ipc.Stream]:
        """Reads the recording once, and returns these tables of it.

        Raises ``ReadError`` where no input can be read, or the program is of another version.
        """
        arguments = ["export", "--format", "arrow", "--table", ",".join(names), *self.options, "--", *self.paths]
        program, answer = _answer(arguments, self.folder)
        try:
            found = _ipc.streams(answer)
        except _ipc.FormatError as error:
            raise _other_version(program, f"what is no stream of Arrow ({error})", SCHEMA) from error
        if [it.metadata.get("perfline.table") for it in found] != list(names):
            raise _other_version(program, f"{len(found)} tables", f"{', '.join(names)} of {SCHEMA}")
        return found


def _options(
    root: str | os.PathLike[str],
    sites: Iterable[str | os.PathLike[str]] | None,
) -> list[str]:
    if sites is None:
        sites = library_folders()
    return [f"--root={os.fspath(root)}", *(f"--site={os.fspath(site)}" for site in sites)]


def _answer(arguments: list[str], folder: str | None) -> tuple[str, bytes]:
    """Runs the program in a folder; returns which it is, and what it prints."""
    program = _binary.find()
    done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=folder)
    # With some unreadable inputs the status is 2, and what the others say is printed all the same.
    if not done.stdout:
        raise ReadError(done.stderr.decode("utf-8", "replace").strip() or f"perfline ended with {done.returncode}")
    return program, done.stdout


def _object(answer: str | bytes, schema: str, program: str) -> dict[str, Any]:
    """JSON of the contract ``schema``."""
    try:
        document = json.loads(answer)
        found = document["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise ReadError(f"{program} answered with what is no {schema}: {error!r}") from error
    if found != schema:
        raise _other_version(program, repr(found), schema)
    return document


def _head(lines: _ipc.Stream) -> dict[str, Any]:
    """The object that the lines are in, without them."""
    return _object(lines.metadata.get(SCHEMA, "{}"), SCHEMA, "perfline")


def _other_version(program: str, found: str, expected: str) -> ReadError:
    return ReadError(f"{program} answered with {found}, and this package reads {expected}; install the two together")
