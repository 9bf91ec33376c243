#!/usr/bin/env python3
"""Trust records while nodes run: three warder-node and a real nats-server, no warderd. A record that `warder cluster`
writes on one machine comes into force on all, and stays in force over a restart."""
import contextlib
import os
import shutil
import sys
import time
import unittest

from cluster_rig import NATS_SERVER, Process, Rig, warder

if NATS_SERVER is None:
    sys.stderr.write("*** NOT TESTED: trust records on the bus, because nats-server is missing: apt-get install nats-server ***\n")


class NodesAlone(Rig):
    """A rig without daemons."""

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self.end)
            self.make_files()
            self.bus = Process(self.folder / "nats.log", NATS_SERVER, "-c", self.folder / "n1/server.conf")
            self.bus.start()
            self.wait(self.is_listening, "nats-server listens")
            for name in self.names:
                self.nodes[name] = Process(self.folder / name / "node.log", os.environ["WARDER_NODE"], "--config",
                                           self.folder / name / "node.json", "--daemon-user", (self.folder / name / "user").read_text())
                self.nodes[name].start()
            for name in self.names:
                self.wait_log(name, "is ready")
            undo.pop_all()
        return self

    def wait_log(self, name, text, times=1):
        def is_logged():
            node = self.nodes[name]
            if node.log_text().count(text) < times and node.process and node.process.poll() is not None:
                raise AssertionError(f"{name} has ended\n{self.logs()}")
            return node.log_text().count(text) >= times
        self.wait(is_logged, f"{name} logs: {text}")


@unittest.skipIf(NATS_SERVER is None, "nats-server is missing")
class Trust(unittest.TestCase):
    def test_a_removed_node_is_removed_everywhere_and_stays_removed(self):
        rig = self.enterContext(NodesAlone(None, "n1", "n2", "n3"))
        first = rig.folder / "n1"
        removed = time.monotonic()
        warder("cluster", "remove", "n3", "--folder", first)
        for name in ("n1", "n2", "n3"):
            rig.wait_log(name, "the trust record 4 is in force")
            self.assertEqual((rig.folder / name / "state/trust.record").read_text(), (first / "trust.record").read_text())
        self.assertLess(time.monotonic() - removed, 20)
        rig.wait_log("n3", "the trust record 4 does not name this node")

        # Its own file has the record 3 still: the stored one counts, and 3 is not put on the bus again.
        self.assertEqual(rig.nodes["n2"].stop(), 0)
        rig.nodes["n2"].start()
        rig.wait_log("n2", "is ready", times=2)
        current = (first / "trust.record").read_text()
        # Another authority is refused, also with a larger serial.
        warder("cluster", "init", "--name", "test", "--node", "n1", "--folder", rig.folder / "foreign")
        for number in range(5):
            request = warder("cluster", "join", "--cluster", "test", "--node", f"x{number}", "--folder", rig.folder / f"x{number}").strip()
            warder("cluster", "add", request, "--folder", rig.folder / "foreign")
        shutil.copy(rig.folder / "foreign/trust.record", rig.folder / "n2/trust.record")
        rig.wait_log("n2", "is no authority that this node knows")
        for name in ("n1", "n2"):
            self.assertEqual((rig.folder / name / "state/trust.record").read_text(), current)


if __name__ == "__main__":
    unittest.main()
