"""Reads recordings with the program and returns what it says as Python values."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sysconfig
from collections.abc import Iterable
from typing import Any

from perfline import _binary

SCHEMA = "perfline.lines/1"


class ReadError(RuntimeError):
    """Nothing could be read; the message is what the program says about it."""


@dataclasses.dataclass(frozen=True)
class Run:
    """What was recorded, by line: the object ``perfline.lines/1``, whose fields ``docs/cli.md`` defines.

    Times are microseconds, exact to the nanosecond; sizes are bytes. All are sums over the recording and its ranks.
    """

    lines: list[dict[str, Any]]
    """One entry for each file and line, by ``cpu_own_us``, largest first."""

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
    document = ask("lines", SCHEMA, paths, root, sites)
    return Run(**{field.name: document[field.name] for field in dataclasses.fields(Run)})


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
    if sites is None:
        sites = library_folders()
    program = [_binary.find(), command, "--format", "json", f"--root={os.fspath(root)}"]
    program += [f"--site={os.fspath(site)}" for site in sites]
    program += ["--", *map(os.fspath, paths)]
    done = subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    # With some unreadable inputs the status is 2, and what the others say is printed all the same.
    if not done.stdout:
        raise ReadError(done.stderr.decode("utf-8", "replace").strip() or f"perfline ended with {done.returncode}")
    try:
        document = json.loads(done.stdout)
        found = document["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise ReadError(f"{program[0]} answered with what is no {schema}: {error!r}") from error
    if found != schema:
        raise ReadError(
            f"{program[0]} answered with {found!r}, and this package reads {schema}; install the two together"
        )
    return document
