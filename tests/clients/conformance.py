"""The official conformance suite of one protocol revision: python3 conformance.py 2025-11-25

The suite speaks HTTP: http_proxy.mjs -> `warder mcp` -> Unix socket -> $FIXTURE_SERVER, which offers the suite's
fixtures on Warder's protocol library. Every scenario that the revision requires must pass but those listed in
conformance/REVISION.yml, each with its reason; one that is listed and passes fails the run, so the list stays true.
Scenarios about HTTP itself (dns-rebinding-protection, header checks) judge the test proxy, the rest the library.
"""
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import CLIENTS, MODULES, NODE, WARDER, Connection

HERE = pathlib.Path(__file__).resolve().parent


def required(suite, revision):
    """The names of the server scenarios that a revision requires."""
    listing = subprocess.run([NODE, suite, "list", "--requirements", revision], capture_output=True, text=True,
                             check=True)
    section = listing.stdout.split("Server scenarios", 1)[1].split("\n\n", 1)[0]
    return {line.strip()[2:] for line in section.splitlines() if line.strip().startswith("- ")}


def results(folder):
    """For each scenario that was run, its checks: pairs of id and status."""
    found = {}
    for file in folder.glob("server-*/checks.json"):
        name = re.sub(r"-\d{4}-\d\d-\d\dT[\dZ-]+$", "", file.parent.name.removeprefix("server-"))
        found[name] = [(check["id"], check["status"]) for check in json.loads(file.read_text())]
    return found


def excused(baseline):
    """The listed scenarios, each with the checks that may fail; None: all of them."""
    found = {}
    for line in baseline.read_text().splitlines():
        if listed := re.match(r"  - (\S+)\s+#\s*(?:only ([^:]+):)?", line):
            found[listed[1]] = set(listed[2].split()) if listed[2] else None
    return found


def wrong(scenario, checks, excuses):
    """What is wrong with a required scenario; nothing when it is as it should be."""
    allowed = excuses.get(scenario, set())
    if allowed is None:
        return []
    failed = [check for check, status in checks if status == "FAILURE" and check not in allowed]
    if not any(status == "SUCCESS" for _, status in checks):
        failed.append("not one check succeeded")  # against a dead server many pass, for want of anything to look at
    return failed


def start_fixture(path):
    fixture = subprocess.Popen([os.environ["FIXTURE_SERVER"], path])
    ended = os.pidfd_open(fixture.pid)
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            Connection(path).close()
            return fixture
        except OSError:  # it does not listen yet
            if select.select([ended], [], [], 0.02)[0]:
                break
    fixture.kill()
    sys.exit("the fixture server does not listen")


def main():
    revision = sys.argv[1]
    suite = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
    baseline = HERE / "conformance" / f"{revision}.yml"
    with tempfile.TemporaryDirectory(prefix="warder-conformance-") as folder:
        path = pathlib.Path(folder) / "fixture.sock"
        fixture = start_fixture(path)
        proxy = subprocess.Popen([NODE, CLIENTS / "http_proxy.mjs", WARDER, "mcp", "--socket", path],
                                  stdout=subprocess.PIPE, text=True)
        try:
            url = proxy.stdout.readline().strip()
            output = CLIENTS / f"conformance-{revision}"
            shutil.rmtree(output, ignore_errors=True)
            status = subprocess.run([NODE, suite, "server", "--url", url, "--requirements", revision,
                                     "--expected-failures", baseline, "-o", output]).returncode
        finally:
            proxy.kill()
            proxy.wait()
            fixture.send_signal(signal.SIGTERM)
            ended = fixture.wait(30)

    checks, excuses, needed = results(output), excused(baseline), required(suite, revision)
    problems = {name: what for name in needed if (what := wrong(name, checks.get(name, []), excuses))}
    if ended not in (0, -signal.SIGTERM):
        problems["fixture server"] = [f"ended with {ended}"]
    print(f"{revision}: {len(needed - excuses.keys() - problems.keys())} of {len(needed)} required scenarios pass, "
          f"{len(excuses)} are listed as not there yet")
    for name, what in sorted(problems.items()):
        print(f"  {name}: {', '.join(what)}")
    return 1 if status or problems else 0


if __name__ == "__main__":
    sys.exit(main())
