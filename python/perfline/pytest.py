"""A plugin for pytest that records each test as a whole, in files that Perfline reads::

    python -m pytest -p perfline.pytest tests/test_model.py::test_forward

It is only active where it is named. Fixtures are not recorded. Whatever goes wrong with recording is a warning.
"""

import pytest

from perfline.recorder import profile


def pytest_addoption(parser):
    """Has pytest take the option of the plugin."""
    group = parser.getgroup("perfline")
    group.addoption(
        "--perfline-folder", default="perfline-runs", metavar="DIR",
        help="where to write the recordings (default: %(default)s)",
    )  # fmt: skip


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """Runs the test under the profiler."""
    with profile(item.config.getoption("perfline_folder"), steps=None):
        yield
