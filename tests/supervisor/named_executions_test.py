"""Executions whose id came with the request: asked again, two at once, cancelled before they come, after restarts; other
arguments, other tenants, and bad ids. Over lines, and over HTTP."""
import contextlib
import json
import pathlib
import signal
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from harness import HOLD, Client, Daemon, SharedDaemon, body_of, eventually, let_go, workspace_of  # noqa: E402
from http_test import ask, call  # noqa: E402
from unix_http import UnixHttp  # noqa: E402
from http_tokens_test import TokenTest  # noqa: E402

KEY = "org.warder/executionId"
KEPT = "org.warder/kept"
COUNT = "print(open('/workspace/runs', 'a').write('x'))\nresult = open('/workspace/runs').read()"


def begin(client, name, code, **arguments):
    return client.begin("tools/call", name="execute_code", arguments={"code": code, **arguments}, _meta={KEY: name})


def execute(client, name, code, **arguments):
    return client.answer(begin(client, name, code, **arguments))["result"]


def cancel(client, name):
    return body_of(client.call("delete_workspace_file", {"filename": f"exec:///{name}"}))


def result_of(client, name):
    return json.loads(client.request("resources/read", uri=f"exec:///{name}/result")["contents"][0]["text"])


def kill(daemon):
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()


class NamedExecutions(SharedDaemon):
    def setUp(self):
        super().setUp()
        for name in ("go", "runs"):
            (workspace_of(self.daemon) / name).unlink(missing_ok=True)

    def named(self):
        return f"{self.id().rsplit('.', 1)[1].replace('_', '-')[:48]}-0123456789"

    def runs(self):
        file = workspace_of(self.daemon) / "runs"
        return file.read_text() if file.exists() else ""

    def test_asked_again_it_does_not_run_again_and_has_the_same_answer(self):
        name = self.named()
        first = execute(self.client, name, COUNT)
        self.assertEqual(body_of(first)["result"], "x")
        self.assertNotIn(KEPT, first["_meta"])
        with Client(self.daemon.socket) as later:
            second = execute(later, name, COUNT)
        self.assertIs(second["_meta"].pop(KEPT), True)
        self.assertEqual(second, first)
        # Over HTTP, too.
        web = self.enterContext(contextlib.closing(UnixHttp(self.daemon.socket)))
        status, answer = ask(web, call("execute_code", {"code": COUNT}, **{KEY: name}))
        self.assertEqual((status, body_of(answer["result"])), (200, body_of(first)))
        self.assertEqual(self.runs(), "x")
        self.assertEqual(result_of(self.client, name), body_of(first))
        self.assertEqual(body_of(execute(self.client, name + "0", COUNT))["result"], "xx")

    def test_a_failure_and_an_image_are_kept_as_they_were(self):
        name = self.named()
        code = "import struct\nopen('/workspace/p.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + b'0' * 64)\nraise ValueError('no')"
        first = execute(self.client, name, code)
        self.assertIs(first["isError"], True)
        self.assertIn("image", [block["type"] for block in first["content"]])
        second = execute(self.client, name, code)
        self.assertIs(second["_meta"].pop(KEPT), True)
        self.assertEqual(second, first)

    def test_two_at_once_are_one_execution(self):
        name = self.named()
        first = begin(self.client, name, HOLD)
        with Client(self.daemon.socket) as other:
            second = begin(other, name, HOLD)
            state = eventually(lambda: self.known(other, name), "the execution is known")
            self.assertEqual(state["state"], "working")
            let_go(self.daemon)
            answers = [body_of(self.client.answer(first)["result"]), body_of(other.answer(second)["result"])]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual((answers[0]["result"], answers[0]["execution_id"]), ("went on", state["execution_id"]))

    def known(self, client, name):
        answer = client.answer(client.begin("resources/read", uri=f"exec:///{name}/result"))
        return "result" in answer and json.loads(answer["result"]["contents"][0]["text"])

    def test_other_arguments_under_the_same_id_are_refused(self):
        name = self.named()
        execute(self.client, name, COUNT)
        for more in ({"code": COUNT + " "}, {"code": COUNT, "timeout_seconds": 5}):
            refused = body_of(execute(self.client, name, **more))
            self.assertEqual((refused["code"], refused["rule"], refused["outcome"]), ("invalid", "executionId", "denied"))
            self.assertIn("the id of an execution with other arguments", refused["error"])
            self.assertEqual(refused["remedy"], "choose a new id for each program")
        self.assertEqual(self.runs(), "x")

    def test_bad_ids_are_refused_by_name(self):
        for name in (7, None, [], {}, "", "short-id-1234", "x" * 65, "Capitals-are-not-taken", "../../../../etc/passwd",
                     "e0123456789abcdef", "e" + "0" * 32, "-begins-with-a-dash", "has a blank in it 1234", "nul\0nul\0nul\0nul\0"):
            with self.subTest(name=name):
                refused = body_of(execute(self.client, name, COUNT))
                self.assertEqual((refused["code"], refused["rule"]), ("invalid", "executionId"))
                self.assertIn(KEY, refused["error"])
        self.assertEqual(self.runs(), "")

    def test_a_call_that_did_not_run_leaves_its_id_free(self):
        name = self.named()
        refused = body_of(execute(self.client, name, COUNT, session="not a name"))
        self.assertEqual(refused["outcome"], "denied")
        self.assertEqual(body_of(execute(self.client, name, COUNT))["result"], "x")

    def test_a_cancellation_before_its_order_makes_the_order_refused(self):
        name = self.named()
        self.assertEqual(cancel(self.client, name), {"success": True, "message": f"Cancelled {name}: if it comes later, it will not run"})
        for _ in range(2):
            refused = execute(self.client, name, COUNT)
            self.assertIs(refused["isError"], True)
            body = body_of(refused)
            self.assertEqual((body["success"], body["outcome"], body["may_have_run"]), (False, "cancelled", False))
        self.assertEqual(cancel(self.client, name)["message"], f"{name} has ended; it will not run again")
        self.assertEqual(self.runs(), "")

    def test_a_cancellation_ends_the_program_and_its_answer_stays(self):
        name, started = self.named(), COUNT + HOLD
        request = begin(self.client, name, started)
        with Client(self.daemon.socket) as other:
            eventually(self.runs, "it runs")
            self.assertEqual(cancel(other, name)["message"], f"Cancelled {name}")
            first = self.client.answer(request)["result"]
            self.assertEqual(body_of(first)["outcome"], "cancelled")
            again = execute(other, name, started)
            self.assertEqual(body_of(again), body_of(first))

    def test_a_cancellation_while_it_waits_is_its_answer(self):
        holding = [self.client.begin_execute(HOLD, session="one")]
        name = self.named()
        with Client(self.daemon.socket) as other:
            request = begin(other, name, COUNT, session="one")
            eventually(lambda: self.known(self.client, name), "it is known")
            cancel(self.client, name)
            for answer in (other.answer(request)["result"], execute(self.client, name, COUNT, session="one")):
                self.assertEqual((body_of(answer)["outcome"], answer["isError"]), ("cancelled", True))
        let_go(self.daemon)
        self.assertEqual(self.client.executed(holding[0])["result"], "went on")
        self.assertEqual(self.runs(), "")

    def test_a_client_that_hangs_up_cancels_and_the_id_stays_used(self):
        name = self.named()
        started = COUNT + HOLD
        with Client(self.daemon.socket) as leaving:
            begin(leaving, name, started)
            eventually(self.runs, "it runs")
        body = body_of(execute(self.client, name, started))
        self.assertEqual((body["success"], body["outcome"], body["may_have_run"]), (False, "cancelled", True))
        self.assertEqual(self.runs(), "x")

    def test_in_the_background(self):
        name = self.named()
        first = body_of(execute(self.client, name, HOLD, background=True))
        self.assertEqual(first["state"], "working")
        self.assertEqual(body_of(execute(self.client, name, HOLD, background=True)), first)
        self.assertEqual(result_of(self.client, name)["state"], "working")
        let_go(self.daemon)
        ended = eventually(lambda: (now := result_of(self.client, name)) and "success" in now and now, "it ends")
        self.assertEqual((ended["result"], ended["execution_id"]), ("went on", first["execution_id"]))
        again = body_of(execute(self.client, name, HOLD, background=True))
        self.assertEqual(again, {**first, "state": "completed"})

    def test_a_large_answer_is_kept_shortened(self):
        name, code = self.named(), "for _ in range(400): print('y' * 100)\nresult = 'x' * 1_040_000"
        self.assertEqual(len(body_of(execute(self.client, name, code))["result"]), 1_040_000)
        again = body_of(execute(self.client, name, code))
        self.assertIs(again["success"], True)
        self.assertEqual(again["outcome"], "ok")
        self.assertIn("are kept", again["notes"][0])


class Restarts(unittest.TestCase):
    def test_after_kill_9_an_answer_is_still_there_and_what_ran_is_told(self):
        with Daemon() as daemon:
            with Client(daemon.socket) as client:
                done = execute(client, "done-0123456789abcdef", COUNT)
                forked = body_of(execute(client, "forked-0123456789abcdef", "result = item", fork=[1, 2]))
                self.assertIs(forked["success"], True, forked)
                cancel(client, "fenced-0123456789abcdef")
                client.begin("ping")
                begin(client, "running-0123456789abcdef", COUNT + HOLD)
                eventually(lambda: (workspace_of(daemon) / "runs").read_text() == "xx", "it runs")
                kill(daemon)
            daemon.start()
            with Client(daemon.socket) as client:
                again = execute(client, "done-0123456789abcdef", COUNT)
                self.assertIs(again["_meta"].pop(KEPT), True)
                self.assertEqual(again, done)
                body = body_of(execute(client, "running-0123456789abcdef", COUNT + HOLD))
                self.assertEqual((body["success"], body["outcome"], body["may_have_run"]), (False, "interrupted", True))
                body = body_of(execute(client, "fenced-0123456789abcdef", COUNT))
                self.assertEqual((body["outcome"], body["may_have_run"]), ("cancelled", False))
            # The kept answers are gone; the row of the execution still refuses the id.
            kill(daemon)
            with sqlite3.connect(daemon.state / "journal/journal.db") as database:
                database.execute("DELETE FROM named_executions")
            database.close()
            daemon.start()
            with Client(daemon.socket) as client:
                for _ in range(2):
                    body = body_of(execute(client, "done-0123456789abcdef", COUNT))
                    self.assertEqual((body["success"], body["may_have_run"], body["rule"]), (False, True, "executionId"))
                    self.assertIn("its answer is no longer kept", body["error"])
                # A fork has only the rows of its branches.
                body = body_of(execute(client, "forked-0123456789abcdef", "result = item", fork=[1, 2]))
                self.assertEqual((body["success"], body["may_have_run"], body["rule"]), (False, True, "executionId"))
                self.assertEqual((workspace_of(daemon) / "runs").read_text(), "xx")


class Tenants(TokenTest):
    def test_the_id_of_another_tenant_means_nothing(self):
        self.start()
        self.configure()
        owner, colleague, stranger = (self.add("owner", tenant="acme"), self.add("colleague", tenant="acme"),
                                      self.add("stranger", tenant="other"))

        def run(token, code, tool="execute_code", **arguments):
            arguments = arguments or {"code": code}
            status, answer = self.ask(token, call(tool, arguments, **{KEY: "shared-0123456789abcdef"}))
            self.assertEqual(status, 200, answer)
            return body_of(answer["result"])

        first = run(owner, COUNT)
        theirs = run(stranger, COUNT + "\nresult = 'mine'")  # other code: it is another execution
        self.assertEqual((first["result"], theirs["result"]), ("x", "mine"))
        self.assertNotEqual(first["execution_id"], theirs["execution_id"])
        self.assertEqual(run(colleague, COUNT), first)
        # A cancellation of the stranger's is about the stranger's own.
        fence = "fence-0123456789abcdef"
        run(stranger, "", "delete_workspace_file", filename=f"exec:///{fence}")
        status, answer = self.ask(owner, call("execute_code", {"code": COUNT}, **{KEY: fence}))
        self.assertEqual((status, body_of(answer["result"])["result"]), (200, "xx"))
        status, answer = self.ask(stranger, call("execute_code", {"code": COUNT}, **{KEY: fence}))
        self.assertEqual(body_of(answer["result"])["outcome"], "cancelled")


if __name__ == "__main__":
    unittest.main()
