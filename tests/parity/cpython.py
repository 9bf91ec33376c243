#!/usr/bin/env python3
"""CPython's own regression tests in a jail and beside it, as an ordinary user (Debian's package libpython3.11-testsuite).

    cpython.py                all modules of the package: a quarter of an hour on two processors
    cpython.py test_os ...    these modules

Each module runs on both sides; the outcome of each of its tests is compared. A test that passes beside the jail and not
in it needs a row in cpython_differences.toml. At most 3 % of the modules may differ. The environment names the daemon:
WARDERD. Exit status 77: the package is missing.
"""
import concurrent.futures
import os
import pathlib
import queue
import re
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "supervisor")]
import both_sides  # noqa: E402
from command_list import Command  # noqa: E402
from harness import Daemon, Policies  # noqa: E402

TESTS = pathlib.Path("/usr/lib/python3.11/test")
SKIPPED = 77
LANES = 2
MODULE_S = 280
MOST_DIFFERENT = 0.03
HAS_CGROUPS = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
MAXIMUM = {"wall_ms": 300_000, "memory_bytes": 2 << 30, "tasks": 512}
LIMITS = {"standard": {**MAXIMUM, "tmp_bytes": 512 << 20, "file_bytes": 16 << 30}, "maximum": MAXIMUM}
QUOTA = {"workspace_bytes": 64 << 30}  # a file can be no larger
# These end the whole run, or need a screen, a network or an installed interpreter's headers on both sides.
LEFT_OUT = {"test_idle", "test_tcl", "test_tk", "test_ttk_guionly", "test_ttk_textonly", "test_turtle", "test_embed", "test_gdb",
            "test_tools", "test_peg_generator", "test_cppext", "test_clinic", "test_zipfile64", "test_ossaudiodev", "test_winreg"}
CODE = """cd /tmp && timeout {seconds} /usr/bin/python3 -m test -v --timeout {seconds} {module} >/workspace/said 2>&1
tail -c 300 /workspace/said >&2; exit 0
"""
# "test_it (test.test_module.Class.test_it) ... skipped 'why'", a docstring on the next line, and the headings of failures.
BEGAN = re.compile(r"^\w+ \((?:\w+\.tests?|test)\.\w+\.([\w.]+)\)(?:\n.*?)? \.\.\. ?(skipped)?", re.MULTILINE)
FAILED = re.compile(r"^(?:ERROR|FAIL): (\w+) \((?:\w+\.tests?|test)\.\w+\.([\w.]+)\)", re.MULTILINE)


def modules():
    found = {path.stem for path in TESTS.glob("test_*.py")} | {path.parent.name for path in TESTS.glob("test_*/__init__.py")}
    return sorted(found - LEFT_OUT)


def outcomes(folder):
    """The outcome of each test: "passed", "skipped" or "failed"; "*" is the whole module."""
    said = (folder / "said").read_text(errors="replace") if (folder / "said").exists() else ""
    found = {name: skipped or "passed" for name, skipped in BEGAN.findall(said)}
    for what, name in FAILED.findall(said):
        broken = [test for test in found if test.startswith(name + ".")] if what in ("setUpClass", "tearDownClass") else [name]
        found.update(dict.fromkeys(broken, "failed"))
    return {**found, "*": "passed" if "\nTests result: SUCCESS" in said else "failed"}


def compared(lane, module):
    """The tests of the module that pass beside the jail and not in it."""
    command = Command(family="cpython", name=module, language="shell", code=CODE.format(seconds=MODULE_S, module=module), text="",
                      ignored_contents=["*"], ignored_names=["*"])
    lane.beside(command)
    beside = outcomes(lane.folder)
    lane.jailed(command)
    jailed = outcomes(lane.jailed_folder)
    failing = sorted(name for name, outcome in beside.items() if outcome == "passed" and jailed.get(name) != "passed")
    return failing[1:] if failing[:1] == ["*"] and len(failing) > 1 else failing


def has_reason(rows, name):
    if rows.get("cgroup") and HAS_CGROUPS:
        return False
    return name in rows or name.rpartition(".")[0] + ".*" in rows or "*" in rows


def main():
    if not TESTS.is_dir():
        print("*** NOT RUN: apt-get install libpython3.11-testsuite ***")
        return SKIPPED
    both_sides.TIMEOUT_S = MODULE_S + 15
    known = tomllib.loads((HERE / "cpython_differences.toml").read_text())
    wanted = sys.argv[1:] or modules()
    different, unknown, of_machine = [], [], 0
    with Policies(limits=LIMITS, quota=QUOTA, workspaces=["default", "cpython-*"]) as policies, Daemon(policies=policies) as daemon:
        lanes = queue.Queue()
        for number in range(LANES):
            lanes.put(both_sides.Lane(daemon, f"cpython-{number}"))

        def one(module):
            lane = lanes.get()
            try:
                return module, compared(lane, module)
            finally:
                lanes.put(lane)

        with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
            for module, failing in pool.map(one, wanted):
                rows = known.get(module, {})
                new = [name for name in failing if not has_reason(rows, name)]
                print(f"{module}: {'equal' if not failing else f'{len(failing)} differ, {len(new)} without a reason'}", flush=True)
                for name in new:
                    print(f"    {name}", flush=True)
                of_machine += bool(failing and rows.get("cgroup") and not HAS_CGROUPS)
                different += [module] * bool(failing)
                unknown += [module] * bool(new)
        while not lanes.empty():
            lanes.get().close()
    print(f"{len(wanted)} modules, {len(different)} differ, {of_machine} of them for want of cgroup v2, {len(unknown)} without a reason")
    return 1 if unknown or len(different) - of_machine > MOST_DIFFERENT * len(modules()) else 0


if __name__ == "__main__":
    sys.exit(main())
