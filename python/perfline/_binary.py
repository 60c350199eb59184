"""Finds the program ``perfline`` that belongs to this package."""

from __future__ import annotations

import importlib.metadata
import pathlib
import shutil
import sys

NAME = "perfline.exe" if sys.platform == "win32" else "perfline"


class NotFound(FileNotFoundError):
    """The program is not where the wheel put it, nor on the ``PATH``."""


def find() -> str:
    """Returns the path of the program: the one installed with this package, else the first on the ``PATH``."""
    package = pathlib.Path(__file__).resolve().parent
    # `pip install --target` moves the program to a place that its list of files does not show.
    for path in [*_installed(), package.parent / "bin" / NAME]:
        if path.is_file():
            return str(path)
    on_path = shutil.which(NAME)
    if on_path is None:
        raise NotFound(
            f"the program {NAME} was installed neither with {package} nor on the PATH; "
            "install it again with `pip install --force-reinstall perfline`"
        )
    return on_path


def _installed() -> list[pathlib.Path]:
    """Where the list of files of the installed wheel says the program is."""
    try:
        files = importlib.metadata.files("perfline")
    except importlib.metadata.PackageNotFoundError:
        files = None
    return [pathlib.Path(file.locate()).resolve() for file in files or () if file.name == NAME]
