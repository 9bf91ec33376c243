#!/usr/bin/env python3
"""What the list of tools costs an agent's context: counted by a public tokenizer, as the list goes over the wire."""
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

from harness import Daemon
from tokens import compact, tokens_of

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
ALL_LIMIT, LEAN_LIMIT = 1180, 500
# Not counted yet, because they are not there yet, but room is kept for them.
EXPECTED_LATER = {}
LEAN = ["execute_code", "search_tools", "call_tool"]


class Tokens(unittest.TestCase):
    def tools(self, choice="all"):
        with tempfile.TemporaryDirectory(prefix="warder-test-policies-") as folder:
            policies = pathlib.Path(folder)
            policies.chmod(0o755)
            shutil.copytree(TOP / "policies/seccomp", policies / "seccomp")
            policy = json.loads((TOP / "policies/default.json").read_text())
            policy["tools"] = choice
            policy["pool"] = {"min_idle": 0, "max_idle": 0, "zygotes": False}
            (policies / "default.json").write_text(json.dumps(policy))
            with Daemon(policies=policies) as daemon, daemon.connect() as client:
                return client.request("tools/list")["tools"]

    def count(self, tools):
        total, *each = tokens_of(compact(tools), *map(compact, tools))
        for tool, count in zip(tools, each):
            print(f"{count:6} {tool['name']}", file=sys.stderr)
        later = {name: count for name, count in EXPECTED_LATER.items() if name not in {tool["name"] for tool in tools}}
        return total, later

    def test_the_counting_counts(self):
        self.assertEqual(tokens_of("hello world", "", "hello world hello world", "two\nlines"), [2, 0, 4, 3])

    def test_the_ledgers_samples_have_the_tokens_that_they_are_said_to_have(self):
        samples = json.loads((TOP / "tests/supervisor/records/journal/token_samples.json").read_text())
        counted = tokens_of(*(sample["text"] for sample in samples.values()))
        self.assertEqual(dict(zip(samples, counted)), {kind: sample["tokens"] for kind, sample in samples.items()})

    def test_all_tools_cost_at_most_1180_tokens(self):
        tools = self.tools()
        total, later = self.count(tools)
        print(f"{total:6} all, and {sum(later.values())} for {sorted(later)}", file=sys.stderr)
        self.assertLessEqual(total + sum(later.values()), ALL_LIMIT)
        # Shorter, but no worse: each says what it does and what it takes.
        for tool in tools:
            with self.subTest(tool=tool["name"]):
                self.assertGreater(len(tool["description"]), 15)
                self.assertEqual(tool["inputSchema"]["type"], "object")
                self.assertNotIn("outputSchema", tool)  # it would say no more than "an object"

    def answer_cost(self, client, tool, arguments):
        """Of the texts of an answer, as a program that does not ask for the receipt gets them."""
        result = client.request("tools/call", name=tool, arguments=arguments, _meta={"org.warder/receipt": False})
        return sum(tokens_of(*(block["text"] for block in result["content"] if block["type"] == "text")))

    def test_answers_cost_little(self):
        with Daemon() as daemon, daemon.connect() as client:
            self.assertLessEqual(self.answer_cost(client, "execute_code", {"code": "pass"}), 45)
            for code in ("import requests\nrequests.get('https://example.com/')", "def f(x):\n  return 1 / x\nf(0)",
                         "import json\njson.loads('{')", "open('/no/such')"):
                with self.subTest(code):
                    self.assertLessEqual(self.answer_cost(client, "execute_code", {"code": code}), 200)

    def test_a_search_costs_at_most_300(self):
        """Among tools in the form of real servers' (tests/catalog/finding)."""
        with tempfile.TemporaryDirectory(prefix="warder-test-catalog-") as folder:
            catalog = pathlib.Path(folder)
            catalog.chmod(0o755)
            for group in json.loads((TOP / "tests/catalog/finding/tools.json").read_text()):
                (catalog / f"{group['server']}.json").write_text(json.dumps(group))
            config = catalog / "warderd.conf"
            config.write_text(json.dumps({"catalog": str(catalog)}))
            with Daemon(arguments=["--config", config]) as daemon, daemon.connect() as client:
                for query in ("turn on a light", "create an issue", "send an email", "what is the weather tomorrow", "read a file"):
                    with self.subTest(query):
                        self.assertLessEqual(self.answer_cost(client, "search_tools", {"query": query}), 300)

    def test_the_instructions_cost_at_most_150_and_name_durable_steps(self):
        with Daemon() as daemon, daemon.connect() as client:
            instructions = client.request("server/discover")["instructions"]
        self.assertLessEqual(tokens_of(instructions)[0], 150)
        self.assertIn("warder.workflow", instructions)

    def test_a_lean_policys_tools_cost_at_most_500(self):
        tools = self.tools("lean")
        self.assertLessEqual({tool["name"] for tool in tools}, set(LEAN))
        total, later = self.count(tools)
        self.assertLessEqual(total + sum(later.get(name, 0) for name in LEAN), LEAN_LIMIT)


if __name__ == "__main__":
    unittest.main(verbosity=2)
