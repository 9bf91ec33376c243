#!/usr/bin/env python3
"""/servers in the jail: the catalogue as typed modules that code lists, reads and imports; and what learning changes."""
import contextlib
import json
import pathlib
import shutil
import signal
import tempfile
import time
import unittest

from harness import (ORDINARY_USER, PATIENCE, ROOT, Client, Daemon, Policies, as_user, descendants, eventually,
                     jailer_of)

GITHUB = {"tools": [{"name": "create_issue", "description": "Open an issue",
                     "inputSchema": {"type": "object", "required": ["title"],
                                     "properties": {"title": {"type": "string", "description": "In short"},
                                                    "labels": {"type": "array", "items": {"type": "string"}}}},
                     "outputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}}}]}


class Servers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-catalog-"))
        self.folder.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.write("github.json", GITHUB)

    def write(self, name, document):
        (self.folder / name).write_text(json.dumps(document))

    def daemon(self, **options):
        return Daemon(arguments=["--catalog", self.folder], **options)

    def test_code_lists_reads_and_imports_the_tools_of_others(self):
        with self.daemon() as daemon, Client(daemon.socket) as client:
            body = client.execute(
                "import os, inspect\nfrom servers.github import create_issue\nimport servers.github as github\n"
                "result = [sorted(os.listdir('/servers')), sorted(os.listdir('/servers/github')), "
                "str(inspect.signature(create_issue)), 'In short' in create_issue.__doc__, github.__all__, "
                "open('/servers/github/create_issue.py').read().startswith('\"\"\"')]")
            self.assertTrue(body["success"], body)
            top, files, signature, documented, names, text = body["result"]
            self.assertEqual(top, ["__init__.py", "call.js", "github"])
            self.assertEqual(files, ["__init__.py", "create_issue.js", "create_issue.py", "index.d.ts", "index.js"])
            self.assertIn("title: 'str', *, labels: 'list[str]' = Ellipsis", signature)
            self.assertEqual((documented, names, text), (True, ["create_issue"], True))
            body = client.execute("const {create_issue} = require('/servers/github');\n"
                                  "return [typeof create_issue, require('fs').readdirSync('/servers').length]",
                                  language="javascript")
            self.assertEqual(body["result"], ["function", 3], body)
            for code in ("import {create_issue} from 'servers/github'\ntypeof create_issue",
                         "import * as github from 'servers/github'\ntypeof github.create_issue",
                         "import github from '/servers/github'\ntypeof github.create_issue",
                         "const {create_issue} = await import('servers/github')\ntypeof create_issue",
                         "const {create_issue} = await import('/servers/github/index.js')\ntypeof create_issue",
                         "typeof require('servers/github').create_issue", "typeof require('./servers/github').create_issue",
                         "typeof require('servers/github/create_issue')"):
                with self.subTest(code=code):
                    body = client.execute(code, language="javascript")
                    self.assertEqual(body.get("result"), "function", body)
            body = client.execute("import {create_isue} from 'servers/github'", language="javascript")
            self.assertIn("did you mean 'create_issue'?", body["error"])
            body = client.execute("import {x} from 'servers/gitub'", language="javascript")
            self.assertIn("there is no server 'gitub' (did you mean 'github'?)", body["error"])

    def test_a_call_says_that_nobody_carries_it_yet(self):
        with self.daemon() as daemon, Client(daemon.socket) as client:
            error = client.execute("from servers.github import create_issue\ncreate_issue('broken')")["error"]
            self.assertIn("CallError: unavailable", error)
            self.assertIn("'create_issue' of 'github' is known, but cannot be called", error)
            self.assertIn("context_vars", error)
            body = client.execute("const {create_issue} = require('/servers/github'); await create_issue({title: 'x'})",
                                  language="javascript")
            self.assertIn("cannot be called", body["error"])
            self.assertIn("not_found", client.execute("import warder\nwarder.call('call_tool', name='nope')")["error"])

    def test_code_searches_for_itself(self):
        with self.daemon() as daemon, Client(daemon.socket) as client:
            body = client.execute("import warder\nresult = [warder.call('list_tools'), "
                                  "warder.call('search_tools', query='open an issue')['tools'][0]['name'], "
                                  "warder.call('get_tool_definition', tool_name='github__create_issue')['name']]")
            self.assertEqual(body["result"], [["github__create_issue"], "create_issue", "create_issue"], body)
            body = client.execute("return [await list_mcp_tools(), (await get_mcp_tool_details('create_issue')).name]",
                                  language="javascript")
            self.assertEqual(body["result"], [["github__create_issue"], "create_issue"])
            body = client.execute("from warder import search_tools, get_tool_definition\n"
                                  "found = search_tools('open an issue', server='github', detail_level='brief')['tools']\n"
                                  "[found[0]['signature'], get_tool_definition(found[0]['name'], server='github')]")
            self.assertRegex(body["result"][0], r"\Acreate_issue\(title: str, ")
            self.assertIs(body["result"][1]["callable"], False)
            self.assertNotIn("import", body["result"][1], "its stub can be imported, but no call of it can succeed")
            self.assertIn("context_vars", body["result"][1]["hint"])
            body = client.execute("const {tools} = await warder.search_tools('open an issue', {limit: 1});\n"
                                  "return [tools.length, (await warder.get_tool_definition(tools[0].name)).name]",
                                  language="javascript")
            self.assertEqual(body["result"], [1, "create_issue"], body)
            self.assertIn("invalid", client.execute("import warder\nwarder.call('search_tools', q=1)")["error"])

    def test_the_tree_cannot_be_changed_and_hides_no_module_of_the_codes_own(self):
        with self.daemon() as daemon, Client(daemon.socket) as client:
            for path in ("/servers/x", "/servers/github/create_issue.py", "/servers/github/x"):
                self.assertRegex(client.execute(f"open({path!r}, 'w')")["error"], "Read-only|PermissionError")
            body = client.execute("import os\nos.makedirs('servers', exist_ok=True)\n"
                                  "open('servers/__init__.py', 'w').write('mine = 1')\nimport servers\nresult = servers.mine")
            self.assertEqual(body["result"], 1, body)

    def test_a_new_catalogue_is_seen_by_new_jails_and_running_ones_keep_theirs(self):
        policies = Policies(pool={"min_idle": 1, "max_idle": 2, "zygotes": True})
        look = "import os\nresult = sorted(name for name in os.listdir('/servers') if '.' not in name)"
        hold = ("import os, time\nprint('running', flush=True)\nwhile not os.path.exists('/workspace/go'): time.sleep(0.01)\n"
                + look)
        with policies, self.daemon(policies=policies) as daemon, Client(daemon.socket) as client:
            self.assertEqual(client.execute(look)["result"], ["github"])
            request = client.begin_running(hold, timeout_seconds=60)
            (self.folder / "github.json").rename(self.folder / "forge.json")
            until = time.monotonic() + PATIENCE
            while (seen := client.execute(look)["result"]) != ["forge"] and time.monotonic() < until:
                time.sleep(0.05)  # between looks; what is seen decides
            self.assertEqual(seen, ["forge"])
            (daemon.state / "tenants").joinpath(next((daemon.state / "tenants").iterdir()).name, "workspace/go").touch()
            self.assertEqual(client.executed(request)["result"], ["github"])

    def test_a_new_catalogue_leaves_no_client_without_jails_that_wait(self):
        policies = Policies(pool={"min_idle": 1, "max_idle": 2, "zygotes": False}, languages=["python"])
        with policies, self.daemon(policies=policies) as daemon, Client(daemon.socket):
            def waiting():
                return {pid for pid, name in descendants(jailer_of(daemon)).items() if name.startswith("python3")}

            def others():
                now = waiting()
                return now if now and not now & before else None
            before = eventually(waiting, "a jail that waits, before any call")
            (self.folder / "github.json").rename(self.folder / "forge.json")
            eventually(others, "another jail that waits, before any call")

    def test_without_tools_the_tree_is_there_and_says_so(self):
        (self.folder / "github.json").unlink()
        with self.daemon() as daemon, Client(daemon.socket) as client:
            self.assertEqual(client.execute("import os\nresult = sorted(os.listdir('/servers'))")["result"],
                             ["__init__.py", "call.js"])

    def test_names_from_definitions_stay_inside_the_tree(self):
        self.write("github.json", {"server": "../../etc", "tools": [{"name": "..%2fpasswd"}, {"name": "a/../../b"}]})
        with self.daemon() as daemon, Client(daemon.socket) as client:
            body = client.execute("import os\nresult = [name for _, folders, files in os.walk('/servers') for name in "
                                  "folders + files]")
            for name in body["result"]:
                self.assertRegex(name, r"\A[A-Za-z_][A-Za-z0-9_]*(\.py|\.js|\.d\.ts)?\Z")


class Learning(unittest.TestCase):
    QUERY = "flamingo pelican"  # words of no tool; of three, some of the few tools would be listed

    def listed(self, client):
        text = client.call("search_tools", {"query": self.QUERY})["content"][0]["text"]
        return [tool["name"] for tool in json.loads(text)["tools"]]

    @contextlib.contextmanager
    def catalogue(self, **policy):
        """A daemon that knows GITHUB's tools."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-catalog-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        (folder / "github.json").write_text(json.dumps(GITHUB))
        with Policies(**policy) as self.policies, \
                Daemon(policies=self.policies, arguments=["--catalog", folder]) as daemon:
            yield daemon

    def learn(self, **policy):
        with self.catalogue(**policy) as daemon, Client(daemon.socket) as client:
            before = self.listed(client)
            client.call("get_tool_definition", {"tool_name": "create_issue"})
            return before, self.listed(client)

    def test_what_was_chosen_after_a_search_is_found_by_it(self):
        self.assertEqual(self.learn(), ([], ["create_issue"]))
        self.assertEqual(self.learn(discovery={"learning": "shared"}), ([], ["create_issue"]))

    def test_what_was_learned_is_there_after_a_restart(self):
        """Also if root started the daemon: the folder belongs to the user that the daemon becomes."""
        with self.catalogue() as daemon:
            with Client(daemon.socket) as client:
                self.assertEqual(self.listed(client), [])
                client.call("get_tool_definition", {"tool_name": "create_issue"})
            daemon.stop()
            daemon.start()
            with Client(daemon.socket) as client:
                self.assertEqual(self.listed(client), ["create_issue"])
            self.assertNotIn("the learning cannot be written", daemon.log_text())

    def test_what_code_searches_for_teaches_too(self):
        with self.catalogue() as daemon, Client(daemon.socket) as client:
            self.assertEqual(self.listed(client), [])
            body = client.execute(f"import warder\nwarder.search_tools({self.QUERY!r})\n"
                                  "result = warder.get_tool_definition('create_issue')['name']")
            self.assertEqual(body.get("result"), "create_issue", body)
            self.assertEqual(self.listed(client), ["create_issue"])
            body = client.execute(f"import warder\nresult = [tool['name'] for tool in warder.search_tools({self.QUERY!r})['tools']]")
            self.assertEqual(body.get("result"), ["create_issue"], body)

    @unittest.skipUnless(ROOT, "needs root, to be somebody else")
    def test_tenants_learn_apart_unless_their_policy_shares(self):
        for learning, found in (("tenant", []), ("shared", ["create_issue"])):
            with self.subTest(learning), self.catalogue(discovery={"learning": learning}) as daemon:
                with Client(daemon.socket) as client, as_user(ORDINARY_USER, lambda: Client(daemon.socket)) as other:
                    self.listed(client)
                    client.call("get_tool_definition", {"tool_name": "create_issue"})
                    self.assertEqual(self.listed(client), ["create_issue"])
                    self.assertEqual(self.listed(other), found)

    def test_not_if_the_policy_says_no(self):
        self.assertEqual(self.learn(discovery={"learning": "off"}), ([], []))

    def test_what_was_learned_before_the_policy_says_no_is_forgotten(self):
        with self.catalogue() as daemon:
            policies = self.policies
            with Client(daemon.socket) as client:
                self.listed(client)
                client.call("get_tool_definition", {"tool_name": "create_issue"})
                self.assertEqual(self.listed(client), ["create_issue"])
                for learning in ("off", "tenant"):
                    policies.change(discovery={"learning": learning})
                    reloads = daemon.log_text().count("policies reloaded")
                    daemon.process.send_signal(signal.SIGHUP)
                    until = time.monotonic() + PATIENCE
                    while daemon.log_text().count("policies reloaded") == reloads and time.monotonic() < until:
                        time.sleep(0.02)  # between looks; the log decides
                    self.assertEqual(self.listed(client), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
