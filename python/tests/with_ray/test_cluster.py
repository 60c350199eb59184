"""``perfline.ray`` on a Ray cluster of several nodes on this machine. They need Ray, and the program ``perfline`` on the ``PATH``."""

import os
import pathlib
import signal
import tempfile
import threading
import time
import unittest

import perfline.ray
import ray
from ray.cluster_utils import Cluster

FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "fixtures"
RANKS = FIXTURES / "cpu" / "torch2.15.0" / "late_rank.slow_line"
WORKLOADS = FIXTURES / "workloads"


def parent(process):
    """The process that began ``process``; 0 where there is none."""
    try:
        return int(pathlib.Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def workers():
    """The processes of this test's cluster that run a task at the moment."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            title = (process / "cmdline").read_bytes()
        except OSError:
            continue
        ancestor = int(process.name)
        while ancestor not in (0, os.getpid()):
            ancestor = parent(ancestor)
        if ancestor and title.startswith((b"ray::read_trace", b"ray::add_ledgers")):
            found.append(int(process.name))
    return found


class OnRay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        for _ in range(3):
            cls.cluster.add_node(num_cpus=1)
        ray.init(address=cls.cluster.address, log_to_driver=False)

    @classmethod
    def tearDownClass(cls):
        ray.shutdown()
        cls.cluster.shutdown()

    def report(self, folder):
        """The ledger of the ranks, and how many there are."""
        with tempfile.TemporaryDirectory() as place:
            output = pathlib.Path(place, "run.perfline")
            run = perfline.ray.report(folder, output=output, root=WORKLOADS, fan_in=4, progress=False)
            self.assertEqual(run.failures, [])
            return output.read_bytes(), len({it["rank"] for it in run.inputs})

    def test_the_ranks_of_a_run(self):
        self.assertEqual(self.report(RANKS)[1], 4)

    def test_killed_workers_lose_nothing(self):
        folder = os.environ.get("PERFLINE_RANKS", RANKS)
        whole, n_ranks = self.report(folder)
        stopped = threading.Event()
        killed = []

        def kill():
            while not stopped.is_set() and len(killed) < 3:
                for worker in workers()[:1]:
                    try:
                        os.kill(worker, signal.SIGKILL)
                        killed.append(worker)
                    except ProcessLookupError:
                        pass
                time.sleep(0.2)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            after = self.report(folder)
        finally:
            stopped.set()
            killer.join()
        print(f"{len(killed)} workers killed, {after[1]} of {n_ranks} ranks")
        self.assertTrue(killed, "no worker was there to kill")
        self.assertEqual(after, (whole, n_ranks))


if __name__ == "__main__":
    unittest.main()
