"""The official conformance suite: its scenarios, the results of a run, and the scenarios that are excused."""
import json
import re
import subprocess

from harness import MODULES, NODE

SUITE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"


def required(revision, side):
    """The names of the scenarios that a revision requires of a "Server" or a "Client"."""
    listing = subprocess.run([NODE, SUITE, "list", "--requirements", revision], capture_output=True, text=True,
                             check=True)
    section = listing.stdout.split(f"{side} scenarios", 1)[1].split("\n\n", 1)[0]
    return {line.strip()[2:] for line in section.splitlines() if line.strip().startswith("- ")}


def results(folder, prefix=""):
    """For each scenario that was run, its checks: pairs of id and status."""
    found = {}
    for file in folder.rglob("checks.json"):
        name = re.sub(r"-\d{4}-\d\d-\d\dT[\dZ-]+$", "", str(file.parent.relative_to(folder)).removeprefix(prefix))
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
