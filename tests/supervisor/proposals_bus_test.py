#!/usr/bin/env python3
"""Proposals of staged executions, for people: over D-Bus and by warder diff, commit, discard and undo."""
import contextlib
import json
import os
import pty
import sqlite3
import subprocess
import unittest

from bus_harness import TENANT, Admin, Bus, BusDaemon, Polkit, as_user
from documents_test import completed
from harness import ORDINARY_USER, PATIENCE, ROOT, Client, Policies, body_of, eventually, workspace_of

WARDER = os.environ["WARDER"]
CHANGE = ("import os\nopen('/workspace/old', 'a').write('two\\n'); os.makedirs('/workspace/new', exist_ok=True)\n"
          "open('/workspace/new/file', 'w').write('made\\n'); open('/workspace/a\\x1b[31mb', 'w').write('\\x1b]0;x\\x07')")


class OnBus(unittest.TestCase):
    policy = {"workspace": {"commit": "ask"}}
    system = False

    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        cls.daemon = cls.enterClassContext(
            BusDaemon(cls.bus, system=cls.system, policies=cls.enterClassContext(Policies(**cls.policy))))

    def setUp(self):
        self.client = self.enterContext(Client(self.daemon.socket))
        self.admin = self.enterContext(Admin(self.bus))
        self.run_code("write_file('old', 'one\\n')")

    def run_code(self, code, **more):
        return body_of(self.client.call("execute_code", {"code": code, **more}))

    def staged(self, code=CHANGE):
        answer = self.run_code(code, workspace="staged")
        return answer["proposal"]["id"], answer["execution_id"]

    def tenant(self):
        return str(self.admin.call("ListTenants")[0][0])

    def file(self, name):
        return workspace_of(self.daemon) / name

    def audited(self, action):
        path = self.daemon.state / "journal/journal.db"
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return database.execute("SELECT tenant, uid, subject, shape FROM audit WHERE action = ? ORDER BY at_ms, rowid",
                                    (action,)).fetchall()

    def warder(self, *words, status=0):
        done = subprocess.run([WARDER, *words, "--bus", self.bus.address], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done.stdout + done.stderr


class ByAdministrator(OnBus):
    def test_a_person_commits_and_undoes_what_the_rule_ask_holds_back(self):
        proposal, execution = self.staged()
        tenant = self.tenant()
        (listed,) = [one for one in self.admin.call("ListProposals", "s", "") if one["Id"] == proposal]
        self.assertEqual((listed["Tenant"], listed["State"], listed["Execution"], listed["Created"], listed["Modified"]),
                         (tenant, "open", execution, 2, 1))
        details, diff = self.admin.call("ReadProposalDiff", "ss", tenant, proposal)
        self.assertEqual([file["Path"] for file in details["ModifiedFiles"]], ["old"])
        self.assertIn("+two", diff)
        self.assertNotIn("\x1b", diff)
        done = self.admin.call("CommitProposal", "ssas", tenant, proposal, [])
        self.assertEqual((done["Done"], done["State"], done["Conflicts"]), (True, "committed", 0))
        self.assertEqual(self.file("old").read_text(), "one\ntwo\n")
        done = self.admin.call("UndoProposal", "ss", tenant, proposal)
        self.assertEqual((done["Done"], done["State"]), (True, "undone"))
        self.assertEqual(self.file("old").read_text(), "one\n")
        for action in ("commit proposal", "undo proposal"):
            (*_, entry) = self.audited(action)
            self.assertEqual(entry[:3], (tenant, os.geteuid(), proposal))
            self.assertEqual(json.loads(entry[3]), {"execution": execution})

    def test_a_part_is_committed_by_its_paths_and_the_rest_discarded(self):
        proposal, _ = self.staged()
        tenant = self.tenant()
        done = self.admin.call("CommitProposal", "ssas", tenant, proposal, ["/workspace/new"])
        self.assertEqual((done["Done"], done["State"]), (True, "open"))
        self.assertEqual((self.file("old").read_text(), self.file("new/file").read_text()), ("one\n", "made\n"))
        self.admin.call("UndoProposal", "ss", tenant, proposal)
        self.admin.call("DiscardProposal", "ss", tenant, proposal)
        self.assertFalse(self.file("new").exists())
        self.assertNotIn(proposal, [one["Id"] for one in self.admin.call("ListProposals", "s", tenant)])

    def test_a_conflict_is_a_result_with_the_paths_and_commits_nothing(self):
        proposal, execution = self.staged()
        self.run_code("write_file('old', 'other\\n')")
        done = self.admin.call("CommitProposal", "ssas", self.tenant(), proposal, [])
        self.assertEqual((done["Done"], done["State"], [one["Path"] for one in done["ConflictingPaths"]]),
                         (False, "open", ["old"]))
        self.assertEqual(self.file("old").read_text(), "other\n")
        self.assertFalse(self.file("new").exists())
        eventually(lambda: json.loads(self.audited("commit proposal")[-1][3]) == {"execution": execution, "failed": "conflict"},
                   "the conflict is in the audit chain")
        shown = self.warder("commit", proposal[:8], status=1)
        self.assertIn("nothing was committed", shown)
        self.assertIn("    old: ", shown)
        self.warder("discard", proposal)

    def test_what_is_no_proposal_is_named(self):
        tenant = self.tenant()
        self.staged()
        for words in (("nobody-here", "p0123456789abcdef"), (tenant, "p0123456789abcdef"), (tenant, "../../x"), (tenant, "")):
            self.assertEqual(self.admin.error("ReadProposalDiff", "ss", *words)[0], "NotFound", words)
            self.assertEqual(self.admin.error("DiscardProposal", "ss", *words)[0], "NotFound", words)
        for name in ("../x", "a/../b", "x" * 300, "/"):
            self.assertEqual(self.admin.error("ListProposals", "s", name)[0], "Invalid", name)
        self.assertEqual(self.admin.error("ListProposals", "s", "nobody-here")[0], "NotFound")
        self.assertFalse((self.daemon.state / "tenants/nobody-here").exists())
        proposal, _ = self.staged()
        for paths in (["../x"], [""], ["x"] * 1001, ["x" * 5000]):
            self.assertEqual(self.admin.error("CommitProposal", "ssas", tenant, proposal, paths)[0], "Invalid", paths[0][:9])
        self.assertEqual(self.admin.error("UndoProposal", "ss", tenant, proposal)[0], "Invalid")

    def test_the_tenant_shows_what_its_proposals_hold(self):
        self.staged("open('/workspace/large', 'wb').write(b'x' * 100000)")
        path = self.admin.call("GetTenant", "s", self.tenant())
        open_ones = len([one for one in self.admin.call("ListProposals", "s", "") if one["State"] == "open"])
        self.assertEqual(self.admin.get("OpenProposals", path, TENANT), open_ones)
        self.assertGreaterEqual(self.admin.get("ProposalBytes", path, TENANT), 100000)
        (record,) = self.admin.call("ListTenantRecords")
        self.assertEqual(record["OpenProposals"], open_ones)
        self.assertIn("PROPOSALS", self.warder("tenants"))

    def test_the_doctor_says_whether_workspaces_can_be_staged(self):
        findings = {one[0]: one for one in self.admin.call("RunDoctor")}
        self.assertIn("staging", findings)


    def test_a_commit_that_waits_is_shown_with_its_diff_line_by_line(self):
        proposal, _ = self.staged()
        waiting = self.client.begin("tools/call", name="commit_workspace", arguments={"proposal": proposal})
        (waits,) = eventually(lambda: self.admin.call("ListApprovals"), "the commit waits")
        shown = self.warder("approvals")
        self.assertIn("warder.commit_workspace", shown.splitlines()[0])
        self.assertIn("\n    |  one\n    | +two\n", shown)
        self.assertNotIn("\\n", shown)
        self.assertNotIn("\x1b", shown)
        self.warder("approve", waits["Id"])
        self.assertIs(self.client.executed(waiting)["success"], True)
        self.warder("undo", proposal)


class ByCommand(OnBus):
    policy = {}

    def test_a_proposal_is_listed_compared_committed_and_undone(self):
        proposal, execution = self.staged()
        listed = self.warder("diff")
        self.assertIn("ID", listed.splitlines()[0])
        (line,) = [one for one in listed.splitlines() if execution in one]
        self.assertEqual(line.split()[1:4] + line.split()[5:6], [self.tenant(), execution, "open", "3"])
        self.assertIn(proposal, [json.loads(one)["Id"] for one in self.warder("diff", "--json").splitlines()])
        self.assertIn("\n+two\n", self.warder("diff", proposal[:8]))
        told = json.loads(self.warder("diff", proposal, "--json", "--tenant", self.tenant()))
        self.assertEqual((told["Id"], "+two" in told["Diff"]), (proposal, True))
        self.assertEqual(completed("warder", "commit", "--bus", self.bus.address, proposal[:8]), [proposal])
        self.assertIn(f"proposal      {proposal} open", self.warder("show", execution))
        said = self.warder("commit", proposal[:8], "new")
        self.assertIn("other changes of it are still open", said)
        self.assertIn(f"warder undo {proposal}", self.warder("commit", proposal[:8]))
        self.assertEqual(self.file("old").read_text(), "one\ntwo\n")
        self.assertIn("committed", self.warder("diff"))
        self.assertIs(json.loads(self.warder("undo", proposal, "--json"))["Done"], True)
        self.warder("undo", proposal)
        self.assertEqual(self.file("old").read_text(), "one\n")
        self.assertIn("warder diff", self.warder("commit", "p0123", status=1))

    def test_colours_are_for_terminals_and_nothing_of_the_program_controls_them(self):
        proposal, _ = self.staged()
        self.assertNotIn("\x1b", self.warder("diff", proposal))
        ours, theirs = pty.openpty()
        with open(ours, "rb", buffering=0) as terminal:
            subprocess.run([WARDER, "diff", proposal, "--bus", self.bus.address], stdout=theirs, timeout=PATIENCE, check=True)
            os.close(theirs)
            shown = b""
            while True:
                try:
                    piece = terminal.read(65536)
                except OSError:
                    break
                if not piece:
                    break
                shown += piece
        self.assertIn(b"\x1b[32m+two\x1b[0m", shown)
        for colour in (b"\x1b[1m", b"\x1b[0m", b"\x1b[31m", b"\x1b[32m", b"\x1b[33m", b"\x1b[36m"):
            shown = shown.replace(colour, b"")
        self.assertNotIn(b"\x1b", shown)
        self.assertNotIn(b"\x07", shown)
        self.warder("discard", proposal)


@unittest.skipUnless(ROOT, "needs root, to call as several users")
class AfterRestart(OnBus):
    """The tenant of another user: the daemon's start is awaited as the user of this test."""

    def setUp(self):
        super().setUp()
        self.client.close()
        self.client = self.enterContext(as_user(ORDINARY_USER, lambda: Client(self.daemon.socket)))
        self.run_code("write_file('old', 'one\\n')")

    def tenant(self):
        return f"uid-{ORDINARY_USER}"

    def file(self, name):
        return workspace_of(self.daemon, ORDINARY_USER) / name

    def test_proposals_of_a_tenant_without_clients_are_read_and_committed_when_it_is_named(self):
        proposal, _ = self.staged()
        committed, _ = self.staged("open('/workspace/other', 'w').write('x')")
        tenant = self.tenant()
        self.admin.call("CommitProposal", "ssas", tenant, committed, [])
        self.client.close()
        self.daemon.stop()
        self.daemon.start()
        self.assertEqual(self.admin.call("ListProposals", "s", ""), [])
        self.assertIn("--tenant", self.warder("commit", proposal, status=1))
        self.assertEqual({str(one["Id"]): str(one["State"]) for one in self.admin.call("ListProposals", "s", tenant)},
                         {proposal: "open", committed: "committed"})
        self.warder("commit", proposal[:8], "--tenant", tenant)
        self.warder("undo", committed, "--tenant", tenant)  # which no policy had removed meanwhile
        self.assertEqual(self.file("old").read_text(), "one\ntwo\n")
        self.assertFalse(self.file("other").exists())
        with as_user(ORDINARY_USER, lambda: Client(self.daemon.socket)) as client:
            self.assertEqual(body_of(client.call("execute_code", {"code": "read_file('old')"}))["result"], "one\ntwo\n")


@unittest.skipUnless(ROOT, "needs root, to call as several users")
class Rights(OnBus):
    system = True
    OTHER_USER = 2

    def setUp(self):
        super().setUp()
        self.other = self.enterContext(as_user(ORDINARY_USER, lambda: Client(self.daemon.socket)))
        answer = body_of(self.other.call("execute_code", {"code": "open('/workspace/f', 'w').write('secret')", "workspace": "staged"}))
        self.proposal = answer["proposal"]["id"]
        (self.theirs,) = [str(one["Tenant"]) for one in self.admin.call("ListProposals", "s", "") if one["Id"] == self.proposal]

    def call(self, user, *words):
        done = self.bus.busctl("call", "org.warder.Warder1", "/org/warder/Warder1", "org.warder.Warder1.Manager", *words,
                               user=user, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_users_see_and_decide_about_their_own_and_operators_about_all(self):
        status, said = self.call(ORDINARY_USER, "ListProposals", "s", "")
        self.assertEqual(status, 0, said)
        self.assertIn(self.proposal, said)
        mine, _ = self.staged()
        self.assertNotIn(mine, self.call(ORDINARY_USER, "ListProposals", "s", "")[1])
        self.assertNotIn(self.proposal, self.call(self.OTHER_USER, "ListProposals", "s", "")[1])
        self.assertIn("there is no proposal", self.call(ORDINARY_USER, "ReadProposalDiff", "ss", self.theirs, mine)[1])
        for words in (("ListProposals", "s", self.theirs), ("ReadProposalDiff", "ss", self.theirs, self.proposal),
                      ("CommitProposal", "ssas", self.theirs, self.proposal, "0"),
                      ("DiscardProposal", "ss", self.theirs, self.proposal), ("UndoProposal", "ss", self.theirs, self.proposal)):
            status, said = self.call(self.OTHER_USER, *words)
            self.assertEqual(status, 1, (words, said))
            self.assertNotIn("secret", said)
            unknown = self.call(self.OTHER_USER, words[0], words[1], "nobody-here", *words[3:])
            self.assertEqual(unknown, (status, said), words)  # nor does it learn which tenants exist
        with Polkit(self.bus, "org.warder.Warder1.see-all"):
            self.assertEqual(self.call(self.OTHER_USER, "ReadProposalDiff", "ss", self.theirs, self.proposal)[0], 1)
        with Polkit(self.bus, "org.warder.Warder1.manage-executions"):
            self.assertIn("+secret", self.call(self.OTHER_USER, "ReadProposalDiff", "ss", self.theirs, self.proposal)[1])
            self.assertEqual(self.call(self.OTHER_USER, "DiscardProposal", "ss", self.theirs, self.proposal)[0], 1)
        self.assertIn("+secret", self.call(ORDINARY_USER, "ReadProposalDiff", "ss", self.theirs, self.proposal)[1])
        self.decide()

    def decide(self):
        status, said = self.call(ORDINARY_USER, "CommitProposal", "ssas", self.theirs, self.proposal, "0")
        self.assertEqual(status, 0, said)
        with Polkit(self.bus, "org.warder.Warder1.approve-calls"):
            status, said = self.call(self.OTHER_USER, "UndoProposal", "ss", self.theirs, self.proposal)
            self.assertEqual(status, 0, said)


class RightsOfAdministrators(Rights):
    policy = {"workspace": {"commit": "ask"}, "calls": {"approval": {"by": "administrator"}}}

    def decide(self):
        for words in (("CommitProposal", "ssas", self.theirs, self.proposal, "0"),
                      ("DiscardProposal", "ss", self.theirs, self.proposal), ("UndoProposal", "ss", self.theirs, self.proposal)):
            self.assertEqual(self.call(ORDINARY_USER, *words)[0], 1, words)
        self.assertEqual(self.call(0, "DiscardProposal", "ss", self.theirs, self.proposal), (0, ""))


if __name__ == "__main__":
    unittest.main()
