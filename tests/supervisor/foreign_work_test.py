#!/usr/bin/env python3
"""Work on foreign data after it was parsed never runs on the loop: schemas, selections, rules, lists of tools.

Each case takes far longer than the call around it. foreign_work_harness.py describes the comparison.
"""
import json
import os
import shutil
import unittest

from foreign_work_harness import (FREE, SERVER, ForeignWorkTest, Threads, WorkTime, alternatives, doublings,
                                  expressions, many_expressions, open_requests)
from harness import ROOT, Client, Policies, as_user, body_of, eventually


class ForeignWork(ForeignWorkTest):
    def test_a_schema_of_alternatives_in_alternatives(self):
        with self.daemon({"slow": self.slow(alternatives(400))}) as daemon, Client(daemon.socket) as client:
            self.call(client, "nested", {"value": "fits"})
            with Threads(daemon) as times:
                for _ in range(16):
                    refused = self.call(client, "nested", {"value": {"a": "x" * 50_000}})
            self.assertTrue(refused["isError"])
            self.assertIn("does not match any of the 400 alternatives", json.dumps(refused))
            self.expect_beside_the_loop(times)

    def test_a_selection_of_many_paths(self):
        with self.daemon({"slow": self.slow(FREE)}) as daemon, Client(daemon.socket) as client:
            self.call(client, "free", {})
            paths = [f"items.{name}" for name in ("a", "b", *(f"absent{i}" for i in range(62)))]
            with Threads(daemon) as times:
                for _ in range(16):
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

    def test_the_most_tools_with_the_most_expressions(self):
        with self.daemon({"slow": self.slow(pages=many_expressions())}) as daemon:
            with Client(daemon.socket) as client, Client(daemon.socket) as other:
                with Threads(daemon) as times:
                    learning = self.begin_call(client, "t0", {})
                    for number in range(20):
                        other.write_file(f"file{number}", "text")
                        if open_requests(client, 1) == 0:
                            break
                    self.assertGreater(number, 0, "the list is too short to say anything")
                    learned = client.answer(learning)
                self.assertFalse(learned["result"].get("isError"), learned)
                self.expect_beside_the_loop(times)
            daemon.stop()
            daemon.start()  # with the stored list; returns after the first answer
            work = WorkTime(daemon)
            with Client(daemon.socket) as client, Threads(daemon) as times:
                client.write_file("file", "text")
                eventually(lambda: work.used() > 0.3, "the list is being read")
            self.expect_beside_the_loop(times)

    def expect_served_or_refused(self, answer):
        if answer.get("isError"):
            self.assertRegex(json.dumps(answer), "took more than 1000 ms of processor time|do not match its schema")

    def test_a_call_of_an_unknown_tool_beside_many_tools(self):
        with self.daemon({"slow": self.slow(FREE)}, catalog=self.large_catalog()) as daemon, \
                Client(daemon.socket) as client:
            self.call(client, "free", {})
            eventually(lambda: client.call("search_tools", {"query": "word1"})["structuredContent"]["tools"], "the catalog")
            unknown = "_".join(f"wrod{number}" for number in range(8))
            with Threads(daemon) as times:
                for _ in range(80):
                    refused = self.call(client, unknown, {})
            self.assertIn("has no tool", json.dumps(refused))
            self.expect_beside_the_loop(times)

    def test_a_search_among_many_skills_with_many_words(self):
        with self.daemon({}) as daemon:
            words = [f"w{number:03}" for number in range(200)]
            with Client(daemon.socket) as client:
                skill = {"name": "seed", "code": "1", "description": " ".join(words)}
                self.assertTrue(body_of(client.call("save_skill", skill))["success"])
            daemon.stop()
            (saved,) = daemon.state.glob("tenants/*/skills/seed")
            for number in range(60):  # as a tenant saves them, each in a call
                copy = saved.parent / f"s{number}"
                shutil.copytree(saved, copy)
                (script,) = copy.glob("*/scripts/seed.py")
                script.rename(script.with_name(f"s{number}.py"))
                head = script.parent.parent / "SKILL.md"
                head.write_text(head.read_text().replace("seed", f"s{number}"))
                for path in (copy, *copy.rglob("*")):
                    os.chown(path, saved.stat().st_uid, saved.stat().st_gid)
            daemon.start()
            with Client(daemon.socket) as client:
                self.assertGreater(body_of(client.call("list_skills", {"limit": 1}))["total"], 60)
                query = " ".join(f"v{number:03}" for number in range(199)) + " w000"
                with Threads(daemon) as times:
                    for _ in range(12):
                        listed = body_of(client.call("list_skills", {"query": query, "limit": 1}))
                        found = body_of(client.call("search_tools", {"query": query}))
                self.assertEqual((listed["total"], found["total"]), (61, 0))
            self.expect_beside_the_loop(times)

    @unittest.skipUnless(ROOT, "only root can be two users")
    def test_a_tenants_own_server_with_hostile_definitions(self):
        """The configured program is a file in the tenant's workspace: the tenant writes each answer."""
        choices = [f"choice {number}" for number in range(20_000)]
        tools = [*(expressions(number) for number in range(10)), alternatives(2000), doublings(30),
                 {"name": "described", "description": "word " * 30_000, "inputSchema": {
                     "type": "object", "properties": {"value": {"description": "word " * 30_000, "enum": choices}}}}]
        own = {"command": "/usr/bin/python3", "args": ["/workspace/server.py", "/workspace/pages", "10"],
               "folder": "workspace"}
        with self.daemon({"own": own, "slow": self.slow(FREE)}) as daemon:
            client = self.enterContext(as_user(47010, lambda: Client(daemon.socket)))
            other = self.enterContext(as_user(47011, lambda: Client(daemon.socket)))
            client.write_file("server.py", SERVER)
            client.write_file("pages", json.dumps(tools))
            self.assertFalse(self.call(other, "free", {}).get("isError"))
            values = {"t0": {"p1": "ax1"}, "nested": {"value": {"a": "x" * 50_000}}, "doubled": {"value": "x"},
                      "described": {"value": "choice"}}
            with Threads(daemon) as times:
                requests = [self.begin_call(client, tool, value, server="own") for tool, value in values.items()]
                for _ in range(10):
                    self.assertFalse(self.call(other, "free", {}, select=["items.a"]).get("isError"))
                    other.call("search_tools", {"query": "a word"})
                self.assertGreater(open_requests(client, len(requests)), 0, "the definitions are not hostile enough")
                answers = [client.answer(request)["result"] for request in requests]
            self.expect_beside_the_loop(times)
            for tool, answer in zip(values, answers):
                with self.subTest(tool):
                    self.expect_served_or_refused(answer)


if __name__ == "__main__":
    unittest.main()
