"""Clients' connections outlive the daemon: a service manager played by the test keeps their descriptors (FDSTORE) and
passes them to the daemon that comes next, as systemd does."""
import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest

from harness import HOLD, META, TOP, Client, Service, let_go, wait_for_status


class Held:
    """A descriptor, as Service wants its sockets."""

    def __init__(self, fd):
        self.fd = fd

    def fileno(self):
        return self.fd


class Keeper(Service):
    """A daemon whose service manager keeps what it is given, over as many lives of the daemon as the test wants."""

    def __init__(self, **more):
        super().__init__(arguments=["--keep-connections"], **more)
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(self.socket))
        self.socket.chmod(0o666)
        self.listening.listen(64)
        self.kept = []  # (name, descriptor)

    def start(self):
        self.sockets = [self.listening, *(Held(fd) for _, fd in self.kept)]
        self.environment = {"LISTEN_FDNAMES": ":".join(["mcp", *(name for name, _ in self.kept)])}
        if self.notify:
            self.notify.close()
        return super().start()

    def receive(self):
        text, fds, _, _ = socket.recv_fds(self.notify, 4096, 8)
        text = text.decode()
        fields = dict(line.split("=", 1) for line in text.split("\n"))
        if "FDSTORE" in fields:
            self.kept += [(fields["FDNAME"], fd) for fd in fds]
        elif "FDSTOREREMOVE" in fields:
            for one in [one for one in self.kept if one[0] == fields["FDNAME"]]:
                self.kept.remove(one)
                os.close(one[1])
        return text

    def connect_kept(self):
        """A client whose connection is in the store."""
        client = Client(self.socket)
        self.hear("FDSTORE=1")
        return client

    def expect_kept(self, count):
        """Waits until so many descriptors are in the store."""
        while len(self.kept) != count:
            self.hear("FDSTOREREMOVE=1")

    def take_turns(self):
        """All that had come before has been handled: this came later, to the same loop."""
        with self.connect_kept() as client:
            client.request("server/discover")

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = wait_for_status(self.process)
        while True:  # what it said last
            try:
                self.notify.setblocking(False)
                self.receive()
            except BlockingIOError:
                return status

    def remove(self):
        super().remove()
        self.listening.close()
        for _, fd in self.kept:
            os.close(fd)


def keeper(test):
    return test.enterContext(Keeper())


def initialize(client, version="2025-11-25"):
    client.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {"sampling": {}}, "clientInfo": {"name": "t", "version": "1"}}})
    assert client.answer("hello")["result"]["protocolVersion"] == version
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


def legacy_call(number, tool, **arguments):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


class Restart(unittest.TestCase):
    def test_a_client_goes_on_without_a_second_handshake(self):
        daemon = keeper(self)
        with daemon.connect_kept() as old, daemon.connect_kept() as new:
            initialize(old)
            new.write_file("kept.txt", "kept")
            self.assertEqual(daemon.end(), 0)
            self.assertEqual(len(daemon.kept), 4, "two sockets and two records")
            daemon.start()
            old.send(legacy_call(1, "read_workspace_file", filename="kept.txt"))
            self.assertIn("kept", old.answer(1)["result"]["content"][0]["text"])
            self.assertEqual(new.execute("result = open('/workspace/kept.txt').read()")["result"], "kept")
            self.assertIn("resources/list_changed", " ".join(note["method"] for note in old.notifications))

    def test_what_is_asked_while_no_daemon_runs_is_answered_by_the_next(self):
        daemon = keeper(self)
        with daemon.connect_kept() as client:
            client.request("server/discover")
            daemon.end()
            asked = client.begin_execute("result = 6 * 7")
            daemon.start()
            self.assertEqual(client.executed(asked)["result"], 42)

    def test_a_running_call_is_answered_first_and_what_comes_meanwhile_afterwards(self):
        daemon = keeper(self)
        with daemon.connect_kept() as client:
            running = client.begin_running(HOLD)
            daemon.process.send_signal(signal.SIGTERM)
            daemon.hear("STOPPING=1")
            asked = client.begin_execute("result = 'next'")
            let_go(daemon)
            self.assertEqual(client.executed(running)["result"], "went on")
            self.assertEqual(wait_for_status(daemon.process), 0)
            daemon.start()
            self.assertEqual(client.executed(asked)["result"], "next")

    def test_half_a_line_is_kept(self):
        daemon = keeper(self)
        with daemon.connect_kept() as client:
            line = json.dumps({"jsonrpc": "2.0", "id": "halved", "method": "server/discover", "params": {
                "_meta": META, "padding": "x" * 300_000}}).encode() + b"\n"
            client.request("server/discover")
            client.socket.sendall(line[:200_000])
            daemon.take_turns()
            daemon.end()
            daemon.start()
            client.socket.sendall(line[200_000:])
            self.assertIn("result", client.answer("halved"))
            client.request("server/discover")

    def test_after_a_crash_calls_in_flight_get_an_honest_error_and_the_client_goes_on(self):
        daemon = keeper(self)
        with daemon.connect_kept() as client, daemon.connect_kept() as other:
            initialize(other, "2025-06-18")
            daemon.take_turns()
            running = client.begin_running(HOLD)
            daemon.end(signal.SIGKILL)
            daemon.start()
            error = client.answer(running)["error"]
            self.assertEqual(error["data"]["code"], "interrupted")
            self.assertIn("may have had effects", error["message"])
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            other.send(legacy_call(1, "get_execution_stats"))
            self.assertIn("result", other.answer(1))

    def test_after_a_crash_a_connection_in_the_middle_of_a_line_says_so_and_ends(self):
        daemon = keeper(self)
        with daemon.connect_kept() as client, daemon.connect_kept() as other:
            client.request("server/discover")
            client.socket.sendall(b'{"jsonrpc": "2.0", "id": 5, "met')
            other.request("server/discover")
            daemon.take_turns()
            daemon.end(signal.SIGKILL)
            daemon.start()
            self.assertIn("the message is lost", client.receive()["error"]["message"])
            self.assertIsNone(client.receive())
            self.assertEqual(other.execute("result = 1")["outcome"], "ok")
            daemon.expect_kept(2)

    def test_who_leaves_is_forgotten_and_who_left_meanwhile_is_no_trouble(self):
        daemon = keeper(self)
        with daemon.connect_kept() as stays:
            daemon.connect_kept().close()
            daemon.expect_kept(2)
            left = daemon.connect_kept()
            daemon.end()
            left.close()
            daemon.start()
            self.assertEqual(stays.execute("result = 1")["outcome"], "ok")
            daemon.expect_kept(2)

    def test_connections_survive_several_lives_under_names_of_their_own(self):
        daemon = keeper(self)
        with daemon.connect_kept() as first:
            initialize(first)
            daemon.end()
            daemon.start()
            with daemon.connect_kept() as second:
                daemon.end(signal.SIGKILL)
                daemon.start()
                self.assertEqual(len({name for name, _ in daemon.kept}), 2, daemon.heard)
                self.assertEqual(second.execute("result = 2")["result"], 2)
                first.send(legacy_call(1, "get_execution_stats"))
                self.assertIn("result", first.answer(1))

    def test_a_record_that_is_none_ends_its_connection_only(self):
        daemon = keeper(self)
        with daemon.connect_kept() as client, daemon.connect_kept() as other:
            client.request("server/discover")
            name = daemon.kept[0][0]
            daemon.end()
            (record,) = [fd for kept, fd in daemon.kept if kept == name and
                         "memfd" in os.readlink(f"/proc/self/fd/{fd}")]
            os.pwrite(record, b"nonsense" * 8, 0)
            daemon.start()
            self.assertIsNone(client.receive())
            self.assertEqual(other.execute("result = 1")["outcome"], "ok")

    def test_without_a_service_manager_the_flag_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [os.environ["WARDERD"], "--keep-connections", "--socket", f"{folder}/socket", "--state",
                 f"{folder}/state", "--policies", TOP / "policies"],
                capture_output=True, text=True, timeout=60, env={**os.environ, "NOTIFY_SOCKET": ""})
        self.assertEqual(done.returncode, 64)
        self.assertIn("--keep-connections: no service manager", done.stderr)


if __name__ == "__main__":
    unittest.main()
