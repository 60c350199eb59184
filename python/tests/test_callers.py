"""What ``write_callers`` promises to the program that is recorded."""

import contextlib
import gzip
import io
import json
import os
import pathlib
import resource
import stat
import sys
import tempfile
import types
import unittest
import warnings
from unittest import mock

from perfline import recorder
from stand_in import GOOD, Event, Module, Operator, Parameter, call_of, profiler, torch_modules

NOBODY = 65534


def undecodable(data):
    """What reading a text of these bytes raises."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error
    raise AssertionError(f"{data!r} is UTF-8")


class RecorderTest(unittest.TestCase):
    def setUp(self):
        self.enter(mock.patch.dict(sys.modules, torch_modules()))
        self.folder = pathlib.Path(self.enter(tempfile.TemporaryDirectory()))
        self.path = self.folder / "train.callers.json.gz"

    def enter(self, context):
        """What ``enterContext`` does from Python 3.11 on."""
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def write(self, prof, path=None):
        """Returns what ``write_callers`` returns, and the warnings."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            calls = recorder.write_callers(prof, self.path if path is None else path)
        return calls, [str(warning.message) for warning in caught]

    def written(self):
        return json.loads(gzip.decompress(self.path.read_bytes()))

    def assert_nothing_written(self, prof, reason, path=None):
        """No exception, one warning that names the file and says why, and nothing new in the folder."""
        before = sorted(self.folder.iterdir())
        calls, messages = self.write(prof, path)
        self.assertEqual((calls, len(messages)), (0, 1), messages)
        self.assertIn("nothing was written to", messages[0])
        self.assertIn(str(self.path if path is None else path), messages[0])
        self.assertIn(reason, messages[0])
        self.assertEqual(sorted(self.folder.iterdir()), before)


class Writing(RecorderTest):
    def test_the_callers_of_all_calls_are_written(self):
        self.assertEqual(self.write(profiler(GOOD)), (3, []))
        self.assertEqual(
            self.written(),
            {
                "schema": "perfline.callers/1",
                "torch": "2.6.0",
                "python": "{}.{}.{}".format(*sys.version_info[:3]),
                "strings": ["train.py(1): main", "train.py", "<built-in method item>", "train.py(5): step"],
                "threads": [
                    {"tid": 4711, "name": [0, 3, 2], "start_ns": [1000, 200, 500], "file": [1, 1, 1], "line": [7, 3, 7]}
                ],
            },
        )

    def test_a_file_of_the_same_name_is_replaced(self):
        self.path.write_text("old")
        self.assertEqual(self.write(profiler(GOOD)), (3, []))
        self.assertEqual(len(self.written()["threads"]), 1)
        self.assertEqual(list(self.folder.iterdir()), [self.path])

    def test_names_that_are_not_utf8_are_written_as_a_reader_of_the_trace_sees_them(self):
        name = undecodable(b"caf\xe9.py(0): \x90inited")
        prof = profiler(Event(name, 1, [Event("inner", 2)], caller=(undecodable(b"\xff.py"), 4)))
        self.assertEqual(self.write(prof), (2, []))
        self.assertEqual(self.written()["strings"], ["caf\ufffd.py(0): \ufffdinited", "\ufffd.py", "inner", "train.py"])

    def test_events_that_cannot_be_read_are_left_out_and_reported_in_one_warning(self):
        broken = [Event(RuntimeError("no name"), 2), Event("no children", 3, ValueError("gone"))]
        calls, messages = self.write(profiler(*broken, GOOD))
        self.assertEqual((calls, len(messages)), (3, 1), messages)
        self.assertIn("2 events", messages[0])
        self.assertIn("RuntimeError: no name", messages[0])
        self.assertIn(str(self.path), messages[0])
        self.assertEqual(len(self.written()["threads"][0]["name"]), 3)

    def test_without_python_calls_the_file_is_empty_and_a_warning_says_so(self):
        for prof in [profiler(), profiler(Event("aten::add", 1, kind=Operator))]:
            calls, messages = self.write(prof)
            self.assertEqual((calls, len(messages)), (0, 1), messages)
            self.assertIn("with_stack=True", messages[0])
            self.assertEqual(self.written()["threads"], [])


class Block(Module):
    pass


class DistributedDataParallel(Module):
    pass


class Modules(RecorderTest):
    """What the model calls the modules that ran."""

    def names(self, *calls):
        """By event, what was written."""
        self.write(profiler(GOOD, *calls))
        written = self.written()
        modules, strings = written.get("modules"), written["strings"]
        if modules is None:
            return None
        columns = [modules[key] for key in ("event", "name", "parameters", "bytes")]
        return {strings[event].split()[1]: (strings[name], *size) for event, name, *size in zip(*columns)}

    def test_names_are_paths_from_the_outermost_module(self):
        shared = Parameter(5)
        up, down = Module([Parameter(2), shared]), Module([shared])
        model = Block(layers=Module(**{"0": Block(up=up, down=down, none=None)}))
        block = model._modules["layers"]._modules["0"]
        names = self.names(call_of(up, 0), call_of(down, 1), call_of(block, 1), call_of(model, 0))
        expected = {
            "Module_0": ("layers.0.up", 7, 28),
            "Module_1": ("layers.0.down", 5, 20),
            "Block_1": ("layers.0", 7, 28),
            "Block_0": ("Block", 7, 28),
        }
        self.assertEqual(names, expected)

    def test_wrappers_are_no_part_of_names(self):
        inner = Module()
        model = Block(head=inner)
        wrapped = DistributedDataParallel(module=Block(_orig_mod=model))
        names = self.names(call_of(inner), call_of(model), call_of(wrapped))
        self.assertEqual(names["Module_0"][0], "head")
        self.assertEqual(names["Block_0"][0], "Block")
        self.assertEqual(names["DistributedDataParallel_0"][0], "DistributedDataParallel")

    def test_a_module_that_did_not_run_is_part_of_names(self):
        first, second = Module(), Module()
        holder = Block(encoder=first, decoder=second)
        names = self.names(call_of(first, 0), call_of(second, 1))
        self.assertEqual([names[it][0] for it in ("Module_0", "Module_1")], ["encoder", "decoder"])
        del holder

    def test_of_several_models_the_variable_is_part_of_names(self):
        generator, critic = Block(up=Module()), Block(up=Module())
        self.loss = Module()
        calls = [call_of(generator, 0), call_of(critic, 1), call_of(self.loss, 2)]
        calls += [call_of(it._modules["up"], number) for number, it in enumerate([generator, critic])]
        names = {event: row[0] for event, row in self.names(*calls).items()}
        expected = {
            "Block_0": "generator",
            "Block_1": "critic",
            "Module_2": "loss",
            "Module_0": "generator.up",
            "Module_1": "critic.up",
        }
        self.assertEqual(names, expected)

    def test_models_that_no_variable_holds_are_numbered(self):
        models = [Block(up=Module()), Block(up=Module())]
        names = self.names(*(call_of(it._modules["up"], number) for number, it in enumerate(models)))
        self.assertEqual(sorted(row[0] for row in names.values()), ["Block#2.up", "Block.up"])

    def test_what_a_trace_does_not_distinguish_has_no_name(self):
        # Of different classes with one name, each is the first.
        one, other = Block(), type("Block", (Module,), {})()
        self.assertIsNone(self.names(call_of(one, 0), call_of(other, 0)))

    def test_a_module_that_is_gone_has_no_name(self):
        call = call_of(Module())
        self.kept = Block()
        # At its address there may be another one.
        call.extra_fields.module.self_ptr = id(self.kept)
        self.assertIsNone(self.names(call))

    def test_the_size_of_a_parameter_without_a_shape_is_not_known(self):
        model = Block([Parameter(None)])
        self.assertEqual(self.names(call_of(model)), {"Block_0": ("model", None, None)})

    def test_modules_in_a_circle_are_no_harm(self):
        one, other = Block(), Block()
        one._modules["other"], other._modules["one"] = other, one
        self.assertEqual(len(self.names(call_of(one, 0), call_of(other, 1))), 2)

    def test_a_pytorch_that_does_not_know_the_module_leaves_the_callers(self):
        call = Event("nn.Module: Linear_0", 5)
        self.assertIsNone(self.names(call))
        self.assertEqual(len(self.written()["threads"][0]["name"]), 4)

    def test_what_goes_wrong_is_one_warning(self):
        with mock.patch("gc.get_objects", side_effect=RuntimeError("no")):
            calls, messages = self.write(profiler(GOOD, call_of(Block())))
        self.assertEqual(calls, 4)
        self.assertEqual(messages, ["Perfline's recorder: the names of modules are not recorded: RuntimeError: no"])
        self.assertNotIn("modules", self.written())


class Harm(RecorderTest):
    def test_before_anything_is_recorded(self):
        for prof in [types.SimpleNamespace(profiler=None), types.SimpleNamespace(), None]:
            self.assert_nothing_written(prof, "call this after it has stopped")

    def test_what_is_not_a_path(self):
        self.assert_nothing_written(profiler(GOOD), "TypeError", path=5)

    def test_a_profiler_that_fails(self):
        prof = profiler(GOOD)
        prof.profiler.kineto_results.experimental_event_tree = mock.Mock(side_effect=MemoryError("tree"))
        self.assert_nothing_written(prof, "MemoryError: tree")

    def test_a_pytorch_without_what_is_needed(self):
        del sys.modules["torch._C._profiler"]._ExtraFields_PyCCall
        self.assert_nothing_written(profiler(GOOD), "ImportError")

    def test_a_folder_that_is_not_there(self):
        self.assert_nothing_written(profiler(GOOD), "FileNotFoundError", path=self.folder / "none" / "c.json.gz")

    def test_a_folder_that_may_not_be_written(self):
        self.folder.chmod(0o555)
        if os.geteuid() == 0:
            os.seteuid(NOBODY)
            self.addCleanup(os.seteuid, 0)
        self.assert_nothing_written(profiler(GOOD), "PermissionError")

    def test_a_disk_that_is_full_keeps_the_file_that_was_there(self):
        self.path.write_text("old")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, limits[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, limits)
        self.assert_nothing_written(profiler(GOOD), "OSError")
        self.assertEqual(self.path.read_text(), "old")

    def test_a_program_that_turns_warnings_into_exceptions(self):
        for prof in [None, profiler()]:
            with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()) as stderr:
                warnings.simplefilter("error")
                self.assertEqual(recorder.write_callers(prof, self.path), 0)
            self.assertIn(str(self.path), stderr.getvalue())

    def test_the_warning_points_to_the_call(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            recorder.write_callers(None, self.path)
        self.assertEqual(caught[0].filename, __file__)

    def test_an_interrupt_is_the_users_and_leaves_nothing_behind(self):
        with (
            mock.patch.object(gzip.GzipFile, "write", side_effect=KeyboardInterrupt),
            self.assertRaises(KeyboardInterrupt),
        ):
            recorder.write_callers(profiler(GOOD), self.path)
        self.assertEqual(list(self.folder.iterdir()), [])


class Links(RecorderTest):
    def setUp(self):
        super().setUp()
        self.precious = self.folder / "precious"
        self.precious.write_text("mine")

    def test_a_link_at_a_name_that_can_be_foreseen_is_not_followed(self):
        link = self.folder / (self.path.name + ".partial")
        link.symlink_to(self.precious)
        self.assertEqual(self.write(profiler(GOOD)), (3, []))
        self.assertEqual(self.precious.read_text(), "mine")
        self.assertTrue(link.is_symlink())

    def test_a_link_at_the_name_of_the_file_is_replaced(self):
        self.path.symlink_to(self.precious)
        self.assertEqual(self.write(profiler(GOOD)), (3, []))
        self.assertEqual(self.precious.read_text(), "mine")
        self.assertFalse(self.path.is_symlink())

    def test_a_link_at_the_temporary_name_stops_the_write(self):
        with mock.patch.object(recorder.secrets, "token_hex", return_value="known"):
            self.write(profiler(GOOD))
            (self.folder / ".perfline-known").symlink_to(self.precious)
            self.assert_nothing_written(profiler(GOOD), "FileExistsError")
        self.assertEqual(self.precious.read_text(), "mine")

    def test_the_temporary_file_is_in_the_same_folder_and_its_name_differs_each_time(self):
        with mock.patch.object(os, "replace", wraps=os.replace) as replace:
            self.write(profiler(GOOD))
            self.write(profiler(GOOD))
        partial = [pathlib.Path(call.args[0]) for call in replace.call_args_list]
        self.assertEqual([it.parent for it in partial], [self.folder, self.folder])
        self.assertNotEqual(*partial)

    def test_who_may_read_the_file_is_up_to_the_program(self):
        for mask, mode in [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)]:
            before = os.umask(mask)
            try:
                self.write(profiler(GOOD))
            finally:
                os.umask(before)
            self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), mode)


if __name__ == "__main__":
    unittest.main()
