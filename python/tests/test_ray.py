"""What ``perfline.ray`` does with the nodes of a cluster, without Ray: the tasks run here, in the order in which nobody waits for them."""

import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest
from unittest import mock

import perfline
import perfline.ray
from perfline import _binary

# Nothing of the user's cache is read, and nothing goes there.
os.environ["PERFLINE_CACHE_DIR"] = ""

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
RANKS = FIXTURES / "cpu" / "torch2.15.0" / "late_rank.slow_line"
WORKLOADS = FIXTURES / "workloads"


class Result:
    def __init__(self, value):
        self.value = value


class Nodes:
    """A cluster whose nodes are folders of this machine; results come back the last one first."""

    def __init__(self, *names):
        self.names, self.done = names, []

    def nodes(self):
        return list(self.names)

    def submit(self, task, *args, node=None):
        values = [it.value if isinstance(it, Result) else it for it in args]
        self.done.append((task.__name__, node, sum(isinstance(it, Result) for it in args)))
        return Result(task(*values))

    def wait(self, results):
        return [results[-1]], list(results[:-1])

    def get(self, results):
        return [it.value for it in results]


class Clusters(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, cluster, *folders, **options):
        output = self.folder / "run.perfline"
        run = perfline.ray.report(*folders, output=output, root=WORKLOADS, progress=False, executor=cluster, **options)
        return run, output.read_bytes()

    def test_a_tree_of_ledgers_is_the_ledger_of_all_traces(self):
        whole = self.folder / "whole.perfline"
        program = [_binary.find(), "ledger", f"--root={WORKLOADS}", *perfline.ray._options(WORKLOADS, None)[1:]]
        subprocess.run([*program, "-o", whole, RANKS], check=True, capture_output=True)
        for fan_in in (2, 3, 16):
            cluster = Nodes("one", "two")
            run, ledger = self.report(cluster, RANKS, fan_in=fan_in)
            self.assertEqual(len({it["rank"] for it in run.inputs}), 4)
            self.assertEqual(run.lines, perfline.read(whole, root=WORKLOADS).lines)
            self.assertEqual(run.failures, [])
            self.assertLessEqual(max(n for *_, n in cluster.done), fan_in)
        # Which ledgers were added first makes no difference to the bytes.
        self.assertEqual(ledger, whole.read_bytes())

    def test_a_shared_folder_is_read_once_and_by_all_nodes(self):
        cluster = Nodes("one", "two")
        self.report(cluster, RANKS)
        reading = [node for name, node, _ in cluster.done if name == "read_trace"]
        self.assertEqual(sorted(reading), ["one", "one", "two", "two"])

    def test_urls_are_read_by_any_node(self):
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=RANKS)
        silent = mock.patch.object(handler.func, "log_message")
        silent.start()
        self.addCleanup(silent.stop)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        place = f"http://127.0.0.1:{server.server_port}/"
        urls = [place + it.name for it in sorted(RANKS.iterdir())]
        cluster = Nodes("one", "two")
        run, _ = self.report(cluster, *urls, place + "missing.json")
        self.assertEqual([it["path"] for it in run.inputs], urls)
        self.assertEqual({node for name, node, _ in cluster.done if name == "read_trace"}, {None})
        [failure] = run.failures
        self.assertIn("missing.json: there is no such file", failure)

    def test_what_cannot_be_read_is_said_and_the_rest_is_read(self):
        shutil.copytree(RANKS, self.folder / "ranks")
        (self.folder / "ranks" / "rank9.json").write_text("no trace")
        run, _ = self.report(Nodes("one"), self.folder / "ranks", fan_in=2)
        self.assertEqual(len({it["rank"] for it in run.inputs}), 4)
        [failure] = run.failures
        self.assertIn("rank9.json", failure)

    def test_a_folder_without_traces_is_an_error(self):
        with self.assertRaisesRegex(perfline.ReadError, "no traces in .* on any node"):
            self.report(Nodes("one"), self.folder)

    def test_ray_is_asked_for_where_it_is_missing(self):
        with mock.patch.dict("sys.modules", {"ray": None}), self.assertRaisesRegex(perfline.ReadError, "pip install"):
            perfline.ray.report(RANKS, output=self.folder / "run.perfline")


if __name__ == "__main__":
    unittest.main()
