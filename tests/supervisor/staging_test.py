"""Staged executions: what a program changes is a proposal, which is committed, discarded, undone, or in conflict."""
import json
import os
import pathlib
import time
import unittest

from approvals_harness import Modern
from harness import PATIENCE, ROOT, Client, Daemon, Policies, SharedDaemon, body_of, workspace_of

SETUP = "write_file('keep', 'keep\\n'); write_file('old', 'one\\n'); write_file('gone', 'x')"
CHANGE = ("import os\nopen('/workspace/old', 'a').write('two\\n'); os.remove('/workspace/gone')\n"
          "os.makedirs('/workspace/new'); open('/workspace/new/file', 'w').write('made\\n')\nresult = sorted(os.listdir('/workspace'))")


class Case(SharedDaemon):
    def execute(self, code, **arguments):
        return self.client.request("tools/call", name="execute_code", arguments={"code": code, **arguments})

    def run_code(self, code, **arguments):
        return body_of(self.execute(code, **arguments))

    def staged(self, code, **arguments):
        return self.run_code(code, workspace="staged", **arguments)

    def act(self, proposal, action="commit", **more):
        return self.client.request("tools/call", name="commit_workspace",
                                   arguments={"proposal": proposal, "action": action, **more})

    def files(self):
        return self.run_code("import os\nresult = {os.path.relpath(os.path.join(d, f), '/workspace'): open(os.path.join(d, f)).read() "
                             "for d, _, fs in os.walk('/workspace') for f in fs}").get("result")

    def diff(self, proposal):
        return self.client.request("resources/read", uri=f"proposal:///{proposal}/diff")["contents"][0]["text"]

    def clear(self):
        self.run_code("import os, shutil\nfor n in os.listdir('/workspace'):\n    p = '/workspace/' + n\n"
                      "    shutil.rmtree(p) if os.path.isdir(p) and not os.path.islink(p) else os.remove(p)")
        self.run_code(SETUP)


class Staging(Case):
    policy = {"pool": {"min_idle": 1, "max_idle": 2, "zygotes": True}}

    def setUp(self):
        super().setUp()
        self.clear()

    def test_changes_are_a_proposal_until_they_are_committed(self):
        before = self.files()
        answer = self.staged(CHANGE)
        self.assertEqual(answer["result"], ["keep", "new", "old"])
        self.assertEqual(answer["files"], {"created": ["new/file"], "modified": ["old"], "deleted": ["gone"]})
        proposal = answer["proposal"]
        self.assertEqual(proposal["state"], "open")
        self.assertIn("+two", proposal["diff"])
        self.assertEqual(self.files(), before)
        self.assertIn("--- a/gone", self.diff(proposal["id"]))
        committed = self.act(proposal["id"])["structuredContent"]
        self.assertTrue(committed["success"], committed)
        self.assertEqual(committed["proposal"]["state"], "committed")
        self.assertEqual(self.files(), {"keep": "keep\n", "old": "one\ntwo\n", "new/file": "made\n"})
        undone = self.act(proposal["id"], "undo")["structuredContent"]
        self.assertTrue(undone["success"], undone)
        self.assertEqual(self.files(), before)

    def test_a_discarded_proposal_leaves_nothing(self):
        before = self.files()
        proposal = self.staged(CHANGE)["proposal"]["id"]
        self.assertEqual(self.act(proposal, "discard")["structuredContent"]["proposal"]["state"], "discarded")
        self.assertEqual(self.files(), before)
        self.assertTrue(self.act(proposal)["isError"])

    def test_a_program_that_changes_nothing_leaves_no_proposal(self):
        answer = self.staged("result = open('/workspace/old').read()")
        self.assertEqual(answer["result"], "one\n")
        self.assertNotIn("proposal", answer)
        self.assertNotIn("files", answer)

    def test_a_part_is_committed_by_its_paths(self):
        proposal = self.staged(CHANGE)["proposal"]["id"]
        answer = self.act(proposal, paths=["/workspace/new"])["structuredContent"]
        self.assertTrue(answer["success"], answer)
        self.assertEqual(self.files(), {"keep": "keep\n", "old": "one\n", "gone": "x", "new/file": "made\n"})
        answer = self.act(proposal)["structuredContent"]
        self.assertTrue(answer["success"], answer)
        self.assertEqual(self.files(), {"keep": "keep\n", "old": "one\ntwo\n", "new/file": "made\n"})

    def test_a_discard_after_a_part_drops_the_rest_and_keeps_the_undo(self):
        before = self.files()
        proposal = self.staged(CHANGE)["proposal"]["id"]
        self.act(proposal, paths=["new"])
        answer = self.act(proposal, "discard")["structuredContent"]
        self.assertEqual(answer["proposal"]["state"], "committed")
        self.assertEqual(self.files(), {"keep": "keep\n", "old": "one\n", "gone": "x", "new/file": "made\n"})
        self.assertTrue(self.act(proposal)["isError"], "nothing is left to commit")
        self.assertTrue(self.act(proposal, "undo")["structuredContent"]["success"])
        self.assertEqual(self.files(), before)

    def test_a_conflict_commits_nothing_and_names_the_file(self):
        proposal = self.staged(CHANGE)["proposal"]["id"]
        self.run_code("write_file('old', 'other\\n')")
        before = self.files()
        answer = self.act(proposal)
        self.assertIs(answer["isError"], True)
        told = body_of(answer)
        self.assertEqual(told["code"], "conflict")
        self.assertEqual([one["path"] for one in told["conflicts"]], ["old"])
        self.assertEqual(self.files(), before)
        self.assertTrue(self.act(proposal, paths=["new", "gone"])["structuredContent"]["success"])

    def test_what_another_program_changes_meanwhile_is_a_conflict(self):
        running = self.client.begin_running(
            "import os, time\nopen('/workspace/old', 'a').write('two\\n')\nprint('running', flush=True)\n"
            "while open('/workspace/keep').read() == 'keep\\n': time.sleep(0.02)\n", workspace="staged")
        with Client(self.daemon.socket) as other:
            other.call("execute_code", {"code": "write_file('old', 'other\\n'); write_file('keep', 'go\\n')"})
        answer = self.client.executed(running)
        conflict = self.act(answer["proposal"]["id"])
        self.assertIs(conflict["isError"], True)
        self.assertIn("old", [one["path"] for one in body_of(conflict)["conflicts"]])

    def test_starts_of_every_kind_are_staged(self):
        starts = set()
        for _ in range(40):
            result = self.execute("open('/workspace/a', 'w').write('a')", workspace="staged")
            receipt = result["_meta"]["org.warder/receipt"]
            self.assertEqual(receipt["workspace"]["access"], "staged")
            starts.add(receipt["start"])
            self.act(body_of(result)["proposal"]["id"], "discard")
            if "fork" in starts and len(starts) > 1:
                break
        self.assertIn("fork", starts)
        self.assertNotIn("a", self.files())

    def test_a_program_that_only_imports_modules_leaves_no_proposal(self):
        self.run_code("write_file('mine.py', 'value = 7\\n')")
        answer = self.staged("import sys; sys.path.insert(0, '/workspace'); sys.dont_write_bytecode = False\n"
                             "import mine, os\nresult = [mine.value, os.path.exists('/workspace/__pycache__')]")
        self.assertEqual(answer["result"], [7, True])
        self.assertNotIn("proposal", answer)

    def test_other_languages_are_staged(self):
        for language, code in (("shell", "echo hi > /workspace/s"), ("javascript", "require('fs').writeFileSync('/workspace/s', 'hi')")):
            with self.subTest(language=language):
                answer = self.staged(code, language=language)
                self.assertEqual(answer["files"], {"created": ["s"]}, answer)
                self.act(answer["proposal"]["id"], "discard")

    def test_wrong_arguments_are_named(self):
        self.assertIn("workspace", body_of(self.execute("1", workspace="other"))["error"])
        for proposal in ("p0000000000000000", "../../x", "", "p" * 300):
            answer = self.act(proposal)
            self.assertIs(answer["isError"], True, proposal)
        proposal = self.staged(CHANGE)["proposal"]["id"]
        self.assertIn("paths", body_of(self.act(proposal, "undo", paths=["a"]))["error"])
        self.assertIs(self.act(proposal, paths=["../x"])["isError"], True)
        self.act(proposal, "discard")

    def test_a_hostile_tree_is_read(self):
        answer = self.staged(
            "import os, socket\nos.mkfifo('/workspace/fifo'); socket.socket(socket.AF_UNIX).bind('/workspace/sock')\n"
            "open('/workspace/a\\x1b[31m\\nb', 'w').write('x'); os.symlink('/etc/shadow', '/workspace/link')\n"
            "os.mkdir('/workspace/dark'); open('/workspace/dark/f', 'w').write('y'); os.chmod('/workspace/dark', 0)\n")
        proposal = answer["proposal"]
        self.assertEqual(sorted(proposal["refused"]), ["fifo", "sock"])
        self.assertNotIn("\x1b", self.diff(proposal["id"]))
        self.assertTrue(self.act(proposal["id"])["structuredContent"]["success"])
        top = pathlib.Path(workspace_of(self.daemon))
        self.assertEqual(os.readlink(top / "link"), "/etc/shadow")
        self.assertFalse((top / "fifo").exists())

    def test_proposals_are_listed_as_resources(self):
        proposal = self.staged(CHANGE)["proposal"]["id"]
        uris = [one["uri"] for one in self.client.request("resources/list")["resources"]]
        self.assertIn(f"proposal:///{proposal}/diff", uris)
        whole = json.loads(self.client.request("resources/read", uri=f"proposal:///{proposal}")["contents"][0]["text"])
        self.assertEqual(whole["files"]["modified"], [{"path": "old", "bytes": 8, "bytes_before": 4}])
        self.act(proposal, "discard")


@unittest.skipUnless(ROOT, "needs root, for mounts of its own")
class OnSharedMounts(unittest.TestCase):
    """As systemd makes all mounts of a machine. A container, or the machine of a developer, may have private ones."""

    def test_no_mount_of_a_jail_reaches_the_host(self):
        with Policies(pool={"min_idle": 1, "max_idle": 2, "zygotes": True}) as policies, \
             Daemon(policies=policies, launcher=["unshare", "--mount", "--propagation", "shared"]) as daemon:
            mounts = pathlib.Path(f"/proc/{daemon.process.pid}/mountinfo")
            self.assertIn(" shared:", mounts.read_text())
            before = mounts.read_text().count("\n")
            with Client(daemon.socket) as client:
                for n in range(4):  # cold ones, and forks that wait
                    code = {"code": f"open('/workspace/f{n}', 'w').write('x')", "workspace": "staged"}
                    body = body_of(client.call("execute_code", code))
                    self.assertEqual(body.get("proposal", {}).get("state"), "open", body)
                    self.assertEqual(body_of(client.call("execute_code", {"code": "1"}))["outcome"], "ok")
                self.assertEqual(mounts.read_text().count("\n"), before, mounts.read_text())


class AlwaysStaged(Case):
    policy = {"workspace": {"mode": "staged", "commit": "auto"}}

    def test_a_good_program_is_committed_and_a_bad_one_leaves_nothing(self):
        good = self.run_code("write_file('good', '1')")
        self.assertEqual(good["proposal"]["state"], "committed")
        bad = self.run_code("write_file('bad', '1'); 1/0")
        self.assertEqual(bad["proposal"]["state"], "discarded")
        self.assertEqual(self.files(), {"good": "1"})
        self.assertEqual(self.run_code("1", workspace="direct")["rule"], "workspace.mode")
        answer = self.client.request("tools/call", name="write_workspace_file", arguments={"filename": "x", "content": "y"})
        self.assertEqual(body_of(answer)["rule"], "workspace.mode")


class AskedCommit(Case):
    """A person at the client decides, and sees the whole difference or none."""
    policy = {"workspace": {"commit": "ask"}}

    def setUp(self):
        super().setUp()
        self.client = self.enterContext(Modern(self.daemon.socket))
        self.clear()

    def propose(self, code=CHANGE):
        return self.staged(code)["proposal"]["id"]

    def begin(self, proposal, **more):
        self.arguments = {"proposal": proposal, **more}
        return self.client.ask("commit_workspace", self.arguments)["result"]

    def finish(self, asked, action):
        return body_of(self.client.again("commit_workspace", self.arguments, asked, action)["result"])

    def message(self, asked):
        (request,) = asked["inputRequests"].values()
        return request["params"]["message"]

    def test_what_a_person_accepts_is_committed(self):
        asked = self.begin(self.propose())
        self.assertEqual(asked["resultType"], "input_required", asked)
        for shown in ("tool: warder.commit_workspace", "rule: workspace.commit", "+two", "deleted file mode"):
            self.assertIn(shown, self.message(asked))
        self.assertIs(self.finish(asked, "accept")["success"], True)
        self.assertEqual(self.files()["old"], "one\ntwo\n")

    def test_what_a_person_declines_is_not(self):
        proposal, before = self.propose(), self.files()
        told = self.finish(self.begin(proposal), "decline")
        self.assertEqual((told["code"], told["rule"]), ("denied", "workspace.commit"))
        self.assertIn("was refused by the client", told["error"])
        self.assertEqual(self.files(), before)
        self.act(proposal, "discard")  # needs no person

    def test_where_nobody_can_be_asked_nothing_is_committed(self):
        proposal, before = self.propose(), self.files()
        told = body_of(self.act(proposal))
        self.assertEqual((told["code"], told["rule"]), ("denied", "workspace.commit"))
        self.assertEqual(self.files(), before)
        self.act(proposal, "discard")

    def test_a_long_difference_is_never_shown_in_part(self):
        proposal = self.propose("write_file('a', 'harmless\\n' * 3000); write_file('z', 'harmful\\n')")
        message = self.message(self.begin(proposal))
        self.assertNotIn("harmless", message)
        self.assertIn(f"warder diff {proposal}", message)
        self.assertIn('"z"', message)  # all files are named

    def test_an_undo_asks_too(self):
        proposal = self.propose()
        self.finish(self.begin(proposal), "accept")
        told = self.finish(self.begin(proposal, action="undo"), "decline")
        self.assertEqual(told["code"], "denied")
        self.assertEqual(self.files()["old"], "one\ntwo\n")


class ReadOnly(Case):
    policy = {"workspace": {"mode": "read_only"}}

    def test_nothing_changes_the_workspace(self):
        answer = self.run_code("open('/workspace/x', 'w')")
        self.assertIn("Read-only file system", answer["error"])
        self.assertEqual(self.run_code("1", workspace="staged")["rule"], "workspace.mode")
        tools = self.client.request("tools/list")["tools"]
        self.assertNotIn("commit_workspace", [tool["name"] for tool in tools])
        execute = next(tool for tool in tools if tool["name"] == "execute_code")
        self.assertNotIn("workspace", execute["inputSchema"]["properties"])


class Quota(Case):
    policy = {"quota": {"workspace_bytes": 2 << 20, "workspace_files": 1000}}

    def test_a_staged_program_is_held_by_the_quota_and_the_workspace_is_untouched(self):
        self.run_code("write_file('keep', 'k')")
        answer = self.staged("import time\nwith open('/workspace/big', 'wb') as f:\n    for _ in range(200):\n        f.write(b'x' * 65536); f.flush(); time.sleep(0.02)")
        self.assertEqual(answer["outcome"], "disk", answer)
        self.assertEqual(self.files(), {"keep": "k"})
        if "proposal" in answer:
            self.act(answer["proposal"]["id"], "discard")

    def test_what_is_written_between_two_counts_is_held_too(self):
        answer = self.staged("for n in range(5): open(f'/workspace/{n}', 'wb').write(b'x' * 900_000)")
        self.assertEqual(answer["outcome"], "disk", answer)
        self.assertNotIn("proposal", answer)
        self.assertIn("more than the workspace's quota", answer["notes"][0])

    def test_open_proposals_count_in_the_quota(self):
        answer = self.staged("open('/workspace/half', 'wb').write(b'x' * (1 << 20))")
        self.assertEqual(answer["proposal"]["state"], "open", answer)
        refused = self.client.request("tools/call", name="write_workspace_file",
                                      arguments={"filename": "more", "content": "x" * (3 << 19)})
        self.assertEqual(body_of(refused)["rule"], "quota.workspace_bytes")
        self.act(answer["proposal"]["id"], "discard")


class Undo(Case):
    policy = {"workspace": {"choose": True, "proposals_bytes": 1 << 20}}

    def test_a_commit_that_is_too_large_for_undo_says_so_before_and_after(self):
        self.run_code("open('/workspace/big', 'wb').write(b'x' * (3 << 20))")
        proposal = self.staged("open('/workspace/big', 'r+b').write(b'y')")["proposal"]
        self.assertRegex(proposal["undo"], "none: the replaced files hold [0-9]+ bytes, and at most 1048576 are kept for undo")
        answer = self.act(proposal["id"])["structuredContent"]
        self.assertTrue(answer["success"], answer)
        self.assertIn("(workspace.proposals_bytes)", answer["proposal"]["undo"])
        self.assertTrue(self.act(proposal["id"], "undo")["isError"])


class Restart(unittest.TestCase):
    def test_a_proposal_survives_a_kill_of_the_daemon(self):
        with Policies() as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                client.call("execute_code", {"code": SETUP})
                proposal = client.call("execute_code", {"code": CHANGE, "workspace": "staged"})
                proposal = body_of(proposal)["proposal"]["id"]
            daemon.process.kill()
            daemon.process.wait()
            daemon.start()
            with Client(daemon.socket) as client:
                answer = client.call("commit_workspace", {"proposal": proposal})
                self.assertTrue(answer["structuredContent"]["success"], answer)
                body = body_of(client.call("execute_code", {"code": "read_file('old')"}))
                self.assertEqual(body["result"], "one\ntwo\n")

    def end_during_a_commit(self, end):
        """What all files say after the next start, read by a tool before any program has run."""
        names = [f"f{n:04}" for n in range(600)]
        write_all = f"for name in {names}: open('/workspace/' + name, 'w').write(text)"
        with Policies() as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                client.call("execute_code", {"code": "text = 'old'\n" + write_all})
                staged = client.call("execute_code", {"code": "text = 'new'\n" + write_all, "workspace": "staged"})
                proposal = body_of(staged)["proposal"]["id"]
                top = pathlib.Path(workspace_of(daemon))
                client.begin("tools/call", name="commit_workspace", arguments={"proposal": proposal})
                journal = top.parent / "staging" / proposal / "journal.1"
                until = time.monotonic() + PATIENCE
                while not journal.exists() and time.monotonic() < until:  # without a pause: the commit is short
                    pass
                end(daemon)
            daemon.start()
            with Client(daemon.socket) as client:
                read = lambda name: body_of(client.call("read_workspace_file", {"filename": name}))["content"]
                self.assertEqual(read(names[0]), read(names[-1]))
            (text,) = {(top / name).read_text() for name in names}
            return text

    def test_a_commit_that_a_kill_or_a_shutdown_meets_is_completed(self):
        for end in (Daemon.kill, Daemon.stop):
            with self.subTest(end=end.__name__):
                self.assertEqual(self.end_during_a_commit(end), "new")


if __name__ == "__main__":
    unittest.main()
