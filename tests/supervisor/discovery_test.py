#!/usr/bin/env python3
"""The tools beside execute_code that need no jail: what the daemon tells of other servers' tools, and personal data."""
import json
import os
import pathlib
import shutil
import signal
import tempfile
import time
import unittest

from harness import EXAMPLE_CATALOG, PATIENCE, ROOT, Client, Daemon

TOOLS = {"search_tools", "get_tool_definition", "list_tool_categories", "sanitize_pii", "restore_pii"}


def answer(result):
    text = json.loads(result["content"][0]["text"])
    assert result["structuredContent"] == text
    return text


class Catalog(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-catalog-"))
        self.folder.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def names(self, client):
        return [tool["name"] for tool in answer(client.call("search_tools", {"query": ""}))["tools"]]

    def await_names(self, client, expected):
        until = time.monotonic() + PATIENCE
        while (names := self.names(client)) != expected and time.monotonic() < until:
            time.sleep(0.02)  # between questions; the answer decides
        self.assertEqual(names, expected)

    def complete(self, client, argument, typed="", ref=None, **chosen):
        found = client.request("completion/complete", ref=ref or {"type": "ref/resource", "uri": "tool:///{server}/{tool}"},
                               argument={"name": argument, "value": typed}, context={"arguments": chosen})
        return found["completion"]["values"]

    def test_names_are_completed_and_a_definition_reads_as_a_resource(self):
        for server, names in {"shop": ["sell", "send"], "bank": ["send"]}.items():
            tools = [{"name": name, "description": f"{name} of {server}"} for name in names]
            self.write(f"{server}.json", json.dumps({"server": server, "tools": tools}))
        with Daemon(arguments=["--catalog", self.folder]) as daemon, Client(daemon.socket) as client:
            self.assertEqual(self.complete(client, "server"), ["bank", "shop"])
            self.assertEqual(self.complete(client, "tool", "se"), ["sell", "send"])
            self.assertEqual(self.complete(client, "tool", server="bank"), ["send"])
            (contents,) = client.request("resources/read", uri="tool:///bank/send")["contents"]
            self.assertEqual(json.loads(contents["text"])["description"], "send of bank")
            with self.assertRaisesRegex(RuntimeError, "tool:///bank/none"):
                client.request("resources/read", uri="tool:///bank/none")

    def test_a_prompt_begins_with_code_and_its_language_is_completed(self):
        with Daemon(arguments=["--catalog", self.folder]) as daemon, Client(daemon.socket) as client:
            ref = {"type": "ref/prompt", "name": "solve_with_code"}
            self.assertEqual(self.complete(client, "language", ref=ref), ["python", "javascript", "typescript", "shell"])
            self.assertEqual(self.complete(client, "language", "ja", ref=ref), ["javascript"])
            got = client.request("prompts/get", name="solve_with_code", arguments={"task": "count", "language": "shell"})
            text = got["messages"][0]["content"]["text"]
            self.assertIn("in shell", text)
            self.assertTrue(text.endswith("count"), text)
            with self.assertRaisesRegex(RuntimeError, "not python, javascript, typescript or shell"):
                client.request("prompts/get", name="solve_with_code", arguments={"task": "count", "language": "c"})

    def test_a_catalogue_of_ones_own_is_served_and_followed(self):
        self.write("shop.json", json.dumps({"tools": [{"name": "sell"}]}))
        self.write("broken.json", "{")
        with Daemon(arguments=["--catalog", self.folder]) as daemon, Client(daemon.socket) as client:
            self.assertEqual(self.names(client), ["sell"])
            self.assertEqual(answer(client.call("list_tool_categories"))["problems"], 1)
            self.assertIn("broken.json", daemon.log.read_text())
            self.write("shop.json", json.dumps({"tools": [{"name": "buy"}, {"name": "sell"}]}))
            self.await_names(client, ["buy", "sell"])
            self.write("shop.json", json.dumps({"tools": [{"name": "barter"}]}))
            daemon.process.send_signal(signal.SIGHUP)
            self.await_names(client, ["barter"])

    def test_a_file_that_becomes_something_else_is_left_out_and_the_rest_is_served(self):
        whole = json.dumps({"tools": [{"name": "sell"}]})
        self.write("good.json", json.dumps({"tools": [{"name": "good"}]}))
        self.write("shop.json", whole)
        shop = self.folder / "shop.json"
        with Daemon(arguments=["--catalog", self.folder]) as daemon, Client(daemon.socket) as client:
            for change in (lambda: self.write("shop.json", whole[:20]), shop.mkdir, lambda: os.mkfifo(shop),
                           lambda: shop.symlink_to("/dev/zero"), lambda: shop.symlink_to("shop.json"),
                           lambda: self.write("shop.json", '{"tools": [{"name": "se\u202ell"}]}')):
                self.await_names(client, ["good", "sell"])
                shop.unlink()
                change()
                self.await_names(client, ["good"])
                shop.rmdir() if shop.is_dir() else shop.unlink()
                self.write("new", whole)
                (self.folder / "new").rename(shop)
            self.await_names(client, ["good", "sell"])
            self.assertRegex(daemon.log.read_text(), r"shop\.json.*not a regular file")

    @unittest.skipIf(os.path.isdir("/etc/warder/catalog"), "this machine has /etc/warder/catalog")
    def test_without_servers_no_tool_is_offered_and_the_answers_say_how_tools_come(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            listed = client.request("tools/list")["tools"]
            self.assertLessEqual(TOOLS, {tool["name"] for tool in listed})
            promises = json.dumps(listed) + client.request("server/discover").get("instructions", "")
            for invented in ("send_message", "web_vuln_scanner", "dos_detector", "password_strength", "resize_image"):
                self.assertNotIn(invented, promises)
            found = answer(client.call("search_tools", {"query": "send an e-mail with an attachment"}))
            self.assertEqual({tool.get("kind") for tool in found["tools"]} - {"skill"}, set(), found)
            counted = answer(client.call("list_tool_categories"))
            self.assertEqual({key: counted[key] for key in ("categories", "total_tools", "core_mcps", "servers")},
                             {"categories": {}, "total_tools": 0, "core_mcps": [], "servers": {}})
            for tool, arguments in (("get_tool_definition", {"tool_name": "send_message"}),
                                    ("call_tool", {"name": "send_message"})):
                refused = answer(client.call(tool, arguments))
                self.assertEqual(refused["code"], "not_found")
                self.assertIn("no upstream server is configured", refused["remedy"])
            for told in (found, counted):
                self.assertIn("an administrator adds servers", told["hint"])

    def test_a_tool_that_no_server_has_is_listed_as_one_that_cannot_be_called(self):
        with Daemon(arguments=["--catalog", EXAMPLE_CATALOG]) as daemon, Client(daemon.socket) as client:
            found = answer(client.call("search_tools", {"query": "send_message"}))
            (mail,) = [tool for tool in found["tools"] if tool["name"] == "send_message"]
            self.assertIs(mail["callable"], False)
            self.assertIn("no upstream server of this daemon has them", found["hint"])
            defined = answer(client.call("get_tool_definition", {"tool_name": "send_message"}))
            self.assertIn("inputSchema", defined)
            self.assertEqual((defined["callable"], "import" in defined), (False, False))
            self.assertIn("from your client", defined["hint"])
            counted = answer(client.call("list_tool_categories"))
            self.assertEqual((counted["callable_tools"], counted["total_tools"] > 10), (0, True))

    @unittest.skipUnless(ROOT, "only root may change its own view of /etc")
    def test_the_administrators_folder_is_read_if_it_exists(self):
        self.write("shop.json", json.dumps({"tools": [{"name": "sell"}]}))
        etc = 'cp -a /etc "$0/etc" && mkdir -p "$0/etc/warder/catalog" && cp "$0/shop.json" "$0/etc/warder/catalog" && ' \
              'mount --bind "$0/etc" /etc && exec "$@"'
        launcher = ("unshare", "--mount", "--propagation", "private", "sh", "-c", etc, self.folder)
        with Daemon(launcher=launcher) as daemon, Client(daemon.socket) as client:
            self.assertEqual(self.names(client), ["sell"])

    def test_the_examples_that_clients_know_from_other_servers_find_something_in_the_example(self):
        with Daemon(arguments=["--catalog", EXAMPLE_CATALOG]) as daemon, Client(daemon.socket) as client:
            found = answer(client.call("search_tools", {"query": "vulnerability", "category": "security",
                                                        "detail_level": "summary"}))
            self.assertEqual([tool["name"] for tool in found["tools"]], ["web_vuln_scanner"])
            for name in ("web_vuln_scanner", "dos_detector"):
                one = answer(client.call("get_tool_definition", {"tool_name": name, "category": "security"}))
                self.assertEqual((one["name"], one["category"]), (name, "security"))
                self.assertEqual(answer(client.call("search_tools", {"query": name}))["tools"][0]["name"], name)
            # What is far from everything is near to nothing.
            elsewhere = answer(client.call("search_tools", {"query": "vulnerability", "category": "memory"}))
            self.assertEqual(elsewhere["count"], 0)
            for query in ("vulnerability", "quantum chromodynamics"):
                told = json.dumps(answer(client.call("search_tools", {"query": query})).get("nearest", []))
                self.assertNotIn("remember", told)


class PersonalData(unittest.TestCase):
    def test_agents_get_tokens_and_do_not_get_them_back(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            clean = answer(client.call("sanitize_pii", {"text": "mail ada@lovelace.org"}))
            self.assertRegex(clean["sanitized_text"], r"\Amail \[EMAIL_[a-z0-9]{6}\]\Z")
            refused = client.call("restore_pii", {"text": clean["sanitized_text"]})
            self.assertTrue(refused["isError"])
            self.assertNotIn("ada@", json.dumps(refused))
            self.assertEqual(answer(refused)["rule"], "pii.restore")


if __name__ == "__main__":
    unittest.main(verbosity=2)
