"""Workflows over the end of the daemon: what kill -9 loses, and executions in the background that are started again."""
import random
import time
import unittest

from harness import Client, Daemon, Policies, body_of, eventually, let_go, workspace_of
from workflows_test import shown

# One line for each effect: a run of a step, and the value that the step returned to a program that went on.
STEPS = 60
SURVIVING = """
import os, time, warder
wf = warder.workflow("nightly")
log = os.open("/workspace/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for i in range(%d):
    def work():
        os.write(log, b"ran %%d\\n" %% i)
        time.sleep(0.002)
        return i * i
    value = wf.step("work", work)
    if value != i * i: raise SystemExit(f"step {i} returned {value}")
    os.write(log, b"got %%d\\n" %% i)
result = "done"
""" % STEPS


def gotten(log):
    """How many different steps' values a program has got so far."""
    return len({line for line in log.read_text().splitlines() if line.startswith("got")}) if log.exists() else 0


class Killed(unittest.TestCase):
    KILLS = 30

    def test_kill_9_loses_no_finished_step_and_runs_none_again(self):
        chance = random.Random(20)
        with Policies() as policies, Daemon(policies=policies) as daemon:
            log = workspace_of(daemon) / "log"
            for _ in range(self.KILLS):
                with Client(daemon.socket) as client:
                    client.begin_execute(SURVIVING, timeout_seconds=120)
                    until = gotten(log) + chance.randrange(0, 3)
                    eventually(lambda: gotten(log) >= min(until, STEPS), f"{until} steps")
                    time.sleep(chance.random() * 0.005)
                    daemon.kill()
                daemon.start()
            with Client(daemon.socket) as client:
                self.assertEqual(client.executed(client.begin_execute(SURVIVING))["result"], "done")
            self.judge(log.read_text().splitlines())

    def judge(self, lines):
        """A step whose value a program has got was finished: it never runs again."""
        finished = set()
        for line in lines:
            what, number = line.split()
            if what == "got":
                finished.add(number)
            else:
                self.assertNotIn(number, finished, "a finished step ran again")
        self.assertEqual(len(finished), STEPS)
        runs = [line for line in lines if line.startswith("ran")]
        self.assertLessEqual(len(runs), STEPS + self.KILLS)


LONG = """
import os, time, warder
wf = warder.workflow("long")
with open("/workspace/log", "a") as f: f.write("begun\\n")
wf.step("first", lambda: open("/workspace/log", "a").write("first\\n"))
def wait():
    open("/workspace/waits", "w").close()  # the step before has been recorded
    while not os.path.exists("/workspace/go"): time.sleep(0.01)
    return context_vars["word"]
result = wf.step("wait", wait)
"""


class Resumed(unittest.TestCase):
    """Background executions that the end of the daemon interrupts."""

    def begin(self, client, **more):
        arguments = {"code": LONG, "background": True, "context_vars": {"word": "went on"}, "timeout_seconds": 120}
        return body_of(client.call("execute_code", {**arguments, **more}))["execution_id"]

    def result(self, client, execution):
        return shown(client, f"exec:///{execution}/result")

    def interrupted(self, daemon, execution, end):
        """Waits for the first step, ends the daemon and starts it again; the answer of the execution."""
        waits = workspace_of(daemon) / "waits"
        eventually(waits.exists, "the second step")
        waits.unlink()
        end()
        daemon.start()
        with Client(daemon.socket) as client:
            return self.result(client, execution)

    def test_it_is_started_again_as_often_as_the_policy_allows_and_goes_on(self):
        with Policies(workflows={"resume": 2}) as policies, Daemon(policies=policies) as daemon:
            log = workspace_of(daemon) / "log"
            with Client(daemon.socket) as client:
                execution = self.begin(client)
            for count in (2, 3):
                body = self.interrupted(daemon, execution, daemon.kill)
                self.assertEqual((body["outcome"], body["success"]), ("interrupted", False))
                execution = body["resumed_as"]
                eventually(lambda: log.read_text().count("begun") == count, "it was started again")
                with Client(daemon.socket) as client:
                    self.assertEqual(self.result(client, execution), {"execution_id": execution, "state": "working"})
                    eventually(lambda: shown(client, "workflow:///long")["execution_id"] == execution, "it has the workflow")
            body = self.interrupted(daemon, execution, daemon.kill)
            with Client(daemon.socket) as client:
                last = eventually(lambda: (now := self.result(client, body["resumed_as"])) and "error" in now and now, "refused")
                self.assertIn("it was started again 2 times, and the policy allows 2", last["error"])
                self.assertEqual(log.read_text().split(), ["begun", "first", "begun", "begun"])
                let_go(daemon)
                code = LONG.replace('result =', 'result = 2,')
                self.assertEqual(client.execute(code, context_vars={"word": "by hand"})["result"], [2, "by hand"])

    def test_each_id_that_an_answer_names_leads_on_when_the_daemon_is_killed_again_and_again(self):
        """Killed as soon as it serves: the new id may be in an answer already, and not yet in the row of the run."""
        with Policies(workflows={"resume": 20}) as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                execution = self.begin(client)
            first = execution
            eventually((workspace_of(daemon) / "waits").exists, "the second step")
            for _ in range(4):
                daemon.kill()
                daemon.start()
            let_go(daemon)
            with Client(daemon.socket) as client:
                for _ in range(20):
                    body = eventually(lambda: (now := self.result(client, execution)) and now.get("state") != "working" and now,
                                      execution)
                    if "resumed_as" not in body:
                        break
                    execution = body["resumed_as"]
                self.assertEqual((body.get("result"), body.get("execution_id")), ("went on", execution), (first, body))

    def test_it_answers_when_its_work_is_done_and_is_then_not_started_again(self):
        with Policies(workflows={"resume": 2}) as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                execution = self.begin(client)
            resumed = self.interrupted(daemon, execution, daemon.kill)["resumed_as"]
            let_go(daemon)
            with Client(daemon.socket) as client:
                body = eventually(lambda: (now := self.result(client, resumed)) and "success" in now and now, "the end")
                self.assertEqual((body["result"], body["outcome"], body["execution_id"]), ("went on", "ok", resumed))
            daemon.kill()
            daemon.start()
            with Client(daemon.socket) as client:
                self.assertEqual(self.result(client, resumed), body)
                self.assertEqual((workspace_of(daemon) / "log").read_text().split(), ["begun", "first", "begun"])

    def test_without_the_policys_leave_or_a_step_it_is_only_interrupted(self):
        for resume, code in ((0, LONG), (2, LONG.replace("import os", "import os\n#").replace(
                'wf = warder.workflow("long")', 'class wf: step = staticmethod(lambda name, fn: fn())'))):
            with Policies(workflows={"resume": resume}) as policies, Daemon(policies=policies) as daemon:
                with Client(daemon.socket) as client:
                    execution = self.begin(client, code=code.replace("import os\n#", "import os"))
                body = self.interrupted(daemon, execution, daemon.kill)
                self.assertEqual(body["outcome"], "interrupted")
                self.assertNotIn("resumed_as", body)

    def test_one_that_was_cancelled_is_not_started_again(self):
        with Policies(workflows={"resume": 2}) as policies, Daemon(policies=policies) as daemon:
            log = workspace_of(daemon) / "log"
            with Client(daemon.socket) as client:
                execution = self.begin(client)
                eventually(lambda: log.exists() and "first" in log.read_text(), "the first step")
                client.call("delete_workspace_file", {"filename": f"exec:///{execution}"})
                eventually(lambda: self.result(client, execution).get("outcome") == "cancelled", "cancelled")
            daemon.kill()
            daemon.start()
            with Client(daemon.socket) as client:
                self.assertEqual(self.result(client, execution)["outcome"], "cancelled")
                self.assertTrue(client.execute("result = 1")["success"])
            self.assertEqual(log.read_text().split(), ["begun", "first"])


if __name__ == "__main__":
    unittest.main()
