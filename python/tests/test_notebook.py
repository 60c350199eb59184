"""The cell magic, with stand-ins for IPython, PyTorch and the program."""

import contextlib
import io
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import perfline
import stand_in
from perfline import _binary, _notebook, _run

# Nothing of the user's cache is read, and nothing goes there.
os.environ["PERFLINE_CACHE_DIR"] = ""


class Shell:
    """A stand-in for IPython's shell."""

    def __init__(self):
        self.magics = {}
        self.ran = []

    def register_magic_function(self, function, kind):
        self.magics[kind, function.__name__] = function

    def run_cell(self, cell):
        self.ran.append(cell)
        return types.SimpleNamespace(success="fails" not in cell)


class Magic(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        program = pathlib.Path(folder.name) / "program"
        program.write_text('#!/bin/sh\necho "$@"\n')
        program.chmod(0o755)
        for patch in (
            mock.patch.dict(sys.modules, stand_in.torch_modules()),
            mock.patch.object(_binary, "find", return_value=str(program)),
            mock.patch.multiple(stand_in.Profile, made=[], failing=()),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.shell = Shell()
        perfline.load_ipython_extension(self.shell)

    def run_magic(self, line, cell):
        """What the magic prints."""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.shell.magics["cell", "perfline"](line, cell)
        return out.getvalue()

    def test_a_cell_is_recorded_as_a_whole_and_shown(self):
        printed = self.run_magic("--threshold 1", "x = 1\n")
        self.assertEqual(self.shell.ran, ["#\nx = 1\n"], "a comment takes the place of the magic's own line")
        [path] = pathlib.Path("perfline-runs").glob("*.pt.trace.json.gz")
        sites = [f"--site={site}" for site in _run.library_folders()]
        self.assertEqual(
            printed.split(), ["annotate", "--root=.", "--color=always", *sites, "--threshold", "1", "--", str(path)]
        )

    def test_a_cell_that_fails_is_not_shown(self):
        self.assertEqual(self.run_magic("", "fails"), "")


class Html(unittest.TestCase):
    def test_colours_of_a_terminal(self):
        text = (
            "\x1b[1mtrain.py\x1b[0m <module>\n\x1b[38;5;16m\x1b[48;5;167m25 %\x1b[0m \x1b[2m│\x1b[0m\x1b[33mnote\x1b[m"
        )
        self.assertEqual(
            _notebook.spans(text),
            '<span style="font-weight: bold">train.py</span> &lt;module&gt;\n'
            '<span style="color: #000000; background: #d75f5f">25 %</span> '
            '<span style="opacity: 0.65">│</span><span style="color: darkgoldenrod">note</span>',
        )
        self.assertEqual(
            [_notebook.colour(it) for it in (1, 9, 231, 232, 255)],
            ["firebrick", "firebrick", "#ffffff", "#080808", "#eeeeee"],
        )

    def test_terminals_get_the_text(self):
        shown = _notebook.Annotated("a < b")
        self.assertEqual(repr(shown), "a < b")
        self.assertIn("a &lt; b</pre>", shown._repr_html_())


if __name__ == "__main__":
    unittest.main()
