"""What ``read`` and ``python -m perfline`` do with the program that is installed."""

import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import perfline
from perfline import _binary

# Nothing of the user's cache is read, and nothing goes there.
os.environ["PERFLINE_CACHE_DIR"] = ""

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
TRACE = FIXTURES / "cpu" / "torch2.11.0" / "slow_model.json.gz"
WORKLOADS = FIXTURES / "workloads"


def is_installed():
    try:
        return importlib.metadata.distribution("perfline").files is not None
    except importlib.metadata.PackageNotFoundError:
        return False


class Reading(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, script):
        """Puts another program in the place of the installed one."""
        path = self.folder / "program"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        patch = mock.patch.object(_binary, "find", return_value=str(path))
        patch.start()
        self.addCleanup(patch.stop)

    def test_the_lines_of_a_trace_and_its_callers(self):
        run = perfline.read(TRACE, root=WORKLOADS)
        self.assertEqual([it["kind"] for it in run.inputs], ["kineto", "callers"])
        self.assertEqual((run.failures, run.steps), ([], 3))
        self.assertTrue(run.books["balanced"])
        item = next(it for it in run.lines if (it["file"], it["line"]) == ("slow_model.py", 46))
        self.assertEqual((item["function"], item["evidence"], item["calls"]), ("SlowModel.forward", "exact", 36))
        own = sum(it["cpu_own_us"] for it in run.lines)
        self.assertAlmostEqual(own + run.unattributed["cpu_us"], run.totals["cpu_us"], places=1)

    def test_a_folder_stands_for_its_newest_recording(self):
        for name in ("slow_model.json.gz", "slow_model.callers.json.gz"):
            shutil.copy(TRACE.with_name(name), self.folder)
        self.assertEqual(perfline.read(self.folder, root=WORKLOADS).lines, perfline.read(TRACE, root=WORKLOADS).lines)

    def test_what_cannot_be_read_is_an_error_that_names_it(self):
        with self.assertRaisesRegex(perfline.ReadError, "none.json"):
            perfline.read(self.folder / "none.json")

    def test_what_can_be_read_is_not_lost_with_what_cannot(self):
        run = perfline.read(TRACE, self.folder / "none.json", root=WORKLOADS)
        self.assertEqual(len(run.failures), 1)
        self.assertIn("none.json", run.failures[0])
        self.assertEqual(run.steps, 3)

    def test_a_name_that_begins_with_a_dash_is_no_option(self):
        shutil.copy(TRACE, self.folder / "--help")
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        self.assertEqual(perfline.read("--help", root=WORKLOADS).steps, 3)

    def test_a_program_of_another_version(self):
        program = _binary.find()
        other = "sed 's:perfline.lines/1\",:perfline.lines/9\",:'"
        self.program(f"""'{program}' "$@" | {other}""")
        with self.assertRaisesRegex(perfline.ReadError, "'perfline.lines/9'.*install the two together"):
            perfline.read(TRACE)

    def test_a_program_that_answers_something_else(self):
        self.program("""echo '{"schema": "perfline.lines/1"}'""")
        with self.assertRaisesRegex(perfline.ReadError, "no stream of Arrow.*install the two together"):
            perfline.read(TRACE)

    def test_a_program_that_dies(self):
        self.program("kill -9 $$")
        with self.assertRaisesRegex(perfline.ReadError, "-9"):
            perfline.read(TRACE)


class Program(unittest.TestCase):
    def run_module(self, *arguments):
        # Where the tests run with the sources, a child needs their path.
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(
            [sys.executable, "-m", "perfline", *arguments], env=env, capture_output=True, text=True, check=False
        )

    def test_the_module_is_the_program(self):
        done = self.run_module("lines", str(TRACE), "--root", str(WORKLOADS), "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        # The two may find different versions of the standard library.
        lines = perfline.read(TRACE, root=WORKLOADS).lines
        unknown = dict.fromkeys(it.name for it in lines.fields)
        own = [{**unknown, **it} for it in json.loads(done.stdout)["lines"] if it["file"] == "slow_model.py"]
        self.assertEqual(own, [it for it in lines if it["file"] == "slow_model.py"])
        self.assertGreater(len(own), 10)

    def test_its_exit_status_is_the_programs(self):
        self.assertEqual(self.run_module("lines", "none.json").returncode, 2)
        self.assertEqual(self.run_module("report", str(TRACE), "--max-step-ms", "0").returncode, 1)

    def test_without_a_program_it_says_what_to_do(self):
        with (
            mock.patch.object(_binary, "_installed", return_value=[]),
            mock.patch.dict(os.environ, {"PATH": ""}),
            self.assertRaisesRegex(_binary.NotFound, "pip install"),
        ):
            _binary.find()

    @unittest.skipUnless(is_installed(), "the package was not installed")
    def test_the_installed_program_comes_before_the_path(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"PATH": folder}):
            other = pathlib.Path(folder, _binary.NAME)
            other.write_text("#!/bin/sh\n")
            other.chmod(0o755)
            self.assertTrue(_binary.find().startswith(str(pathlib.Path(sys.prefix).resolve())))


if __name__ == "__main__":
    unittest.main()
