"""What ``profile`` and ``trace_handler`` record, write, and promise to the program that is recorded."""

import contextlib
import gzip
import hashlib
import itertools
import json
import linecache
import multiprocessing
import os
import pathlib
import pickle
import socket
import subprocess
import sys
import tempfile
import time
import types
import unittest
import warnings
from unittest import mock

import perfline
import stand_in
from perfline import recorder

HOST = socket.gethostname()


class RecordingTest(unittest.TestCase):
    def setUp(self):
        self.modules = stand_in.torch_modules()
        self.enter(mock.patch.dict(sys.modules, self.modules))
        self.enter(mock.patch.multiple(stand_in.Profile, made=[], failing=()))
        self.enter(mock.patch.dict(os.environ))
        for variable in ("RANK", "WORLD_SIZE", "TORCH_TRACE"):
            os.environ.pop(variable, None)
        self.folder = pathlib.Path(self.enter(tempfile.TemporaryDirectory())) / "runs"

    def enter(self, context):
        """What ``enterContext`` does from Python 3.11 on."""
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    @contextlib.contextmanager
    def warns(self, *parts):
        """The block gives one warning, in which each of ``parts`` is; without parts, it gives none."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        messages = [str(it.message) for it in caught]
        self.assertEqual(len(messages), 1 if parts else 0, messages)
        for part in parts:
            self.assertIn(part, messages[0])
            self.assertEqual(caught[0].filename, __file__)

    def files(self):
        return sorted(it.name for it in self.folder.iterdir())

    def record(self, n_steps, **options):
        """A program of so many steps; returns what ``profile`` gave, and the stand-in for PyTorch's profiler."""
        with perfline.profile(self.folder, **options) as prof:
            for _ in range(n_steps):
                prof.step()
        return prof, stand_in.Profile.made[0]


class Memory(RecordingTest):
    """The history of the memory of CUDA devices, beside the trace."""

    def setUp(self):
        super().setUp()
        self.cuda = sys.modules["torch.cuda"]

    def snapshots(self):
        return [it for it in self.files() if it.endswith(".snapshot.pickle.gz")] if self.folder.exists() else []

    def test_it_is_recorded_from_when_a_device_is_used_until_the_steps_are_written(self):
        on = []
        with self.warns(), perfline.profile(self.folder) as prof:
            for step in range(8):
                if step == 1:
                    self.cuda.init()
                prof.step()
                on.append(self.cuda.history)
        kept = {"stacks": "python", "max_entries": recorder.MAX_HISTORY}
        # The step in which the device is used first, those until the fifth, and none after it.
        self.assertEqual(on, [None, kept, kept, kept, None, None, None, None])
        self.assertEqual([os.path.basename(it) for it in prof.snapshots], self.snapshots())
        [trace] = prof.recordings
        [snapshot] = prof.snapshots
        self.assertEqual(snapshot.partition(".snapshot")[0], trace.partition(".pt.trace")[0])
        with gzip.open(snapshot) as file:
            self.assertEqual(pickle.load(file)["device_traces"][0][0]["action"], "oom")

    def test_without_a_device_nothing_is_recorded(self):
        with self.warns():
            prof, _ = self.record(10)
        self.assertEqual((prof.snapshots, self.cuda.history), ([], None))

    def test_it_can_be_left_out(self):
        self.cuda.init()
        with self.warns():
            prof, _ = self.record(10, memory=False)
        self.assertEqual((prof.snapshots, self.cuda.history), ([], None))

    def test_a_history_of_the_program_is_written_and_goes_on(self):
        self.cuda.init()
        self.cuda._record_memory_history(max_entries=7)
        with self.warns():
            self.record(10)
        self.assertEqual(len(self.snapshots()), 1)
        self.assertEqual(self.cuda.history, {"stacks": "all", "max_entries": 7})

    def test_a_pytorch_that_takes_other_arguments_is_left_alone(self):
        self.cuda.init()
        self.cuda._record_memory_history = lambda enabled, record_context=True: self.fail("it was called")
        with self.warns():
            prof, _ = self.record(10)
        self.assertEqual((len(prof.recordings), prof.snapshots), (1, []))

    def test_a_history_that_cannot_be_recorded_is_a_warning(self):
        def refuse(enabled="all", **_):
            raise RuntimeError("this allocator has no history")

        self.cuda.init()
        self.cuda._record_memory_history = refuse
        with self.warns("the memory of devices is not recorded: RuntimeError: this allocator has no history"):
            prof, _ = self.record(10)
        self.assertEqual((len(prof.recordings), prof.snapshots), (1, []))

    def test_a_snapshot_that_cannot_be_written_is_a_warning(self):
        def fail():
            raise OSError("the disk is full")

        self.cuda.init()
        self.cuda._snapshot = fail
        with self.warns("no memory snapshot was written", "OSError: the disk is full"):
            prof, _ = self.record(10)
        self.assertEqual((len(prof.recordings), prof.snapshots, self.cuda.history), (1, [], None))

    def purposes(self, program, **options):
        """What the snapshot says that tensors are for, after ``program`` ran in each step."""
        self.cuda.init()
        with self.warns(), perfline.profile(self.folder, sources=False, lines=False, **options) as prof:
            for step in range(6):
                program(step)
                prof.step()
        [path] = prof.snapshots
        with gzip.open(path) as file:
            found = pickle.load(file)["perfline"]
        self.assertEqual(len(found["time_us"]), len(found["address"]))
        return found, list(zip(found["address"], found["purpose"]))

    def test_what_tensors_are_for(self):
        gradient = stand_in.Tensor(0x20)
        weight = stand_in.Tensor(0x10, gradient)
        model = stand_in.Module()
        model._parameters = {"weight": weight, "none": None, "host": stand_in.Tensor(0x99, is_cuda=False)}
        model._buffers = {"mean": stand_in.Tensor(0x30)}
        sharded = types.SimpleNamespace(_local_tensor=stand_in.Tensor(0x40), grad=None)
        optimizer = stand_in.Optimizer([weight, sharded], {"weight": {"step": 1, "average": stand_in.Tensor(0x50)}})
        found, tensors = self.purposes(lambda step: None, steps=2)
        expected = {
            (0x10, "parameter"),
            (0x40, "parameter"),
            (0x20, "gradient"),
            (0x50, "optimizer state"),
            (0x30, "buffer"),
        }
        self.assertEqual(set(tensors), expected)
        self.assertEqual(optimizer.param_groups[0]["params"][0], weight)
        # Between the beginning of the last step and now.
        self.assertLess(found["since_us"], max(found["time_us"]))
        self.assertLess(time.time() - found["since_us"] / 1e6, 60)

    def test_gradients_are_noted_when_the_optimizer_takes_them_in_the_last_step(self):
        hooks = []
        module = types.ModuleType("torch.optim.optimizer")
        module.register_optimizer_step_post_hook = hooks.append
        self.enter(mock.patch.dict(sys.modules, {module.__name__: module}))
        steps = recorder._OptimizerSteps()
        self.enter(mock.patch.object(recorder, "optimizer_steps", steps))

        def step(number):
            weight = stand_in.Tensor(0x10 * (number + 1), stand_in.Tensor(0x1000 * (number + 1)))
            optimizer = stand_in.Optimizer([weight], {})
            for hook in hooks:
                hook(optimizer, (), {})

        _, tensors = self.purposes(step, skip=1, steps=2)
        self.assertEqual([it for it in tensors if it[1] == "gradient"], [(0x3000, "gradient")])
        self.assertEqual(steps._listeners, ())
        # Not where the program compiles: it would compile once more.
        compiler = types.ModuleType("torch._dynamo.utils")
        compiler.counters = {"frames": {"ok": 1}}
        self.enter(mock.patch.dict(sys.modules, {compiler.__name__: compiler}))
        _, tensors = self.purposes(step, skip=1, steps=2)
        self.assertEqual([it for it in tensors if it[1] == "gradient"], [])

    def test_memory_that_runs_out_leaves_a_snapshot(self):
        self.cuda.init()
        for n_steps, n_traces in [(1, 0), (3, 1)]:
            with self.subTest(n_steps=n_steps), self.warns("a device has no memory left; which lines hold it: "):
                with self.assertRaises(self.cuda.OutOfMemoryError), perfline.profile(self.folder) as prof:
                    for _ in range(n_steps):
                        prof.step()
                    raise self.cuda.OutOfMemoryError
                self.assertEqual((len(prof.recordings), len(prof.snapshots)), (n_traces, 1))
                self.assertIsNone(self.cuda.history)


@unittest.skipUnless(sys.platform == "linux", "the times of other processes are read from /proc")
class LoaderWorkers(RecordingTest):
    """How much the workers of data loaders work while steps are recorded."""

    def setUp(self):
        super().setUp()
        module = types.ModuleType("torch.utils.data.dataloader")
        module._MultiProcessingDataLoaderIter = type("_MultiProcessingDataLoaderIter", (), {})
        self.enter(mock.patch.dict(sys.modules, {module.__name__: module}))
        self.iterator = module._MultiProcessingDataLoaderIter()

    def workers(self, *programs):
        """Starts so many, and waits until each runs."""
        self.iterator._workers = []
        context = multiprocessing.get_context("spawn")
        for program in programs:
            runs = context.Event()
            process = context.Process(target=exec, args=(f"runs.set()\n{program}", {"runs": runs}))
            process.start()
            self.addCleanup(process.join)
            self.addCleanup(process.kill)
            runs.wait()
            self.iterator._workers.append(process)

    def recorded(self):
        with perfline.profile(self.folder, skip=1, steps=2, lines=False, sources=False) as prof:
            for _ in range(4):
                time.sleep(0.2)
                prof.step()
        [trace] = prof.recordings
        side_car = trace.replace(".pt.trace.json.gz", ".callers.json.gz")
        with gzip.open(side_car) as file:
            return json.load(file).get("loader_workers")

    def test_what_each_worked(self):
        self.workers("while True: pass", "import time; time.sleep(60)")
        with self.warns():
            found = self.recorded()
        # Two steps. How much of them a busy worker gets depends on the machine, that one which waits gets none does not.
        self.assertGreaterEqual(found["time_ns"], 400_000_000)
        busy, waiting = found["worked_ns"]
        self.assertGreater(busy, 10 * waiting)
        self.assertLess(waiting, 20_000_000)

    def test_one_that_has_ended_is_left_out(self):
        self.workers("import time; time.sleep(0.35)", "import time; time.sleep(60)")
        with self.warns():
            self.assertEqual(len(self.recorded()["worked_ns"]), 1)

    def test_without_workers_nothing_is_written(self):
        self.iterator._workers = []
        with self.warns():
            self.assertIsNone(self.recorded())


class Command(RecordingTest):
    """What was run."""

    def recorded(self, *arguments, **options):
        with mock.patch.object(sys, "argv", [*arguments]), self.warns():
            self.record(5, lines=False, **options)
        [path] = self.folder.glob("*.callers.json.gz")
        with gzip.open(path) as file:
            command = json.load(file).get("command")
        for file in self.folder.iterdir():
            file.unlink()
        stand_in.Profile.made.clear()
        return command

    def test_the_script_and_its_arguments(self):
        self.assertEqual(self.recorded("train.py", "--epochs", "1", "a b"), "train.py --epochs 1 'a b'")
        self.assertEqual(self.recorded(os.path.abspath(os.path.join("x", "train.py"))), os.path.join("x", "train.py"))

    def test_secrets_are_left_out(self):
        rows = [
            (["--api-key", "abc", "-b", "4"], "--api-key *** -b 4"),
            (["--hf_token=abc"], "--hf_token=***"),
            (["wandb.password=abc", "lr=1"], "wandb.password=*** lr=1"),
            (["--auth", "--fast"], "--auth --fast"),
            (["https://me:abc@host/data"], "https://***@host/data"),
        ]
        for arguments, expected in rows:
            with self.subTest(arguments=arguments):
                # Quotes around the mark do no harm.
                command = self.recorded("train.py", *arguments).replace("'", "")
                self.assertEqual(command, f"train.py {expected}")

    def test_without_the_texts_of_files_it_is_left_out(self):
        self.assertIsNone(self.recorded("train.py", sources=False))


class Schedule(RecordingTest):
    """``perfline.schedule``, for a profiler that is there already."""

    def setUp(self):
        super().setUp()
        self.calls = []
        sys.modules["torch.profiler"].schedule = self.actions

    def actions(self, **options):
        """Two recordings, of one step and of two, with one step between them."""
        self.calls.append(options)
        names = ["NONE", "RECORD_AND_SAVE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE"]
        return lambda step: types.SimpleNamespace(name=names[step])

    def test_which_steps_are_recorded(self):
        perfline.schedule()
        perfline.schedule(0, 2, repeat=4)
        self.assertEqual(
            self.calls,
            [
                {"wait": 4, "warmup": 1, "active": 3, "repeat": 1},
                {"wait": 0, "warmup": 0, "active": 2, "repeat": 4},
            ],
        )

    def lines(self, n_steps, **options):
        """The lines that are written of each recording: the profiler asks, then saves what has ended."""
        prof = stand_in.profiler(stand_in.GOOD)
        prof.export_chrome_trace = stand_in.Profile(schedule=None, on_trace_ready=None).export_chrome_trace
        prof.schedule = perfline.schedule(**options)
        handler = perfline.trace_handler(self.folder, "worker", sources=False)
        ends = False
        for step in range(n_steps):
            action = prof.schedule(step)
            if ends:
                handler(prof)
            ends = action.name == "RECORD_AND_SAVE"
            marked()
        if ends:
            handler(prof)
        found = []
        for path in sorted(self.folder.glob("*.callers.json.gz")):
            with gzip.open(path) as file:
                document = json.load(file)
            lines = document.get("lines")
            found.append(lines and [document["strings"][code] for code in lines["codes"]["function"]].count("marked"))
        return found

    def test_lines_are_noted_while_steps_are_recorded(self):
        with self.warns():
            self.assertEqual(self.lines(6), [1, 1])

    def test_the_last_recording_may_end_with_the_program(self):
        with self.warns():
            self.assertEqual(self.lines(5), [1, 1])

    def test_they_can_be_left_out(self):
        with self.warns():
            self.assertEqual(self.lines(6, lines=False), [None, None])

    def test_nothing_stays_in_the_program(self):
        with self.warns():
            self.lines(6)
        self.assertIsNone(sys.gettrace())


def marked():
    """A function of the program."""


class Recording(RecordingTest):
    def test_steps_after_the_first_are_recorded_and_written(self):
        with self.warns():
            prof, torch_prof = self.record(10)
        self.assertEqual(torch_prof.recorded, [2, 3, 4])
        self.assertEqual(torch_prof.options, {"with_stack": True, "record_shapes": True, "profile_memory": True})
        [path] = prof.recordings
        self.assertEqual(os.path.dirname(path), str(self.folder))
        with gzip.open(path) as trace:
            self.assertEqual(json.load(trace), torch_prof.trace)

    def test_which_steps_are_recorded_can_be_chosen(self):
        for skip, steps, expected in [(0, 2, [0, 1]), (1, 1, [1]), (5, 2, [5, 6]), (0, None, list(range(11)))]:
            with self.subTest(skip=skip, steps=steps), mock.patch.object(stand_in.Profile, "made", []), self.warns():
                prof, torch_prof = self.record(10, skip=skip, steps=steps)
                self.assertEqual(torch_prof.recorded, expected)
                self.assertEqual(len(prof.recordings), 1)

    def test_steps_before_recording_are_timed(self):
        def written(n_steps, skip):
            for path in self.folder.glob("*") if self.folder.exists() else []:
                path.unlink()
            ticks = itertools.accumulate(itertools.repeat(100))
            with self.warns(), mock.patch("time.perf_counter_ns", side_effect=ticks):
                self.record(n_steps, skip=skip, sources=False, lines=False)
            (path,) = self.folder.glob("*.callers.json.gz")
            with gzip.open(path) as side_car:
                return json.load(side_car).get("plain_steps_ns")

        # Neither the first step nor the one that warms up the profiler.
        self.assertEqual(written(8, skip=5), [100, 100, 100])
        self.assertEqual(written(20, skip=15), [100] * 5)
        self.assertIsNone(written(6, skip=2))

    def test_options_go_to_the_profiler(self):
        with self.warns():
            _, torch_prof = self.record(5, profile_memory=False, activities=["cpu"])
        self.assertEqual(
            torch_prof.options,
            {"with_stack": True, "record_shapes": True, "profile_memory": False, "activities": ["cpu"]},
        )

    def test_collections_of_garbage_are_recorded_where_pytorch_can(self):
        internals = sys.modules["torch._C._profiler"]
        for config, expected in [(lambda **options: options, {"record_python_gc_info": True}), (lambda: 0, None)]:
            internals._ExperimentalConfig = config
            with self.subTest(expected=expected), mock.patch.object(stand_in.Profile, "made", []), self.warns():
                _, torch_prof = self.record(5)
                self.assertEqual(torch_prof.options.get("experimental_config"), expected)
        internals._ExperimentalConfig = lambda **options: options
        with mock.patch.object(stand_in.Profile, "made", []), self.warns():
            _, torch_prof = self.record(5, experimental_config="mine")
        self.assertEqual(torch_prof.options["experimental_config"], "mine")

    def test_the_profiler_is_gone_when_its_steps_are_written(self):
        with perfline.profile(self.folder) as prof:
            for _ in range(5):
                self.assertTrue(stand_in.Profile.made[0].is_running)
                prof.step()
            self.assertEqual(len(prof.recordings), 1)
            self.assertFalse(stand_in.Profile.made[0].is_running)
            prof.step()

    def test_a_block_that_ends_early_leaves_what_was_recorded(self):
        with self.warns():
            prof, torch_prof = self.record(3)
        self.assertEqual((torch_prof.recorded, len(prof.recordings)), ([2, 3], 1))

    def test_a_block_that_fails_leaves_what_was_recorded(self):
        for error in (ValueError, KeyboardInterrupt):
            with (
                self.subTest(error=error),
                self.warns(),
                self.assertRaises(error),
                perfline.profile(self.folder) as prof,
            ):
                for _ in range(3):
                    prof.step()
                raise error
            self.assertEqual(len(prof.recordings), 1)

    def test_a_block_that_records_nothing_says_why(self):
        with self.warns("prof.step() was called 1 times, and recording begins after 2", "steps=None"):
            prof, _ = self.record(1)
        self.assertEqual(prof.recordings, [])
        with self.warns(), self.assertRaises(ValueError), perfline.profile(self.folder):
            raise ValueError("the program's own fault is reported alone")


class Harm(RecordingTest):
    def test_a_profiler_that_fails_costs_one_warning_and_not_the_program(self):
        for method, problem in [
            ("__init__", "nothing is recorded"),
            ("__enter__", "nothing is recorded"),
            ("step", "recording ended early"),
            ("__exit__", "did not stop as it should"),
            ("export_chrome_trace", "no recording was written"),
        ]:
            with self.subTest(method=method), mock.patch.object(stand_in.Profile, "failing", (method,)):
                with self.warns(problem, f"RuntimeError: {method} failed"):
                    done = 0
                    with perfline.profile(self.folder) as prof:
                        for _ in range(10):
                            done += 1
                            prof.step()
                self.assertEqual(done, 10)

    def test_several_faults_are_reported_once(self):
        with (
            mock.patch.object(stand_in.Profile, "failing", ("step", "__exit__", "export_chrome_trace")),
            self.warns("step failed"),
            perfline.profile(self.folder) as prof,
        ):
            prof.step()
            prof.step()

    def test_without_pytorch_the_program_runs(self):
        with (
            mock.patch.dict(sys.modules, {"torch": None, "torch.profiler": None}),
            self.warns("nothing is recorded", "torch"),
            perfline.profile(self.folder) as prof,
        ):
            prof.step()
        self.assertEqual(prof.recordings, [])

    def test_an_option_that_pytorch_does_not_know(self):
        with (
            mock.patch.object(stand_in.Profile, "__init__", lambda self, *, schedule, on_trace_ready: None),
            self.warns("nothing is recorded", "with_stack"),
            perfline.profile(self.folder) as prof,
        ):
            prof.step()

    def test_a_folder_that_cannot_be_made(self):
        self.folder.write_text("a file")
        with self.warns("no recording was written to", "FileExistsError"):
            self.record(10)
        self.assertEqual(self.folder.read_text(), "a file")

    def test_a_fault_leaves_no_files_behind(self):
        handler = perfline.trace_handler(self.folder)
        prof = stand_in.Profile(schedule=None, on_trace_ready=handler)
        faults = [
            mock.patch("os.replace", side_effect=OSError("disk")),
            mock.patch("gzip.GzipFile.write", side_effect=OSError("disk")),
        ]
        for fault in faults:
            with fault, warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                handler(prof)
            self.assertIn("no recording was written", str(caught[-1].message))
            self.assertEqual(self.files(), [])

    def test_importing_the_package_does_not_import_pytorch(self):
        code = "import sys; sys.modules['torch'] = None; import perfline; print(perfline.profile)"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertIn("perfline.recorder.profile", done.stdout)


class Texts(RecordingTest):
    """The texts of sources, as they were when recording began."""

    def setUp(self):
        super().setUp()
        self.project = pathlib.Path(self.enter(tempfile.TemporaryDirectory()))
        self.enter(mock.patch.object(sys, "path", [str(self.project), *sys.path]))
        self.enter(mock.patch.dict(linecache.cache))

    def module(self, name, text):
        """A module of the program that is recorded."""
        path = self.project / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        module = types.ModuleType(name)
        module.__file__ = str(path)
        self.enter(mock.patch.dict(sys.modules, {name: module}))
        return path

    def sources(self):
        (path,) = self.folder.glob("*.callers.json.gz")
        with gzip.open(path) as side_car:
            document = json.load(side_car)
        found = document.get("sources", {"files": []})
        return {document["strings"][it["file"]]: it for it in found["files"]}

    # The one caller that the stand-in records is `train.py`.
    def test_those_that_ran_are_written(self):
        path = self.module("train", "step = 'é'\n")
        self.module("never", "x = 1\n")
        with self.warns(), perfline.profile(self.folder, steps=None, lines=False):
            path.write_text("edited()\n", encoding="utf-8")
        digest = hashlib.sha256("step = 'é'\n".encode()).hexdigest()
        self.assertEqual(self.sources(), {"train.py": {"file": mock.ANY, "sha256": digest, "text": "step = 'é'\n"}})

    def test_what_is_known_of_a_text_that_is_in_no_file(self):
        cell = str(self.project / "ipykernel_1" / "17.py")
        linecache.cache[cell] = (4, None, ["a()\n", "b()"], cell)
        sources = recorder._Sources()
        self.assertEqual(sources.document({"ipykernel_1/17.py(1): <module>": 0}, True)["files"][0]["text"], "a()\nb()")

    def test_those_that_kernels_were_made_from_are_written(self):
        self.module("train", "step\n")
        layer = self.module("layer", "y = x.sin()\n")
        self.module("never", "x = 1\n")
        logs = pathlib.Path(self.enter(tempfile.TemporaryDirectory()))
        self.enter(mock.patch.dict(os.environ, TORCH_TRACE=str(logs)))
        stack = (
            f'  File "/lib/torch/x.py", line 3, in f\n    g()\n  File "{layer}", line 1, in forward\n    y = x.sin()\n'
        )
        prefix = f"V1121 20:49:57.438000 {os.getpid()} torch/x.py:1] "
        record = '{"artifact": {"name": "inductor_provenance_tracking_kernel_stack_traces"}}\n\t'
        log = logs / "dedicated_log_torch_trace_a.log"
        log.write_text(prefix + record + json.dumps({"k:1": [stack]}) + "\n" + prefix + record + "{broken")
        self.record(6, lines=False)
        self.assertEqual(self.sources().keys(), {"train.py", "layer.py"})

    def test_large_texts_have_a_hash_alone(self):
        self.module("train", "#" * 40)
        with mock.patch.object(recorder, "MAX_TEXT", 10):
            self.record(6)
        self.assertIsNone(self.sources()["train.py"]["text"])
        self.assertEqual(len(self.sources()["train.py"]["sha256"]), 64)

    def test_they_can_be_left_out(self):
        self.module("train", "x\n")
        self.record(6, sources=False)
        self.assertEqual(self.sources(), {})

    def test_a_trace_handler_reads_them_when_it_is_made(self):
        path = self.module("train", "before()\n")
        handler = perfline.trace_handler(self.folder)
        path.write_text("after()\n", encoding="utf-8")
        with self.warns():
            handler(stand_in.Profile(schedule=None, on_trace_ready=handler))
        self.assertEqual(self.sources()["train.py"]["text"], "before()\n")

    def test_what_cannot_be_read_is_left_out(self):
        self.module("train", "x\n").write_bytes(b"# coding: nothing\n")
        self.module("other", "x\n").unlink()
        os.mkfifo(self.project / "pipe.py")
        self.module("pipe_of", "x\n")
        sys.modules["pipe_of"].__file__ = str(self.project / "pipe.py")
        with self.warns():
            self.record(6)
        self.assertTrue({"train.py", "other.py", "pipe.py"}.isdisjoint(self.sources()))

    def test_the_commit_and_whether_it_was_changed(self):
        def git(*arguments):
            identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
            done = subprocess.run(["git", *identity, *arguments], cwd=self.project, check=True, capture_output=True)
            return done.stdout.decode().strip()

        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.project)
        self.assertIsNone(recorder._git_state())
        git("init", "-q")
        (self.project / "a.py").write_text("a\n")
        git("add", ".")
        git("commit", "-qm", "a")
        self.assertEqual(recorder._git_state(), {"revision": git("rev-parse", "HEAD"), "dirty": False})
        (self.project / "a.py").write_text("b\n")
        self.assertTrue(recorder._git_state()["dirty"])


class CompileLog(RecordingTest):
    """What ``torch.compile`` logged in this process lies beside the recording."""

    def setUp(self):
        super().setUp()
        self.logs = pathlib.Path(self.enter(tempfile.TemporaryDirectory()))
        os.environ["TORCH_TRACE"] = str(self.logs)

    def log(self, name, process, *records):
        lines = [f"V1121 20:49:57.438000 {process} torch/x.py:1] {record}\n" for record in records]
        path = self.logs / f"dedicated_log_torch_trace_{name}.log"
        path.write_text("".join(lines))
        return path

    def written(self):
        [path] = self.folder.glob("*.torch_trace.log.gz")
        with gzip.open(path, "rt") as log:
            return log.read().splitlines()

    STACKS = '{"artifact": {"name": "inductor_provenance_tracking_kernel_stack_traces"}}\n\t{"k:1": ["at train.py"]}'

    def test_records_that_say_which_lines_were_compiled_are_kept(self):
        code = '{"inductor_output_code": {}}\n\tdef call():'
        self.log("own", os.getpid(), '{"str": ["a.py", 1]}', '{"dynamo_start": {}}\n\tsecret', code, self.STACKS)
        self.log("other", os.getpid() + 1, '{"inductor_output_code": {}}\n\tof_another()', self.STACKS)
        with self.warns():
            self.record(6)
        text = "\n".join(self.written())
        for part in ('{"str": ["a.py", 1]}', "\tdef call():", '\t{"k:1": ["at train.py"]}'):
            self.assertIn(part, text)
        self.assertNotIn("secret", text)
        self.assertNotIn("of_another", text)

    def test_of_what_was_compiled_and_why_nothing_else_is_kept(self):
        compiled = (
            '{"compilation_metrics": {"co_name": "f", "co_filename": "a.py", "co_firstlineno": 3, "inductor_config": "secret",'
            ' "entire_frame_compile_time_s": 0.5, "inductor_cumulative_compile_time_us": 400,'
            ' "recompile_reason": "0/0: x"}, "frame_id": 0}'
        )
        reason = (
            '{"artifact": {"name": "dynamo_graph_break_reason"}}\n\tGraph break in user code at a.py:4\n'
            "\t  Explanation: why\n\tUser code traceback:\n\tsecret"
        )
        self.log("own", os.getpid(), compiled, reason, '{"compilation_metrics": {"co_name": "g"')
        self.record(6)
        text = "\n".join(self.written())
        for part in (
            '"co_firstlineno": 3',
            '"recompile_reason": "0/0: x"',
            '"inductor_cumulative_compile_time_us": 400',
            '"frame_id": 0',
            "a.py:4",
            "Explanation: why",
        ):
            self.assertIn(part, text)
        self.assertNotIn("secret", text)
        self.assertNotIn('"g"', text)

    def test_the_newest_log_counts_because_process_ids_are_used_again(self):
        old = self.log("a", os.getpid(), '{"inductor_output_code": {}}\n\tfirst()', self.STACKS)
        os.utime(old, (1, 1))
        self.log("b", os.getpid(), '{"inductor_output_code": {}}\n\tsecond()', self.STACKS)
        self.record(6)
        self.assertIn("\tsecond()", self.written())

    def test_nothing_is_written_where_nothing_was_compiled(self):
        for records in [[], ['{"inductor_output_code": {}}']]:
            with self.subTest(records=records), self.warns():
                self.log("own", os.getpid(), *records)
                self.record(6)
                self.assertEqual(list(self.folder.glob("*.log.gz")), [])

    def test_what_goes_wrong_is_one_warning(self):
        self.log("own", os.getpid(), self.STACKS)
        with (
            mock.patch.object(recorder, "used_records", side_effect=OSError("no")),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            prof, _ = self.record(6)
        self.assertEqual(len(prof.recordings), 1)
        self.assertEqual(
            [str(it.message) for it in caught],
            ["Perfline's recorder: the log of torch.compile is not beside the recording: OSError: no"],
        )


class Files(RecordingTest):
    def write(self, *arguments, trace=None):
        handler = perfline.trace_handler(self.folder, *arguments)
        prof = stand_in.Profile(schedule=None, on_trace_ready=handler)
        prof.trace = trace or prof.trace
        with self.warns(), mock.patch("time.time_ns", return_value=1700000000000000000):
            handler(prof)

    def test_the_callers_are_beside_the_trace(self):
        self.write()
        stem = f"{HOST}_{os.getpid()}.1700000000000000000"
        self.assertEqual(self.files(), [f"{stem}.callers.json.gz", f"{stem}.pt.trace.json.gz"])
        with gzip.open(self.folder / f"{stem}.callers.json.gz") as callers:
            self.assertEqual(json.load(callers)["schema"], "perfline.callers/1")

    def test_a_trace_that_names_the_callers_has_no_file_beside_it(self):
        self.write("worker", False, trace={"traceEvents": [{"args": {"CallFrom": "train.py:3"}}]})
        self.assertEqual(self.files(), ["worker.1700000000000000000.pt.trace.json.gz"])

    def test_the_worker_can_be_named(self):
        self.write("first")
        self.assertIn("first.1700000000000000000.pt.trace.json.gz", self.files())

    def test_the_rank_is_in_the_name(self):
        distributed = types.SimpleNamespace(
            is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 3, get_world_size=lambda: 4
        )
        with mock.patch.dict(sys.modules, {"torch.distributed": distributed}):
            self.write()
        self.assertIn(f"{HOST}_rank3.1700000000000000000.pt.trace.json.gz", self.files())

    def test_launchers_give_the_rank_of_a_program_without_a_group(self):
        distributed = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: False)
        with (
            mock.patch.dict(sys.modules, {"torch.distributed": distributed}),
            mock.patch.dict(os.environ, {"RANK": "1", "WORLD_SIZE": "2"}),
        ):
            self.write()
        self.assertIn(f"{HOST}_rank1.1700000000000000000.pt.trace.json.gz", self.files())

    def test_one_process_alone_has_no_rank(self):
        with mock.patch.dict(os.environ, {"RANK": "0", "WORLD_SIZE": "1"}):
            self.write()
        self.assertIn(f"{HOST}_{os.getpid()}.1700000000000000000.pt.trace.json.gz", self.files())

    def test_the_trace_comes_last(self):
        seen = []
        replace = os.replace
        with mock.patch("os.replace", side_effect=lambda a, b: (seen.append(os.path.basename(b)), replace(a, b))):
            self.write("worker")
        self.assertEqual([it.split(".", 2)[2] for it in seen], ["callers.json.gz", "pt.trace.json.gz"])

    def test_cycles_are_kept_apart(self):
        handler = perfline.trace_handler(self.folder, "worker")
        prof = stand_in.Profile(schedule=None, on_trace_ready=handler)
        for _ in range(2):
            handler(prof)
        self.assertEqual(sum(it.endswith(".pt.trace.json.gz") for it in self.files()), 2)


if __name__ == "__main__":
    unittest.main()
