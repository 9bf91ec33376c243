#!/usr/bin/env python3
"""Calls that somebody has to approve, decided about over D-Bus: who sees them, who may, and what the code is told."""
import contextlib
import json
import os
import sqlite3
import subprocess
import unittest

from approvals_harness import ADD, CAUGHT, ApprovalTest, Legacy, Modern
from bus_harness import EXECUTION, PATH, Admin, Bus, BusDaemon, Polkit, as_user
from documents_test import completed
from harness import ORDINARY_USER, PATIENCE, ROOT, Client, eventually

WARDER = os.environ["WARDER"]


class OnBusTest(ApprovalTest):
    system = False  # the bus is the daemon's system bus

    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        super().setUpClass()

    @classmethod
    def daemon(cls, policies=None):
        configuration = {"servers": {"near": cls.server()}, "catalog": str(cls.folder / "catalog")}
        return BusDaemon(cls.bus, system=cls.system, policies=policies, configuration=configuration)


class ByBus(OnBusTest):
    """Without a client that can be asked: over D-Bus, as people and programs do."""

    def setUp(self):
        super().setUp()
        self.client = self.enterContext(Client(self.shared.socket))
        self.admin = self.enterContext(Admin(self.bus))

    def begin(self, code):
        self.request = self.client.begin_execute(code)
        return self.waiting()

    def waiting(self):
        return eventually(lambda: self.admin.call("ListApprovals"), "something waits")[0]

    def warder(self, *words, status=0):
        done = subprocess.run([WARDER, *words, "--bus", self.bus.address], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def test_an_administrator_sees_what_waits_and_approves_it(self):
        waits = self.begin(ADD % 100)
        self.assertEqual((waits["Tool"], waits["Arguments"], waits["Rule"], waits["By"], waits["UID"]),
                         ("near.add", '{"a":1,"b":100}', "calls.large-sums", "tenant", os.geteuid()))
        self.assertEqual(waits["ExpiresUSec"] - waits["AskedUSec"], 3600 * 1_000_000)
        path = self.admin.call("GetExecution", "s", waits["Execution"])
        self.assertEqual(self.admin.get("Approvals", path, EXECUTION), [waits["Id"]])
        shown = self.warder("approvals")
        self.assertIn(f"{waits['Id']}  near.add " + '{"a":1,"b":100}', shown)
        self.assertIn("calls.large-sums: large sums need a human", shown)
        self.assertEqual(json.loads(self.warder("approvals", "--json"))[0]["Id"], waits["Id"])
        self.assertEqual(completed("warder", "approve", "--bus", self.bus.address, waits["Id"][:3]), [waits["Id"]])
        self.warder("approve", waits["Id"])
        self.assertEqual(self.client.executed(self.request)["result"], [101, 499500])
        self.assertEqual(self.admin.call("ListApprovals"), [])
        self.assertIn("waits for an approval", self.warder("approve", waits["Id"], status=1))

    def test_one_that_is_denied_is_told_why(self):
        waits = self.begin(CAUGHT)
        self.warder("deny", waits["Id"], "--reason", "not on\x1b[31m a Sunday")
        code, rule, message, remedy = self.client.executed(self.request)["result"]
        self.assertEqual((code, rule), ("denied", "calls.large-sums"))
        self.assertEqual(message, f"near.add was refused by user {os.geteuid()} over D-Bus (not on\\x1b[31m a Sunday): "
                                  "large sums need a human")

    def test_it_is_told_by_signals_without_what_it_is_about(self):
        self.admin.call("Subscribe")
        waits = self.begin(ADD % 100)
        _, _, told = self.admin.await_member("ApprovalRequested")
        self.assertEqual(told, (waits["Id"], waits["Execution"], waits["Tenant"], waits["ExpiresUSec"]))
        path = self.admin.call("GetExecution", "s", waits["Execution"])
        self.admin.call("Deny", "ss", waits["Id"], "", path=path, interface=EXECUTION)
        _, _, told = self.admin.await_member("ApprovalSettled")
        self.assertEqual(told[3], "denied")
        self.client.answer(self.request)

    def test_one_execution_s_object_decides_about_no_other_s_calls(self):
        identity = self.client.execute("1")["execution_id"]
        other = self.admin.call("GetExecution", "s", identity)
        waits = self.begin(ADD % 100)
        for member, words in (("Approve", ["s", waits["Id"]]), ("Deny", ["ss", waits["Id"], ""])):
            name, _ = self.admin.error(member, *words, path=other, interface=EXECUTION)
            self.assertEqual(name, "NotFound")
        self.assertEqual(self.admin.error("Deny", "ss", waits["Id"], "x" * 501)[0], "Invalid")
        self.assertEqual(self.admin.error("Approve", "s", "a0")[0], "NotFound")
        self.admin.call("KillExecution", "s", waits["Execution"])
        self.assertEqual(self.client.executed(self.request)["outcome"], "cancelled")
        self.assertEqual(self.admin.call("ListApprovals"), [])

    def test_the_first_answer_counts(self):
        with Legacy(self.shared.socket) as client:
            request = client.begin_code(CAUGHT)
            question = client.await_question()
            self.admin.call("Deny", "ss", self.waiting()["Id"], "")
            client.decide(question, "accept")
            self.assertIn("over D-Bus", client.executed(request)["result"][2])

    def test_one_that_cannot_ask_after_all_leaves_it_to_others(self):
        with Legacy(self.shared.socket) as client:
            request = client.begin_code(ADD % 100)
            question = client.await_question()
            client.send({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "no"}})
            self.admin.call("Approve", "s", self.waiting()["Id"])
            self.assertEqual(client.executed(request)["result"][0], 101)

    def test_a_modern_client_that_comes_later_gets_what_was_done(self):
        with Modern(self.shared.socket) as client:
            asked = client.ask("execute_code", {"code": ADD % 100})["result"]
            self.admin.call("Approve", "s", self.waiting()["Id"])
            result = client.again("execute_code", {"code": ADD % 100}, asked, "decline")["result"]
            self.assertEqual(json.loads(result["content"][0]["text"])["result"][0], 101)

    def test_personal_data_is_shown_as_tokens(self):
        mail = "ada.lovelace@example.com"
        waits = self.begin(f"import warder\nresult = warder.call_tool('near__echo', text='write to {mail}')")
        self.assertRegex(waits["Arguments"], r'\A\{"text":"write to \[EMAIL_[a-z0-9]+\]"\}\Z')
        self.warder("approve", waits["Id"])
        self.assertEqual(self.client.executed(self.request)["result"], f"write to {mail}")  # which is made as it was asked
        self.assertNotIn(mail, self.shared.log_text())

    def test_who_may_see_personal_data_sees_it_and_each_look_is_recorded(self):
        mail = "ada.lovelace@example.com"
        waits = self.begin(f"import warder\nresult = warder.call_tool('near__echo', text='write to {mail}')")
        self.assertNotIn(mail, self.warder("approvals"))
        shown = self.warder("approvals", "--reveal", waits["Id"][:7])
        self.assertIn(f'{waits["Id"]}  {{"text":"write to {mail}"}}', shown)
        self.assertIn("recorded in the audit chain", shown)
        (told,) = json.loads(self.warder("approvals", "--reveal", waits["Id"], "--json"))
        self.assertEqual(json.loads(told["text"]), {"text": f"write to {mail}"})
        looks = self.audited("reveal")
        self.assertEqual([(look["uid"], look["subject"]) for look in looks], [(os.geteuid(), "near.echo")] * 2)
        self.assertEqual([json.loads(look["shape"]) for look in looks],
                         [{"approval": waits["Id"], "execution": waits["Execution"], "values": 1, "look": number}
                          for number in (1, 2)])
        self.assertNotIn(mail, json.dumps(looks, default=repr) + self.shared.log_text())
        self.assertEqual(self.admin.error("RevealApproval", "s", "a0")[0], "NotFound")
        self.warder("deny", waits["Id"])
        self.client.executed(self.request)
        self.assertEqual(self.admin.error("RevealApproval", "s", waits["Id"])[0], "NotFound")

    def audited(self, action):
        """The entries of the audit chain about `action`, oldest first."""
        file = self.shared.state / "journal/journal.db"
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            rows = database.execute("SELECT * FROM audit WHERE action=? ORDER BY at_ms, rowid", [action]).fetchall()
        return [dict(row) for row in rows]

    def test_progress_says_what_it_waits_for(self):
        token = "t"
        request = self.client.begin_execute(ADD % 100, token)
        told = self.client.await_progress(token, lambda p: "approval" in p.get("message", ""))
        self.assertEqual(told["message"], f"waits for an approval: warder approve {self.waiting()['Id']}")
        self.warder("approve", self.waiting()["Id"])
        self.client.answer(request)


@unittest.skipUnless(ROOT, "needs root, to be somebody else")
class Rights(OnBusTest):
    OTHER_USER = 2
    system = True

    def begin(self):
        """A call of the ordinary user's that waits."""
        self.client = self.enterContext(as_user(ORDINARY_USER, lambda: Client(self.shared.socket)))
        self.admin = self.enterContext(Admin(self.bus))
        self.request = self.client.begin_execute(ADD % 100)
        return str(eventually(lambda: self.admin.call("ListApprovals"), "it waits")[0]["Id"])

    def call(self, user, member, *words):
        done = self.bus.busctl("call", "org.warder.Warder1", PATH, "org.warder.Warder1.Manager", member, *words, user=user,
                               check=False)
        return done.returncode, done.stdout + done.stderr

    def finish(self):
        self.assertEqual(self.client.executed(self.request)["result"][0], 101)
        self.client.close()

    def test_another_tenant_neither_sees_nor_approves_it_and_its_own_does(self):
        waits = self.begin()
        self.assertEqual(self.call(self.OTHER_USER, "ListApprovals"), (0, "aa{sv} 0\n"))
        for member, *words in (["Approve", "s", waits], ["Deny", "ss", waits, ""]):
            status, said = self.call(self.OTHER_USER, member, *words)
            self.assertEqual(status, 1, said)
            self.assertIn("only root may do this", said)
        self.assertIn(waits, self.call(ORDINARY_USER, "ListApprovals")[1])
        self.assertEqual(self.call(ORDINARY_USER, "Approve", "s", waits), (0, ""))
        self.finish()

    def test_polkit_lets_others_see_and_decide(self):
        waits = self.begin()
        with Polkit(self.bus, "org.warder.Warder1.approve-calls") as polkit:
            self.assertIn(waits, self.call(self.OTHER_USER, "ListApprovals")[1])
            self.assertEqual(polkit.asked()[1], "org.warder.Warder1.approve-calls")
            self.assertEqual(self.call(self.OTHER_USER, "Approve", "s", waits), (0, ""))
            self.assertEqual(polkit.asked()[1], "org.warder.Warder1.approve-calls")
        self.finish()

    def test_personal_data_is_shown_to_nobody_whom_polkit_does_not_let(self):
        waits = self.begin()
        for user in (ORDINARY_USER, self.OTHER_USER):  # also not to the tenant itself
            status, said = self.call(user, "RevealApproval", "s", waits)
            self.assertEqual(status, 1, said)
            self.assertNotIn('"b"', said)
        with Polkit(self.bus, "org.warder.Warder1.approve-calls") as polkit:
            self.assertEqual(self.call(self.OTHER_USER, "RevealApproval", "s", waits)[0], 1)
            self.assertEqual(polkit.asked()[1], "org.warder.Warder1.reveal-personal-data")
        with Polkit(self.bus, "org.warder.Warder1.reveal-personal-data"):
            status, said = self.call(self.OTHER_USER, "RevealApproval", "s", waits)
            self.assertEqual((status, json.loads(json.loads(said[2:]))), (0, {"a": 1, "b": 100}))
        self.call(0, "Approve", "s", waits)
        self.finish()

    def test_a_password_is_asked_for_only_by_whoever_wants_to_see_all(self):
        waits = self.begin()
        with Polkit(self.bus) as polkit:
            for words, may_ask in (((), "0"), (("--all",), "1")):
                done = subprocess.run([WARDER, "approvals", *words, "--bus", self.bus.address], capture_output=True, text=True,
                                      timeout=PATIENCE, user=ORDINARY_USER, group=ORDINARY_USER, extra_groups=[])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(waits, done.stdout)
                self.assertEqual(polkit.asked(), ["system-bus-name", "org.warder.Warder1.approve-calls", may_ask])
        self.call(0, "Approve", "s", waits)
        self.finish()


class RightsOfAdministrators(Rights):
    @classmethod
    def make_policies(cls):
        return super().make_policies(approval={"by": "administrator", "expires_s": 3600})

    def test_another_tenant_neither_sees_nor_approves_it_and_its_own_does(self):
        waits = self.begin()
        self.assertIn(waits, self.call(ORDINARY_USER, "ListApprovals")[1])
        for user in (ORDINARY_USER, self.OTHER_USER):
            self.assertEqual(self.call(user, "Approve", "s", waits)[0], 1)
        self.assertEqual(self.call(0, "Approve", "s", waits), (0, ""))
        self.finish()

    def test_its_client_is_not_asked(self):
        self.admin = self.enterContext(Admin(self.bus))
        with Legacy(self.shared.socket) as client:
            request = client.begin_code(ADD % 100)
            waits = eventually(lambda: self.admin.call("ListApprovals"), "it waits")[0]
            self.admin.call("Approve", "s", waits["Id"])
            self.assertEqual(client.executed(request)["result"][0], 101)
            self.assertEqual(client.asked, [])


if __name__ == "__main__":
    unittest.main()
