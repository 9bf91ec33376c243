"""The daemon's metrics: OpenMetrics text that a strict reader takes, over HTTP on a Unix socket that hostile clients
cannot wear out. Programs: $WARDERD, $WARDER."""
import json
import os
import re
import socket
import stat
import subprocess
import time
import unittest

from harness import BUSY, PATIENCE, Client, Daemon, DaemonFailed, Policies, Service, eventually
from ports import free_port

WARDER = os.environ["WARDER"]
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\n"])*",?)+)\})? (\d+(?:\.\d+)?)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\n"])*)"')
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "info": ("_info",), "histogram": ("_bucket", "_count", "_sum"),
            "summary": ("_count", "_sum")}

OF_THE_MACHINE = {
    "warder_tenants": "gauge", "warder_pool_limits": "gauge", "warder_pool_starting": "gauge",
    "warder_quota_refusals": "counter", "warder_http_connections": "gauge", "warder_http_sessions": "gauge",
    "warder_http_event_streams": "gauge",
    "warder_http_refused": "counter", "warder_egress_requests": "counter", "warder_egress_bytes": "counter",
    "warder_access_tokens": "gauge", "warder_approvals_now": "gauge", "warder_approvals": "counter",
    "warder_http_event_streams": "gauge",
    "warder_workspace_indexes": "gauge", "warder_workspace_index_files": "gauge", "warder_workspace_index_watches": "gauge",
    "warder_workspace_index_walks": "counter",
    "warder_proposals_open": "gauge", "warder_proposals_bytes": "gauge", "warder_proposal_results": "counter",
    "warder_tasks": "gauge", "warder_task_results_bytes": "gauge",
    "warder_cluster_state": "gauge", "warder_cluster_fenced_seconds": "counter", "warder_cluster_nodes": "gauge",
    "warder_cluster_homes": "gauge", "warder_cluster_connections": "gauge", "warder_cluster_bus_silent_seconds": "gauge",
    "warder_cluster_requests_sent": "counter", "warder_cluster_requests_received": "counter",
    "warder_cluster_orders": "counter", "warder_cluster_refused": "counter", "warder_cluster_hop_seconds": "histogram"}
# Names of tenants and of upstream servers.
OF_TENANTS = {
    "warder_upstream_calls": "counter", "warder_upstream_call_seconds": "summary", "warder_upstream_connections": "gauge",
    "warder_upstream_starts": "counter", "warder_upstream_losses": "counter",
    "warder_tenant_executions": "counter", "warder_tenant_cpu_seconds": "counter", "warder_tenant_executions_now": "gauge",
    "warder_tenant_connections": "gauge", "warder_tenant_workspace_bytes": "gauge",
    "warder_tenant_workspace_limit_bytes": "gauge", "warder_tenant_workspace_files": "gauge",
    "warder_tenant_workspace_limit_files": "gauge"}


def parse(text):
    """OpenMetrics 1.0, as this daemon may use it: {family: (type, {(suffix, labels): value})}. Raises on any deviation."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""] and "# EOF" not in lines[:-2], lines[-3:]
    families, name = {}, None
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            name, kind = line.split(" ")[2:]
            assert name not in families and not name.endswith(("_total", "_info", "_bucket", "_sum", "_count")), line
            families[name] = (kind, {})
        elif line.startswith("# UNIT "):
            of, unit = line.split(" ")[2:]
            assert of == name and name.endswith("_" + unit) and not families[name][1], line
        elif line.startswith("# HELP "):
            assert line.split(" ")[2] == name and not families[name][1], line
        else:
            match = SAMPLE.fullmatch(line)
            assert match and match[1].startswith(name), f"{name}: {line}"
            kind, samples = families[name]
            suffix = match[1].removeprefix(name)
            assert suffix in SUFFIXES[kind], line
            labels = tuple(LABEL.findall(match[2] or ""))
            assert len(dict(labels)) == len(labels) and (suffix, labels) not in samples, line
            samples[suffix, labels] = float(match[3])
    for name, (kind, samples) in families.items():
        if kind == "histogram":
            check_histogram(name, samples)
    return families


def check_histogram(name, samples):
    buckets, counts = {}, {}
    for (suffix, labels), value in samples.items():
        if suffix == "_bucket":
            assert labels[-1][0] == "le", name
            buckets.setdefault(labels[:-1], []).append((labels[-1][1], value))
        elif suffix == "_count":
            counts[labels] = value
    assert buckets.keys() == counts.keys(), name
    for labels, all_of_it in buckets.items():
        assert all(re.fullmatch(r"\d+\.\d+", bound) for bound, _ in all_of_it[:-1]) and all_of_it[-1][0] == "+Inf", name
        bounds, values = [float(bound) for bound, _ in all_of_it], [value for _, value in all_of_it]
        assert bounds == sorted(set(bounds)) and values == sorted(values) and values[-1] == counts[labels], name


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(policies=cls.enterClassContext(Policies(languages=["python", "shell"])))
        cls.path = cls.daemon.socket.parent / "metrics.sock"
        cls.daemon.arguments += ["--metrics", cls.path]
        cls.enterClassContext(cls.daemon)

    def connect(self):
        client = self.enterContext(socket.socket(socket.AF_UNIX))
        client.settimeout(PATIENCE)
        client.connect(str(self.path))
        return client

    def ask(self, request):
        client = self.connect()
        client.sendall(request)
        return self.answer(client)

    def answer(self, client):
        """Status line, headers and body, to the end of the connection."""
        whole = b""
        while part := client.recv(65536):
            whole += part
        head, body = whole.split(b"\r\n\r\n", 1)
        status, *headers = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in headers)
        return status, headers, body

    def metrics(self):
        status, headers, body = self.ask(b"GET /metrics HTTP/1.0\r\n\r\n")
        self.assertEqual((status, headers["content-length"]), ("HTTP/1.0 200 OK", str(len(body))))
        self.assertEqual(headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
        return parse(body.decode())

    def value(self, family, suffix="", **labels):
        return self.metrics()[family][1].get((suffix, tuple(labels.items())), 0)

    def test_executions_are_counted_by_language_and_outcome(self):
        before = self.metrics()
        with Client(self.daemon.socket) as client:
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            self.assertEqual(client.execute("exit 3", language="shell")["outcome"], "exit")
            self.assertEqual(client.execute("0", language="javascript")["outcome"], "denied")
        after = self.metrics()

        def more(family, suffix, **labels):
            key = (suffix, tuple(labels.items()))
            return after[family][1].get(key, 0) - before[family][1].get(key, 0)
        self.assertEqual(more("warder_executions", "_total", language="python", outcome="ok"), 1)
        self.assertEqual(more("warder_executions", "_total", language="shell", outcome="exit"), 1)
        self.assertEqual(more("warder_answer_seconds", "_count", language="python"), 1)
        self.assertGreater(more("warder_answer_seconds", "_sum", language="python"), 0)
        self.assertEqual(more("warder_program_seconds", "_bucket", language="shell", le="+Inf"), 1)
        self.assertGreater(more("warder_cpu_seconds", "_total", language="python"), 0)
        self.assertEqual(sum(after["warder_refusals"][1].values()) - sum(before["warder_refusals"][1].values()), 1)
        self.assertEqual(sum(after["warder_starts"][1].values()) - sum(before["warder_starts"][1].values()), 2)

    def test_the_loop_waits_for_no_disk_whatever_is_kept(self):
        before = self.value("warder_disk_waits", "_total", thread="other")
        with Client(self.daemon.socket) as client:
            def keep(tool, **arguments):
                self.assertNotIn("isError", client.call(tool, arguments))
            for i in range(3):
                keep("sanitize_pii", text=f"mail disk{i}@waits.example")
            keep("sanitize_pii", text=" ".join(f"m{i}@{'x' * 60}.example" for i in range(12_000)))  # a log written anew
            for code in ("a = 1", "a = 2", "a = 2"):
                keep("save_skill", name="kept", code=code)
            keep("delete_skill", name="kept")
            in_jail = "result = [tokenize_pii('jail@waits.example')[0], save_skill('own', 'b = 1')]"
            self.assertEqual(client.execute(in_jail)["outcome"], "ok")
        self.assertEqual(self.value("warder_disk_waits", "_total", thread="loop"), 0)
        self.assertGreaterEqual(self.value("warder_disk_waits", "_total", thread="other") - before, 3 + 2 + 3 * 5)

    def test_every_family_is_there_with_its_type(self):
        self.assertEqual({name: kind for name, (kind, _) in self.metrics().items()}, {
            "warder_build": "info", "warder_start_time_seconds": "gauge", "warder_disk_waits": "counter",
            "warder_disk_faults": "counter", "warder_state_disk_failing": "gauge", "warder_configuration_ok": "gauge", "warder_missing_listeners": "gauge",
            "warder_clock_jump_seconds": "gauge",
            "warder_unread_bytes": "gauge", "warder_loop_busy_seconds_max": "gauge",
            "warder_executions": "counter",
            "warder_executions_now": "gauge", "warder_refusals": "counter", "warder_starts": "counter",
            "warder_answer_seconds": "histogram", "warder_program_seconds": "histogram",
            "warder_cpu_seconds": "counter", "warder_memory_bytes": "gauge", "warder_pool_jails": "gauge",
            "warder_context_bytes": "counter",
            **OF_THE_MACHINE, **OF_TENANTS})
        self.assertLessEqual(abs(self.value("warder_start_time_seconds") - time.time()), 3600)
        self.assertEqual(self.value("warder_executions_now", state="running"), 0)

    def test_a_tenant_s_executions_and_workspace_are_there_by_its_name(self):
        with Client(self.daemon.socket) as client:
            def of_tenant(family, suffix="", **labels):
                return self.value(family, suffix, tenant=f"uid-{os.getuid()}", **labels)
            before = of_tenant("warder_tenant_executions", "_total", result="ok")
            client.call("write_workspace_file", {"filename": "a", "content": "x" * 1000})
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            self.assertEqual(of_tenant("warder_tenant_executions", "_total", result="ok"), before + 1)
            self.assertGreater(of_tenant("warder_tenant_cpu_seconds", "_total"), 0)
            self.assertEqual(of_tenant("warder_tenant_connections"), 1)
            self.assertGreaterEqual(of_tenant("warder_tenant_workspace_bytes"), 1000)
            self.assertGreater(of_tenant("warder_tenant_workspace_limit_bytes"), 1000)
            self.assertEqual(of_tenant("warder_tenant_executions_now", state="running"), 0)
            request = client.begin_running(BUSY, timeout_seconds=300)
            self.assertEqual(of_tenant("warder_tenant_executions_now", state="running"), 1)
            client.cancel(request)
        eventually(lambda: of_tenant("warder_tenant_executions", "_total", result="cancelled") == 1, "it is counted")

    def test_the_reader_is_strict(self):
        good = '# TYPE a counter\n# HELP a b\na_total{c="d"} 1\n# EOF\n'
        self.assertEqual(parse(good), {"a": ("counter", {("_total", (("c", "d"),)): 1.0})})
        for bad in (good[:-1], good.replace("_total", ""), good.replace("# EOF\n", ""), good.replace("a_total", "b_total"),
                    good.replace('"d"', "d"), good.replace(" 1\n", "\n"), good.replace("a_total{", "a_total {"),
                    good.replace("# EOF", 'a_total{c="d"} 1\n# EOF'), "\n" + good):
            with self.assertRaises((AssertionError, KeyError, TypeError, ValueError), msg=bad):
                parse(bad)

    def test_who_may_connect_is_decided_by_owner_group_and_mode(self):
        status = self.path.stat()
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o660 if os.geteuid() == 0 else 0o600)
        self.assertEqual(status.st_uid != 0, os.geteuid() == 0 or status.st_uid == os.geteuid())

    def test_other_requests_are_told_why_not(self):
        for request, status in (
            (b"GET /metrics?x=1 HTTP/1.1\r\nHost: warder\r\nAccept: */*\r\n\r\n", "200 OK"),
            (b"GET / HTTP/1.0\n\n", "200 OK"),
            (b"GET /../etc/passwd HTTP/1.0\r\n\r\n", "404 Not Found"),
            (b"POST /metrics HTTP/1.0\r\n\r\n", "405 Method Not Allowed"),
            (b"GET /metrics\r\n\r\n", "400 Bad Request"),
            (b"GET /metrics HTTP/2.0\r\n\r\n", "400 Bad Request"),
            (b"\r\n\r\n", "400 Bad Request"),
            (b"\x00\xff\xfe\r\n\r\n", "400 Bad Request"),
            (b"GET /metrics HTTP/1.0\r\n" + b"x: y\r\n" * 2000, "431 Request Header Fields Too Large"),
        ):
            with self.subTest(request[:40]):
                try:
                    got = self.ask(request)
                except (ConnectionResetError, BrokenPipeError):  # it did not read on
                    self.assertIn(b"x: y", request)
                    continue
                self.assertEqual(got[0], "HTTP/1.0 " + status)
        status, headers, body = self.ask(b"HEAD /metrics HTTP/1.0\r\n\r\n")
        self.assertEqual((status, body), ("HTTP/1.0 200 OK", b""))
        self.assertGreater(int(headers["content-length"]), 100)

    def test_a_request_may_come_in_pieces(self):
        client = self.connect()
        for piece in (b"G", b"ET /metrics HT", b"TP/1.0\r\n\r", b"\n"):
            client.sendall(piece)
        self.assertEqual(self.answer(client)[0], "HTTP/1.0 200 OK")

    def test_clients_that_only_wait_keep_nobody_out(self):
        idle = [self.connect() for _ in range(40)]
        self.assertEqual(self.ask(b"GET / HTTP/1.0\r\n\r\n")[0], "HTTP/1.0 200 OK")
        ended = [client for client in idle[:24] if client.recv(1) == b""]
        self.assertEqual(len(ended), 24, "those that waited longest")
        with Client(self.daemon.socket) as client:  # who matters is served meanwhile
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
        for client in idle[24:]:
            self.assertEqual(client.recv(1), b"")  # let go after a while
        self.assertEqual(self.ask(b"GET / HTTP/1.0\r\n\r\n")[0], "HTTP/1.0 200 OK")

    def test_the_command_prints_the_same(self):
        def warder(*words, status=0):
            done = subprocess.run([WARDER, "metrics", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, status, done.stderr)
            return done
        self.assertEqual(parse(warder("--from", self.path).stdout).keys(), self.metrics().keys())
        beside = warder("--socket", self.daemon.socket, "--json").stdout  # metrics.sock beside it
        samples = json.loads(beside)
        self.assertIn({"name": "warder_executions_now", "labels": {"state": "running"}, "value": 0.0}, samples)
        self.assertEqual(len(samples), sum(len(samples) for _, samples in self.metrics().values()))
        self.assertIn("--metrics", warder("--from", self.path.parent / "none", status=125).stderr)
        self.assertIn("does not answer with metrics", warder("--from", self.daemon.socket, status=125).stderr)


def read_unix(path):
    """The text of a metrics socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(str(path))
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        whole = b""
        while part := client.recv(65536):
            whole += part
    return whole.decode().split("\r\n\r\n", 1)[1]


def get(port, host=None, path="/metrics"):
    """Status line and body, by TCP."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{port}'}\r\n\r\n".encode())
        whole = b""
        while part := client.recv(65536):
            whole += part
    head, body = whole.decode().split("\r\n\r\n", 1)
    return head.split("\r\n")[0], body


class OverTcp(unittest.TestCase):
    def test_every_user_reads_the_machine_s_numbers_and_no_tenant_s(self):
        port = free_port()
        with Daemon(arguments=["--metrics", f"127.0.0.1:{port}"]) as daemon, Client(daemon.socket) as client:
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            status, body = get(port)
            self.assertEqual(status, "HTTP/1.0 200 OK")
            families = parse(body)
            self.assertLessEqual(OF_THE_MACHINE.keys(), families.keys())
            self.assertEqual(OF_TENANTS.keys() & families.keys(), set())
            self.assertNotIn(f"uid-{os.getuid()}", body)
            self.assertEqual(families["warder_tenants"][1], {("", ()): 1.0})
            self.assertTrue(get(port, host="attacker.example")[0].startswith("HTTP/1.0 403"))

    def test_clients_that_only_wait_are_bounded_there_as_well_and_keep_no_scraper_out(self):
        port = free_port()
        with Daemon(arguments=["--metrics", f"127.0.0.1:{port}"]):
            idle = [self.enterContext(socket.create_connection(("127.0.0.1", port), PATIENCE)) for _ in range(40)]

            def ended(client):
                try:
                    return client.recv(1) == b""
                except ConnectionResetError:
                    return True
            for _ in range(3):
                self.assertEqual(get(port)[0], "HTTP/1.0 200 OK")
                idle.append(self.enterContext(socket.create_connection(("127.0.0.1", port), PATIENCE)))
            self.assertEqual(len([client for client in idle[:24] if ended(client)]), 24)

    def test_an_address_that_other_machines_reach_is_refused(self):
        for address in ("0.0.0.0:9460", "[::]:9460", "localhost:9460", "127.0.0.1:0"):
            with self.subTest(address), self.assertRaises(DaemonFailed) as failure:
                with Daemon(arguments=["--metrics", address]):
                    pass
            self.assertIn("--metrics", str(failure.exception))
            self.assertIn("127.0.0.1:9460", str(failure.exception))

    def test_sockets_of_systemd_are_served_on_loopback_only_and_show_tenants_if_their_name_says_so(self):
        def listening(address="127.0.0.1"):
            one = self.enterContext(socket.socket())
            one.bind((address, 0))
            one.listen(8)
            return one
        plain, named, public = listening(), listening(), listening("0.0.0.0")
        mcp = self.enterContext(socket.socket(socket.AF_UNIX))
        daemon = Service(environment={"LISTEN_FDNAMES": "mcp:metrics:tenant-metrics:metrics"})
        mcp.bind(str(daemon.directory / "mcp"))
        mcp.listen(8)
        daemon.sockets = [mcp, plain, named, public]
        with daemon, Client(daemon.directory / "mcp") as client:
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            self.assertEqual(OF_TENANTS.keys() & parse(get(plain.getsockname()[1])[1]).keys(), set())
            self.assertIn(f'tenant="uid-{os.getuid()}"', get(named.getsockname()[1])[1])
            self.assertIn(f"metrics are not served on 0.0.0.0:{public.getsockname()[1]}", daemon.log_text())


if __name__ == "__main__":
    unittest.main()
