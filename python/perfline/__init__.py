"""PyTorch profiler data on the source line that caused it: record a run, and read what each line cost.

    import perfline

    with perfline.profile() as prof:
        for batch in loader:
            train_step(batch)
            prof.step()

    run = perfline.read(*prof.recordings)
    for line in run.lines[:10]:
        print(line["file"], line["line"], line["cpu_own_us"], line["cuda_own_us"])
    frame = polars.DataFrame(run.kernels)

In a notebook, ``%load_ext perfline`` and then ``%%perfline`` above a cell run it and show what its lines cost.

``python -m perfline`` is the program: ``python -m perfline annotate`` prints the source with what each line costs.
Importing this package does not import PyTorch.
"""

from perfline._ipc import Field
from perfline._rows import (
    FindingRow,
    KernelRow,
    LineOnRank,
    LineRow,
    ModuleRow,
    OperatorRow,
    Place,
    RankRow,
    StepRow,
)
from perfline._run import ReadError, Run, read
from perfline._table import Table
from perfline.recorder import profile, schedule, trace_handler, write_callers

__all__ = [
    "Field",
    "FindingRow",
    "KernelRow",
    "LineOnRank",
    "LineRow",
    "ModuleRow",
    "OperatorRow",
    "Place",
    "RankRow",
    "ReadError",
    "Run",
    "StepRow",
    "Table",
    "profile",
    "read",
    "schedule",
    "trace_handler",
    "write_callers",
]


def load_ipython_extension(shell: object) -> None:
    """What ``%load_ext perfline`` calls in IPython."""
    from perfline import _notebook

    _notebook.register(shell)
