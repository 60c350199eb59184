"""Programs of frameworks, recorded for real as ``docs/record.md`` says. What is not installed is skipped.

They need the program ``perfline`` on the ``PATH`` or beside the package.
"""

import collections
import gzip
import json
import os
import re
import sys
import unittest
from unittest import mock

import perfline
from recorded import PROGRAMS, recorded


def calls_of_steps(trace):
    """For each recorded step, how often each Python function began in it, by the name of its file and its own."""
    with gzip.open(trace) as file:
        events = json.load(file)["traceEvents"]
    steps = [it for it in events if it.get("cat") == "user_annotation" and it["name"].startswith("ProfilerStep")]
    return [
        collections.Counter(
            re.sub(r".*/|\(\d+\)", "", it["name"])
            for it in events
            if it.get("cat") == "python_function" and step["ts"] <= it["ts"] < step["ts"] + step["dur"]
        )
        for step in steps
    ]


class Callbacks(unittest.TestCase):
    def check(self, framework, function, not_recorded):
        """Three steps of two batches each; two where an evaluation comes before the third."""
        name = f"{framework}_trainer.py"
        program = os.path.join(PROGRAMS, name)
        for evaluate_every, n_steps in [(9, 3), (7, 2)]:
            with self.subTest(evaluate_every=evaluate_every):
                [trace] = recorded(self, framework, [sys.executable, program, str(evaluate_every)])
                calls = calls_of_steps(trace)
                self.assertEqual(len(calls), n_steps)
                for of_step in calls:
                    self.assertEqual(of_step[f"{name}: {function}"], 2)
                    self.assertEqual(of_step[not_recorded], 0)
                run = perfline.read(trace, root=PROGRAMS)
                self.assertEqual(run.steps, n_steps)
                of_program = [it for it in run.lines if it["file"] == name]
                self.assertTrue(any(it["cpu_own_us"] > 0 for it in of_program))
                self.assertEqual({it["evidence"] for it in of_program} - {"exact", "function"}, set())

    def test_transformers(self):
        self.check("transformers", "forward", "trainer.py: prediction_step")

    def test_lightning(self):
        self.check("lightning", "training_step", "lightning_trainer.py: validation_step")


class Loops(unittest.TestCase):
    """Loops that call ``prof.step()``, in which frameworks do the rest."""

    def check(self, framework, program, *command, n_ranks):
        name = os.path.basename(program)
        traces = recorded(self, framework, [*command, program])
        self.assertEqual(len(traces), n_ranks)
        self.assertEqual(len({os.path.basename(it).split(".")[0] for it in traces}), n_ranks)
        run = perfline.read(*traces, root=PROGRAMS)
        self.assertEqual(run.steps, 3)
        with open(program, encoding="utf-8") as text:
            [product] = [number for number, line in enumerate(text, 1) if " * 2, y)" in line]
        [line] = [it for it in run.lines if it["file"] == name and it["line"] == product]
        self.assertEqual(line["evidence"], "exact")
        # Of the model and of the loss, in each step of each rank.
        self.assertGreaterEqual(line["calls"], 2 * 3 * n_ranks)

    def test_accelerate(self):
        self.check("accelerate", os.path.join(PROGRAMS, "accelerate_loop.py"), sys.executable, n_ranks=1)

    def test_deepspeed(self):
        launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
        with mock.patch.dict(os.environ, {"DS_ACCELERATOR": "cpu"}):
            self.check("deepspeed", os.path.join(PROGRAMS, "deepspeed_loop.py"), *launcher, n_ranks=2)

    def test_ray_train(self):
        self.check("ray", os.path.join(PROGRAMS, "ray_train.py"), sys.executable, n_ranks=2)


if __name__ == "__main__":
    unittest.main()
