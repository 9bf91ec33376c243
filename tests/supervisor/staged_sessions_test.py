"""Staged sessions: all programs of a session make one proposal, which exists when the session is over."""
import signal
import unittest

from harness import Client, Daemon, Policies, SharedDaemon, body_of, eventually

STEP = "n = globals().get('n', 0) + 1; write_file(f'step{n}', str(n)); result = n"


class Case(SharedDaemon):
    def setUp(self):
        super().setUp()
        self.client = self.enterContext(Client(self.daemon.socket))
        self.name = self.id().rsplit(".", 1)[1][:60]
        self.run_code("import os, shutil\nfor n in os.listdir('/workspace'): os.remove('/workspace/' + n)\nwrite_file('keep', 'k')")

    def execute(self, code, **arguments):
        return self.client.call("execute_code", {"code": code, **arguments})

    def run_code(self, code, **arguments):
        return body_of(self.execute(code, **arguments))

    def step(self, code=STEP, **arguments):
        return self.run_code(code, session=self.name, **arguments)

    def begin(self, code=STEP):
        answer = self.step(code, workspace="staged")
        self.assertIs(answer["success"], True, answer)
        return answer

    def end(self):
        return self.step("", reset_session=True)

    def files(self):
        return self.run_code("import os\nresult = {n: read_file(n) for n in sorted(os.listdir('/workspace'))}")["result"]

    def act(self, proposal, action="commit"):
        return self.client.call("commit_workspace", {"proposal": proposal, "action": action})["structuredContent"]


class StagedSessions(Case):
    policy = {"pool": {"min_idle": 1, "max_idle": 2, "zygotes": True}}

    def test_all_programs_of_a_session_are_one_proposal(self):
        first = self.begin()
        self.assertEqual(first["session"]["staged"]["files"], 1)
        self.assertNotIn("proposal", first)
        self.assertEqual(self.step()["result"], 2)
        third = self.step("result = sorted(__import__('os').listdir('/workspace')); write_file('keep', 'changed')")
        self.assertEqual(third["result"], ["keep", "step1", "step2"])
        self.assertEqual(third["session"]["staged"]["files"], 3)
        self.assertEqual(self.files(), {"keep": "k"})
        ended = self.end()
        self.assertEqual(ended["session"], {"name": self.name, "ended": True})
        self.assertEqual(ended["files"], {"created": ["step1", "step2"], "modified": ["keep"]})
        self.assertIn("+changed", ended["proposal"]["diff"])
        self.assertEqual(self.files(), {"keep": "k"})
        self.assertIs(self.act(ended["proposal"]["id"])["success"], True)
        self.assertEqual(self.files(), {"keep": "changed", "step1": "1", "step2": "2"})
        self.assertIs(self.act(ended["proposal"]["id"], "undo")["success"], True)
        self.assertEqual(self.files(), {"keep": "k"})

    def test_a_session_that_changes_nothing_leaves_no_proposal(self):
        self.begin("x = read_file('keep')")
        self.assertEqual(self.step("result = x")["result"], "k")
        ended = self.end()
        self.assertNotIn("proposal", ended)
        self.assertNotIn("files", ended)

    def test_the_access_of_a_session_stays(self):
        self.begin()
        refused = self.step(workspace="direct")
        self.assertIn("began with a staged workspace", refused["error"])
        self.assertIn("reset_session", refused["remedy"])
        self.assertEqual(self.step(workspace="staged")["result"], 2)
        self.act(self.end()["proposal"]["id"], "discard")
        self.assertIs(self.step()["success"], True)  # a new session, and not staged
        self.assertIn("began with a direct workspace", self.step(workspace="staged")["error"])
        self.end()
        self.assertIn("step1", self.files())

    def test_a_call_that_ends_the_session_has_its_proposal(self):
        self.begin()
        answer = self.step("write_file('last', 'x')\nimport os; os._exit(3)")
        self.assertEqual(answer["outcome"], "exit", answer)
        self.assertIs(answer["session"]["ended"], True)
        self.assertEqual(answer["files"]["created"], ["last", "step1"])
        self.assertEqual(answer["proposal"]["state"], "open")
        self.act(answer["proposal"]["id"], "discard")
        self.assertEqual(self.files(), {"keep": "k"})

    def test_a_reset_with_code_tells_the_earlier_proposal(self):
        self.begin()
        answer = self.step(workspace="staged", reset_session=True)
        self.assertEqual(answer["result"], 1)
        earlier = answer["session"]["earlier_proposal"]
        self.assertNotIn("earlier_proposal", self.step()["session"])
        later = self.end()["proposal"]["id"]
        self.assertNotEqual(earlier, later)
        self.assertIs(self.act(earlier)["success"], True)
        self.assertEqual(self.files(), {"keep": "k", "step1": "1"})
        self.act(later, "discard")

    def test_calls_that_wait_come_after_a_reset(self):
        self.begin()
        running = self.client.begin_running("import time\nprint('running', flush=True)\n"
                                            "while read_file('keep') == 'k': time.sleep(0.02)\nn = 5", session=self.name)
        reset = self.client.begin_execute(STEP, session=self.name, reset_session=True, workspace="staged")
        behind = self.client.begin_execute("result = n", session=self.name)
        with Client(self.daemon.socket) as other:
            other.call("execute_code", {"code": "open('/workspace/keep', 'w').write('go')"})
        self.assertEqual(self.client.executed(running)["outcome"], "ok")
        answer = self.client.executed(reset)
        self.assertEqual(answer["result"], 1)
        self.assertEqual(self.client.executed(behind)["result"], 1)  # it ran in the new session
        self.act(answer["session"]["earlier_proposal"], "discard")
        self.act(self.end()["proposal"]["id"], "discard")

    def test_a_cancelled_call_ends_the_session_and_loses_no_change(self):
        self.begin()
        running = self.client.begin_running("write_file('half', 'h')\nprint('running', flush=True)\nimport time; time.sleep(60)",
                                            session=self.name)
        self.client.cancel(running)
        refused = eventually(lambda: (lambda a: a if "proposal p" in a.get("error", "") else None)(self.step("1")),
                             "the refusal that names the proposal")
        proposal = refused["error"].split("proposal ")[1].split()[0]
        self.assertIs(self.act(proposal)["success"], True)
        self.assertEqual(self.files(), {"half": "h", "keep": "k", "step1": "1"})

    def test_what_others_change_meanwhile_is_a_conflict(self):
        self.begin("write_file('keep', 'mine')")
        self.run_code("write_file('keep', 'other')")
        conflict = self.act(self.end()["proposal"]["id"])
        self.assertEqual(conflict["code"], "conflict")
        self.assertEqual([one["path"] for one in conflict["conflicts"]], ["keep"])
        self.assertEqual(self.files(), {"keep": "other"})

    def test_javascript_sessions_are_staged(self):
        self.step("globalThis.a = 1; require('fs').writeFileSync('/workspace/js', 'x')", workspace="staged", language="javascript")
        answer = self.step("a + 1", language="javascript")
        self.assertEqual(answer["result"], 2)
        ended = self.end()
        self.assertEqual(ended["files"], {"created": ["js"]})
        self.act(ended["proposal"]["id"], "discard")

    def test_branches_of_a_staged_session_have_their_own_proposals(self):
        self.begin("base = 10; write_file('mine', 'm')")
        answer = self.step("write_file('branch', str(base + item)); result = base + item", fork=[1, 2], workspace="staged")
        branches = answer["results"]
        self.assertEqual([one["result"] for one in branches], [11, 12])
        for one in branches:
            self.assertEqual(one["files"], {"created": ["branch"]})
            self.act(one["proposal"]["id"], "discard")
        ended = self.end()
        self.assertEqual(ended["files"], {"created": ["mine"]})
        self.act(ended["proposal"]["id"], "discard")

    def test_the_list_of_sessions_shows_what_is_staged(self):
        self.begin()
        listed = body_of(self.client.call("get_execution_stats", {}))["sessions"]
        mine = next(one for one in listed if one["name"] == self.name)
        self.assertEqual(mine["staged"]["files"], 1)
        self.act(self.end()["proposal"]["id"], "discard")


class Idle(Case):
    policy = {"sessions": {"idle_seconds": 1}}

    def test_the_next_call_after_an_idle_end_names_the_proposal(self):
        self.begin()
        eventually(lambda: not body_of(self.client.call("get_execution_stats", {}))["sessions"], "the end of the session")
        refused = self.step()
        self.assertEqual(refused["code"], "not_found")
        self.assertIn("its changes are proposal p", refused["error"])
        proposal = refused["error"].split("proposal ")[1].split()[0]
        self.assertIs(self.act(proposal)["success"], True)
        self.assertEqual(self.files(), {"keep": "k", "step1": "1"})


class Automatic(Case):
    policy = {"workspace": {"mode": "staged", "commit": "auto"}, "sessions": {"idle_seconds": 1}}

    def test_a_session_that_ended_well_is_committed(self):
        self.step()
        self.assertEqual(self.files(), {"keep": "k"})
        ended = self.end()
        self.assertEqual(ended["proposal"]["state"], "committed", ended)
        self.assertEqual(self.files(), {"keep": "k", "step1": "1"})

    def test_a_session_whose_last_program_failed_leaves_nothing(self):
        self.step()
        self.assertEqual(self.step("1/0")["outcome"], "error")
        self.assertEqual(self.end()["proposal"]["state"], "discarded")
        self.assertEqual(self.files(), {"keep": "k"})

    def test_an_idle_session_is_committed(self):
        self.step()
        eventually(lambda: self.files() == {"keep": "k", "step1": "1"}, "the commit")


class Quota(Case):
    policy = {"quota": {"workspace_bytes": 2 << 20, "workspace_files": 1000}}

    def test_a_session_over_the_quota_ends_and_the_workspace_is_untouched(self):
        self.begin("open('/workspace/a', 'wb').write(b'x' * 1_200_000)")
        answer = self.step("open('/workspace/b', 'wb').write(b'x' * 1_200_000)")
        self.assertEqual(answer["outcome"], "disk", answer)
        self.assertIs(answer["session"]["ended"], True)
        self.assertIn("more than the workspace's quota", answer["notes"][0])
        self.assertEqual(self.files(), {"keep": "k"})
        self.assertIs(self.begin()["success"], True)
        self.act(self.end()["proposal"]["id"], "discard")


class End(unittest.TestCase):
    def run_until(self, end):
        with Policies() as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                body = body_of(client.call("execute_code", {"code": STEP, "session": "s", "workspace": "staged"}))
                self.assertIs(body["success"], True, body)
                end(daemon)
            daemon.start()
            with Client(daemon.socket) as client:
                refused = body_of(client.call("execute_code", {"code": STEP, "session": "s"}))
                self.assertIn("ended with the daemon", refused["error"])
                uris = [one["uri"] for one in client.request("resources/list")["resources"]]
                found = [uri for uri in uris if uri.startswith("proposal:///")]
                left = body_of(client.call("execute_code", {"code": "import os; result = os.listdir('/workspace')"}))
                self.assertEqual(left["result"], [])
                return found

    def test_a_daemon_that_is_told_to_end_keeps_the_changes_as_a_proposal(self):
        def end(daemon):
            daemon.process.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.process.wait(), 0)
        self.assertEqual(len(self.run_until(end)), 1)

    def test_a_daemon_that_is_killed_loses_them_like_the_variables(self):
        def end(daemon):
            daemon.process.kill()
            daemon.process.wait()
        self.assertEqual(self.run_until(end), [])


if __name__ == "__main__":
    unittest.main()
