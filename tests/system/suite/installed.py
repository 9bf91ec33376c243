"""The installed units as systemd judges them, and what the journal says of the service."""
import grp
import json
import pathlib
import shutil
import subprocess
import unittest
import urllib.request

from suite.service import InstalledService, connect, show, systemctl
from suite.warder import META, wait_until

EXPOSURE = 44  # tenths; warder.service says what is left, and why


def run(*words):
    return subprocess.run(words, capture_output=True, text=True)


class Units(unittest.TestCase):
    def test_the_exposure_is_what_the_unit_explains(self):
        done = run("systemd-analyze", "security", f"--threshold={EXPOSURE}", "--no-pager", "warder.service")
        self.assertEqual(done.returncode, 0, done.stdout[-300:] + done.stderr)

    def test_the_units_have_nothing_to_be_complained_about(self):
        done = run("systemd-analyze", "verify", "--man=no", "warder.service", "warder.socket",
                   "warder-metrics.socket", "warder-http.socket", "warder.slice")
        complaints = [line for line in done.stderr.splitlines() if "warder" in line]
        self.assertEqual((done.returncode, complaints), (0, []))


class Journal(InstalledService):
    def test_the_journal_tells_the_services_life_with_priorities(self):
        with connect() as client:
            client.request("server/discover")
        systemctl("stop", "warder.service")

        def told():
            lines = run("journalctl", "--unit=warder.service", "--output=json", "--no-pager").stdout.splitlines()
            found = {entry["MESSAGE"]: entry["PRIORITY"] for entry in map(json.loads, lines)
                     if isinstance(entry.get("MESSAGE"), str)}
            return found if "ended" in found else None
        found = wait_until("the end is in the journal", told)
        ready = [message for message in found if message.endswith("is ready")]
        self.assertTrue(ready, found)
        self.assertEqual((found[ready[0]], found["ended"]), ("5", "5"))

    def test_the_journal_tells_an_executions_story_by_its_id(self):
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        with connect() as client:
            result = client.request("tools/call", name="execute_code", arguments={"code": "result = 1"},
                                    _meta={**META, "traceparent": trace})
        identity = json.loads(result["content"][0]["text"])["execution_id"]

        def story():
            lines = run("journalctl", f"WARDER_EXECUTION_ID={identity}", "--output=json", "--no-pager").stdout
            entries = [json.loads(line) for line in lines.splitlines()]
            return entries if len(entries) >= 2 else None
        started, ended = wait_until("the story is in the journal", story)
        for entry in (started, ended):
            self.assertEqual((entry["WARDER_TENANT"], entry["WARDER_LANGUAGE"], entry["WARDER_TRACEPARENT"],
                              entry["_SYSTEMD_UNIT"], entry["PRIORITY"]),
                             ("uid-0", "python", trace, "warder.service", "6"))
        self.assertNotIn("WARDER_OUTCOME", started)
        self.assertEqual(ended["WARDER_OUTCOME"], "ok")
        self.assertGreater(int(ended["WARDER_WALL_USEC"]), 0)
        self.assertGreater(int(ended["WARDER_MEMORY_PEAK_BYTES"]), 0)


class Doctor(InstalledService):
    def test_the_network_of_jails_was_seen_by_the_service(self):
        done = run("warder", "doctor", "--json")
        found = {one["what"]: one for one in json.loads(done.stdout)["findings"]}
        self.assertEqual(found["jail network"]["health"], "good", found["jail network"])
        self.assertRegex(found["jail network"]["found"], "lo and nothing else: 1 link, [0-9]+ addresses, ")

    def test_the_daemon_has_no_netlink(self):
        # Its jailer keeps one protocol of it; the daemon has one filter more.
        with connect() as client:
            client.request("server/discover")
        daemon = show("MainPID")
        jailers = run("pgrep", "--parent", daemon).stdout.split()

        def filters(pid):
            status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
                          if ":\t" in line)
            return int(status["Seccomp_filters"])
        self.assertEqual({filters(daemon) - filters(jailer) for jailer in jailers}, {1})


class Metrics(InstalledService):
    def test_the_socket_for_metrics_is_its_groups_and_serves_them(self):
        with connect() as client:  # an execution: a tenant without one has no numbers
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
        socket = pathlib.Path("/run/warder/metrics.sock")
        status = socket.stat()
        self.assertEqual((status.st_mode & 0o777, status.st_uid, grp.getgrgid(status.st_gid).gr_name),
                         (0o660, 0, "warder-operator"))
        done = run("warder", "metrics")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("# EOF\n"), done.stdout[-200:])
        self.assertIn("# TYPE warder_executions counter", done.stdout)
        self.assertIn('tenant="uid-0"', done.stdout)

    def test_the_example_serves_them_on_loopback_although_the_unit_has_no_network(self):
        unit = pathlib.Path("/etc/systemd/system/warder-metrics-tcp.socket")
        shutil.copy("/usr/share/warder/monitoring/warder-metrics-tcp.socket", unit)

        def remove():
            systemctl("disable", "--now", unit.name, check=False)
            unit.unlink()
            systemctl("daemon-reload")
        self.addCleanup(remove)
        systemctl("daemon-reload")
        systemctl("enable", "--now", unit.name)
        with connect() as client:
            self.assertEqual(client.execute("1")["outcome"], "ok")
            with urllib.request.urlopen("http://127.0.0.1:9460/metrics", timeout=60) as answer:
                text = answer.read().decode()
        self.assertIn("warder_executions_total", text)
        self.assertNotIn("uid-0", text)
        systemctl("stop", "warder.service", unit.name)


class Catalog(InstalledService):
    def test_the_journal_explains_an_entry(self):
        with connect() as client:
            identity = client.execute("1")["execution_id"]

        def explained():
            return run("journalctl", "-x", "--no-pager", f"WARDER_EXECUTION_ID={identity}").stdout
        wait_until("the entry", lambda: "started" in explained())
        self.assertIn("An execution started", explained())
        self.assertIn("of tenant uid-0 has its", explained())
