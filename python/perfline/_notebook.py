"""The cell magic ``%%perfline``: runs a cell under the profiler, and prints what each of its lines cost."""

from __future__ import annotations

import shlex
import subprocess
from typing import Any

from perfline import _binary, _run
from perfline.recorder import profile


def register(shell: Any) -> None:
    """Gives an IPython shell the magic."""

    def perfline(line: str, cell: str) -> None:
        """Run the cell under ``torch.profiler`` and print what each line cost, in this cell and in those that it calls.

        The line takes the options of ``perfline annotate``: ``%%perfline --threshold 1``. The recording stays in the
        folder ``perfline-runs``.
        """
        with profile(steps=None) as prof:
            # A comment takes the place of the magic's own line, so that lines have the numbers that they have in the cell.
            result = shell.run_cell("#\n" + cell)
        if result.success and prof.recordings:
            sites = [f"--site={site}" for site in _run.library_folders()]
            program = [_binary.find(), "annotate", "--root=.", *sites, *shlex.split(line), "--", *prof.recordings]
            done = subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            print(done.stdout.decode("utf-8", "replace") or done.stderr.decode("utf-8", "replace").strip())

    shell.register_magic_function(perfline, "cell")
