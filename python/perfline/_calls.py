"""The calls of a function of a program that somebody named, from its second call on."""

import contextlib
import gc
import inspect
import os
import sys
import threading
import types

from perfline import recorder

PLACEHOLDER = "what is called in place of the function"


def watch(name, found, ended):
    """Has ``found()`` run when the function that ``name`` names is called for the first time, and ``ended()`` when a later call
    of it has ended in the main thread, but for calls by itself. Returns what ends that.

    ``name`` is the function's, with those of its classes and outer functions as far as they are needed (``Model.forward``), and
    of its file before a colon if that is (``net/model.py:forward``).

    Where its code runs first is seen by ``sys.monitoring``, before Python 3.12 by ``sys.setprofile``. The profiler cannot be
    started there, because Python reports nothing of what runs meanwhile: it would take its own calls for unfinished. So the
    function gets code from then on that calls its own. It remains the same object, whoever holds it.
    """
    undo = []
    is_named = _matcher(name)

    def first(frame):
        for one in undo:
            one()
        undo[:] = [_replace(it, frame, ended) for it in _functions(frame.f_code)]
        found()

    undo.append((_monitor if hasattr(sys, "monitoring") else _profile)(is_named, first))

    def end():
        for one in undo:
            one()

    return end


def _functions(code):
    """The functions that have this code."""
    return [it for it in gc.get_referrers(code) if isinstance(it, types.FunctionType) and it.__code__ is code]


def _matcher(name):
    """Whether code is that of the function; those whose calls do not end when they return are none."""
    file, _, qualified = name.rpartition(":")
    names, files = qualified.split("."), file.replace(os.sep, "/").split("/") if file else []
    not_plain = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    others = set()

    def is_named(code):
        if code.co_name != names[-1] or code.co_flags & not_plain or code in others:
            return False
        path = code.co_filename.replace(os.sep, "/").split("/")
        if path[len(path) - len(files) :] == files:
            # Before Python 3.11 code does not know its class; to ask for functions takes time.
            is_known = hasattr(code, "co_qualname")
            known = [code.co_qualname] if is_known else [it.__qualname__ for it in _functions(code)]
            if any(it.replace(".<locals>", "").split(".")[-len(names) :] == names for it in known):
                return True
        others.add(code)
        return False

    return is_named


def _monitor(is_named, first):
    monitoring = sys.monitoring
    tool = next((it for it in recorder.TOOLS if monitoring.get_tool(it) is None), None)
    if tool is None:
        raise RuntimeError("other tools use sys.monitoring")
    is_on = True

    def began(code, _):
        if not is_on or not is_named(code):
            return monitoring.DISABLE
        first(sys._getframe(1))
        return None

    def end():
        nonlocal is_on
        if is_on:
            is_on = False
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)

    monitoring.use_tool_id(tool, "perfline calls")
    monitoring.register_callback(tool, monitoring.events.PY_START, began)
    monitoring.set_events(tool, monitoring.events.PY_START)
    return end


def _profile(is_named, first):
    if sys.getprofile() is not None:
        raise RuntimeError("another profiler uses sys.setprofile")

    def called(frame, event, _):
        if event == "call" and is_named(frame.f_code):
            first(frame)

    def end():
        if sys.getprofile() is called:
            sys.setprofile(None)

    sys.setprofile(called)
    return end


def _replace(function, first, ended):
    """Gives a function code that calls its own and then ``ended()``; returns what undoes that. ``first`` is the frame of a call
    that still runs its own code.
    """
    code = function.__code__
    original = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    main = threading.main_thread().ident
    depth = 0

    def call(args, kwargs):
        nonlocal depth, first
        if threading.get_ident() != main:
            return original(*args, **kwargs)
        if first is not None and _is_open(first):
            return original(*args, **kwargs)
        first = None
        depth += 1
        try:
            return original(*args, **kwargs)
        finally:
            depth -= 1
            if depth == 0:
                ended()

    # Code of a closure has as many variables of it as there are; what Python calls some of them is no identifier.
    free = [f"_{number}" for number in range(len(code.co_freevars))]
    text = (
        f"def make({', '.join(free)}):\n"
        "    def wrapper(*args, **kwargs):\n"
        f"        if False: {', '.join(free) or 'pass'}\n"
        f"        call = {PLACEHOLDER!r}\n"
        "        return call(args, kwargs)\n"
        "    return wrapper\n"
    )
    scope = {}
    exec(compile(text, __file__, "exec"), scope)
    wrapper = scope["make"](*free).__code__
    call = recorder.not_compiled(call, recursive=False)
    consts = tuple(call if it == PLACEHOLDER else it for it in wrapper.co_consts)
    had_signature = "__signature__" in vars(function)
    if not had_signature:
        # Frameworks ask which arguments a function takes.
        with contextlib.suppress(ValueError, TypeError):
            function.__signature__ = inspect.signature(function)
    function.__code__ = wrapper.replace(co_name=code.co_name, co_consts=consts)

    def undo():
        function.__code__ = code
        if not had_signature:
            vars(function).pop("__signature__", None)

    return undo


def _is_open(frame):
    """Whether the caller is within the call of a frame."""
    open_frame = sys._getframe(1)
    while open_frame is not None and open_frame is not frame:
        open_frame = open_frame.f_back
    return open_frame is not None
