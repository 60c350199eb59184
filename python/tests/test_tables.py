"""What ``perfline.read`` returns are tables: rows for Python, and columns for pandas, polars, DuckDB and pyarrow."""

import copy
import gc
import importlib
import importlib.metadata
import importlib.util
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import threading
import unittest
from unittest import mock

import perfline
from perfline import _binary, _ipc, _rows, _run, _table

# Nothing of the user's cache is read, and nothing goes there.
os.environ["PERFLINE_CACHE_DIR"] = ""

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
TRACE = FIXTURES / "simulated_cuda" / "torch2.15.0" / "slow_model.json.gz"
RANKS = FIXTURES / "cpu" / "torch2.15.0" / "late_rank.slow_line"
WORKLOADS = FIXTURES / "workloads"

NAMES = ("lines", "kernels", "operators", "modules", "step_times", "ranks", "findings")
ROWS = {
    "lines": _rows.LineRow,
    "kernels": _rows.KernelRow,
    "operators": _rows.OperatorRow,
    "modules": _rows.ModuleRow,
    "step_times": _rows.StepRow,
    "ranks": _rows.RankRow,
    "findings": _rows.FindingRow,
}
LISTS = {"lines": _rows.Place, "longer_on_threads": _rows.Place, "longer_on_devices": _rows.Place}
TYPES = {"text": "str", "int64": "int", "float64": "float", "bool": "bool"}


def has(package):
    return importlib.util.find_spec(package) is not None


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_of_one = perfline.read(TRACE, root=WORKLOADS)
        cls.run_of_ranks = perfline.read(RANKS, root=WORKLOADS)

    def tables(self):
        for run in (self.run_of_one, self.run_of_ranks):
            for name in NAMES:
                yield name, getattr(run, name)

    def test_lines_are_those_of_the_contract_to_the_last_digit(self):
        for run, path in ((self.run_of_one, TRACE), (self.run_of_ranks, RANKS)):
            document = _run.ask("lines", "perfline.lines/1", [path], WORKLOADS)
            names = [it.name for it in run.lines.fields]
            self.assertEqual(list(run.lines), [{**dict.fromkeys(names), **it} for it in document["lines"]])
            for name in ("totals", "unattributed", "books", "steps", "inputs", "failures"):
                self.assertEqual(getattr(run, name), document[name])

    def test_ranks_are_those_of_the_contract(self):
        document = _run.ask("ranks", "perfline.ranks/1", [RANKS], WORKLOADS)
        self.assertEqual(list(self.run_of_ranks.ranks), document["ranks"])
        self.assertEqual(len(self.run_of_one.ranks), 0)
        self.assertEqual(list(self.run_of_one.ranks), [])

    def test_findings_are_those_of_the_report(self):
        document = _run.ask("report", "perfline.report/1", [TRACE], WORKLOADS)
        found = [(it["rule"], it["file"], it["line"], it["cost_ns"]) for it in document["findings"]]
        ours = [(it["rule"], it["file"], it["line"], round(it["cost_us"] * 1000)) for it in self.run_of_one.findings]
        self.assertEqual(ours[: len(found)], found)
        self.assertGreater(len(found), 3)

    def test_sums_are_those_of_the_recording_to_the_nanosecond(self):
        run = self.run_of_one
        for name in ("cpu", "cuda"):
            own = sum(round(it * 1000) for it in run.lines[f"{name}_own_us"])
            without = round(run.unattributed[f"{name}_us"] * 1000)
            self.assertEqual(own + without, round(run.totals[f"{name}_us"] * 1000))
        kernels = sum(round(it * 1000) for it in run.kernels["time_us"])
        self.assertEqual(kernels, round(run.totals["cuda_us"] * 1000))
        launched = sum(round(it * 1000) for it in run.operators["cuda_self_us"])
        self.assertLessEqual(launched, kernels)
        self.assertGreater(launched, 0.9 * kernels)
        self.assertEqual(run.step_times["step"], [1, 2, 3])
        self.assertEqual(set(run.step_times["rank"]), {0})
        self.assertEqual(set(self.run_of_ranks.step_times["rank"]), {0, 1, 2, 3})

    def test_a_table_is_a_sequence_of_rows(self):
        lines = self.run_of_one.lines
        self.assertEqual(lines[:3], [lines[0], lines[1], lines[2]])
        self.assertEqual(lines[-1], list(lines)[-1])
        self.assertEqual(lines[::100], list(lines)[::100])
        self.assertEqual([it["line"] for it in lines], lines["line"])
        self.assertIn(lines[3], lines)
        self.assertEqual(next(reversed(lines)), lines[-1])
        self.assertTrue(lines)
        self.assertFalse(self.run_of_one.ranks)
        with self.assertRaises(IndexError):
            lines[len(lines)]
        with self.assertRaises(KeyError):
            lines["cpu"]
        self.assertTrue(repr(lines).startswith(f"<perfline.Table of {len(lines)} rows: file, "))

    def test_a_column_that_was_changed_changes_no_table(self):
        lines = self.run_of_one.lines
        lines["line"].clear()
        lines[0]["line"] = -1
        self.assertEqual(len(lines["line"]), len(lines))
        self.assertNotEqual(lines[0]["line"], -1)

    def test_equal_tables_are_equal_whether_read_or_copied(self):
        for name, table in self.tables():
            with self.subTest(name):
                for other in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table), list(table)):
                    self.assertEqual(table, other)
        self.assertNotEqual(self.run_of_one.lines, self.run_of_ranks.lines)
        run = pickle.loads(pickle.dumps(self.run_of_one))
        self.assertEqual(run, self.run_of_one)
        self.assertEqual(run.kernels, self.run_of_one.kernels)

    def test_rows_have_the_types_that_are_stated(self):
        for name, table in self.tables():
            self.check_types(ROWS[name], table.fields)

    def check_types(self, row, fields):
        self.assertTrue(row.__doc__)
        stated = {name: getattr(it, "__forward_arg__", it) for name, it in row.__annotations__.items()}
        self.assertEqual(list(stated), [it.name for it in fields], row)
        for field in fields:
            with self.subTest(f"{row.__name__}.{field.name}"):
                self.assertTrue(field.description)
                if field.type == "list":
                    item = _rows.LineOnRank if field.name == "ranks" else LISTS[field.name]
                    self.assertIn(f"list[{item.__name__}]", stated[field.name])
                    self.check_types(item, field.children[0].children)
                else:
                    self.assertEqual(stated[field.name].split(" | ")[0], TYPES[field.type])
                # Of a part of a recording more may be unknown than of all of it, which is what is read.
                self.assertLessEqual(stated[field.name].endswith("| None"), field.nullable)

    def test_types_say_what_columns_mean_and_in_which_unit(self):
        source = pathlib.Path(_rows.__file__).read_text(encoding="utf-8")
        units = {"us": "Microseconds: ", "bytes": "Bytes: ", "share": "Share of 1: "}
        for _, table in self.tables():
            for field in table.fields:
                text = field.description
                if field.unit in units:
                    text = units[field.unit] + text
                elif not field.unit:
                    text = text[0].upper() + text[1:]
                self.assertIn(f"{text}.", source)

    def test_a_newer_recording_is_not_taken_for_the_one_that_was_read(self):
        run = perfline.read(TRACE, root=WORKLOADS)
        run.inputs[0]["events"] += 1
        with self.assertRaisesRegex(perfline.ReadError, "read it again"):
            len(run.kernels)

    def test_a_relative_path_means_the_same_later(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(TRACE.parent)
        run = perfline.read(TRACE.name, root=os.path.relpath(WORKLOADS))
        os.chdir(before)
        self.assertEqual(run.kernels, self.run_of_one.kernels)


class Damage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        arguments = ["export", "--format", "arrow", "--table", "lines,kernels", f"--root={WORKLOADS}", str(TRACE)]
        cls.data = subprocess.run([_binary.find(), *arguments], capture_output=True, check=True).stdout

    def test_streams_that_are_cut_off_are_refused(self):
        lines, kernels = _ipc.streams(self.data)
        self.assertEqual(lines.data + kernels.data, self.data)
        for end in [*range(1, 400, 7), len(lines.data) - 1, len(lines.data) + 5, len(self.data) - 1]:
            with self.assertRaises(_ipc.FormatError, msg=str(end)):
                _ipc.streams(self.data[:end])

    def test_whatever_byte_is_wrong_nothing_else_is_raised(self):
        kernels = bytearray(_ipc.streams(self.data)[1].data)
        for place in range(0, min(len(kernels), 6000), 3):
            kept = kernels[place]
            kernels[place] ^= 0xFF
            try:
                for stream in _ipc.streams(bytes(kernels)):
                    stream.columns()
            except _ipc.FormatError:
                pass
            kernels[place] = kept

    def test_what_the_program_does_not_write_is_refused(self):
        for data in (b"{}", b"\xff\xff\xff\xff" + bytes(4), struct.pack("<Ii", 0xFFFFFFFF, 8) + bytes(8)):
            with self.assertRaises(_ipc.FormatError):
                _ipc.streams(data)


class Columns(unittest.TestCase):
    """With the packages that are installed."""

    @classmethod
    def setUpClass(cls):
        cls.run_of_one = perfline.read(TRACE, root=WORKLOADS)
        cls.run_of_ranks = perfline.read(RANKS, root=WORKLOADS)

    def tables(self):
        return [getattr(run, name) for run in (self.run_of_one, self.run_of_ranks) for name in NAMES]

    @unittest.skipUnless(has("pyarrow"), "pyarrow is not installed")
    def test_pyarrow_takes_the_columns_as_they_are(self):
        import pyarrow

        for table in self.tables():
            taken = pyarrow.table(table)
            taken.validate(full=True)
            self.assertEqual(taken.to_pylist(), list(table))
            self.assertEqual(
                [it.metadata.get(b"unit", b"").decode() for it in taken.schema], [it.unit for it in table.fields]
            )
        # The buffer is the one that the program's answer is in.
        data = pyarrow.py_buffer(self.run_of_one.lines._stream.data)
        column = pyarrow.table(self.run_of_one.lines)["cpu_own_us"].chunk(0).buffers()[1]
        self.assertTrue(data.address <= column.address < data.address + data.size)

    @unittest.skipUnless(has("polars"), "polars is not installed")
    def test_polars_takes_the_columns(self):
        import polars

        for table in self.tables():
            self.assertEqual(polars.DataFrame(table).to_dicts(), list(table))

    def test_no_row_is_made_for_who_takes_columns(self):
        takers = {"pyarrow": "table", "polars": "DataFrame"}
        takers = [getattr(importlib.import_module(name), it) for name, it in takers.items() if has(name)]
        if has("pandas") and has("pyarrow"):
            pandas = importlib.import_module("pandas")
            takers += [pandas.DataFrame.from_arrow] if hasattr(pandas.DataFrame, "from_arrow") else []
        for take in takers:
            with mock.patch.object(_table.Table, "_values", side_effect=AssertionError("rows are made")):
                taken = take(self.run_of_one.lines)
            self.assertEqual(len(taken), len(self.run_of_one.lines))

    @unittest.skipUnless(has("polars"), "polars is not installed")
    def test_polars_needs_no_pyarrow(self):
        import polars

        with mock.patch.dict(sys.modules, {"pyarrow": None, "pyarrow.ipc": None}):
            for table in self.tables():
                self.assertEqual(polars.DataFrame(table).to_dicts(), list(table))

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_pandas_takes_rows_and_columns(self):
        import pandas

        lines = self.run_of_one.lines
        frames = [pandas.DataFrame(lines)]
        if has("pyarrow"):
            import pyarrow

            frames.append(pyarrow.table(lines).to_pandas())
        if has("pyarrow") and hasattr(pandas.DataFrame, "from_arrow"):
            frames.append(pandas.DataFrame.from_arrow(lines))
        for frame in frames:
            self.assertEqual(list(frame.columns), [it.name for it in lines.fields])
            self.assertEqual(frame["cpu_own_us"].tolist(), lines["cpu_own_us"])
            self.assertEqual(frame["function"].tolist(), lines["function"])

    @unittest.skipUnless(has("duckdb") and has("pyarrow"), "duckdb and pyarrow are not installed")
    def test_duckdb_takes_a_table_by_its_name(self):
        import duckdb

        lines = self.run_of_one.lines
        [(number, calls)] = duckdb.sql("SELECT count(*), sum(calls) FROM lines").fetchall()
        self.assertEqual((number, calls), (len(lines), sum(lines["calls"])))

    @unittest.skipUnless(has("pyarrow") or has("polars"), "neither pyarrow nor polars is installed")
    def test_columns_outlive_the_run_and_are_freed_anywhere(self):
        module = importlib.import_module("pyarrow" if has("pyarrow") else "polars")
        take = module.table if has("pyarrow") else module.DataFrame
        run = perfline.read(TRACE, root=WORKLOADS)
        expected = list(run.lines)
        frames = [take(run.lines) for _ in range(4)]
        run.lines.__arrow_c_stream__()
        del run
        gc.collect()
        thread = threading.Thread(target=frames.pop)
        thread.start()
        thread.join()
        for frame in frames:
            self.assertEqual(frame.to_pylist() if has("pyarrow") else frame.to_dicts(), expected)

    @unittest.skipUnless(has("pyarrow") or has("polars"), "neither pyarrow nor polars is installed")
    def test_columns_are_freed_while_an_exception_is_on_its_way(self):
        """Where a function in Python frees them, the interpreter crashes, so that another process tries it."""
        script = (
            "import os, perfline\n"
            "try:\n"
            "    import pyarrow; take = pyarrow.table\n"
            "except ImportError:\n"
            "    import polars; take = polars.DataFrame\n"
            f"run = perfline.read({str(TRACE)!r}, root={str(WORKLOADS)!r})\n"
            "for make in (take, lambda it: it.__arrow_c_stream__()):\n"
            "    try:\n"
            "        print(make(run.lines), 1 / 0)\n"
            "    except ZeroDivisionError:\n"
            "        print('caught')\n"
            "kept = take(run.lines), run.lines.__arrow_c_stream__()\n"
        )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "caught\ncaught\n", ""))

    def test_without_another_package_rows_are_there_and_columns_say_what_is_missing(self):
        with mock.patch.dict(sys.modules, {"pyarrow": None, "pyarrow.ipc": None, "polars": None}):
            self.assertGreater(len(list(perfline.read(TRACE, root=WORKLOADS).lines)), 100)
            with self.assertRaisesRegex(ImportError, r"perfline\[arrow\]"):
                self.run_of_one.lines.__arrow_c_stream__()


class Package(unittest.TestCase):
    def test_it_is_typed(self):
        package = pathlib.Path(perfline.__file__).parent
        for name in ("py.typed", "_rows.py", "_table.py", "_ipc.py"):
            self.assertTrue((package / name).is_file(), name)
        try:
            files = importlib.metadata.files("perfline")
        except importlib.metadata.PackageNotFoundError:
            self.skipTest("the package was not installed")
        self.assertIn("perfline/py.typed", {it.as_posix() for it in files})
        extras = importlib.metadata.metadata("perfline").get_all("Provides-Extra")
        self.assertLessEqual({"arrow", "notebook", "pandas", "polars"}, set(extras))


if __name__ == "__main__":
    unittest.main()
