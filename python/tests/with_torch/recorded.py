"""Runs a program of PyTorch, and finds what it recorded."""

import glob
import importlib.util
import os
import subprocess
import sys
import tempfile

import perfline

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


def package_path():
    """Where programs find the package, for ``PYTHONPATH``."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(perfline.__file__)))
    return os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))


def recorded(test, framework, command):
    """Runs a program in a folder of its own; returns what it recorded."""
    if importlib.util.find_spec(framework) is None:
        test.skipTest(f"{framework} is not installed")
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    # DeepSpeed needs programs that its environment has.
    programs = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=folder.name,
        env={**os.environ, "PYTHONPATH": package_path(), "PATH": programs},
        capture_output=True,
        text=True,
        timeout=600,
    )
    test.assertEqual(done.returncode, 0, done.stderr[-4000:])
    return sorted(glob.glob(os.path.join(folder.name, "**", "*.pt.trace.json.gz"), recursive=True))
