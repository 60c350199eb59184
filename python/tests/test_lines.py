"""Which lines ``profile`` notes beside a trace, and that nothing of it stays in the program."""

import gzip
import json
import os
import sys
import textwrap
import threading
import time
import warnings
from unittest import mock

import perfline
import stand_in
from perfline import recorder
from test_recording import RecordingTest


def double(number):
    """Two lines, of which the second is one of a library's too."""
    twice = number + number
    return json.loads(str(twice))


FIRST = double.__code__.co_firstlineno


class LinesTest(RecordingTest):
    def side_car(self):
        [path] = self.folder.glob("*.callers.json.gz")
        return json.loads(gzip.decompress(path.read_bytes()))

    def noted(self, function="double"):
        """The lines of a function of this file, by thread, from the first on; 0 is a call of it."""
        side_car = self.side_car()
        lines, strings = side_car["lines"], side_car["strings"]
        threads = {}
        for thread in lines["threads"]:
            for code, line in zip(thread["code"], thread["line"]):
                first = lines["codes"]["first"][code]
                if strings[lines["codes"]["function"][code]] == function:
                    threads.setdefault(thread["tid"], []).append(line and line - first + 1)
        return threads

    def assert_nothing_stays(self):
        self.assertIsNone(sys.gettrace())
        self.assertIsNone(threading._trace_hook)
        frame = sys._getframe()
        while frame is not None:
            self.assertIsNone(frame.f_trace)
            frame = frame.f_back
        if hasattr(sys, "monitoring"):
            for tool in recorder.TOOLS:
                self.assertIsNone(sys.monitoring.get_tool(tool))


class Noting(LinesTest):
    def test_each_line_of_the_users_functions_is_noted_while_steps_are_recorded(self):
        before = time.time_ns()
        with self.warns(), perfline.profile(self.folder, skip=2, steps=1) as prof:
            for step in range(5):
                double(step)
                prof.step()
        self.assertEqual(self.noted(), {threading.get_native_id(): [0, 3, 4]})
        lines, strings = self.side_car()["lines"], self.side_car()["strings"]
        [code] = [it for it, name in enumerate(lines["codes"]["function"]) if strings[name] == "double"]
        codes = lines["codes"]
        self.assertEqual((codes["first"][code], codes["last"][code]), (FIRST, FIRST + 3))
        self.assertEqual(strings[codes["file"][code]], os.path.basename(__file__))
        [thread] = lines["threads"]
        self.assertLess(before, thread["time_ns"][0])
        self.assertGreaterEqual(min(thread["time_ns"]), 0)
        self.assertLessEqual(sum(thread["time_ns"]), lines["until_ns"])
        self.assertLessEqual(lines["until_ns"], time.time_ns())
        self.assert_nothing_stays()

    def test_functions_that_run_already_are_noted(self):
        with self.warns(), perfline.profile(self.folder, steps=None):
            double(1)
        here = sys._getframe().f_code
        # The line of the call, and that of `with`, which ends the block: before Python 3.10 no line begins there.
        expected = [3, 2] if sys.version_info >= (3, 10) else [3]
        self.assertEqual(self.noted(here.co_name), {threading.get_native_id(): expected})
        self.assert_nothing_stays()

    def test_the_statements_of_a_cell_are_one_module(self):
        """IPython compiles each by itself; a trace does not distinguish them."""
        statements = [compile(f"{blank}x = 1", "cell.py", "exec") for blank in ("", "\n\n")]
        with self.warns(), perfline.profile(self.folder, steps=None):
            for statement in statements:
                exec(statement, {})
        self.assertEqual(self.noted("<module>"), {threading.get_native_id(): [0, 1, 0, 3]})
        codes, strings = self.side_car()["lines"]["codes"], self.side_car()["strings"]
        [code] = [it for it, name in enumerate(codes["function"]) if strings[name] == "<module>"]
        self.assertEqual((codes["first"][code], codes["last"][code]), (1, 3))

    def test_a_generator_that_goes_on_is_noted_as_a_call(self):
        def count():
            yield 1
            yield 2

        with self.warns(), perfline.profile(self.folder, steps=None):
            list(count())
        self.assertEqual(self.noted("count"), {threading.get_native_id(): [0, 2, 0, 3, 0]})

    def test_threads_that_begin_are_noted(self):
        thread = threading.Thread(target=double, args=(1,))
        with self.warns(), perfline.profile(self.folder, steps=None):
            thread.start()
            thread.join()
            double(2)
        self.assertEqual(list(self.noted().values()), [[0, 3, 4]] * 2)
        self.assert_nothing_stays()

    def test_libraries_are_not_noted(self):
        library = self.folder.parent / "site-packages" / "library.py"
        library.parent.mkdir()
        library.write_text("def helper():\n    return 1\n")
        names = {}
        exec(compile(library.read_text(), str(library), "exec"), names)
        exec(compile("def generated():\n    return 1\n", "<string>", "exec"), names)
        with self.warns(), perfline.profile(self.folder, steps=None):
            names["helper"]()
            names["generated"]()
            textwrap.dedent(" text")
        self.assertEqual([self.noted(it) for it in ("helper", "generated", "dedent")], [{}, {}, {}])

    def test_what_was_noted_goes_beside_a_trace_that_names_callers(self):
        trace = {"traceEvents": [{"name": "train.py(1): main", "args": {"CallFrom": "train.py:9"}}]}
        with mock.patch.object(stand_in.Profile, "trace", trace), self.warns():
            self.record(5)
        side_car = self.side_car()
        self.assertEqual((side_car["threads"], side_car["torch"]), ([], "2.6.0"))
        self.assertIn("lines", side_car)


class Limits(LinesTest):
    def test_it_can_be_left_out(self):
        for options in ({"lines": False}, {"with_stack": False}):
            with self.subTest(options), self.warns():
                self.record(5, **options)
                self.assertNotIn("lines", self.side_car())
                for path in self.folder.iterdir():
                    path.unlink()

    def test_it_ends_when_there_is_too_much(self):
        with mock.patch.object(recorder, "MAX_NUMBERS", 30), self.warns():
            with perfline.profile(self.folder, steps=None):
                for number in range(100):
                    double(number)
            self.assert_nothing_stays()
        lines = self.side_car()["lines"]
        [thread] = lines["threads"]
        self.assertLess(len(thread["line"]), 20)
        self.assertLessEqual(sum(thread["time_ns"]), lines["until_ns"])

    def test_a_debugger_goes_before_it(self):
        def debugger(*_):
            return None

        sys.settrace(debugger)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                prof, _ = self.record(5)
            self.assertIs(sys.gettrace(), debugger)
        finally:
            sys.settrace(None)
        self.assertEqual(len(prof.recordings), 1)
        if not hasattr(sys, "monitoring"):
            [warning] = caught
            self.assertIn("lines of operators are not recorded", str(warning.message))
            self.assertNotIn("lines", self.side_car())

    def test_a_profiler_that_does_not_start_leaves_nothing(self):
        for method in ("__enter__", "step", "__exit__"):
            with (
                self.subTest(method),
                mock.patch.object(stand_in.Profile, "failing", (method,)),
                self.warns("RuntimeError"),
            ):
                self.record(5, skip=0)
            self.assert_nothing_stays()
