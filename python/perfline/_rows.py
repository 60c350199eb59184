"""The rows of tables, and what their columns mean. The program writes the same names and texts; a test compares them."""

from __future__ import annotations

from typing import TypedDict


class Place(TypedDict):
    """A line of source."""

    file: str
    """As the table of lines calls it."""

    line: int
    """From 1, in the text as recorded."""


class LineOnRank(TypedDict):
    """What a line costs a rank."""

    rank: int
    """On which the line costs something."""

    cpu_own_us: float
    """Microseconds: thread time, as cpu_own_us of the line."""

    cuda_own_us: float
    """Microseconds: device time, as cuda_own_us of the line."""

    comm_wait_us: float
    """Microseconds: in matched collectives, before all ranks had begun."""

    comm_transfer_us: float
    """Microseconds: in matched collectives, after all ranks had begun."""


class LineRow(TypedDict):
    """A line with what it was charged with; sums over the recording and its ranks."""

    file: str
    """Relative to the root if it was found below it, else as recorded."""

    cell: int | None
    """Of a notebook: index of the cell, from 0."""

    line: int
    """From 1, in the text as recorded."""

    function: str
    """Qualified where the source was found."""

    evidence: str
    """How the line is known: exact, inferred or function."""

    calls: int
    """Python and built-in calls made from the line."""

    ops: int
    """Outermost operators whose innermost Python frame is on the line."""

    cpu_self_us: float
    """Microseconds: thread time while this was the innermost Python line."""

    cpu_own_us: float
    """Microseconds: thread time while this was the innermost line of your code."""

    cpu_total_us: float
    """Microseconds: thread time while the line was anywhere on the stack."""

    cpu_backward_us: float
    """Microseconds: host time of the backward nodes that it created."""

    cuda_own_us: float
    """Microseconds: device time launched from it, by the rule of cpu_own_us."""

    cuda_total_us: float
    """Microseconds: device time launched from it, by the rule of cpu_total_us."""

    cuda_backward_us: float
    """Microseconds: device time of the backward nodes that it created."""

    kernels: int
    """Launched, by the rule of cuda_own_us."""

    sync_us: float
    """Microseconds: thread time blocked waiting for the device."""

    syncs: int
    """How often it waited for the device."""

    gpu_idle_us: float
    """Microseconds: device idle time while the launching thread was on the line."""

    alloc_bytes: int
    """Bytes: allocated."""

    freed_bytes: int
    """Bytes: of the allocated, released before the end."""

    peak_bytes: int
    """Bytes: of the allocated, alive at the peak of their memory."""

    comm_us: float
    """Microseconds: device time of collectives launched from it."""

    comm_exposed_us: float
    """Microseconds: of comm_us, what no compute kernel hides."""

    flops: int
    """Floating-point operations: of its operators, as far as their arguments are recorded."""

    achieved_flops: int
    """Floating-point operations per second: while the device (the host, without one) worked on them."""

    waiting_us: float
    """Microseconds: of cpu_own_us, in calls that wait for something else than a device."""

    line_now: int | None
    """In the file as it is now; null where that is not known, or it is gone."""

    stale: bool
    """The line was changed since the recording, or may have been."""

    cpu_recompute_us: float
    """Microseconds: of cpu_own_us, what checkpoints computed again in the backward pass."""

    cuda_recompute_us: float
    """Microseconds: of cuda_own_us, what checkpoints computed again in the backward pass."""

    cpu_own_step_median_us: float | None
    """Microseconds: cpu_own_us of a step, the median; null without two steps, or where it has nothing."""

    cpu_own_step_p99_us: float | None
    """Microseconds: what 99 % of the steps do not exceed, of 100 steps and more."""

    cpu_own_step_max_us: float | None
    """Microseconds: most in one step."""

    cpu_own_max_step: int | None
    """The step with most."""

    cuda_own_step_median_us: float | None
    """Microseconds: cuda_own_us of a step, the median; null as cpu_own_step_median_us."""

    cuda_own_step_p99_us: float | None
    """Microseconds: what 99 % of the steps do not exceed, of 100 steps and more."""

    cuda_own_step_max_us: float | None
    """Microseconds: most in one step."""

    cuda_own_max_step: int | None
    """The step with most."""

    ranks: list[LineOnRank] | None
    """Each rank on which it costs something; null in a run of one rank."""


class KernelRow(TypedDict):
    """What ran on devices under a name: a kernel, copies or fills."""

    kernel: str
    """Name as recorded."""

    time_us: float
    """Microseconds: device time of all its runs."""

    share: float
    """Share of 1: of all device time."""

    share_so_far: float
    """Share of 1: of all device time: of this row and all above it."""

    calls: int
    """How often it ran."""

    mean_us: float
    """Microseconds: mean of its runs."""

    shortest_us: float | None
    """Microseconds: shortest of its runs that have a line."""

    longest_us: float | None
    """Microseconds: longest of its runs that have a line."""

    occupancy: float | None
    """Share of 1: estimated achieved occupancy as recorded, the mean over the time."""

    tensor_cores: str | None
    """Yes, or perhaps where its name does not say so; else null."""

    shape: str | None
    """Blocks × threads per block, or how many different ones there are."""

    bytes: int
    """Bytes: moved, of copies."""

    lines: list[Place]
    """The lines of yours with most of it, up to three."""


class OperatorRow(TypedDict):
    """An operator of PyTorch over the whole recording."""

    operator: str
    """Name as recorded."""

    calls: int
    """How often it ran."""

    cpu_self_us: float
    """Microseconds: thread time without operators and runtime calls below it."""

    cpu_total_us: float
    """Microseconds: thread time with what is below it."""

    cuda_self_us: float
    """Microseconds: time of the kernels, copies and fills that it launched itself."""

    cuda_total_us: float
    """Microseconds: with those of the operators below it."""

    alloc_bytes: int
    """Bytes: allocated by itself, where memory was recorded."""

    share: float
    """Share of 1: of all device time; without any, of all thread time."""

    lines: list[Place]
    """The lines of yours with most of it, up to three."""


class ModuleRow(TypedDict):
    """A module of the model over the whole recording."""

    module: str
    """Name in the model, or class and number where names are not recorded."""

    class_name: str | None
    """Of the module."""

    calls: int
    """How often it was called."""

    cpu_own_us: float
    """Microseconds: thread time in its calls, without those of modules below it."""

    cpu_total_us: float
    """Microseconds: thread time in its calls."""

    cpu_backward_us: float
    """Microseconds: thread time of the backward pass that its calls caused."""

    cuda_own_us: float
    """Microseconds: device time launched in its calls, without those of modules below it."""

    cuda_total_us: float
    """Microseconds: device time launched in its calls."""

    cuda_backward_us: float
    """Microseconds: device time of the backward pass that its calls caused."""

    parameters: int | None
    """Numbers in its parameters; null where not recorded, or none."""

    parameter_bytes: int | None
    """Bytes: of its parameters; null where not recorded, or none."""

    share: float
    """Share of 1: of all device time; without any, of all thread time."""


class StepRow(TypedDict):
    """A step of a rank."""

    rank: int
    """Whose step it is."""

    step: int
    """Its number."""

    time_us: float
    """Microseconds: how long the step took."""

    to_median_us: float
    """Microseconds: longer than the median of the rank's steps; negative: shorter."""

    kernel_us: float
    """Microseconds: kernels that do not communicate; each instant counts to the first of these parts that applies."""

    memcpy_us: float
    """Microseconds: copies."""

    memset_us: float
    """Microseconds: fills."""

    comm_us: float
    """Microseconds: collectives."""

    runtime_us: float
    """Microseconds: calls of the device's runtime."""

    loader_us: float
    """Microseconds: waiting for the data loader."""

    ops_us: float
    """Microseconds: operators on the host."""

    other_us: float
    """Microseconds: none of these."""

    longer_on_threads: list[Place]
    """Lines with more thread time than in the median of the steps, of a longer step."""

    longer_on_devices: list[Place]
    """The same of device time, by the step that launched it."""


class RankRow(TypedDict):
    """A rank of a run of several. Times are of its mean step."""

    rank: int
    """Its number."""

    host: str
    """The machine that it ran on; empty where not recorded."""

    steps: int
    """The number of its steps."""

    step_us: float
    """Microseconds: the mean step, as the times that follow."""

    compute_us: float
    """Microseconds: kernels that do not communicate, or on a CPU operators."""

    comm_wait_us: float
    """Microseconds: in collectives before all ranks had begun."""

    comm_transfer_us: float
    """Microseconds: in collectives after all ranks had begun."""

    loader_us: float
    """Microseconds: waiting for the data loader."""

    idle_us: float
    """Microseconds: none of these."""

    memory_peak_bytes: int | None
    """Bytes: of a device; null where not recorded."""

    waited_for_us: float
    """Microseconds: how long others waited in collectives that it began last."""

    late: int
    """Collectives that it began last."""

    collectives: int
    """That it took part in."""


class FindingRow(TypedDict):
    """What a rule found."""

    rule: str
    """Stable id of the rule that found it (docs/rules)."""

    severity: str
    """Warning, information or hint."""

    file: str
    """Of the line that costs, as the table of lines calls it."""

    line: int
    """That costs, from 1, in the text as recorded."""

    function: str
    """That the line is in."""

    evidence: str
    """How the line is known: exact, inferred or function."""

    cost_us: float
    """Microseconds: what can be won at most, over the recording and all ranks."""

    cost_per_step_us: float | None
    """Microseconds: the same in the mean step of a rank; null without steps."""

    share: float
    """Share of 1: cost of the step, or of the recording where it has no steps."""

    message: str
    """What is wrong, in a sentence."""

    remedy: str
    """What to do about it."""
