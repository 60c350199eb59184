"""``perfline record``: which steps of a program it records, and what it leaves of itself in the program."""

import contextlib
import gzip
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

import perfline
import stand_in
from perfline import _attached, _captures, _record

# Nothing of the user's cache is read, and nothing goes there.
os.environ["PERFLINE_CACHE_DIR"] = ""

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"


def session_options(**changed):
    """What ``perfline record`` gives to a session."""
    return {
        "folder": "",
        "after": None,
        "steps": 3,
        "then": "continue",
        "lines": True,
        "sources": True,
        "memory": False,
        "parent": None,
        **changed,
    }


class RecordTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def environment(self, **variables):
        package = pathlib.Path(perfline.__file__).parent.parent
        path = os.pathsep.join(map(str, [PROGRAMS, HERE, package]))
        return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables}

    def command(self, *arguments):
        return [sys.executable, "-m", "perfline", "record", "--folder", str(self.folder / "runs"), *arguments]

    def record(self, *arguments, **variables):
        return subprocess.run(
            self.command(*arguments), env=self.environment(**variables), cwd=PROGRAMS, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    def traces(self):
        return sorted((self.folder / "runs").glob("*.pt.trace.json.gz"))


class Steps(RecordTest):
    def test_three_steps_are_recorded_and_nothing_stays_in_the_program(self):
        done = self.record("--after", "5", "train.py", "20")
        self.assertEqual(done.returncode, 0, done.stderr)
        # The steps of one optimizer count. One step warms up the profiler.
        self.assertEqual(done.stdout.splitlines()[0], "[1, 2, 3] 0 Optimizer.__init__")
        self.assertEqual(len(self.traces()), 1)
        self.assertIn("perfline: recorded ", done.stderr)
        self.assertIn("Your source with the cost of each line: perfline annotate ", done.stderr)
        [side_car] = (self.folder / "runs").glob("*.callers.json.gz")
        with gzip.open(side_car) as text:
            self.assertEqual(len(json.load(text)["plain_steps_ns"]), 3)

    def test_hooks_of_optimizers_stay_while_pytorch_goes_through_them(self):
        for arguments in (["hook"], ["cuda"], ["cuda", "hook"]):
            with self.subTest(arguments):
                done = self.record("--after", "2", "train.py", "20", *arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.splitlines()[0], "[1, 2, 3] 0 Optimizer.__init__")

    def test_the_status_is_that_of_the_program(self):
        self.assertEqual(self.record("--after", "2", "train.py", "20", "status").returncode, 3)

    def test_batches_count_where_there_is_no_optimizer(self):
        done = self.record("--after", "2", "--steps", "2", "infer.py", "20")
        self.assertEqual(done.stdout.splitlines()[0], "[1, 2] _BaseDataLoaderIter.__next__", done.stderr)

    def test_a_program_that_makes_an_optimizer_later_is_recorded_anew(self):
        done = self.record("--after", "2", "prepare.py", "20")
        self.assertEqual(done.stdout.splitlines(), ["[1, 2, 3]", "[1, 2, 3] 0 Optimizer.__init__"], done.stderr)
        [trace] = self.traces()
        [replaced] = re.findall(
            "perfline: (.*) was recorded before the program made an optimizer, and is replaced", done.stderr
        )
        self.assertNotEqual(pathlib.Path(replaced).name, trace.name)
        self.assertEqual(len(list((self.folder / "runs").iterdir())), 2)

    def test_what_was_recorded_stays_where_the_optimizer_steps_too_rarely(self):
        done = self.record("--after", "2", "prepare.py", "1")
        self.assertEqual(done.stdout.splitlines(), ["[1, 2, 3]"], done.stderr)
        self.assertEqual(len(self.traces()), 1)
        self.assertNotIn("nothing was recorded", done.stderr)
        self.assertNotIn("replaced", done.stderr)

    def test_backward_passes_count_where_there_are_no_batches_either(self):
        done = self.record("--after", "2", "--steps", "2", "by_hand.py", "20")
        self.assertEqual(done.stdout.splitlines()[0], "[1, 2] False", done.stderr)

    def test_a_module_runs_as_one(self):
        done = self.record("--after", "2", "-m", "train", "20")
        self.assertEqual(done.stdout.splitlines()[0], "[1, 2, 3] 0 Optimizer.__init__", done.stderr)

    def test_any_program_that_starts_python_can_be_recorded(self):
        done = self.record("--after", "2", "--", "sh", "-c", f"'{sys.executable}' train.py 20")
        self.assertEqual(done.stdout.splitlines()[0], "[1, 2, 3] 0 Optimizer.__init__", done.stderr)

    def test_the_program_can_end_when_it_is_recorded(self):
        done = self.record("--after", "2", "--then", "exit", "train.py", "1000000", "slow")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(self.traces()), 1)

    def test_a_module_of_the_same_name_is_no_error_of_the_program(self):
        (self.folder / "perfline.py").write_text("")
        (self.folder / "program.py").write_text("import perfline\nimport torch\nprint('went on')\n")
        done = self.record(str(self.folder / "program.py"))
        self.assertEqual((done.returncode, done.stdout), (0, "went on\n"), done.stderr)
        self.assertIn("perfline: nothing is recorded: ImportError", done.stderr)

    def test_looking_for_the_module_is_not_importing_it(self):
        text = "import importlib.util, runpy, sys\nimportlib.util.find_spec('torch.optim.optimizer')\n"
        (self.folder / "program.py").write_text(
            f"{text}sys.argv[1:] = ['20']\nrunpy.run_path('train.py', run_name='__main__')\n"
        )
        done = self.record("--after", "5", str(self.folder / "program.py"))
        self.assertEqual(done.stdout.splitlines()[0], "[1, 2, 3] 0 Optimizer.__init__", done.stderr)

    def test_another_sitecustomize_runs_too(self):
        (self.folder / "sitecustomize.py").write_text("print('customized')\n")
        path = os.pathsep.join([str(self.folder), self.environment()["PYTHONPATH"]])
        done = self.record("--after", "2", "train.py", "20", PYTHONPATH=path)
        # Once for Perfline itself, once for the program.
        self.assertEqual(done.stdout.splitlines()[:3], ["customized", "customized", "[1, 2, 3] 0 Optimizer.__init__"])


class Calls(RecordTest):
    """Steps that are calls of a function."""

    def record_calls(self, *arguments):
        return self.record("--function", *arguments)

    def test_a_step_is_a_call_of_a_method(self):
        # Two calls are left out, and one warms up the profiler. Calls by itself are none, nor are steps of optimizers.
        done = self.record_calls("Model.forward", "calls.py", "20")
        self.assertEqual(
            done.stdout.splitlines(), ["[[1, 2, 3]]", "20 calls of (self, depth, *, more=0) with 60 in all"]
        )
        self.assertIn("perfline: recorded ", done.stderr)

    def test_the_function_remains_itself_for_who_holds_it(self):
        for name in ["calls.py:again", "make.inner", "Other.forward"]:
            with self.subTest(name=name):
                done = self.record_calls(name, "--after", "3", "--steps", "2", "calls.py", "20")
                self.assertEqual(done.stdout.splitlines()[0], "[[1, 2]]", done.stderr)

    def test_too_few_calls_get_advice(self):
        done = self.record_calls("Model.forward", "calls.py", "2")
        self.assertIn("nothing was recorded: Model.forward was called 2 times; 2 calls come before", done.stderr)
        for name in ["model.py:Model.forward", "coroutine"]:
            done = self.record_calls(name, "calls.py", "20")
            self.assertIn(f"nothing was recorded: no function {name} began after PyTorch", done.stderr)

    def test_it_does_not_begin_with_the_first_call(self):
        done = self.record_calls("Model.forward", "--after", "1", "calls.py", "20")
        self.assertEqual(done.stdout.splitlines()[0], "[[1, 2, 3]]", done.stderr)


class Graphs(RecordTest):
    """Captures of CUDA graphs, most of which come before the steps that are recorded."""

    def captured(self):
        return sorted(path.name for path in (self.folder / "runs").glob("*.captures/*"))

    def test_captures_lie_beside_the_trace(self):
        done = self.record("--after", "5", "train.py", "20", "graph")
        self.assertEqual(done.stdout.splitlines()[0], "[1, 2, 3] 0 Optimizer.__init__", done.stderr)
        self.assertEqual(self.captured(), ["01.callers.json.gz", "01.json.gz", "02.callers.json.gz", "02.json.gz"])
        [trace] = self.traces()
        [folder] = {path.parent for path in (self.folder / "runs").glob("*.captures/*")}
        self.assertEqual(folder.stat().st_mode, (self.folder / "runs").stat().st_mode)
        self.assertEqual(folder.name, trace.name.replace(".pt.trace.json.gz", ".captures"))
        with gzip.open(folder / "01.callers.json.gz") as text:
            self.assertTrue(json.load(text)["lines"]["threads"])
        self.assertEqual([it.name for it in (self.folder / "runs").glob(".*")], [])

    def test_they_have_no_lines_where_these_are_not_wanted(self):
        done = self.record("--lines", "off", "--after", "5", "train.py", "20", "graph")
        self.assertEqual(done.stdout.splitlines()[0], "[1, 2, 3] 0 Optimizer.__init__", done.stderr)
        [side_car, _] = (self.folder / "runs").glob("*.captures/*.callers.json.gz")
        with gzip.open(side_car) as text:
            self.assertNotIn("lines", json.load(text))

    def test_one_capture_is_recorded_at_a_time(self):
        modules = stand_in.torch_modules()
        graph = type(
            "graph", (stand_in.Graph,), {"__enter__": lambda self: None, "__exit__": lambda self, *error: None}
        )
        modules["torch.cuda.graphs"].graph = graph
        with mock.patch.dict(sys.modules, modules), mock.patch.object(stand_in.Profile, "made", []):
            captures = _captures.Captures(self.folder / "runs", False, self.fail)
            captures.watch()
            self.addCleanup(captures.stop)
            with graph():
                with graph():
                    pass
                [profiler] = stand_in.Profile.made
                self.assertTrue(profiler.is_running)
            self.assertFalse(profiler.is_running)
            captures.keep([str(self.folder / "runs" / "a.pt.trace.json.gz")])
        self.assertEqual(self.captured(), ["01.callers.json.gz", "01.json.gz"])

    def test_captures_in_recorded_steps_are_in_the_trace(self):
        done = self.record("--after", "1", "train.py", "20", "graph")
        self.assertEqual(done.stdout.splitlines()[0], "[1, 2, 3] 0 Optimizer.__init__", done.stderr)
        self.assertEqual(self.captured(), [])

    def test_captures_of_a_program_that_is_not_recorded_are_deleted(self):
        done = self.record("--after", "50", "train.py", "20", "graph")
        self.assertIn("nothing was recorded", done.stderr)
        self.assertEqual(list((self.folder / "runs").iterdir()), [])

    def test_a_capture_that_cannot_be_recorded_is_the_programs_all_the_same(self):
        done = self.record("--after", "5", "train.py", "20", "graph", "unstoppable")
        self.assertEqual(done.stdout.splitlines()[0], "[1, 2, 3] 0 Optimizer.__init__", done.stderr)
        self.assertIn("the capture of a CUDA graph was not recorded: RuntimeError: stop failed", done.stderr)
        self.assertEqual(self.captured(), [])


class Memory(RecordTest):
    """Memory snapshots of programs that use a CUDA device."""

    def snapshots(self):
        return sorted((self.folder / "runs").glob("*.snapshot.pickle.gz"))

    def test_a_snapshot_of_the_same_steps_lies_beside_the_trace(self):
        done = self.record("--after", "5", "train.py", "20", "cuda")
        self.assertEqual(done.stdout.splitlines()[0], "[1, 2, 3] 0 Optimizer.__init__", done.stderr)
        self.assertEqual((len(self.traces()), len(self.snapshots())), (1, 1))
        self.assertIn("Which lines hold memory: perfline memory ", done.stderr)

    def test_memory_that_runs_out_before_steps_are_recorded_leaves_a_snapshot(self):
        done = self.record("train.py", "20", "cuda", "memory")
        self.assertEqual(done.returncode, 1)
        self.assertIn("OutOfMemoryError: out of memory", done.stderr)
        self.assertEqual((len(self.traces()), len(self.snapshots())), (0, 1))
        self.assertIn("perfline: a device has no memory left after 3 steps; a memory snapshot was written", done.stderr)
        self.assertIn("Which lines hold memory: perfline memory ", done.stderr)

    def test_memory_that_runs_out_while_steps_are_recorded_leaves_both(self):
        done = self.record("--after", "1", "--steps", "5", "train.py", "20", "cuda", "memory")
        self.assertEqual((len(self.traces()), len(self.snapshots())), (1, 1), done.stderr)

    def test_other_exceptions_leave_none_before_steps_are_recorded(self):
        done = self.record("--after", "10", "train.py", "20", "cuda", "fail")
        self.assertIn("ValueError", done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_it_can_be_left_out(self):
        done = self.record("--memory", "off", "--after", "5", "train.py", "20", "cuda")
        self.assertEqual((len(self.traces()), len(self.snapshots())), (1, 0), done.stderr)

    def test_a_program_without_a_device_has_none(self):
        self.record("--after", "5", "train.py", "20")
        self.assertEqual((len(self.traces()), len(self.snapshots())), (1, 0))


class CompileLogs(RecordTest):
    """The variables by which PyTorch logs what it compiles."""

    def variables(self, version="2.15.0", **variables):
        """What they are in a program that has imported a PyTorch of ``version``."""
        package = self.folder / "torch"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "version.py").write_text(f"__all__ = ['__version__']\n__version__ = '{version}+cpu'\n")
        text = "import os, torch\nfolder = os.environ.get('TORCH_TRACE')\n"
        text += "print(folder, os.environ.get('INDUCTOR_PROVENANCE'), os.path.isdir(folder or ''))\n"
        (self.folder / "program.py").write_text(text)
        done = self.record(str(self.folder / "program.py"), **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_they_are_set_and_the_folder_is_gone_in_the_end(self):
        folder, provenance, is_there = self.variables()
        self.assertEqual((provenance, is_there), ("1", "True"))
        self.assertFalse(os.path.exists(folder))
        self.assertFalse((self.folder / "runs").exists())

    def test_a_pytorch_whose_log_names_no_lines_is_left_alone(self):
        self.assertEqual(self.variables("2.8.1"), ["None", "None", "False"])

    def test_what_the_user_has_set_stays(self):
        self.assertEqual(self.variables(TORCH_TRACE="mine"), ["mine", "None", "False"])

    def test_a_level_of_the_user_stays(self):
        self.assertEqual(self.variables(INDUCTOR_PROVENANCE="2")[1:], ["2", "True"])

    def test_logs_for_debugging_stay_where_they_are(self):
        self.assertEqual(self.variables(TORCH_COMPILE_DEBUG="1"), ["None", "None", "False"])


class Shown(unittest.TestCase):
    def shown(self, n_findings, traces):
        finding = {"file": "train.py", "line": 3, "message": "waits", "remedy": "do not"}
        report = {
            "run": {"title": "2 steps", "notes": []},
            "findings": [finding] * n_findings,
            "findings_left_out": 0,
        }
        with (
            mock.patch.object(_record._run, "ask", return_value=report),
            contextlib.redirect_stderr(io.StringIO()) as errors,
        ):
            _record.show(traces, [])
        return errors.getvalue().splitlines()

    def test_findings_that_are_left_out_are_counted(self):
        for more, said in [(1, "1 more finding and all tables: "), (2, "2 more findings and all tables: ")]:
            lines = self.shown(_record.N_FINDINGS + more, ["a.pt.trace.json.gz"])
            self.assertIn(f"{said}perfline report --all a.pt.trace.json.gz", lines)
        self.assertIn("All tables: perfline report --all a.pt.trace.json.gz", self.shown(1, ["a.pt.trace.json.gz"]))

    def test_what_was_compiled_is_named_where_it_is_known(self):
        with tempfile.TemporaryDirectory() as folder:
            plain, compiled = (os.path.join(folder, f"{it}.pt.trace.json.gz") for it in ("plain", "compiled"))
            pathlib.Path(folder, "compiled.torch_trace.log.gz").touch()
            lines = self.shown(0, [plain, compiled])
            self.assertIn(f"What torch.compile made: perfline compile {_record.command_line([compiled])}", lines)
            self.assertFalse([it for it in self.shown(0, [plain]) if "perfline compile" in it])


class Endings(RecordTest):
    def test_an_exception_leaves_what_was_recorded(self):
        done = self.record("--after", "2", "--steps", "100", "train.py", "20", "fail")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ValueError: the program failed", done.stderr)
        self.assertRegex(
            done.stderr,
            r"the program ended while it was recorded; \S+\.pt\.trace\.json\.gz has its last 4 steps, of 100 that were to be recorded\n",
        )
        self.assertEqual(len(self.traces()), 1)

    def test_a_signal_leaves_what_was_recorded(self):
        # A job in the background ignores Ctrl-C, and so do the processes that it starts.
        ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, ignored)
        for number in [signal.SIGTERM, signal.SIGINT]:
            with self.subTest(number=number):
                before = len(self.traces())
                command = self.command("--after", "2", "--steps", "100000", "train.py", "1000000", "slow")
                process = subprocess.Popen(
                    command, env=self.environment(), cwd=PROGRAMS, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True, start_new_session=True,
                )  # fmt: skip
                # Recording has begun by now.
                for _ in range(6):
                    process.stdout.readline()
                # As a terminal does: to all processes of the group.
                os.killpg(process.pid, number)
                _, errors = process.communicate(timeout=60)
                self.assertNotEqual(process.returncode, 0)
                self.assertIn("the program ended while it was recorded", errors)
                self.assertEqual(len(self.traces()), before + 1)

    def test_a_recording_without_a_whole_step_says_so(self):
        done = self.record("--after", "1", "--steps", "1", "train.py", "2")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(
            done.stderr,
            r"the program ended while it was recorded; \S+ has what followed its last step, and no whole step: it ended after 2 steps; ",
        )
        self.assertEqual(len(self.traces()), 1)

    def test_a_program_that_ends_early_gets_advice(self):
        done = self.record("train.py", "4")
        self.assertEqual(done.returncode, 0)
        self.assertIn("nothing was recorded: the program ended after 4 steps; record earlier ones", done.stderr)
        self.assertEqual(self.traces(), [])

    def test_a_program_that_fails_early_gets_no_advice(self):
        done = self.record("--after", "50", "train.py", "20", "fail")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"nothing was recorded: the program failed after \d+ steps\n")

    def test_what_cannot_be_run_is_said(self):
        done = self.record("no-such-program")
        self.assertEqual(done.returncode, 1)
        self.assertIn(
            "perfline: no-such-program cannot be run: there is no such program; check its name and the PATH",
            done.stderr,
        )


class Arguments(unittest.TestCase):
    def test_options_end_where_the_command_begins(self):
        rows = [
            (["train.py", "--steps", "9"], 3, [sys.executable, "train.py", "--steps", "9"]),
            (["--steps", "2", "train.py"], 2, [sys.executable, "train.py"]),
            (["--steps=2", "-m", "a.b", "--x"], 2, [sys.executable, "-m", "a.b", "--x"]),
            (["--lines", "off", "train.py"], 3, [sys.executable, "train.py"]),
            (["--", "torchrun", "train.py"], 3, ["torchrun", "train.py"]),
            (["torchrun", "--nproc-per-node", "2", "train.py"], 3, ["torchrun", "--nproc-per-node", "2", "train.py"]),
        ]
        for arguments, steps, command in rows:
            with self.subTest(arguments=arguments):
                options, found = _record.parse(arguments)
                self.assertEqual((options.steps, found), (steps, command))

    def test_mistakes_are_named(self):
        known = "expected one of: --after, --folder, --function, --help, --lines, --memory, --sources, --steps, --then"
        for arguments, message in [
            ([], "name the program to record"),
            (["--steps", "0", "train.py"], "argument --steps"),
            (["--after", "-1", "train.py"], "argument --after"),
            (["--step", "1", "train.py"], f"unknown option `--step`, {known}"),
            (["-o", "runs", "train.py"], f"unknown option `-o`, {known}"),
            (["--function", "Model.", "train.py"], "argument --function"),
        ]:
            with self.subTest(arguments=arguments), mock.patch("sys.stderr", io.StringIO()) as said:
                self.assertRaises(SystemExit, _record.parse, arguments)
                self.assertIn(message, said.getvalue())


class Optimizer:
    """What steps."""


class Settling(unittest.TestCase):
    def steps_before(self, durations, **variables):
        """The number of steps after which recording begins."""
        time_now = 0.0
        with mock.patch.dict(os.environ, variables):
            session = _attached.Session(session_options(), clock=lambda: time_now)
            started = []
            session._start = lambda **_: started.append(session._steps)
            for duration in durations:
                session._step()
                time_now += duration
            session._leave()
        return started[0] if started else None

    def test_recording_begins_when_steps_take_equally_long(self):
        self.assertEqual(self.steps_before([1.0] * 40), 5)
        self.assertEqual(self.steps_before([9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 5)
        self.assertEqual(self.steps_before([1.0, 1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0]), 8)
        self.assertEqual(self.steps_before([1.0, 2.0] * 40), 30)

    def test_batches_before_the_first_optimizer_are_no_steps_of_it(self):
        session = _attached.Session(session_options())
        self.addCleanup(session._leave)
        started = []
        session._start = lambda **_: started.append(session._steps)
        for _ in range(3):
            session._took_batch()
        for _ in range(2):
            session._made_optimizer()
        for _ in range(4):
            session._step()
        self.assertEqual((session._steps, started), (4, []))

    def test_all_ranks_record_the_same_steps(self):
        self.assertEqual(self.steps_before([1.0, 2.0] * 40, WORLD_SIZE="2"), 10)

    def steps_of(self, optimizers):
        """How many of the steps of ``optimizers`` count."""
        session = _attached.Session(session_options(after=1000))
        self.addCleanup(session._leave)
        for optimizer in optimizers:
            session._stepped(optimizer)
        return session._steps

    def test_an_optimizer_that_is_not_used_any_more_gives_way(self):
        first, second = Optimizer(), Optimizer()
        # Ten steps of the second pass before it counts.
        self.assertEqual(self.steps_of([first] * 3 + [second] * 40), 3 + 40 - (2 * _attached.MIN_STEPS + 1))

    def test_each_step_may_have_an_optimizer_of_its_own(self):
        self.assertEqual(self.steps_of(Optimizer() for _ in range(4)), 4)

    def test_a_script_without_steps_is_recorded_by_the_clock(self):
        entered = []

        class Prof:
            recordings = ()

            def __init__(self, folder, *, lines, sources, memory, steps):
                entered.append(steps)

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.recordings = ["trace"]

        options = session_options(parent=os.getppid())
        with (
            mock.patch.multiple(_attached, PATIENCE_S=0.05, CLOCK_S=0.05),
            mock.patch.object(_attached, "_Profile", Prof),
        ):
            with mock.patch("sys.stderr") as stderr:
                session = _attached.Session(options)
                time.sleep(0.1)
                self.assertEqual(entered, [None])
                time.sleep(0.1)
                self.assertTrue(session._is_over)
            self.assertIn("recorded", "".join(call.args[0] for call in stderr.write.call_args_list))
        self.assertEqual(signal.getsignal(signal.SIGALRM), signal.SIG_DFL)


class Attaching(unittest.TestCase):
    def test_without_the_variable_nothing_is_watched(self):
        with mock.patch.dict(os.environ):
            os.environ.pop(_attached.VARIABLE, None)
            _attached.found(types.ModuleType("torch.optim.optimizer"))
        self.assertIsNone(_attached._session)

    def test_a_pytorch_that_is_not_understood_is_no_error(self):
        options = json.dumps(session_options())
        with mock.patch.dict(os.environ, {_attached.VARIABLE: options}), mock.patch("sys.stderr") as stderr:
            _attached.found(types.ModuleType("torch.utils.data.dataloader"))
        self.assertIn("nothing is recorded: AttributeError", stderr.write.call_args_list[0].args[0])
        _attached._session._leave()
        _attached._session = None


if __name__ == "__main__":
    unittest.main()
