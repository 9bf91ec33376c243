#!/usr/bin/env python3
"""Work on foreign data after it was parsed never runs on the loop: schemas, selections, rules, lists of tools.

Each case takes far longer than the call around it. Compared are the processor times of the loop's thread and of all
other threads of the daemon, so that neither a busy machine nor a slow build matters.
"""
import json
import os
import pathlib
import tempfile
import unittest

from harness import Client, Policies, eventually
from upstream_harness import UpstreamTest

SERVER = """
import json, sys
tools = json.load(open(sys.argv[1]))
items = [{"a": 1, "b": 2} for _ in range(4000)]
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
              "tools/list": {"tools": tools},
              "tools/call": {"content": [], "structuredContent": {"items": items}}}.get(asked["method"])
    reply = {"result": answer} if answer else {"error": {"code": -32601, "message": "no such method"}}
    if "id" in asked: print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
"""
FREE = {"name": "free", "inputSchema": {"type": "object"}}


def expressions(number, count=500):
    """A tool with as many different expressions, each of which takes long to compile."""
    return {"name": f"t{number}", "inputSchema": {"type": "object", "properties": {
        f"p{i}": {"type": "string", "pattern": "(?:[a-z%d]{1,30}x%d){1,30}" % (i % 10, number * count + i)}
        for i in range(count)}}}


def alternatives(count):
    """A tool that compares a value with count * count schemas."""
    return {"name": "nested", "inputSchema": {
        "type": "object", "properties": {"value": {"anyOf": [{"$ref": "#/$defs/a"}] * count}},
        "$defs": {"a": {"anyOf": [{"type": "string"}] * count}}}}


class Threads:
    """Processor time of a daemon's threads within a `with`."""

    def __init__(self, daemon):
        self.pid = daemon.process.pid

    def now(self):
        loop, others = 0.0, 0.0
        ticks = os.sysconf("SC_CLK_TCK")
        for thread in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            try:
                fields = (thread / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:  # it has ended
                continue
            used = (int(fields[11]) + int(fields[12])) / ticks
            if thread.name == str(self.pid):
                loop += used
            else:
                others += used
        whole = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return loop, (int(whole[11]) + int(whole[12])) / ticks - loop  # ended threads count in the second

    def __enter__(self):
        self.before = self.now()
        return self

    def __exit__(self, *_):
        self.loop, self.others = (after - before for after, before in zip(self.now(), self.before))


class ForeignWork(UpstreamTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "slow_server.py").write_text(SERVER)

    def slow(self, *tools):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        folder.chmod(0o755)
        (folder / "tools.json").write_text(json.dumps(tools))
        return {"command": "/usr/bin/python3", "args": [str(self.folder / "slow_server.py"), str(folder / "tools.json")],
                "jail": "none"}

    def expect_beside_the_loop(self, times, least=0.05):
        self.assertGreater(times.others, least, "the case is not slow enough to say anything")
        self.assertLess(times.loop, times.others / 2)

    def call(self, client, tool, arguments, **more):
        return client.call("call_tool", {"name": f"slow__{tool}", "arguments": arguments, **more})

    def test_a_schema_of_alternatives_in_alternatives(self):
        with self.daemon({"slow": self.slow(alternatives(400))}) as daemon, Client(daemon.socket) as client:
            self.call(client, "nested", {"value": "fits"})
            with Threads(daemon) as times:
                for _ in range(4):
                    refused = self.call(client, "nested", {"value": {"a": "x" * 50_000}})
            self.assertTrue(refused["isError"])
            self.assertIn("does not match any of the 400 alternatives", json.dumps(refused))
            self.expect_beside_the_loop(times)

    def test_a_selection_of_many_paths(self):
        with self.daemon({"slow": self.slow(FREE)}) as daemon, Client(daemon.socket) as client:
            self.call(client, "free", {})
            paths = [f"items.{name}" for name in ("a", "b", *(f"absent{i}" for i in range(62)))]
            with Threads(daemon) as times:
                for _ in range(8):
                    answer = self.call(client, "free", {}, select=paths)
            self.assertEqual(answer["structuredContent"]["result"]["items"][3999], {"a": 1, "b": 2})
            self.expect_beside_the_loop(times)
            once = self.call(client, "free", {}, select=["items.a"] * 1000)  # equal paths are one
            self.assertEqual(once["structuredContent"]["result"]["items"][0], {"a": 1})
            refused = self.call(client, "free", {}, select=[f"items.{i}" for i in range(65)])
            self.assertIn("select: 65 paths; at most 64 are allowed", json.dumps(refused))

    def test_a_rule_that_looks_into_arguments(self):
        when = {"properties": {"value": {"not": {"anyOf": [{"const": "x" * 30, "maxLength": n} for n in range(400)]}}}}
        rules = [{"name": f"r{n}", "tools": ["slow.*"], "verdict": "deny", "when": {"not": when}} for n in range(20)]
        with Policies(calls={"rules": [*rules, {"name": "all", "tools": ["*"], "verdict": "allow"}]}) as policies:
            with self.daemon({"slow": self.slow(FREE)}, policies=policies) as daemon, Client(daemon.socket) as client:
                self.call(client, "free", {})
                with Threads(daemon) as times:
                    for _ in range(30):
                        answer = self.call(client, "free", {"value": "y" * 30_000}, select=["absent"])
                self.assertFalse(answer.get("isError"))
                self.expect_beside_the_loop(times)

    def test_a_list_of_tools_with_many_expressions(self):
        tools = [expressions(number) for number in range(20)]
        with self.daemon({"slow": self.slow(*tools)}) as daemon:
            with Client(daemon.socket) as client:
                with Threads(daemon) as times:
                    eventually(lambda: not self.call(client, "t0", {"p1": "ax1"}).get("isError"), "the first call")
                self.assertLess(times.loop, 1)  # before: half a second for each tool, on the loop
                refused = self.call(client, "t3", {"p1": "does not fit"})
                self.assertIn("/p1: \\\"does not fit\\\" does not match", json.dumps(refused))
            daemon.stop()
            with self.assertNoLogs():
                daemon.start()  # from the stored list
            with Client(daemon.socket) as client, Threads(daemon) as times:
                self.assertFalse(self.call(client, "t0", {"p1": "ax1"}).get("isError"))
            self.assertLess(times.loop, 1)

    def test_the_daemon_ends_while_long_work_runs(self):
        with self.daemon({"slow": self.slow(alternatives(3000))}) as daemon:
            clients = [self.enterContext(Client(daemon.socket)) for _ in range(2)]
            self.call(clients[0], "nested", {"value": "fits"})
            value = [{"a": "x"}] * 20_000
            for client in clients:
                client.begin("tools/call", name="call_tool", arguments={"name": "slow__nested", "arguments": {"value": value}})
            with Threads(daemon) as times:
                eventually(lambda: Threads(daemon).now()[1] - times.before[1] > 0.1, "the work")
            daemon.process.terminate()
            daemon.process.wait(timeout=30)  # before: as long as the work lasted, minutes
            self.assertEqual(daemon.process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
