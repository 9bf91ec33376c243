"""The life of the daemon under a service manager: notifications, sockets passed in, reload, drain, and every way to
lose one of its processes."""
import os
import signal
import socket
import tempfile
import unittest

from harness import (
    BUSY,
    HOLD,
    Client,
    Daemon,
    DaemonFailed,
    Policies,
    Service,
    Watch,
    body_of,
    descendants,
    jailed,
    jailer_of,
    let_go,
    wait_for_status,
)


class Drain(unittest.TestCase):
    def test_the_running_call_gets_its_answer_and_new_ones_are_refused(self):
        with Service() as daemon, Client(daemon.socket) as client, Client(daemon.socket) as other:
            running = client.begin_running(HOLD)
            other.request("server/discover")
            process = daemon.process
            process.send_signal(signal.SIGTERM)
            daemon.hear("STOPPING=1")
            for refused in (client.call("execute_code", {"code": "result = 1"}), other.call("write_workspace_file", {"filename": "a", "content": "b"})):
                self.assertTrue(refused["isError"])
                self.assertIn("shutting down", refused["content"][0]["text"])
            client.request("server/discover")  # what costs nothing is still answered
            with socket.socket(socket.AF_UNIX) as late, self.assertRaises(ConnectionRefusedError):
                late.connect(str(daemon.socket))
            self.assertIsNone(process.poll())
            let_go(daemon)
            body = client.executed(running)
            self.assertEqual((body["outcome"], body["result"]), ("ok", "went on"), body)
            self.assertEqual(wait_for_status(process), 0)
            self.assertIsNone(other.receive(), "idle clients see the end of their connection")

    def test_an_idle_daemon_ends_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Service() as daemon, Client(daemon.socket):
                daemon.process.send_signal(number)
                self.assertEqual(wait_for_status(daemon.process), 0)

    def test_a_second_signal_does_not_wait_for_calls(self):
        with Service() as daemon, Client(daemon.socket) as client:
            client.begin_running(BUSY, timeout_seconds=300)
            with Watch(descendants(daemon.process.pid)) as watch:
                daemon.process.send_signal(signal.SIGTERM)
                daemon.hear("STOPPING=1")
                daemon.process.send_signal(signal.SIGTERM)
                self.assertEqual(wait_for_status(daemon.process), 0)
                self.assertEqual(watch.survivors(10), {})


class Reload(unittest.TestCase):
    def reload(self, daemon):
        daemon.process.send_signal(signal.SIGHUP)
        self.assertIn("MONOTONIC_USEC=", daemon.hear("RELOADING=1"))
        return daemon.hear("READY=1")

    def test_new_limits_are_for_the_next_execution_only(self):
        with Policies() as policies, Service(policies=policies) as daemon, Client(daemon.socket) as client:
            running = client.begin_running(HOLD)
            policies.change(limits={"standard": {"wall_ms": 700}, "maximum": {"wall_ms": 800}})
            self.assertIn("STATUS=serving", self.reload(daemon))
            body = client.execute("while True: pass")
            self.assertEqual(body["outcome"], "timeout", body)
            self.assertIn("0.7 seconds", body["error"])
            clamped = client.execute("result = 1", timeout_seconds=60)["clamped"]
            self.assertEqual([c["given"] for c in clamped], ["800 ms"], clamped)
            let_go(daemon)
            old = client.executed(running)
            self.assertEqual(old["outcome"], "ok", old)
            self.assertGreater(old["usage"]["wall_ms"], 800, "it lived longer than the new limit")

    def test_a_broken_file_keeps_the_old_policies_and_is_told(self):
        with Policies() as policies, Service(policies=policies) as daemon, Client(daemon.socket) as client:
            good = (policies.folder / "default.json").read_text()
            policies.write("default.json", '{"limits": {"standard": {"wall_ms": 0}}}')
            self.assertIn("failed", self.reload(daemon))
            for word in ("default.json", "limits.standard.wall_ms", "1..86400000"):
                self.assertIn(word, daemon.log_text())
            self.assertEqual(client.execute("result = 1", language="python")["outcome"], "ok")
            policies.write("default.json", good)
            policies.change(languages=["shell"])
            self.assertNotIn("failed", self.reload(daemon))
            self.assertEqual(client.execute("result = 1", language="python")["outcome"], "denied")

    def test_whom_the_policies_no_longer_let_in_is_disconnected(self):
        with Policies() as policies, Service(policies=policies) as daemon, Client(daemon.socket) as client:
            client.begin_running(BUSY, timeout_seconds=300)
            with Watch(jailed(daemon)) as watch:
                policies.write("tenants.json", '{"rules": [{"uid": 4294967294, "policy": "default"}]}')
                self.reload(daemon)
                with self.assertRaises(EOFError):
                    client.take()
                self.assertEqual(watch.survivors(10), {})
            with Client(daemon.socket) as again, self.assertRaisesRegex(RuntimeError, "tenants.json"):
                again.request("tools/list")

    def test_many_signals_at_once(self):
        with Policies() as policies, Service(policies=policies) as daemon, Client(daemon.socket) as client:
            for _ in range(50):
                daemon.process.send_signal(signal.SIGHUP)
            daemon.hear("READY=1")
            self.assertEqual(client.execute("result = 5")["result"], 5)


class ServiceManager(unittest.TestCase):
    def listening(self, daemon, name):
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(daemon.directory / name))
        listener.listen()
        return listener

    def test_serves_the_sockets_it_is_given_and_no_other(self):
        daemon = Service()
        daemon.sockets = [self.listening(daemon, "one"), self.listening(daemon, "two")]
        with Client(daemon.directory / "one") as early:  # before the daemon starts: the point of passing sockets
            first = early.begin_execute("result = 1")
            with daemon:
                self.assertEqual(early.executed(first)["result"], 1)
                with Client(daemon.directory / "two") as second:
                    self.assertEqual(second.execute("result = 2")["result"], 2)
                self.assertFalse(daemon.socket.exists())

    def test_a_descriptor_that_is_no_listening_socket_is_refused(self):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(socket.AF_UNIX, kind) as other:
                daemon = Service(sockets=[other])
                with self.assertRaises(DaemonFailed) as failure, daemon:
                    pass
                self.assertIn(
                    "descriptor 3 of LISTEN_FDS is not a listening Unix stream socket", str(failure.exception)
                )

    def test_the_name_of_a_passed_socket_says_what_it_is_for(self):
        def listening(directory, name):
            one = socket.socket(socket.AF_UNIX)
            one.bind(f"{directory}/{name}")
            one.listen(8)
            return one

        with tempfile.TemporaryDirectory() as directory:
            with listening(directory, "a") as other:
                daemon = Service(sockets=[other], environment={"LISTEN_FDNAMES": "web"})
                with self.assertRaises(DaemonFailed) as failure, daemon:
                    pass
                self.assertIn("descriptor 3 of LISTEN_FDS: 'web' is not the name of a socket", str(failure.exception))
                self.assertIn("FileDescriptorName=mcp", str(failure.exception))
            # Units without FileDescriptorName= pass their own names.
            for names in ("mcp:metrics", "warder.socket:warder-metrics.socket", "agents.socket:metrics"):
                with self.subTest(names), tempfile.TemporaryDirectory() as inner:
                    with listening(inner, "mcp") as mcp, listening(inner, "metrics") as metrics:
                        daemon = Service(sockets=[mcp, metrics], environment={"LISTEN_FDNAMES": names})
                        with daemon, Client(f"{inner}/mcp") as client:
                            self.assertEqual(client.execute("result = 1")["result"], 1)
                            with socket.socket(socket.AF_UNIX) as reader:
                                reader.connect(f"{inner}/metrics")
                                reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
                                self.assertTrue(reader.recv(4096).startswith(b"HTTP/1.0 200"))

    def test_the_watchdog_is_fed_while_jails_are_busy(self):
        with Service(environment={"WATCHDOG_USEC": "400000"}) as daemon, Client(daemon.socket) as client:
            for _ in range(4):
                client.begin_running(BUSY, timeout_seconds=300)
            for _ in range(5):
                daemon.hear("WATCHDOG=1")

    def test_no_watchdog_no_food(self):
        with Service() as daemon, Client(daemon.socket) as client:
            client.begin_running(BUSY, timeout_seconds=300)
            daemon.process.send_signal(signal.SIGHUP)
            daemon.hear("RELOADING=1")
            daemon.hear("READY=1")
            self.assertFalse([m for m in daemon.heard if "WATCHDOG" in m])

    def test_its_environment_does_not_reach_the_jails(self):
        environment = {"SECRET_OF_THE_SERVICE": "leaked", "PYTHONPATH": "/tmp/evil", "LD_PRELOAD_X": "1"}
        with Service(environment=environment) as daemon, Client(daemon.socket) as client:
            for language, code in (
                ("python", "import os; result = dict(os.environ)"),
                ("javascript", "return process.env"),
                ("shell", "env"),
            ):
                text = str(client.execute(code, language=language))
                self.assertIn("PATH", text)
                for name in (*environment, "NOTIFY_SOCKET", "WARDERD"):
                    self.assertNotIn(name, text, language)


class Losses(unittest.TestCase):
    """Whoever dies, nobody stays behind. Jails are watched by pidfd before anything is killed."""

    LANGUAGES = {
        "python": BUSY,
        "shell": "echo running; while :; do :; done",
        "javascript": "console.log('running'); for (;;) {}",
    }
    # Ignores what can be ignored, and has a child in a session of its own.
    STUBBORN = """
import os, signal
for s in range(1, 32):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0: os.setsid()
print("running", flush=True)
while True: pass
"""

    def start_jails(self, client):
        for language, code in self.LANGUAGES.items():
            client.begin_running(code, language=language, timeout_seconds=300)
        client.begin_running(self.STUBBORN, timeout_seconds=300)

    def test_the_daemon_is_killed(self):
        with Service() as daemon, Client(daemon.socket) as client:
            self.start_jails(client)
            with Watch(descendants(daemon.process.pid)) as watch:
                self.assertGreaterEqual(len(watch.names), 1 + 4 * 2, watch.names)
                daemon.process.kill()
                self.assertEqual(wait_for_status(daemon.process), -signal.SIGKILL)
                self.assertEqual(watch.survivors(10), {})
            with self.assertRaises((EOFError, ConnectionError)):
                while True:
                    client.take()

    def test_the_jailer_is_killed(self):
        with Service() as daemon, Client(daemon.socket) as client:
            self.start_jails(client)
            with Watch(descendants(daemon.process.pid)) as watch:
                os.kill(jailer_of(daemon), signal.SIGKILL)
                self.assertEqual(wait_for_status(daemon.process), 1)
                self.assertEqual(watch.survivors(10), {})
            self.assertIn("the jailer process ended", daemon.log_text())

    def test_a_jails_init_is_killed(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            running = client.begin_running(BUSY, timeout_seconds=300)
            with Watch(jailed(daemon)) as watch:
                jailer = jailer_of(daemon)
                (init,) = [p for p in watch.names if read_parent(p) == jailer]
                os.kill(init, signal.SIGKILL)
                body = body_of(client.answer(running)["result"])
                self.assertEqual(body["outcome"], "internal", body)  # its end was nobody's wish
                self.assertFalse(body["success"])
                self.assertEqual(watch.survivors(10), {})
            self.assertEqual(client.execute("result = 6")["result"], 6)

    def test_signals_that_end_the_daemon_do_not_reach_the_jailer_first(self):
        # A terminal's ^C goes to the whole group; the daemon decides what it means.
        with Service() as daemon, Client(daemon.socket) as client:
            running = client.begin_running(HOLD)
            os.killpg(daemon.process.pid, signal.SIGINT)
            daemon.hear("STOPPING=1")
            let_go(daemon)
            self.assertEqual(client.executed(running)["outcome"], "ok")
            self.assertEqual(wait_for_status(daemon.process), 0)


def read_parent(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rsplit(") ", 1)[1].split()[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
