"""The cell magic ``%%perfline``: runs a cell under the profiler, and shows what each of its lines cost."""

from __future__ import annotations

import html
import re
import shlex
import subprocess
from typing import Any

from perfline import _binary, _run
from perfline.recorder import profile


def register(shell: Any) -> None:
    """Gives an IPython shell the magic."""

    def perfline(line: str, cell: str) -> None:
        """Run the cell under ``torch.profiler`` and show what each line cost, in this cell and in those that it calls.

        The line takes the options of ``perfline annotate``: ``%%perfline --threshold 1``. The recording stays in the
        folder ``perfline-runs``.
        """
        with profile(steps=None) as prof:
            # A comment takes the place of the magic's own line, so that lines have the numbers that they have in the cell.
            result = shell.run_cell("#\n" + cell)
        if result.success and prof.recordings:
            sites = [f"--site={site}" for site in _run.library_folders()]
            program = [
                _binary.find(),
                "annotate",
                "--root=.",
                "--color=always",
                *sites,
                *shlex.split(line),
                "--",
                *prof.recordings,
            ]
            done = subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            show((done.stdout or done.stderr).decode("utf-8", "replace").strip())

    shell.register_magic_function(perfline, "cell")


class Annotated:
    """What ``perfline annotate`` prints, as IPython shows it: HTML in notebooks, the text in terminals."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f'<pre style="overflow-x: auto; white-space: pre; line-height: 1.3">{spans(self._text)}</pre>'


def show(text: str) -> None:
    """Shows it below the cell."""
    try:
        from IPython.display import display
    except ImportError:
        print(text)
    else:
        display(Annotated(text))


def spans(text: str) -> str:
    """HTML of a text with the colours of a terminal."""
    styles: dict[str, str] = {}
    parts = []
    # Texts and what stands between the brackets and the `m` of codes, in turns.
    for index, part in enumerate(re.split(r"\x1b\[([0-9;]*)m", text)):
        if index % 2:
            apply(part, styles)
        elif part and styles:
            style = "; ".join(f"{name}: {value}" for name, value in styles.items())
            parts.append(f'<span style="{style}">{html.escape(part)}</span>')
        else:
            parts.append(html.escape(part))
    return "".join(parts)


def apply(codes: str, styles: dict[str, str]) -> None:
    """Changes the styles as the codes of a terminal say."""
    numbers = iter([int(code or 0) for code in codes.split(";")])
    for code in numbers:
        if code == 0:
            styles.clear()
        elif code == 1:
            styles["font-weight"] = "bold"
        elif code == 2:
            styles["opacity"] = "0.65"
        elif code in (38, 48):
            # `38;5;196`: one of 256 colours.
            next(numbers, 0)
            styles["color" if code == 38 else "background"] = colour(next(numbers, 0))
        elif 30 <= code <= 37:
            styles["color"] = BASIC[code - 30]


BASIC = ("black", "firebrick", "green", "darkgoldenrod", "royalblue", "darkorchid", "darkcyan", "gray")
"""The colours 30 to 37, such that they can be read on light and dark backgrounds."""


def colour(number: int) -> str:
    """One of the 256 colours of a terminal: eight and eight bright ones, a cube of six levels each of red, green and blue, and 24 greys."""
    if number < 16:
        return BASIC[number % 8]
    if number < 232:
        levels = (0, 95, 135, 175, 215, 255)
        red, green, blue = (levels[(number - 16) // scale % 6] for scale in (36, 6, 1))
    else:
        red = green = blue = 8 + 10 * (number - 232)
    return f"#{red:02x}{green:02x}{blue:02x}"
