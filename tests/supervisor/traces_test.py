#!/usr/bin/env python3
"""Executions and their calls as spans: whose they are, what they tell and never tell, and collectors good and bad."""
import json
import pathlib
import shutil
import socket
import tempfile
import time
import unittest

from approvals_harness import Modern
from collector import Collector, attributes_of
from harness import META, Client, Daemon, Policies, body_of, eventually
from metrics_test import parse

SERVER = pathlib.Path(__file__).resolve().parent / "tracing_server.py"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{PARENT}-01", f"00-{TRACE}-{PARENT}-00"
STATE = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"
SEE = "import os; result = os.environ.get('TRACEPARENT')"
RULES = [{"name": "closed", "tools": ["near.secret"], "verdict": "deny"},
         {"name": "careful", "tools": ["near.ask"], "verdict": "ask"}]


class TracesTest(unittest.TestCase):
    on_loopback = False

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-traces-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        self.collector = self.enterContext(Collector(None if self.on_loopback else self.folder / "collector.sock"))

    def begin(self, policies=None, servers=(), traces=None, arguments=()):
        file = self.folder / "config.json"
        command = {"command": "/usr/bin/python3", "jail": "none"}
        file.write_text(json.dumps({
            "servers": {name: {**command, "args": [str(self.folder / SERVER.name), era]} for name, era in dict(servers).items()},
            **({"traces": traces} if traces else {})}))
        shutil.copy(SERVER, self.folder)
        if traces is None:
            arguments = [*arguments, "--traces", self.collector.url]
        self.daemon = self.enterContext(Daemon(policies=policies, arguments=["--config", file, *arguments]))
        self.client = self.enterContext(Modern(self.daemon.socket))

    def call(self, code, parent=None, tool="execute_code", meta=(), **arguments):
        """The whole result."""
        meta = {**META, **dict(meta), **({} if parent is None else {"traceparent": parent})}
        arguments = {"code": code, **arguments} if tool == "execute_code" else {"name": code, **arguments}
        return self.client.answer(self.client.begin("tools/call", name=tool, arguments=arguments, _meta=meta))["result"]

    def counted(self, path):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            text = client.makefile("rb").read().split(b"\r\n\r\n", 1)[1].decode()
        families = parse(text)
        return {dict(labels)["result"]: value for (_, labels), value in families["warder_spans"][1].items()}


class Spans(TracesTest):
    def test_an_execution_is_a_part_of_its_callers_trace(self):
        self.begin()
        before = time.time_ns()
        result = self.call(SEE, SAMPLED, meta={"tracestate": STATE})
        span = self.collector.wait_for_span()
        self.assertEqual((span["traceId"], span["parentSpanId"], span["traceState"], span["kind"]), (TRACE, PARENT, STATE, 2))
        self.assertRegex(span["spanId"], r"\A[0-9a-f]{16}\Z")
        self.assertNotIn("status", span)
        begun, ended = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        self.assertTrue(before - 10**9 < begun < ended < time.time_ns() + 10**9, span)
        body, within = body_of(result), f"00-{TRACE}-{span['spanId']}-01"
        self.assertEqual(body["result"], within)  # what the program begins is below this span
        self.assertEqual(result["_meta"]["org.warder/receipt"]["traceparent"], within)
        told = attributes_of(span)
        self.assertGreater(told.pop("warder.wall_ms"), 0)
        self.assertGreater(told.pop("warder.memory_peak_bytes"), 1 << 20)
        self.assertGreaterEqual(told.pop("warder.cpu_ms"), 0)
        self.assertRegex(told.pop("warder.tenant"), r"\Auid-\d+\Z")
        self.assertEqual(told, {
            "mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "execute_code",
            "warder.execution.id": body["execution_id"], "warder.policy": "default", "warder.language": "python",
            "warder.outcome": "ok", "warder.start": "cold"})

    def test_requests_are_as_the_protocol_has_them(self):
        self.begin()
        self.call("1")
        self.collector.wait_for_requests(1)
        path, headers, body, _ = self.collector.requests[0]
        self.assertEqual((path, headers["Content-Type"]), ("/v1/traces", "application/json"))
        ((key, (resource,)),) = json.loads(body).items()
        self.assertEqual(key, "resourceSpans")
        named = attributes_of(resource["resource"])
        self.assertEqual((named["service.name"], named["host.name"]), ("warder", socket.gethostname()))
        self.assertEqual(resource["scopeSpans"][0]["scope"], {"name": "warderd", "version": named["service.version"]})

    def test_without_a_callers_trace_one_begins(self):
        self.begin()
        seen = [body_of(self.call(SEE, parent))["result"] for parent in (None, "00-nonsense", None)]
        self.collector.wait(lambda: len(self.collector.spans()) == 3, "three spans")
        spans = self.collector.spans()
        self.assertEqual(seen, [f"00-{span['traceId']}-{span['spanId']}-01" for span in spans])
        self.assertEqual(len({span["traceId"] for span in spans}), 3)
        self.assertFalse([span for span in spans if "parentSpanId" in span])

    def test_what_its_caller_does_not_record_is_not_recorded_here(self):
        self.begin(servers={"near": "modern"})
        result = self.call("import warder\n" + SEE + "\nresult = [result, warder.call_tool('near__meta')]", UNSAMPLED)
        seen, meta = body_of(result)["result"]
        self.assertEqual((seen, meta["traceparent"]), (UNSAMPLED, UNSAMPLED))
        self.assertEqual(result["_meta"]["org.warder/receipt"]["traceparent"], UNSAMPLED)
        self.call("2", SAMPLED.replace("4bf9", "0001"))
        self.collector.wait_for_span()
        self.assertEqual(len(self.collector.spans()), 1)

    def test_other_outcomes_are_errors(self):
        self.begin(policies=self.enterContext(Policies(languages=["python", "shell"])))
        for code, arguments, outcome in (
                ("1/0", {}, "error"), ("exit 3", {"language": "shell"}, "exit"), ("while True: pass", {"timeout_seconds": 0.2}, "timeout"),
                ("1", {"language": "javascript"}, "denied")):
            with self.subTest(outcome):
                self.assertEqual(body_of(self.call(code, SAMPLED, **arguments))["outcome"], outcome)
                span = self.collector.wait_for_span(warder_outcome=outcome)
                self.assertEqual(span["status"], {"code": 2, "message": outcome})
                told = attributes_of(span)
                self.assertEqual(told["error.type"], outcome)
                self.assertEqual(told.get("warder.rule"), "languages" if outcome == "denied" else None)
        self.client.cancel(self.client.begin_running("print('running', flush=True)\nwhile True: pass"))
        self.assertEqual(self.collector.wait_for_span(warder_outcome="cancelled")["status"]["code"], 2)

    def test_waiting_is_a_part_of_an_execution(self):
        self.begin()
        first = self.client.begin_running("print('running', flush=True)\nwhile not __import__('os').path.exists('go'): pass", session="s")
        second = self.client.begin("tools/call", "t", name="execute_code", arguments={"code": "1", "session": "s"},
                                   _meta={"traceparent": SAMPLED})
        self.client.await_progress("t", lambda told: "its turn" in told.get("message", ""))
        with Client(self.daemon.socket) as other:
            other.write_file("go")
        self.client.executed(first)
        self.client.executed(second)
        wait = self.collector.wait_for_span("wait")
        self.assertEqual((wait["traceId"], wait["kind"]), (TRACE, 1))
        ours = next(span for span in self.collector.spans() if span["spanId"] == wait["parentSpanId"])
        self.assertEqual((ours["name"], ours["parentSpanId"]), ("tools/call execute_code", PARENT))
        self.assertLessEqual(int(wait["endTimeUnixNano"]), int(ours["endTimeUnixNano"]))

    def test_it_works_on_loopback_too(self):
        self.on_loopback = True
        collector = self.enterContext(Collector())
        self.begin(traces=collector.url + "/below/")
        self.call("1")
        collector.wait_for_span()
        self.assertEqual(collector.requests[0][0], "/below/v1/traces")


class Calls(TracesTest):
    def test_calls_of_code_are_parts_of_its_execution_and_their_servers_know(self):
        self.begin(servers={"near": "modern", "old": "handshake"})
        code = "import warder\nresult = [warder.call_tool(name + '__meta') for name in ('near', 'old')]"
        metas = body_of(self.call(code, SAMPLED, meta={"tracestate": STATE}))["result"]
        execution = self.collector.wait_for_span()
        for name, meta in zip(("near", "old"), metas):
            span = self.collector.wait_for_span("tools/call meta", warder_server=name)
            self.assertEqual((span["traceId"], span["parentSpanId"], span["kind"]), (TRACE, execution["spanId"], 3))
            self.assertEqual((meta["traceparent"], meta["tracestate"]), (f"00-{TRACE}-{span['spanId']}-01", STATE))
            self.assertNotIn("status", span)
            self.assertEqual(attributes_of(span), {
                "mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "meta",
                "warder.server": name, "warder.verdict": "ok"})
        self.assertIn("io.modelcontextprotocol/protocolVersion", metas[0])

    def test_an_agents_own_call_is_a_part_of_its_trace(self):
        self.begin(servers={"near": "modern"})
        meta = self.call("near__meta", SAMPLED, tool="call_tool")["structuredContent"]["result"]
        span = self.collector.wait_for_span("tools/call meta")
        self.assertEqual((span["traceId"], span["parentSpanId"]), (TRACE, PARENT))
        self.assertEqual(meta["traceparent"], f"00-{TRACE}-{span['spanId']}-01")

    def test_calls_that_fail_or_are_refused_are_errors(self):
        self.begin(servers={"near": "modern"}, policies=self.enterContext(Policies(calls={"rules": RULES})))
        self.call("import warder\nfor name in ('fail', 'secret', 'made-up-by-code'):\n"
                  "  try: warder.call_tool('near__' + name)\n  except warder.CallError: pass", SAMPLED)
        failed = self.collector.wait_for_span("tools/call fail")
        self.assertEqual(failed["status"], {"code": 2, "message": "tool_error"})
        self.assertEqual(attributes_of(failed)["warder.verdict"], "failed")
        denied = attributes_of(self.collector.wait_for_span("tools/call secret"))
        self.assertEqual((denied["warder.verdict"], denied["error.type"], denied["warder.rule"]), ("denied", "denied", "calls.closed"))
        unknown = attributes_of(self.collector.wait_for_span("tools/call", warder_verdict="not_found"))
        self.assertNotIn("gen_ai.tool.name", unknown)
        self.assertNotIn(b"made-up-by-code", b"".join(self.collector.bodies()))

    def test_the_question_about_a_call_is_a_part_of_it(self):
        self.begin(servers={"near": "modern"}, policies=self.enterContext(Policies(calls={"rules": RULES})))
        arguments = {"code": "import warder\nresult = warder.call_tool('near__ask')"}
        asked = self.client.ask("execute_code", arguments)["result"]
        self.client.again("execute_code", arguments, asked)
        approval = self.collector.wait_for_span("approval")
        call = self.collector.wait_for_span("tools/call ask")
        self.assertEqual((approval["parentSpanId"], approval["traceId"], approval["kind"]), (call["spanId"], call["traceId"], 1))
        self.assertEqual(attributes_of(approval), {"warder.verdict": "approved", "warder.rule": "calls.careful"})

    def test_without_a_collector_servers_and_receipts_have_the_callers_own(self):
        self.begin(servers={"near": "modern", "old": "handshake"}, traces=False)
        code = "import warder\nresult = [warder.call_tool(name + '__meta') for name in ('near', 'old')]"
        result = self.call(code, SAMPLED, meta={"tracestate": STATE})
        for meta in body_of(result)["result"]:
            self.assertEqual((meta["traceparent"], meta["tracestate"]), (SAMPLED, STATE))
        self.assertEqual(result["_meta"]["org.warder/receipt"]["traceparent"], SAMPLED)
        for meta in body_of(self.call(code, None, meta={"tracestate": STATE}))["result"]:
            self.assertNotIn("traceparent", meta)
            self.assertNotIn("tracestate", meta)
        self.assertNotIn("traceparent", self.call("1")["_meta"]["org.warder/receipt"])
        self.assertIn("traceparent", self.call("near__meta", SAMPLED, tool="call_tool")["structuredContent"]["result"])


class Secrets(TracesTest):
    def test_nothing_of_what_agents_and_programs_say_leaves(self):
        self.begin(servers={"near": "modern"})
        secret = "HUSH-7fb1"
        for code in (f"print('{secret}')\nopen('{secret}', 'w').write('{secret}')\nresult = '{secret}'",
                     f"import sys\nsys.stderr.write('{secret}')\nraise ValueError('{secret}')",
                     f"import warder\nwarder.call_tool('near__meta', key='{secret}', {secret.replace('-', '_')}=1)",
                     f"import warder\nwarder.call_tool('near__{secret}')", f"import warder\nwarder.call('{secret}')",
                     f"import warder\nwarder.call_tool('{secret}__meta')"):
            self.call(code, context_vars={"a": secret}, session=secret.lower())
        self.call(f"near__{secret}", tool="call_tool", arguments={"a": secret})
        self.call("1", meta={"org.warder/task": secret, "tracestate": f"a={secret}"})
        self.collector.wait(lambda: len([s for s in self.collector.spans() if s["name"].endswith("execute_code")]) == 7, "all")
        everything = b"".join(self.collector.bodies()).lower()
        self.assertNotIn(b"hush", everything)

    def test_headers_come_from_a_file_and_are_not_logged(self):
        secret = "t0ken-and-long-enough"
        headers = self.folder / "headers"
        headers.write_text(f"# of the collector\nAuthorization: Bearer {secret}\nX-Scope: a\n")
        headers.chmod(0o600)
        self.collector.always = (400, {"X-Echo": secret}, json.dumps({"message": f"what is Bearer {secret}?"}))
        self.begin(traces={"url": self.collector.url, "headers": str(headers)})
        self.call("1")
        self.collector.wait_for_requests(1)
        got = self.collector.requests[0][1]
        self.assertEqual((got["Authorization"], got["X-Scope"]), (f"Bearer {secret}", "a"))
        eventually(lambda: "HTTP status 400; 1 spans were dropped, 1 in all" in self.daemon.log_text(), "a line about it")
        self.assertNotIn(secret, self.daemon.log_text())


class Collectors(TracesTest):
    def begin(self, **more):
        super().begin(arguments=["--metrics", self.folder / "metrics.sock"], **more)

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o777)

    def metrics(self):
        return self.counted(self.folder / "metrics.sock")

    def await_counts(self, exported, dropped):
        eventually(lambda: self.metrics() == {"exported": exported, "dropped": dropped}, f"{exported} exported, {dropped} dropped")

    def test_what_is_refused_for_now_is_sent_again(self):
        self.collector.replies = [(503, {"Retry-After": "0"}, ""), (429, {"Retry-After": "0"}, ""), ("drop",)]
        self.begin()
        self.call("1")
        self.collector.wait_for_requests(4)
        self.assertEqual(len(set(self.collector.bodies())), 1)
        self.await_counts(1, 0)
        self.assertIn("HTTP status 503; the daemon tries again", self.daemon.log_text())
        self.assertEqual(self.daemon.log_text().count("warning: traces:"), 1)  # one a minute

    def test_what_is_refused_for_good_is_dropped_and_the_next_are_sent(self):
        self.collector.replies = [(400, {}, ""), (200, {}, '{"partialSuccess": {"rejectedSpans": "1"}}')]
        self.begin()
        for number, counts in enumerate(((0, 1), (0, 2), (1, 2)), 1):
            self.call("1")
            self.collector.wait_for_requests(number)
            self.await_counts(*counts)
        self.assertEqual(len(self.collector.requests), 3)

    def test_a_flood_is_no_answer(self):
        self.collector.always = ("flood",)
        self.begin()
        self.call("1")
        self.await_counts(0, 1)
        self.assertIn("larger than 65536 bytes", self.daemon.log_text())

    def test_a_collector_that_hangs_holds_nobody_up(self):
        self.collector.always = ("hang",)
        self.begin()
        self.call("1")
        self.collector.wait_for_requests(1)
        for number in range(20):
            self.assertEqual(body_of(self.call(f"result = {number}"))["result"], number)
        self.assertEqual(self.metrics(), {"exported": 0, "dropped": 0})
        self.daemon.stop()  # fails if the daemon does not end
        self.assertIn("21 spans were dropped, 21 in all", self.daemon.log_text())

    def test_a_collector_that_is_away_holds_nobody_up_and_is_found_when_it_comes(self):
        self.begin(traces=f"unix://{self.folder}/later.sock")
        self.call("1")
        eventually(lambda: "later.sock: " in self.daemon.log_text(), "a line about it")
        later = self.enterContext(Collector(self.folder / "later.sock"))
        later.wait_for_span()
        self.await_counts(1, 0)

    def test_what_waits_is_sent_at_the_end(self):
        self.begin()
        for _ in range(5):
            self.call("1")
        self.daemon.stop()
        self.assertEqual(len(self.collector.spans()), 5)

    def test_without_a_collector_there_is_nothing_to_count(self):
        self.begin(traces=False)
        with self.assertRaises(KeyError):
            self.metrics()


if __name__ == "__main__":
    unittest.main()
