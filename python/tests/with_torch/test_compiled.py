"""Programs with ``torch.compile``, recorded for real."""

import os
import subprocess
import sys
import unittest

from recorded import PROGRAMS, recorded


class Compiled(unittest.TestCase):
    def test_the_recorder_is_not_compiled(self):
        """Hooks of optimizers run in a compiled ``optimizer.step``."""
        program = os.path.join(PROGRAMS, "compiled_step.py")
        record = [sys.executable, "-m", "perfline", "record", "--after", "3", "--steps", "4"]
        [trace] = recorded(self, "torch", [*record, program])
        table = subprocess.run(
            ["perfline", "compile", trace, "--root", PROGRAMS], capture_output=True, text=True, check=True
        ).stdout
        self.assertIn("at index 0: 4, 5, 6, 7", table)
        self.assertNotIn("recorder.py", table)


if __name__ == "__main__":
    unittest.main()
