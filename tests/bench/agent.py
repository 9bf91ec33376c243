#!/usr/bin/env python3
"""What `warder agent` adds to a turn: the time that is neither the model's nor the tool's.

    python3 tests/bench/agent.py --warderd build/release/supervisor/warderd [--warder .../warder] [--turns 200] [--rounds 5]

One daemon of its own, and a server of models that answers at once with events made before. It takes the time from its
answer to the agent's next request. Every other turn asks for a tool that does not exist and needs no daemon: that time
is the agent's own. The others run code, and are measured beside the same call of a client of lines, in a session too. The
request grows with each turn, as the model gets the whole conversation again: so the first and the last turns are told
apart.
Prints figures and judges no time. Bounded by its arguments.
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
from daemon import Daemon, DaemonFailed  # noqa: E402

from bench_policies import policies_in  # noqa: E402

CODE = {"code": "result = 1"}


def answer(name, arguments, said=""):
    """An answer of the model as its connection carries it: one that calls the tool, or the last one."""
    delta = {"content": said} if said else {"tool_calls": [{"index": 0, "id": "call-1", "type": "function", "function": {
        "name": name, "arguments": json.dumps(arguments)}}]}
    events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
              {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop" if said else "tool_calls"}]},
              {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}]
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Model:
    """Answers `turns` requests with a call of a tool that does not exist and with code, in turn, and the next with the end."""

    def __init__(self, turns):
        asked = [answer("no_such_tool", {}), answer("execute_code", CODE)]
        self.answers = [asked[i % 2] for i in range(turns)] + [answer("", {}, "Done.")]
        self.gaps, self.bytes = [], 0  # seconds from an answer to the next request; bytes of the last request
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        answered = None
        while self.answers:
            connection, _ = self.listener.accept()
            kept = b""
            while self.answers:
                while b"\r\n\r\n" not in kept:
                    got = connection.recv(1 << 20)
                    if not got:
                        break
                    if not kept and answered:
                        self.gaps.append(time.perf_counter() - answered)
                    kept += got
                if b"\r\n\r\n" not in kept:
                    break
                head, _, kept = kept.partition(b"\r\n\r\n")
                length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
                while len(kept) < length:
                    kept += connection.recv(1 << 20)
                self.bytes, kept = length, kept[length:]
                connection.sendall(self.answers.pop(0))
                answered = time.perf_counter()
        self.listener.close()


def run(given, daemon, folder):
    model = Model(given.turns)
    done = subprocess.run(
        [given.warder, "agent", "run", "--max-turns", str(given.turns + 1), "count"], capture_output=True, text=True, timeout=600,
        check=False,
        env={**os.environ, "WARDER_SOCKET": str(daemon.socket), "XDG_STATE_HOME": folder, "LLM_API_KEY": "key",
             "LLM_MODEL": "bench", "LLM_BASE_URL": model.url})
    if done.returncode or len(model.gaps) != given.turns:
        sys.exit(f"the agent ended with {done.returncode} after {len(model.gaps)} turns: {done.stderr[-2000:]}")
    return model.gaps, model.bytes


def direct(daemon, turns):
    took = []
    with daemon.connect() as client:
        for _ in range(turns):
            began = time.perf_counter()
            got = client.call("execute_code", {**CODE, "session": "direct"})
            took.append(time.perf_counter() - began)
            if got.get("isError"):
                sys.exit(f"a call failed: {got}")
    return took


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--warderd", default=TOP / "build/release/supervisor/warderd")
    parser.add_argument("--warder", default=TOP / "build/release/supervisor/programs/cli/warder")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    own, with_code, beside = [], [], []
    with tempfile.TemporaryDirectory() as folder, Daemon(program=given.warderd, policies=policies_in(folder)) as daemon:
        for _ in range(given.rounds):
            gaps, size = run(given, daemon, folder)
            own.append(gaps[0::2])
            with_code.append(gaps[1::2])
            beside.append(direct(daemon, len(with_code[-1])))
    tenth = max(1, given.turns // 20)
    for what, part in (("all turns", slice(None)), (f"the first {tenth}", slice(0, tenth)), (f"the last {tenth}", slice(-tenth, None))):
        alone, run_code, call = (1e3 * statistics.median([one for row in rows for one in row[part]]) for rows in (own, with_code, beside))
        print(f"{what}, p50: the agent alone {alone:.2f} ms a turn; with code {run_code:.2f} ms, the call itself {call:.2f} ms")
    print(f"the last request had {size} bytes")


try:
    main()
except DaemonFailed as e:
    sys.exit(str(e))
