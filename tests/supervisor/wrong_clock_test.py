"""A wrong wall clock deletes no data, prolongs no right, and is shown; heads of the audit chain in the log find a
chain that was lost. The daemon gets its clocks from $SHIFTED_CLOCK (shifted_clock.cc). Programs: $WARDERD, $WARDER."""
import datetime
import json
import os
import pathlib
import re
import socket
import sqlite3
import struct
import subprocess
import unittest

from bus_harness import Admin, Bus, BusDaemon
from configuration_test import Configured
from harness import PATIENCE, Client, Daemon, Policies, body_of, eventually
from http_test import call
from http_tokens_test import TokenTest
from named_executions_test import execute as execute_named

WARDER = os.environ["WARDER"]
HOUR, DAY = 3600, 86_400
WORKSPACE, EMAIL = "org.warder/workspace", "ada@lovelace.org"
POLICY = {"workspaces": ["*"], "named_workspaces": {"max": 4, "idle_seconds": 3600, "warning_seconds": 60},
          "pii": {"restore": "agents"}}


class Clocks:
    """The clocks of a daemon: the seconds added to the wall clock, to the time since boot, and to its timers' clock."""

    def __init__(self, daemon):
        self.file = daemon.directory / "clocks"
        self.set()
        self.file.chmod(0o644)
        daemon.environment |= {
            "SHIFTED_CLOCK": str(self.file), "LD_PRELOAD": os.environ["SHIFTED_CLOCK_LIBRARY"],
            "ASAN_OPTIONS": ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0")))}

    def set(self, wall=0, passed=0, timers=0):
        """`passed`: time that has passed, on both clocks; `wall`: by how much the wall clock is wrong; `timers`: time
        that has passed for timers, never less than before."""
        bytes_of = struct.pack("=qqq", wall + passed, passed, timers)
        if not self.file.exists():
            self.file.write_bytes(bytes_of)
        with open(self.file, "r+b") as file:  # the daemon has mapped this file
            file.write(bytes_of)


def verify(daemon, *words, **more):
    done = subprocess.run([WARDER, "audit", "verify", daemon.state, "--json", *words], capture_output=True, text=True,
                          timeout=PATIENCE, **more)
    return done.returncode, json.loads(done.stdout or "null")


def rows(daemon, table):
    database = sqlite3.connect(f"file:{daemon.state}/journal/journal.db?mode=ro", uri=True)
    try:
        return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    finally:
        database.close()


def begin_background(client):
    """An execution in the background that has ended: the URI of its result."""
    uri = body_of(client.call("execute_code", {"code": "result = 'kept'", "background": True}))["result"]
    eventually(lambda: has_background(client, uri), "the result of the execution in the background")
    return uri


def has_background(client, uri):
    answer = client.answer(client.begin("resources/read", uri=uri))
    return "result" in answer and json.loads(answer["result"]["contents"][0]["text"]).get("result") == "kept"


class Stores(unittest.TestCase):
    """One piece of data in every store that removes data by age."""

    def setUp(self):
        policies = self.enterContext(Policies(**POLICY))
        self.daemon = Daemon(policies=policies)
        self.clocks = Clocks(self.daemon)
        self.enterContext(self.daemon)

    def fill(self):
        with Client(self.daemon.socket) as client:
            staged = client.execute("open('/workspace/made', 'w').write('x')", workspace="staged")
            self.proposal = staged["proposal"]["id"]
            client.execute("import warder; warder.workflow('flow').step('one', lambda: 41)")
            client.request("tools/call", name="write_workspace_file", arguments={"filename": "f", "content": "a"},
                           _meta={WORKSPACE: "named"})
            self.token = body_of(client.call("sanitize_pii", {"text": EMAIL}))["sanitized_text"]
            execute_named(client, "kept-answer-0123456789", "result = 'kept'")
            self.background = begin_background(client)
        self.filled = self.counts()
        self.assertGreaterEqual(self.filled["executions"], 3)
        self.assertGreaterEqual(self.filled["audit"], 5)

    def counts(self):
        return {table: rows(self.daemon, table)
                for table in ("executions", "audit", "workflows", "workflow_steps", "named_executions")}

    def proposal_state(self, client):
        answer = client.answer(client.begin("resources/read", uri=f"proposal:///{self.proposal}"))
        return json.loads(answer["result"]["contents"][0]["text"])["state"] if "result" in answer else "absent"

    def stores(self):
        """What is there, by store."""
        with Client(self.daemon.socket) as client:
            listed = [one["uri"] for one in client.request("resources/list")["resources"]]
            restored = body_of(client.call("restore_pii", {"text": self.token}))["restored_text"]
            return {"proposal": self.proposal_state(client) == "open", "steps": "workflow:///flow" in listed,
                    "workspace": (self.daemon.state / "tenants/uid-0/workspaces/named/workspace/f").exists(),
                    "answer": rows(self.daemon, "named_executions") == 1, "vault": restored == EMAIL,
                    "background": has_background(client, self.background)}

    def assert_all_there(self):
        self.assertEqual({name for name, is_there in self.stores().items() if not is_there}, set())
        counts = self.counts()
        self.assertEqual({name: (number, counts[name]) for name, number in self.filled.items() if counts[name] < number}, {})
        status, told = verify(self.daemon)
        self.assertEqual((status, told["whole"], told["forgotten"]["entries"]), (0, True, 0))

    def restart(self, **clocks):
        self.daemon.stop()
        self.clocks.set(**clocks)
        self.daemon.start()

    def test_a_start_with_the_clock_400_days_ahead_or_back_removes_nothing(self):
        for wall in (400 * DAY, -400 * DAY):
            with self.subTest(wall=wall):
                self.fill()
                self.restart(wall=wall)
                with Client(self.daemon.socket) as client:  # old proposals would go with it
                    client.execute("open('/workspace/other', 'w').write('x')", workspace="staged")
                self.assert_all_there()
                self.restart()
                self.assert_all_there()

    def test_data_that_was_written_by_a_wrong_clock_stays_and_goes_in_its_time(self):
        for wall in (400 * DAY, -400 * DAY):
            with self.subTest(wall=wall):
                self.restart(wall=wall)
                self.fill()
                self.restart()
                self.assert_all_there()

    def test_a_clock_that_jumps_while_the_daemon_runs_is_logged_once_and_when_it_is_over(self):
        self.fill()
        self.clocks.set(wall=400 * DAY)
        eventually(lambda: "400 days ahead" in self.daemon.log_text(), "the jump is logged")
        self.assert_all_there()
        self.clocks.set()
        eventually(lambda: "the clock is right again" in self.daemon.log_text(), "its end is logged")
        self.assertEqual(self.daemon.log_text().count("400 days ahead"), 1)

    def test_when_the_time_has_passed_everything_goes(self):
        self.fill()
        self.restart(passed=91 * DAY)
        with Client(self.daemon.socket) as client:
            client.execute("result = 1")
        eventually(lambda: rows(self.daemon, "executions") == 1 and rows(self.daemon, "workflows") == 0,
                   "old rows are removed")
        for table in ("named_executions", "tasks"):
            eventually(lambda: rows(self.daemon, table) == 0, f"old {table} are removed")
        status, told = verify(self.daemon)
        self.assertEqual((status, told["whole"]), (0, True))
        self.assertGreater(told["forgotten"]["entries"], 0)
        self.assertNotIn("clock is", self.daemon.log_text())
        with Client(self.daemon.socket) as client:
            client.execute("open('/workspace/other', 'w').write('x')", workspace="staged")  # old proposals go with it
            self.assertEqual({name: is_there for name, is_there in self.stores().items() if name != "workspace"},
                             {"proposal": False, "steps": False, "answer": False, "vault": False,
                              "background": False})


class Background(unittest.TestCase):
    """The result of an execution in the background, which stays for an hour."""

    def setUp(self):
        self.daemon = Daemon()
        self.clocks = Clocks(self.daemon)
        self.enterContext(self.daemon)
        self.passed = self.timers = 0

    def sweep(self, client, wall=0, passed=0):
        """The wall clock is wrong by `wall`, `passed` more seconds have passed, and timers of up to a minute fire."""
        self.passed += passed
        self.timers += 60
        self.clocks.set(wall=wall, passed=self.passed, timers=self.timers)
        for _ in range(3):  # the loop runs timers between two requests
            client.request("tools/list")

    def expect_end(self, client, uri):
        def is_gone():
            self.sweep(client)
            return not has_background(client, uri)
        eventually(is_gone, "the result is removed")

    def test_stays_while_the_clock_is_wrong_also_after_its_hour(self):
        for wall, direction in ((400 * DAY, "ahead"), (-400 * DAY, "behind")):
            with self.subTest(direction), Client(self.daemon.socket) as client:
                uri = begin_background(client)
                self.sweep(client, wall)
                eventually(lambda: f"400 days {direction}" in self.daemon.log_text(), "the jump is logged")
                self.sweep(client, wall)
                self.assertTrue(has_background(client, uri))
                self.sweep(client, wall, passed=2 * HOUR)
                self.sweep(client, wall)
                self.assertTrue(has_background(client, uri), "no age is certain")
                self.expect_end(client, uri)

    def test_stays_after_a_jump_that_was_corrected_and_goes_after_its_hour(self):
        with Client(self.daemon.socket) as client:
            uri = begin_background(client)
            for wall in (400 * DAY, 0, -400 * DAY, 0):
                self.sweep(client, wall, passed=HOUR // 8)
            eventually(lambda: "the clock is right again" in self.daemon.log_text(), "the end of a jump is logged")
            self.sweep(client)
            self.assertTrue(has_background(client, uri))
            self.sweep(client, passed=HOUR)
            self.expect_end(client, uri)

    def test_is_removed_by_a_start_only_if_its_hour_has_passed_and_the_clock_is_right(self):
        with Client(self.daemon.socket) as client:
            uri = begin_background(client)
        for clocks, is_there in (({"wall": 400 * DAY}, True), ({"wall": -400 * DAY}, True),
                                 ({"wall": 400 * DAY, "passed": 2 * HOUR}, True),
                                 ({"wall": -400 * DAY, "passed": 2 * HOUR}, True), ({"passed": 2 * HOUR}, False)):
            with self.subTest(**clocks):
                self.daemon.stop()
                self.clocks.set(**clocks)
                self.daemon.start()
                with Client(self.daemon.socket) as client:
                    self.assertEqual(has_background(client, uri), is_there)


class Shown(unittest.TestCase):
    def setUp(self):
        self.bus = self.enterContext(Bus())
        self.daemon = BusDaemon(self.bus)
        self.daemon.arguments += ["--metrics", self.daemon.directory / "metrics.sock"]
        self.clocks = Clocks(self.daemon)
        self.enterContext(self.daemon)
        self.admin = self.enterContext(Admin(self.bus))

    def metric(self, direction):
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(PATIENCE)
            asking.connect(str(self.daemon.directory / "metrics.sock"))
            asking.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            text = asking.makefile().read()
        return int(re.search(rf'(?m)^warder_clock_jump_seconds{{direction="{direction}"}} (\d+)$', text)[1])

    def finding(self):
        (found,) = [one for one in self.admin.call("RunDoctor") if one[0] == "clock"]
        return [str(word) for word in found[1:]]

    def test_the_doctor_and_the_metrics_show_a_clock_that_is_far(self):
        self.assertEqual((self.finding()[0], self.metric("ahead"), self.metric("behind")), ("good", 0, 0))
        for wall, direction in ((400 * DAY, "ahead"), (-400 * DAY, "behind")):
            with self.subTest(direction):
                self.clocks.set(wall=wall)
                eventually(lambda: abs(self.metric(direction) - 400 * DAY) < 60, "the metric shows it")
                health, found, remedy = self.finding()
                self.assertEqual(health, "bad")
                self.assertIn(f"400 days {direction}", found)
                self.assertIn("timedatectl", remedy)
                self.clocks.set()
                eventually(lambda: self.metric(direction) == 0, "the clock is right again")
        self.assertEqual(self.finding()[0], "good")


class Tokens(TokenTest):
    def test_a_token_expires_although_the_clock_was_set_back(self):
        daemon = Configured({"http": {"listen": [f"127.0.0.1:{self.port}"]}}, policies=self.policies)
        clocks = Clocks(daemon)
        self.daemon = self.enterContext(daemon)
        self.configure()
        token = self.add("ci", "--expires", "90d")
        until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        file = pathlib.Path(f"{self.daemon.file}.d/50-token-ci.json")
        entry = json.loads(file.read_text())
        entry["tokens"]["ci"]["expires"] = until.strftime("%Y-%m-%dT%H:%M:%SZ")
        file.write_text(json.dumps(entry))
        self.reload()
        request = call("execute_code", {"code": "1"})
        self.assertEqual(self.ask(token, request)[0], 200)
        for passed, status in ((0, 200), (7200, 401)):
            for wall in (-20 * 3600, -30 * DAY):
                with self.subTest(passed=passed, wall=wall):
                    clocks.set(wall=wall, passed=passed)
                    self.assertEqual(self.ask(token, request)[0], status)


class Heads(unittest.TestCase):
    def setUp(self):
        self.daemon = self.enterContext(Daemon())

    def run_calls(self, first, count=3):
        with Client(self.daemon.socket) as client:
            for number in range(count):
                client.execute("1" * (first + number))

    def restart(self):
        self.daemon.stop()
        self.daemon.start()

    def against(self, file, **more):
        status, told = verify(self.daemon, "--against", file, **more)
        return status, told["against"]

    def test_the_log_has_heads_and_the_chain_contains_them(self):
        for first in (1, 11, 21):
            self.run_calls(first)
            self.restart()
        lines = re.findall(r"audit chain: \d+ entries, head [0-9a-f]{64}", self.daemon.log_text())
        self.assertGreaterEqual(len(set(lines)), 4, lines)
        status, told = self.against(self.daemon.log)
        self.assertEqual((status, told["lost"], told["in_chain"]), (0, 0, told["heads"]))
        self.assertGreaterEqual(told["heads"], 4)

    def test_the_log_gets_a_head_each_hour_whatever_the_wall_clock_says(self):
        self.daemon.stop()
        clocks = Clocks(self.daemon)
        self.daemon.start()

        def count():
            return self.daemon.log_text().count("audit chain: ")
        for hours, wall in enumerate((0, 400 * DAY, 0, -400 * DAY)):
            with self.subTest(wall=wall):
                clocks.set(wall=wall, passed=hours * HOUR, timers=hours * HOUR)
                self.run_calls(1 + 10 * hours)
                if wall:
                    text = f"400 days {'ahead' if wall > 0 else 'behind'}"
                    eventually(lambda: text in self.daemon.log_text(), "the jump is logged")
                before = count()
                self.run_calls(5 + 10 * hours)
                self.assertEqual(count(), before, "a wrong clock is no hour")
                clocks.set(wall=wall, passed=(hours + 1) * HOUR, timers=(hours + 1) * HOUR)
                self.run_calls(8 + 10 * hours, 1)
                eventually(lambda: count() == before + 1, "a head in the log")
        status, told = self.against(self.daemon.log)
        self.assertEqual((status, told["lost"], told["in_chain"]), (0, 0, told["heads"]))
        self.assertGreaterEqual(told["heads"], 5)

    def test_a_chain_that_was_begun_anew_cut_off_or_rewritten_is_found(self):
        self.run_calls(1)
        self.restart()
        self.run_calls(11)
        self.daemon.stop()
        heads = self.daemon.directory / "heads"
        heads.write_text(self.daemon.log_text())
        file = self.daemon.state / "journal/journal.db"
        whole = file.read_bytes()
        plain = subprocess.run([WARDER, "audit", "head", self.daemon.state, "--json"], capture_output=True, text=True,
                               check=True, timeout=PATIENCE).stdout
        told = json.loads(plain)
        entry = {"WARDER_AUDIT_COUNT": str(told["count"]), "WARDER_AUDIT_HEAD": told["head"], "MESSAGE": "x"}
        for text in (plain, json.dumps(entry), f"audit chain: {told['count']} entries, head {told['head']}"):
            self.assertEqual(self.against("-", input=f"other text\n{text}\n")[0], 0)
        # A part of a line of the log that an agent wrote is no head.
        status, nothing = verify(self.daemon, "--against", "-", input=json.dumps({"MESSAGE": text}))
        self.assertEqual((status, nothing), (2, None))

        def change(sql):
            file.write_bytes(whole)
            with sqlite3.connect(file) as database:
                database.executescript(sql)
            database.close()

        # An attacker that also corrects the end of the chain: it is whole, and shorter.
        change("DELETE FROM audit WHERE number=(SELECT max(number) FROM audit);"
               "UPDATE audit_ends SET (number, hash)=(SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1)"
               " WHERE which='last';")
        self.assertEqual(verify(self.daemon)[0], 0)
        status, told = self.against(heads)
        self.assertEqual((status, told["lost"]), (1, 1))
        self.assertIn("cut off", told["first_lost"]["why"])
        for name in ("journal.db", "journal.db-wal", "journal.db-shm", "spool"):
            (file.parent / name).unlink(missing_ok=True)
        self.daemon.start()
        self.run_calls(31, 9)
        self.daemon.stop()
        self.assertEqual(verify(self.daemon)[0], 0)
        status, told = self.against(heads)
        self.assertEqual(status, 1)
        self.assertIn("begun anew", told["first_lost"]["why"])
        done = subprocess.run([WARDER, "audit", "verify", self.daemon.state, "--against", heads], capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("LOST: ", done.stdout)
        self.daemon.start()


if __name__ == "__main__":
    unittest.main()
