"""The demonstration behind .ci/demo: a daemon on var/mcp.sock, a data file, a program, its answer and its receipt."""
import argparse
import contextlib
import json
import os
import pathlib
import random
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
BUILD, VAR = TOP / "build/demo", TOP / "var"
SOCKET = VAR / "mcp.sock"
WARDER = BUILD / "supervisor/programs/cli/warder"
PROGRAM = """\
data = json.loads(read_file("large_dataset.json"))
filtered = [d for d in data if d["status"] == "active"]
result = {
    "total": len(data),
    "active": len(filtered),
    "sample": filtered[:5],
}
"""


def answers():
    """Whether a daemon listens on the socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(SOCKET))
            return True
        except OSError:
            return False


def state_folder(cleanup):
    """Below var/, unless a closed folder, as root's home is, keeps out the daemon's user: then below /var/tmp."""
    closed = [str(folder) for folder in VAR.parents if not folder.stat().st_mode & 0o001]
    if os.geteuid() != 0 or not closed:
        return VAR / "state"
    folder = tempfile.mkdtemp(prefix="warder-demo-", dir="/var/tmp")
    os.chmod(folder, 0o711)
    cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
    print(f"The daemon's state is in {folder}: its user cannot enter {closed[-1]}")
    return pathlib.Path(folder) / "state"


@contextlib.contextmanager
def daemon(keep):
    """warderd on var/mcp.sock, ready. One that runs already is used, and left running."""
    if answers():
        print(f"Using the daemon that listens on {SOCKET}")
        yield
        return
    log = VAR / "warderd.log"
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    name = f"warder-demo-{os.getpid()}"
    notify.bind(f"\0{name}")  # no file: the daemon, no longer root, might not reach it
    cleanup = contextlib.ExitStack()
    command = [BUILD / "supervisor/warderd", "--socket", SOCKET, "--state", state_folder(cleanup), "--policies",
               TOP / "policies", "--bus", "off"]
    with open(log, "wb") as output:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=output, env={**os.environ, "NOTIFY_SOCKET": f"@{name}"},
                                   start_new_session=keep)
    ended = os.pidfd_open(process.pid)
    try:
        until = time.monotonic() + 60
        while True:
            heard = select.select([notify, ended], [], [], max(0, until - time.monotonic()))[0]
            if notify in heard and b"READY=1" in notify.recv(4096).split(b"\n"):
                break
            if ended in heard or not heard:
                sys.exit(f"demo: warderd {'ended' if heard else 'was not ready after 60 s'}; it said:\n"
                         f"{log.read_text(errors='replace')}")
        print(f"warderd runs as process {process.pid}, its log is {log.relative_to(TOP)}")
        yield
        if keep:
            print(f"\nwarderd keeps running; end it with: kill {process.pid}\n"
                  f"Next: {WARDER.relative_to(TOP)} --socket var/mcp.sock run -c 'result = 6 * 7'")
    finally:
        if not keep or sys.exc_info()[0]:
            process.terminate()
            process.wait(30)
            cleanup.close()


def make_dataset():
    """Some megabytes of rows, the same each time."""
    chance = random.Random(7)
    words = ["amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "heron"]
    rows = [{"id": number, "name": f"{chance.choice(words)}-{chance.choice(words)}-{number}",
             "status": chance.choices(["active", "inactive"], [1, 3])[0], "score": round(chance.random() * 100, 2)}
            for number in range(50_000)]
    return json.dumps(rows)


def call_tool(name, arguments):
    """One tools/call by way of `warder mcp`, as an MCP client would make it."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": name, "arguments": arguments,
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                  "io.modelcontextprotocol/clientInfo": {"name": "demo", "version": "1"},
                  "io.modelcontextprotocol/clientCapabilities": {}}}}
    # A client that ends its output has left: the proxy then waits for answers for a second only.
    with subprocess.Popen([str(WARDER), "--socket", str(SOCKET), "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as proxy:
        proxy.stdin.write(json.dumps(request) + "\n")
        proxy.stdin.flush()
        line = proxy.stdout.readline()
    answer = json.loads(line) if line else {}
    if "result" not in answer or answer["result"].get("isError"):
        sys.exit(f"demo: {name} failed: {line}")
    return answer["result"]


def main():
    parser = argparse.ArgumentParser(prog="demo")
    parser.add_argument("--keep", action="store_true", help="leave the daemon running")
    parser.add_argument("--socket", type=pathlib.Path, help="use the daemon that listens here")
    parser.add_argument("--warder", type=pathlib.Path, help="the program that connects; default: build/demo's")
    options = parser.parse_args()
    global SOCKET, WARDER
    SOCKET, WARDER = options.socket or SOCKET, options.warder or WARDER
    VAR.mkdir(exist_ok=True)
    with daemon(options.keep):
        text = make_dataset()
        call_tool("write_workspace_file", {"filename": "large_dataset.json", "content": text})
        print(f"Wrote large_dataset.json ({len(text) / 1e6:.1f} MB) into the workspace\n\n{PROGRAM}", flush=True)
        status = subprocess.run([str(WARDER), "--socket", str(SOCKET), "run", "--receipt", "-c", PROGRAM]).returncode
    sys.exit(status)


if __name__ == "__main__":
    main()
