"""Programs with ``torch.compile``, recorded for real."""

import os
import subprocess
import sys
import tempfile
import unittest

import perfline
from recorded import PROGRAMS


class Compiled(unittest.TestCase):
    def test_the_recorder_is_not_compiled(self):
        """Hooks of optimizers run in a compiled ``optimizer.step``."""
        package = os.path.dirname(os.path.dirname(os.path.abspath(perfline.__file__)))
        program = os.path.join(PROGRAMS, "compiled_step.py")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-m", "perfline", "record", "--after", "3", "--steps", "4", program],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": package},
                capture_output=True,
                text=True,
                timeout=600,
            )
            self.assertEqual(done.returncode, 0, done.stderr[-4000:])
            self.assertNotIn("RuntimeWarning", done.stderr)
            table = subprocess.run(
                ["perfline", "compile", os.path.join(folder, "perfline-runs"), "--root", PROGRAMS],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        self.assertIn("compiled_step.py", done.stdout + done.stderr)
        self.assertIn("at index 0: 4, 5, 6, 7", table)
        self.assertNotIn("recorder.py", table)


if __name__ == "__main__":
    unittest.main()
