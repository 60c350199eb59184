"""Runs of several ranks, recorded for real with PyTorch's own profiler: who is late, and because of which line.

They need the program ``perfline`` on the ``PATH``.
"""

import json
import os
import subprocess
import sys
import unittest
from unittest import mock

from recorded import PROGRAMS, recorded

CPUS = {"OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu"}
TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]


class Stragglers(unittest.TestCase):
    def check(self, framework, command, variant, cause, n_ranks):
        """``cause`` is text of the line that makes rank 1 late; without it no rank is."""
        program = os.path.join(PROGRAMS, f"{framework}_ranks.py")
        command = [program if it == "PROGRAM" else it for it in command]
        with mock.patch.dict(os.environ, CPUS):
            traces = recorded(self, framework, [sys.executable, *command, variant, "runs"])
        self.assertEqual(len(traces), n_ranks)
        found = subprocess.run(
            ["perfline", "ranks", os.path.dirname(traces[0]), "--root", PROGRAMS, "--format", "json"],
            capture_output=True,
            text=True,
            check=True,
        )
        found = json.loads(found.stdout)
        self.assertEqual([it["rank"] for it in found["ranks"]], list(range(n_ranks)))
        self.assertGreater(found["collectives"]["matched"], 0)
        if cause is None:
            self.assertEqual(found["stragglers"], [])
            return
        [straggler] = found["stragglers"]
        with open(program, encoding="utf-8") as text:
            lines = text.read().splitlines()
        self.assertEqual(straggler["rank"], 1)
        self.assertEqual(straggler["file"], os.path.basename(program))
        self.assertIn(cause, lines[straggler["line"] - 1])

    def test_ray_train(self):
        for n_ranks in (2, 4):
            for variant, cause in [
                ("balanced", None),
                ("slow_line", "similarity @ similarity"),
                ("slow_data", "time.sleep("),
            ]:
                with self.subTest(variant=variant, n_ranks=n_ranks):
                    self.check("ray", ["PROGRAM", str(n_ranks)], variant, cause, n_ranks)

    def test_deepspeed(self):
        for variant, cause in [("balanced", None), ("slow_data", "time.sleep(")]:
            with self.subTest(variant=variant):
                self.check("deepspeed", [*TORCHRUN, "PROGRAM"], variant, cause, 2)

    def test_lightning(self):
        for variant, cause in [("balanced", None), ("slow_line", "torch.linalg.svdvals")]:
            with self.subTest(variant=variant):
                self.check("lightning", ["PROGRAM"], variant, cause, 2)


if __name__ == "__main__":
    unittest.main()
