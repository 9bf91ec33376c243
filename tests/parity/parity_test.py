#!/usr/bin/env python3
"""Runs the commands of commands/*.toml in a jail and beside it, and compares.

    parity_test.py [WORD...]     all commands, or those whose family/name contains one of the words
    parity_test.py --verbose     names each command when it has been compared, and the parts that differ
    parity_test.py --slow        for a machine that is emulated: more time for each command, fewer at one time

The environment names the daemon: WARDERD. Exit status 77: this machine cannot make the namespaces beside the jail.
"""
import argparse
import concurrent.futures
import os
import pathlib
import queue
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "supervisor")]
import both_sides  # noqa: E402
from both_sides import NAMESPACES, PARTS, Lane, differing_parts, shown_difference  # noqa: E402
from command_list import read_commands, read_toml  # noqa: E402
from harness import Daemon, Policies  # noqa: E402

SKIPPED = 77
LANES, SLOW_LANES = 4, 2  # commands at one time; most wait for processes to start
SLOW_TIMEOUT_S = 1200
LEAST_EQUAL = 0.98  # of all commands that were run


def missing_programs(command, beside):
    """The program or the module of Python that this machine lacks, if the command says so beside the jail, where it is not
    meant to. Programs in /usr/sbin are not on an ordinary user's path."""
    lines = [line for line in beside["errors"] if line.endswith("command not found") and "nothing-like-this" not in line]
    modules = [line for line in beside["errors"] if "No module named" in line]
    return modules + [line for line in lines if not pathlib.Path("/usr/sbin", line.split(": ")[-2]).exists()]


def compare_all(daemon, commands, lane_count):
    """(command, jailed, beside) of each command, in the order of the list."""
    lanes = queue.Queue()
    for number in range(lane_count):
        lanes.put(Lane(daemon, f"lane-{number}"))

    def compare(command):
        lane = lanes.get()
        try:
            return command, lane.jailed(command), lane.beside(command)
        finally:
            lanes.put(lane)

    try:
        with concurrent.futures.ThreadPoolExecutor(lane_count) as pool:
            yield from pool.map(compare, commands)
    finally:
        while not lanes.empty():
            lanes.get().close()


def judge(command, jailed, beside, row):
    """What is wrong with the command or with its row, as text; None if nothing is."""
    differing = differing_parts(jailed, beside)
    if row is None:
        unexplained = differing
    else:
        gone = [part for part in row["parts"] if part not in differing and not (row.get("sometimes") or row.get("slow"))]
        if gone:
            return f"{command}: {', '.join(gone)}: equal now; correct its row in differences.toml"
        unexplained = [part for part in differing if part not in row["parts"]]
    if not unexplained:
        return None
    return f"{command}: differs in a jail:\n" + "\n".join(shown_difference(part, jailed, beside) for part in unexplained)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--slow", action="store_true")
    options = parser.parse_args()
    if options.slow:
        both_sides.TIMEOUT_S = SLOW_TIMEOUT_S
    if subprocess.run(["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), *NAMESPACES, "true"]).returncode:
        print("*** NOT TESTED: this machine does not let its user make namespaces ***", file=sys.stderr)
        return SKIPPED
    every = read_commands()
    rows = read_toml(HERE / "differences.toml")
    wrong = [f"differences.toml: {family}/{name}: no such command" for family, names in rows.items() for name in names
             if f"{family}/{name}" not in {str(command) for command in every}]
    wrong += [f"differences.toml: {family}/{name}: parts must be of {PARTS}" for family, names in rows.items()
              for name, row in names.items() if not row["parts"] or set(row["parts"]) - set(PARTS) or not row["why"]]
    commands = [command for command in every if not options.words or any(word in str(command) for word in options.words)]
    equal, explained, of_machine, began = 0, 0, 0, time.monotonic()
    limits = {"maximum": {"wall_ms": 1000 * both_sides.TIMEOUT_S}} if options.slow else {}
    with Policies(limits=limits, workspaces=["default", "lane-*"]) as policies, Daemon(policies=policies) as daemon:
        for command, jailed, beside in compare_all(daemon, commands, SLOW_LANES if options.slow else LANES):
            row = rows.get(command.family, {}).get(command.name)
            row = None if row and row.get("slow") and not options.slow else row
            problems = [f"{command}: this machine lacks a program: {line}" for line in missing_programs(command, beside)]
            problems += [problem for problem in [judge(command, jailed, beside, row)] if problem]
            if options.verbose:
                print(f"{time.monotonic() - began:.0f} s: {command}: {', '.join(differing_parts(jailed, beside)) or 'equal'}", flush=True)
            differs = bool(differing_parts(jailed, beside))
            equal += not differs
            explained += bool(row and differs)
            of_machine += bool(row and differs and (row.get("cgroup") or row.get("slow")))
            for problem in problems:
                print(problem, flush=True)
            wrong += problems
    compared = len(commands) - of_machine
    print(f"{len(commands)} commands of {len({command.family for command in commands})} families: {equal} equal "
          f"({100 * equal / max(1, compared):.1f} % without {of_machine} that differ because of the machine), "
          f"{explained} different with a reason, {len(wrong)} faults; {time.monotonic() - began:.0f} s")
    if equal < LEAST_EQUAL * compared and not options.words:
        wrong.append(f"fewer than {100 * LEAST_EQUAL:.0f} % of the commands are equal")
        print(wrong[-1])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
