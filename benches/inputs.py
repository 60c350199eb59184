"""Makes recordings of any size out of what ships in fixtures/: a trace by repeating a real one along its time axis, a
memory snapshot by making up a training run.

    python3 benches/inputs.py trace fixtures/cpu/torch2.15.0/transformer.json.gz 400M trace.json
    python3 benches/inputs.py growing fixtures/simulated_cuda/torch2.15.0/transformer.json.gz 400M trace.json
    python3 benches/inputs.py distinct fixtures/cpu/torch2.15.0/two_ranks.rank0.json.gz 50M trace.json
    python3 benches/inputs.py snapshot 500M snapshot.pickle

`trace` repeats all texts as they are. With `growing`, each repetition has texts that none before had, as a longer run does:
the arguments of operators that are whole numbers, such as where a batch begins in its data. With `distinct`, each has lines
that none before had, in files of its own, as a large program does.
A name that ends in .gz is compressed. Nothing of the size of the output is held in memory.
"""

import gzip
import re
import struct
import sys

# What differs from one repetition to the next, and so by how much. Times are counted in nanoseconds.
FIELD = re.compile(
    r'"(ts|External id|Record function id|Python id|Python parent id|Sequence number|Ev Idx|correlation|id)": ?(-?\d+(?:\.\d+)?)'
    r'|"(ProfilerStep#)(\d+)"'
    r'|(")(\d{3,})"'
)
# In an object of an event these are one number space each.
SPACES = {"Python parent id": "Python id", "ProfilerStep#": "step", '"': "argument"}


class Repetition:
    """The text of all events, taken apart so that the next repetition only has to write its numbers.

    If it `grows`, the whole numbers among the arguments of operators differ from one repetition to the next.
    """

    def __init__(self, events, grows):
        self.literals, self.values, spaces = [], [], []
        at = 0
        for found in FIELD.finditer(events):
            group = found.lastindex
            key, number = found[group - 1], found[group]
            if (key == "Record function id" and number == "0") or number.startswith("-"):
                continue
            space = SPACES.get(key, key)
            if space == "argument" and not grows:
                continue
            self.literals.append(events[at : found.start(group)])
            at = found.end(group)
            self.values.append(nanoseconds(number) if key == "ts" else int(number))
            spaces.append(space)
        self.last = events[at:]
        # Far enough that no number of a repetition is one of the repetition before.
        period = {}
        for space, value in zip(spaces, self.values):
            low, high = period.get(space, (value, value))
            period[space] = (min(low, value), max(high, value))
        starts, ends = period.get("ts", (0, 0))
        longest = max((nanoseconds(it) for it in re.findall(r'"dur": ?(\d+(?:\.\d+)?)', events)), default=0)
        self.period = {space: high - low + 1 for space, (low, high) in period.items()}
        self.period["ts"] = ends - starts + longest + 1000
        self.spaces = spaces

    def text(self, n):
        """The events of repetition `n`."""
        parts = []
        shift = {space: n * period for space, period in self.period.items()}
        for literal, value, space in zip(self.literals, self.values, self.spaces):
            value += shift[space]
            parts.append(literal)
            parts.append(f"{value // 1000}.{value % 1000:03d}" if space == "ts" else str(value))
        parts.append(self.last)
        return "".join(parts)


def nanoseconds(text):
    whole, _, fraction = text.partition(".")
    return int(whole) * 1000 + int(fraction.ljust(3, "0")[:3])


def trace(source, size, target, grows=False, distinct=False):
    """Writes a trace of about `size` bytes: the events of `source`, one time after the other.

    If `distinct`, repetition n of `model.py` is `model_n.py`.
    """
    with gzip.open(source, "rt") as file:
        text = file.read()
    key = '"traceEvents": ['
    start = text.index(key) + len(key)
    end = text.rindex("]")
    head, events, tail = text[:start], text[start:end], text[end:]
    # What names threads and processes is said once.
    first_real = re.search(r'\{\s*"ph": "[^M]"', events).start()
    head, events = head + events[:first_real], events[first_real:].rstrip()
    repetition = Repetition(events, grows)
    with writer(target) as file:
        written = file.write(head.encode()) + file.write(events.encode())
        n = 1
        while written + len(events) <= size:
            text = repetition.text(n)
            if distinct:
                text = text.replace(".py(", f"_{n}.py(")
            written += file.write(b",\n  ") + file.write(text.encode())
            n += 1
        file.write(tail.encode())
    return n


class Pickle:
    """What `pickle.dump` with protocol 4 writes, piece by piece. `memo` maps what may come again to its number."""

    def __init__(self, file):
        self.memo, self.n_memo = {}, 0
        file.write(b"\x80\x04")

    def memoize(self):
        self.n_memo += 1
        return b"\x94"

    def get(self, number):
        return b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number)

    def string(self, text):
        if text in self.memo:
            return self.get(self.memo[text])
        self.memo[text] = self.n_memo
        raw = text.encode()
        return b"\x8c" + bytes([len(raw)]) + raw + self.memoize()

    def integer(self, value):
        if value < 256:
            return b"K" + bytes([value])
        if value < 1 << 16:
            return b"M" + struct.pack("<H", value)
        if value < 1 << 31:
            return b"J" + struct.pack("<i", value)
        raw = value.to_bytes(value.bit_length() // 8 + 1, "little")
        return b"\x8a" + bytes([len(raw)]) + raw

    def dictionary(self, members):
        out = b"}" + self.memoize() + b"("
        for key, value in members:
            out += self.string(key) + value()
        return out + b"u"

    def frame(self, name, filename, line):
        key = (name, filename, line)
        if key not in self.memo:
            self.memo[key] = self.n_memo
            members = [
                ("name", lambda: self.string(name)),
                ("filename", lambda: self.string(filename)),
                ("line", lambda: self.integer(line)),
            ]
            return self.dictionary(members)
        return self.get(self.memo[key])

    def frames(self, stack):
        out = b"]" + self.memoize() + b"("
        for frame in stack:
            out += self.frame(*frame)
        return out + b"e"

    def event(self, action, address, size, time, frames):
        members = [
            ("action", lambda: self.string(action)),
            ("addr", lambda: self.integer(address)),
            ("size", lambda: self.integer(size)),
            ("stream", lambda: self.integer(0)),
            ("time_us", lambda: self.integer(time)),
            ("compile_context", lambda: self.string("N/A")),
            ("user_metadata", lambda: self.string("")),
            ("frames", frames),
        ]
        return self.dictionary(members)


def stacks():
    """48 stacks of a training step: 12 layers, in each some lines that allocate, above them the frames of PyTorch."""
    outer = [("main", "train.py", 90), ("train", "train.py", 61), ("step", "train.py", 33)]
    library = [
        ("_wrapped_call_impl", "/usr/lib/python3/dist-packages/torch/nn/modules/module.py", 1779),
        ("_call_impl", "/usr/lib/python3/dist-packages/torch/nn/modules/module.py", 1790),
    ]
    native = [("torch::unwind::unwind()", "??", 0), ("c10::cuda::CUDACachingAllocator::malloc", "??", 0)]
    native += [(f"at::native::dispatch_{n}", "??", 0) for n in range(14)]
    for layer in range(12):
        block = [("forward", "model.py", 70 + layer)]
        for name, line in [("attention", 20), ("attention", 24), ("mlp", 40), ("norm", 52)]:
            python = outer + library + block + library + [(name, "model.py", line)]
            yield native + python[::-1]


def step(pickle, time):
    """One training step that begins at `time`, allocating forward and releasing backward: its bytes and its duration."""
    base, begin, live, out = 0x7F00_0000_0000, time, [], []
    for n, stack in enumerate(stacks()):
        for part in range(4):
            address, size = base + (n * 4 + part << 22), (1 << 12 + (n + part) % 9) * 512
            live.append((address, size, stack))
            out.append(pickle.event("alloc", address, size, time, lambda stack=stack: pickle.frames(stack)))
            time += 3
    for address, size, stack in reversed(live):
        for action in ["free_requested", "free_completed"]:
            out.append(pickle.event(action, address, size, time, lambda stack=stack: pickle.frames(stack)))
            time += 1
    return b"(" + b"".join(out) + b"e", time - begin


def snapshot(size, target):
    """Writes a snapshot of about `size` bytes: the same training step, one time after the other."""
    with writer(target) as file:
        pickle = Pickle(file)
        file.write(b"}" + pickle.memoize() + b"(" + pickle.string("segments") + b"]" + pickle.memoize())
        file.write(pickle.string("device_traces") + b"]" + pickle.memoize() + b"(]" + pickle.memoize())
        start = 1_700_000_000_000_000
        first, duration = step(pickle, start)
        written, n = file.write(first), 1
        # From the second step on, in which nothing is seen for the first time, steps differ in their times alone.
        second, _ = step(pickle, start + duration)
        times = re.split(rb"(?<=\x8a\x07)(.{7})", second, flags=re.DOTALL)
        while written + len(second) <= size:
            parts = list(times)
            for place in range(1, len(parts), 2):
                time = int.from_bytes(times[place], "little") + (n - 1) * duration
                parts[place] = time.to_bytes(7, "little")
            written += file.write(b"".join(parts))
            n += 1
        file.write(b"eu.")
    return n


def writer(target):
    return gzip.open(target, "wb", compresslevel=6) if target.endswith(".gz") else open(target, "wb")


def n_bytes(text):
    """`400M` in bytes; M and G are powers of ten."""
    unit = {"K": 10**3, "M": 10**6, "G": 10**9}.get(text[-1].upper())
    return int(float(text[:-1]) * unit) if unit else int(text)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["trace", source, size, target]:
            print(f"{trace(source, n_bytes(size), target)} repetitions")
        case ["growing", source, size, target]:
            print(f"{trace(source, n_bytes(size), target, grows=True)} repetitions")
        case ["distinct", source, size, target]:
            print(f"{trace(source, n_bytes(size), target, distinct=True)} repetitions")
        case ["snapshot", size, target]:
            print(f"{snapshot(n_bytes(size), target)} steps")
        case _:
            sys.exit(__doc__)
