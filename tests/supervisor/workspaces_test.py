"""Named workspaces of a trusted client, and the logs of sessions: whose they are, what they say, when they go."""
import json
import unittest

from harness import PATIENCE, Client, Daemon, SharedDaemon, Watch, body_of, eventually, jailed

KEY = "org.warder/workspace"


class Case(SharedDaemon):
    def call(self, tool, arguments, workspace=None, **meta):
        if workspace is not None:
            meta[KEY] = workspace
        return self.client.request("tools/call", name=tool, arguments=arguments, _meta=meta)

    def execute(self, code, workspace=None, task=None, **arguments):
        meta = {} if task is None else {"org.warder/task": task}
        return body_of(self.call("execute_code", {"code": code, **arguments}, workspace, **meta))

    def read(self, uri, workspace=None):
        meta = {} if workspace is None else {KEY: workspace}
        return self.client.request("resources/read", uri=uri, _meta=meta)["contents"][0]["text"]

    def log(self, session, workspace=None):
        return json.loads(self.read(f"session:///{session}", workspace))


class Workspaces(Case):
    policy = {"workspaces": ["customer-*"], "named_workspaces": {"max": 3},
              "quota": {"workspace_bytes": 1 << 20, "workspace_files": 100},
              "pool": {"min_idle": 1, "max_idle": 2, "zygotes": True}}

    def test_files_are_its_own_in_every_tool(self):
        self.assertTrue(self.call("write_workspace_file", {"filename": "f", "content": "a"}, "customer-a")
                        ["structuredContent"]["success"])
        self.assertEqual(self.execute("read_file('f')", "customer-a")["result"], "a")
        self.assertEqual(self.execute("write_file('g', 'by code')", "customer-a")["files"], {"created": ["g"]})
        self.assertEqual(self.read("workspace:///g", "customer-a"), "by code")
        self.assertEqual(body_of(self.call("read_workspace_file", {"filename": "g"}, "customer-a"))["content"], "by code")
        for other in (None, "default", "customer-b"):
            with self.subTest(other=other):
                self.assertEqual(self.execute("list_files()", other)["result"], [])
                self.assertIs(self.call("read_workspace_file", {"filename": "f"}, other)["isError"], True)
                with self.assertRaises(RuntimeError):
                    self.read("workspace:///f", other)
        files = self.client.request("resources/list", _meta={KEY: "customer-a"})["resources"]
        self.assertLessEqual({"workspace:///f", "workspace:///g"}, {file["uri"] for file in files})

    def test_jails_that_wait_for_one_do_not_serve_another(self):
        for workspace in ("customer-a", "customer-b", None):
            self.execute(f"write_file('who', {str(workspace)!r})", workspace)
        starts = set()
        for _ in range(8):
            for workspace in ("customer-a", "customer-b", None):
                result = self.call("execute_code", {"code": "read_file('who')"}, workspace)
                starts.add(result["_meta"]["org.warder/receipt"]["start"])
                self.assertEqual(body_of(result)["result"], str(workspace))
        self.execute("delete_file('who')", "customer-b")
        self.execute("delete_file('who')")

    def test_python_sessions_are_its_own(self):
        self.execute("x = 'a'", "customer-a", session="s")
        self.assertEqual(self.execute("'x' in globals()", "customer-b", session="s")["result"], False)
        self.assertEqual(self.execute("x", "customer-a", session="s")["result"], "a")
        self.assertEqual(self.log("s", "customer-a")["customer_uid"], "customer-a")
        stats = self.call("get_execution_stats", {}, "customer-a")["structuredContent"]
        self.assertEqual([s["name"] for s in stats["sessions"]], ["s"])
        for workspace in ("customer-a", "customer-b"):
            self.execute("", workspace, session="s", reset_session=True)

    def test_skills_are_its_own(self):
        skill = {"name": "greeting", "description": "Greets", "code": "def greeting():\n    return 'a'\n"}
        self.assertTrue(self.call("save_skill", skill, "customer-a")["structuredContent"]["success"])
        self.assertEqual(self.execute("from skills import greeting\nresult = greeting.greeting()", "customer-a")["result"],
                         "a")

        def own(workspace):
            skills = self.call("list_skills", {}, workspace)["structuredContent"]["skills"]
            return [one["name"] for one in skills if not one.get("shared")]

        self.assertEqual([own(place) for place in ("customer-a", "customer-b", None)], [["greeting"], [], []])
        self.assertIn("greeting", self.read("skill://greeting/SKILL.md", "customer-a"))
        with self.assertRaises(RuntimeError):
            self.read("skill://greeting/SKILL.md", "customer-b")
        found = self.call("search_tools", {"query": "greeting"}, "customer-b")["structuredContent"]
        self.assertNotIn("greeting", [tool["name"] for tool in found["tools"]])
        self.assertIs(self.call("delete_skill", {"skill_name": "greeting"}, "customer-b")["isError"], True)
        self.assertIs(self.call("list_skills", {}, "other")["isError"], True)

    def test_tokens_for_personal_data_are_its_own(self):
        text = {"text": "ada@lovelace.org"}
        tokens = {place: self.call("sanitize_pii", text, place)["structuredContent"]["sanitized_text"]
                  for place in ("customer-a", "customer-b", None)}
        self.assertEqual(len(set(tokens.values())), 3)
        by_code = self.execute("result = tokenize_pii('ada@lovelace.org')[0]", "customer-a")["result"]
        self.assertEqual(by_code, tokens["customer-a"], "code and tools have the same vault")
        self.assertIs(self.call("sanitize_pii", text, "other")["isError"], True)

    def test_names_that_the_policy_does_not_allow_are_refused_everywhere(self):
        for name in ("other", "../customer-a", "customer-a/../b", "", 5):
            with self.subTest(name=name):
                if name == "":
                    self.assertEqual(self.execute("1", name)["result"], 1, "as if none were named")
                    continue
                body = self.execute("1", name)
                self.assertEqual(body["outcome"], "denied", body)
                refused = self.call("write_workspace_file", {"filename": "x", "content": ""}, name)
                self.assertIs(refused["isError"], True)
                with self.assertRaises(RuntimeError):
                    self.read("workspace:///x", name)
        self.assertEqual(self.execute("1", "other")["rule"], "workspaces")

    def test_more_than_allowed_are_refused(self):
        names = [f"customer-{n}" for n in "abcde"]
        outcomes = [self.execute("1", name)["outcome"] for name in names]
        self.assertEqual(outcomes, ["ok"] * 3 + ["denied"] * 2)
        self.assertEqual(self.execute("1", "customer-e")["rule"], "named_workspaces.max")
        named = self.client.call("get_execution_stats")["structuredContent"]["named_workspaces"]
        self.assertEqual([one["name"] for one in named], names[:3])

    def test_each_has_the_quota_for_itself(self):
        full = {"filename": "big", "content": "x" * (900 << 10)}
        for workspace in ("customer-a", "customer-b", None):
            self.assertTrue(self.call("write_workspace_file", full, workspace)["structuredContent"]["success"])
        refused = self.call("write_workspace_file", {**full, "filename": "more"}, "customer-a")
        self.assertIs(refused["isError"], True)
        self.assertEqual(refused["structuredContent"]["code"], "exhausted")
        self.assertIn("quota", refused["structuredContent"]["rule"])
        for workspace in ("customer-a", "customer-b", None):
            self.call("delete_workspace_file", {"filename": "big"}, workspace)


class Expiry(Case):
    policy = {"workspaces": ["*"], "named_workspaces": {"idle_seconds": 6, "warning_seconds": 5}}

    def told_of(self, name):
        """What the statistics tell of a workspace once its removal is announced; asking is no use of it."""
        named = self.client.call("get_execution_stats")["structuredContent"].get("named_workspaces", [])
        return next((one for one in named if one["name"] == name and "removed_in_seconds" in one), None)

    def test_one_that_nobody_uses_is_announced_and_then_removed(self):
        self.execute("write_file('f', 'x')", "old")
        skill = {"name": "greeting", "description": "Greets", "code": "def greeting():\n    return 'a'\n"}
        self.assertTrue(self.call("save_skill", skill, "old")["structuredContent"]["success"])
        token = self.call("sanitize_pii", {"text": "ada@lovelace.org"}, "old")["structuredContent"]["sanitized_text"]
        folder = next((self.daemon.state / "tenants").glob("*/workspaces"))
        eventually(lambda: "/old is not used: it will be removed in 5 s" in self.daemon.log_text(), "the announcement")
        told = eventually(lambda: self.told_of("old"), "the time of its removal in the statistics")
        self.assertLessEqual(told["removed_in_seconds"], 5)
        self.assertGreaterEqual(told["idle_seconds"], 1)
        eventually(lambda: "/old was removed" in self.daemon.log_text(), "the end of what nobody uses")
        self.assertFalse((folder / "old").exists())
        log = self.daemon.log_text()
        self.assertLess(log.index("/old is not used"), log.index("/old was removed: no client used it"))
        self.assertEqual(self.execute("list_files()", "old")["result"], [], "a name may be used again")
        stats = self.call("get_execution_stats", {}, "old")["structuredContent"]
        self.assertEqual(stats["executions"]["total"], 1, "what it did before is forgotten")
        skills = self.call("list_skills", {}, "old")["structuredContent"]["skills"]
        self.assertNotIn("greeting", [one["name"] for one in skills])
        self.assertTrue(self.call("save_skill", skill, "old")["structuredContent"]["success"])
        again = self.call("sanitize_pii", {"text": "ada@lovelace.org"}, "old")["structuredContent"]["sanitized_text"]
        self.assertEqual(again, token, "the key is of the name")

    def test_one_goes_when_its_client_has_gone_and_the_daemon_was_started_again(self):
        self.execute("write_file('f', 'x')", "left")
        folder = next((self.daemon.state / "tenants").glob("*/workspaces"))
        self.client.close()
        self.daemon.kill()
        self.daemon.start()
        eventually(lambda: not (folder / "left").exists(), "the end of a workspace whose tenant is not connected")
        self.setUp()


class StagedExpiry(Case):
    policy = {**Expiry.policy, "pool": {"min_idle": 1, "max_idle": 2, "zygotes": True}}

    def staged(self):
        """A proposal of the workspace `old`, and how its jail started."""
        code = "import os\nresult = os.listdir('/workspace')\nopen('/workspace/f', 'w').write('new')"
        result = self.call("execute_code", {"code": code, "workspace": "staged"}, "old")
        body = body_of(result)
        self.assertEqual((body["outcome"], body["files"]), ("ok", {"created": ["f"]}), body)
        return body, result["_meta"]["org.warder/receipt"]["start"]

    def act(self, proposal, action):
        return self.call("commit_workspace", {"proposal": proposal, "action": action}, "old")

    def test_proposals_and_jails_that_wait_end_with_their_workspace_and_its_name_can_be_used_again(self):
        def forked():
            body, start = self.staged()
            return body if start == "fork" else self.act(body["proposal"]["id"], "discard") and None
        left = eventually(forked, "a fork whose overlay was mounted ahead")["proposal"]["id"]
        folder = next((self.daemon.state / "tenants").glob("*/workspaces")) / "old"
        self.assertTrue((folder / "staging" / left / "proposal").exists())
        eventually(lambda: "/old is not used" in self.daemon.log_text(), "the announcement")
        eventually(lambda: "/old was removed" in self.daemon.log_text(), "the end of what nobody uses")
        self.assertFalse(folder.exists())
        body, _ = self.staged()
        self.assertEqual(body["result"], [])
        self.assertEqual(body_of(self.act(left, "commit"))["code"], "not_found")
        self.assertIs(self.act(body["proposal"]["id"], "commit")["structuredContent"]["success"], True)
        self.assertEqual((folder / "workspace/f").read_text(), "new")
        self.assertEqual([one.name for one in (folder / "staging").glob("*/proposal")], ["proposal"])


class Logs(Case):
    def test_a_session_leaves_the_document_that_clients_know(self):
        first = self.execute("write_file('state/results.json', '{}')\nprint('State saved')\nresult = 8", session="log",
                             task="Save initial state")
        second = self.execute("import warder\nwarder.checkpoint(3, 'Working on data analysis')\n1 / 0", session="log")
        document = self.log("log")
        self.assertEqual(list(document), ["session_id", "customer_uid", "description", "started_at", "ended_at", "tasks",
                                          "state_files", "checkpoint"])
        self.assertEqual(document["session_id"], "log")
        self.assertIsNone(document["ended_at"])
        task = document["tasks"][0]
        self.assertEqual((task["task_id"], task["description"], task["result"], task["output"]),
                         (first["execution_id"], "Save initial state", "8", "State saved\n"))
        self.assertIn("write_file", task["code"])
        self.assertIn("ZeroDivisionError", document["tasks"][1]["output"])
        self.assertEqual(document["state_files"], ["/workspace/state", "/workspace/state/results.json"]
                         if "/workspace/state" in document["state_files"] else ["/workspace/state/results.json"])
        checkpoint = document["checkpoint"]
        self.assertEqual((checkpoint["step"], checkpoint["last_task"], checkpoint["context"]),
                         (3, second["execution_id"], "Working on data analysis"))
        self.execute("", session="log", reset_session=True)
        self.assertIsNotNone(self.log("log")["ended_at"])
        listed = self.client.request("resources/list")["resources"]
        self.assertIn("session:///log", [resource["uri"] for resource in listed])

    def test_a_later_session_resumes_from_the_checkpoint_of_an_earlier_one(self):
        self.execute("import warder\nwarder.checkpoint(7, 'half way')", session="earlier")
        body = self.execute("import warder\nlog = warder.session_log('earlier')\n"
                            "[log['checkpoint']['step'], len(log['tasks'])]", session="later")
        self.assertEqual(body["result"], [7, 1], body)
        self.assertEqual(self.execute("len(warder.session_log()['tasks'])", session="later")["result"], 1)
        for name in ("earlier", "later"):
            self.execute("", session=name, reset_session=True)

    def test_what_cannot_be_done_is_said(self):
        ask = "import warder\ntry:\n    {}\nexcept warder.CallError as e:\n    result = [e.code, e.message]"
        for code, kind, word in (("warder.checkpoint(1)", "invalid", "session"),
                                 ("warder.session_log('nobody')", "not_found", "nobody"),
                                 ("warder.session_log('../../etc')", "invalid", "not a session name"),
                                 ("warder.call('checkpoint', step='x')", "invalid", "session")):
            with self.subTest(code):
                found, message = self.execute(ask.format(code))["result"]
                self.assertEqual(found, kind)
                self.assertIn(word, message)

    def test_calls_without_a_session_write_no_log(self):
        self.execute("1")
        self.assertEqual([r for r in self.client.request("resources/list")["resources"]
                          if r["uri"].startswith("session:") and r["uri"].endswith("none")], [])
        sessions = next((self.daemon.state / "tenants").glob("*/sessions"))
        before = sorted(sessions.iterdir())
        self.execute("2")
        self.assertEqual(sorted(sessions.iterdir()), before)


class Restart(unittest.TestCase):
    def test_a_session_that_ended_with_the_daemon_is_told_once_by_the_next(self):
        for end in ("stop", "kill"):
            with self.subTest(end), Daemon() as daemon:
                with Client(daemon.socket) as client:
                    client.execute("x = 1", session="s")
                    watch = self.enterContext(Watch(jailed(daemon)))
                getattr(daemon, end)()
                self.assertEqual(watch.survivors(PATIENCE), {})
                daemon.start()
                with Client(daemon.socket) as client:
                    body = client.execute("x", session="s")
                    self.assertEqual((body["outcome"], body["code"]), ("denied", "not_found"), body)
                    self.assertIn("ended with the daemon", body["error"])
                    self.assertEqual(client.execute("'x' in globals()", session="s")["result"], False)
                    document = json.loads(client.request("resources/read", uri="session:///s")["contents"][0]["text"])
                    self.assertEqual(len(document["tasks"]), 2, "the log goes on")


if __name__ == "__main__":
    unittest.main(verbosity=2)
