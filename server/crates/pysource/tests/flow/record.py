"""Records what CPython does in the functions of `snippets*.py`, for `tests/flow.rs` to hold the model against.

    python3 record.py PYTHON... > recorded.txt

Each function is run, by each of the interpreters, with arguments of which every operation is observed: its kind, and the
line of the frame that does it (`f_lineno`, what a profiler sees). Truth tests are answered from a script, several scripts
per function, so that branches are taken both ways. Interpreters that say the same share a line of the output.
"""

import collections
import dis
import inspect
import json
import subprocess
import sys
import typing

SCRIPTS = ["1", "0", "10", "01", "110"]
LIMIT = 40


def main(pythons):
    said = collections.OrderedDict()
    for python in pythons:
        out = subprocess.run([python, __file__, "--one"], stdout=subprocess.PIPE, check=True).stdout
        version, records = json.loads(out)
        for key, events in records:
            said.setdefault(tuple(key), collections.OrderedDict()).setdefault(events, []).append(version)
    where, seen = None, set()
    for (file, name, _, frame), by_events in said.items():
        if where != (file, name):
            where = (file, name)
            print(f"== {file} {name}")
        for events, versions in by_events.items():
            line = f"{frame}: {' '.join(versions)}: {events}"
            if line not in seen:
                seen.add(line)
                print(line)


class Enough(BaseException):
    pass


class State:
    """What the functions that observe share: there is one of it, so the class itself holds it."""

    file = None
    script = "1"
    at = 0
    frames: typing.ClassVar = {}
    n = 0
    on = False
    # A generator that is dropped before it began runs for a last time, in Python 3.8 to 3.11.
    kept: typing.ClassVar = []


def opcode(frame):
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == frame.f_lasti:
            return instruction.opname, instruction.arg or 0
    return "", 0


def log(what, depth=2):
    note(sys._getframe(depth), what)


def note(frame, what):
    if not State.on or frame is None or frame.f_code.co_filename != State.file:
        return
    State.n += 1
    if State.n > LIMIT:
        State.on = False
        raise Enough()
    events = State.frames.setdefault(id(frame), (frame, []))[1]
    events.append(f"{frame.f_lineno} {what}")


def answer():
    State.at += 1
    return State.script[(State.at - 1) % len(State.script)] == "1"


class T:
    def __init__(self, raises=False):
        self.__dict__["_raises"] = raises

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        frame = sys._getframe(1)
        op = opcode(frame)[0]
        if name == "keys" and not op.startswith("LOAD"):
            log("spread")
            return lambda: ["k"]
        log(f"load .{name}")
        return T(name == "boom")

    def __setattr__(self, name, value):
        log(f"store .{name}")

    def __delattr__(self, name):
        log(f"del .{name}")

    def __getitem__(self, index):
        op = opcode(sys._getframe(1))[0]
        if "MERGE" not in op and "UPDATE" not in op and "MAP_UNPACK" not in op and "CALL" not in op:
            log("load []")
        return T()

    def __setitem__(self, index, value):
        log("store []")

    def __delitem__(self, index):
        log("del []")

    def __call__(self, *args, **kwargs):
        log("call")
        State.kept.append(args)
        if self._raises:
            raise ValueError
        return T()

    def __bool__(self):
        log("truth")
        return answer()

    def __contains__(self, item):
        log("in")
        return answer()

    def __hash__(self):
        # Of a display or comprehension. What a call or `in` hashes is a matter of what it is given.
        if opcode(sys._getframe(1))[0] in ("BUILD_MAP", "BUILD_SET", "MAP_ADD", "SET_ADD"):
            log("hash")
        return id(self)

    def __iter__(self):
        op, arg = opcode(sys._getframe(1))
        if op.startswith("UNPACK_SEQUENCE"):
            log("unpack")
            return iter([T() for _ in range(arg)])
        if op == "UNPACK_EX":
            log("unpack")
            return iter([T() for _ in range((arg & 255) + (arg >> 8) + 1)])
        if op in ("GET_ITER", "GET_YIELD_FROM_ITER"):
            log("iter")
            return It()
        log("spread")
        return iter([T()])

    def __enter__(self):
        log("enter")
        return T()

    def __exit__(self, *error):
        log("exit")
        return False

    def __aenter__(self):
        log("enter")
        return T()

    def __aexit__(self, *error):
        log("exit")
        return T()

    def __aiter__(self):
        log("iter")
        return It()

    def __await__(self):
        log("await")
        return resolved(T())

    def __format__(self, spec):
        log("format")
        return "f"

    def __repr__(self):
        log("format")
        return "r"

    def __str__(self):
        log("format")
        return "s"


def resolved(value):
    return value
    yield


def ended():
    raise StopAsyncIteration
    yield


class It:
    def __init__(self):
        self.left = 2

    def __iter__(self):
        return self

    def __next__(self):
        log("next")
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return T()

    def __anext__(self):
        log("next")
        self.left -= 1
        return T() if self.left >= 0 else Ended()


class Ended(T):
    def __await__(self):
        log("await")
        return ended()


def observed(label, result=T):
    def method(self, *_):
        log(label)
        return result()

    return method


for names, symbols in [
    ("add sub mul matmul truediv mod pow lshift rshift or xor and floordiv", "+ - * @ / % ** << >> | ^ & //"),
]:
    for name, symbol in zip(names.split(), symbols.split()):
        setattr(T, f"__{name}__", observed(symbol))
        setattr(T, f"__i{name}__", observed(symbol + "="))
for name, symbol in zip("eq ne lt le gt ge".split(), "== != < <= > >=".split()):
    setattr(T, f"__{name}__", observed(symbol))
for name, symbol in zip("neg pos invert".split(), "u- u+ u~".split()):
    setattr(T, f"__{name}__", observed(symbol))


def profile(frame, event, arg):
    if event == "call" and frame.f_code.co_filename == State.file and frame.f_back is not None:
        note(frame.f_back, f"frame {frame.f_code.co_name}")
        State.frames.setdefault(id(frame), (frame, []))


def drive(result):
    if inspect.iscoroutine(result) or inspect.isasyncgen(result):
        result = result if inspect.iscoroutine(result) else result.__anext__()
        try:
            while True:
                result.send(None)
        except StopIteration:
            pass
    elif inspect.isgenerator(result):
        for _ in result:
            pass


def one():
    import os

    records = []
    for file in ["snippets.py", "snippets310.py"]:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), file)
        if file == "snippets310.py" and sys.version_info < (3, 10):
            continue
        with open(path) as opened:
            code = compile(opened.read(), path, "exec")
        space = {"T": T}
        exec(code, space)
        State.file = path
        functions = [f for f in space.values() if inspect.isfunction(f) and f.__code__.co_filename == path]
        for function in sorted(functions, key=lambda f: f.__code__.co_firstlineno):
            for script in SCRIPTS:
                State.script, State.at, State.frames, State.n = script, 0, {}, 0
                args = [T() for _ in range(function.__code__.co_argcount)]
                State.on = True
                sys.setprofile(profile)
                try:
                    drive(function(*args))
                except (ValueError, AssertionError, Enough, TypeError) as error:
                    if isinstance(error, TypeError) and "exception" not in str(error):
                        raise
                finally:
                    sys.setprofile(None)
                    State.on = False
                for frame, events in State.frames.values():
                    code = frame.f_code
                    if events:
                        key = (file, function.__name__, script, f"{code.co_name} {code.co_firstlineno}")
                        records.append((key, "; ".join(events)))
    print(json.dumps(["{}.{}".format(*sys.version_info[:2]), records]))


if __name__ == "__main__":
    if sys.argv[1:] == ["--one"]:
        one()
    else:
        main(sys.argv[1:])
