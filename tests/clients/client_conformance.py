"""The client scenarios of the official conformance suite, of one revision: python3 client_conformance.py 2026-07-28

In each scenario the suite plays a server, and an authorization server where there are logins, and starts
$CONFORMANCE_CLIENT with the server's URL: Warder's client of upstream servers, and a person who logs in and fills in
forms. Every scenario that the revision requires must pass without a warning, but those listed in
conformance/client-REVISION.yml, each with its reason; one that is listed and passes fails the run. So must the
scenarios of UNSCORED, which the suite does not require.
"""
import os
import pathlib
import shutil
import subprocess
import sys

from conformance_suite import SUITE, excused, required, results, wrong
from harness import CLIENTS, NODE

HERE = pathlib.Path(__file__).resolve().parent
UNSCORED = {"json-schema-2020-12-preservation"}


def run(scenario, revision, output):
    """What is wrong with a scenario. The suite's own runs of a revision start all clients at once: their time limits
    are too short for that."""
    folder = output / scenario.replace("/", "-")
    said = subprocess.run([NODE, SUITE, "client", "--command", os.environ["CONFORMANCE_CLIENT"], "--scenario", scenario,
                           "--spec-version", revision, "-o", folder], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    checks = results(folder).get(scenario, [])
    problems = wrong(scenario, checks, {})
    problems += [f"{check} (a warning)" for check, status in checks if status == "WARNING"]
    if said.returncode != 0 and not problems:
        problems = ["the suite refuses the run: " + said.stderr[-500:]]
    return problems


def main():
    revision = sys.argv[1]
    excuses, needed = excused(HERE / "conformance" / f"client-{revision}.yml"), required(revision, "Client")
    output = CLIENTS / f"client-conformance-{revision}"
    shutil.rmtree(output, ignore_errors=True)
    problems = {name: what for name in sorted(needed | UNSCORED) if (what := run(name, revision, output))}
    print(f"{revision}: {len(needed - problems.keys())} of {len(needed)} required client scenarios pass, "
          f"{len(UNSCORED - problems.keys())} of {len(UNSCORED)} others, {len(excuses)} are excused")
    for name, what in problems.items():
        print(f"  {name}: {', '.join(what)}{' (excused)' if name in excuses else ''}")
    stale = excuses.keys() - problems.keys()
    for name in sorted(stale):
        print(f"  {name}: is excused, and passes or does not exist: take it out of conformance/client-{revision}.yml")
    return 1 if stale or problems.keys() - excuses.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
