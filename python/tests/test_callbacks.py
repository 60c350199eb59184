"""Which steps the callbacks of frameworks record, with stand-ins that call the hooks in the order of the frameworks."""

import atexit
import importlib
import sys
import types
import unittest
from unittest import mock

import stand_in
from test_recording import RecordingTest


class Callbacks(RecordingTest):
    def import_for(self, name, modules):
        """The module of the package for a framework, which is stood in for by ``modules``."""
        self.enter(mock.patch.dict(sys.modules, modules))
        self.addCleanup(sys.modules.pop, f"perfline.{name}", None)
        return importlib.import_module(f"perfline.{name}")

    def log(self):
        """A stand-in for PyTorch's profiler that notes, between what it does, the calls of the framework."""
        events = []

        class Profile(stand_in.Profile):
            def _note(self):
                super()._note()
                events.append(self._state())

            def __exit__(self, *_):
                events.append("end")
                super().__exit__()

        sys.modules["torch.profiler"].profile = Profile
        return events


class Pytest(Callbacks):
    def test_a_test_is_recorded_as_a_whole_also_where_it_fails(self):
        framework = types.ModuleType("pytest")
        framework.hookimpl = lambda **_: lambda function: function
        module = self.import_for("pytest", {"pytest": framework})
        events = self.log()
        config = types.SimpleNamespace(getoption={"perfline_folder": str(self.folder)}.get)
        for outcome in ["passed", "failed"]:
            hook = module.pytest_runtest_call(types.SimpleNamespace(config=config))
            with self.warns():
                next(hook)
                # pytest hands over what a test raised as the outcome, and raises nothing in the hook.
                events.append(outcome)
                with self.assertRaises(StopIteration):
                    next(hook)
        self.assertEqual(events, ["record", "passed", "end", "record", "failed", "end"])
        self.assertEqual(len([it for it in self.files() if it.endswith(".pt.trace.json.gz")]), 2)


class Transformers(Callbacks):
    def setUp(self):
        super().setUp()
        framework = types.ModuleType("transformers")
        framework.TrainerCallback = type("TrainerCallback", (), {})
        self.module = self.import_for("transformers", {"transformers": framework})
        self.events = self.log()

    def train(self, callback, n_steps, evaluate_at=(), stop=None, at_end_of_epoch=False):
        """``Trainer.train``: the hooks that the callback has, in order."""

        def control(**options):
            known = {"should_evaluate": False, "should_training_stop": False}
            return types.SimpleNamespace(**{**known, **options})

        callback.on_train_begin(None, None, control())
        for step in range(1, n_steps + 1):
            callback.on_step_begin(None, None, control())
            self.events.append(f"step {step}")
            if step == stop:
                raise ValueError
            is_evaluation = step in evaluate_at
            is_last = step == n_steps
            callback.on_step_end(None, None, control(should_evaluate=is_evaluation, should_training_stop=is_last))
            if is_evaluation:
                self.events.append("evaluation")
                callback.on_prediction_step(None, None, control(should_evaluate=True))
        callback.on_epoch_end(None, None, control(should_evaluate=at_end_of_epoch))
        if at_end_of_epoch:
            self.events.append("evaluation")
        callback.on_train_end(None, None, control())

    def test_three_steps_are_recorded_each_as_a_whole(self):
        callback = self.module.Callback(self.folder)
        with self.warns():
            self.train(callback, 11)
        recorded = ["record", "step 6", "record", "step 7", "record and save", "step 8"]
        self.assertEqual(self.events[self.events.index("record") :][:6], recorded)
        self.assertEqual(self.events[-3:], ["step 9", "step 10", "step 11"])
        self.assertEqual(len(callback.recordings), 1)

    def test_recording_ends_before_an_evaluation(self):
        callback = self.module.Callback(self.folder)
        with self.warns():
            self.train(callback, 11, evaluate_at=[7, 11])
        recorded = ["record", "step 6", "record", "step 7", "end", "evaluation", "step 8"]
        self.assertEqual(self.events[self.events.index("record") :][:7], recorded)
        self.assertEqual(len(callback.recordings), 1)

    def test_an_evaluation_before_the_first_recorded_step_changes_nothing(self):
        with self.warns():
            self.train(self.module.Callback(self.folder), 8, evaluate_at=[1, 5])
        recorded = ["evaluation", "record", "step 6", "record", "step 7", "record and save", "step 8"]
        self.assertEqual(self.events[self.events.index("record") - 1 :][:7], recorded)

    def test_the_end_of_training_ends_recording(self):
        for options in [{}, {"at_end_of_epoch": True}]:
            with self.subTest(**options), self.warns():
                callback = self.module.Callback(self.folder)
                self.train(callback, 6, **options)
                self.assertEqual(len(callback.recordings), 1)

    def test_the_number_of_steps_can_be_chosen(self):
        for skip, steps, first, last in [(0, 1, 1, 1), (4, 2, 5, 6), (5, None, 1, 8)]:
            self.events.clear()
            with self.subTest(skip=skip, steps=steps), self.warns():
                self.train(self.module.Callback(self.folder, skip=skip, steps=steps), 8)
                recorded = self.events[next(i for i, it in enumerate(self.events) if it.startswith("record")) :]
                recorded = [it for it in recorded[: recorded.index("end")] if it.startswith("step")]
                self.assertEqual(recorded, [f"step {it}" for it in range(first, last + 1)])

    def test_all_steps_end_before_an_evaluation(self):
        with self.warns():
            self.train(self.module.Callback(self.folder, steps=None), 4, evaluate_at=[1])
        self.assertEqual(self.events[:4], ["record", "step 1", "end", "evaluation"])

    def test_too_few_steps_are_one_warning(self):
        with self.assertWarnsRegex(
            RuntimeWarning, "ended in its step 5, and recording begins after 5; choose a smaller"
        ):
            self.train(self.module.Callback(self.folder), 5)

    def test_training_that_fails_is_written_when_the_program_ends_or_trains_again(self):
        for next_one in ["exit", "train"]:
            callback = self.module.Callback(self.folder)
            with mock.patch.object(atexit, "register") as register, self.warns():
                with self.assertRaises(ValueError):
                    self.train(callback, 8, stop=7)
                self.assertEqual(callback.recordings, [])
                if next_one == "exit":
                    register.call_args.args[0]()
                else:
                    self.train(callback, 8)
            self.assertEqual(len(callback.recordings), 1)
            self.assertFalse(any(it.is_running for it in stand_in.Profile.made))

    def test_without_pytorchs_profiler_there_is_one_warning(self):
        sys.modules["torch.profiler"] = None
        callback = self.module.Callback(self.folder)
        with self.assertWarnsRegex(RuntimeWarning, "nothing is recorded") as caught:
            self.train(callback, 8)
        self.assertEqual(len(caught.warnings), 1)
        self.assertEqual(self.events, [f"step {it}" for it in range(1, 9)])


class Lightning(Callbacks):
    def setUp(self):
        super().setUp()
        self.frameworks = {}
        for name in ["lightning.pytorch", "pytorch_lightning"]:
            self.frameworks[name] = types.ModuleType(name)
            self.frameworks[name].Callback = type("Callback", (), {})
        self.frameworks["lightning"] = types.ModuleType("lightning")
        self.events = self.log()

    def fit(self, callback, n_batches, per_step=1, validate_after=(), stop=None):
        """``Trainer.fit``: the hooks that the callback has, in order."""
        trainer = types.SimpleNamespace(accumulate_grad_batches=per_step)

        def validate():
            callback.on_validation_start(trainer, None)
            self.events.append("validation")

        validate()
        for batch in range(n_batches):
            callback.on_train_batch_start(trainer, None, None, batch)
            self.events.append(f"batch {batch}")
            if batch == stop:
                callback.on_exception(trainer, None, ValueError())
                return
            if batch in validate_after:
                validate()
        callback.on_train_end(trainer, None)

    def test_three_steps_are_recorded_each_as_a_whole(self):
        module = self.import_for("lightning", self.frameworks)
        for per_step in [1, 2]:
            self.events.clear()
            callback = module.Callback(self.folder)
            with self.subTest(per_step=per_step), self.warns():
                self.fit(callback, 20, per_step)
                recorded = self.events[self.events.index("record") : self.events.index("end")]
                batches = [it for it in recorded if it.startswith("batch")]
                self.assertEqual(batches, [f"batch {it}" for it in range(5 * per_step, 8 * per_step)])
                self.assertEqual(self.events[0], "validation")
                self.assertEqual(len(callback.recordings), 1)

    def test_recording_ends_before_validation(self):
        module = self.import_for("lightning", self.frameworks)
        with self.warns():
            self.fit(module.Callback(self.folder), 8, validate_after=[0, 6])
        recorded = ["record", "batch 5", "record", "batch 6", "end", "validation", "batch 7"]
        self.assertEqual(self.events[self.events.index("record") :][:7], recorded)

    def test_training_that_fails_leaves_what_was_recorded(self):
        callback = self.import_for("lightning", self.frameworks).Callback(self.folder)
        with self.warns():
            self.fit(callback, 8, stop=6)
        self.assertEqual(len(callback.recordings), 1)

    def test_the_class_is_that_of_the_framework_that_the_program_uses(self):
        with_both, old, new = self.frameworks, "pytorch_lightning", "lightning.pytorch"
        only_old = {**with_both, new: None}
        for modules, used in [(with_both, new), (only_old, old), ({old: with_both[old]}, old)]:
            with self.subTest(modules=list(modules)), mock.patch.dict(sys.modules):
                for name in with_both:
                    sys.modules.pop(name, None)
                module = self.import_for("lightning", modules)
                self.assertIsInstance(module.Callback(), with_both[used].Callback)
                del sys.modules["perfline.lightning"]


if __name__ == "__main__":
    unittest.main()
