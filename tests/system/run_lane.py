#!/usr/bin/env python3
"""run_lane.py LANE PACKAGE [TEST...]: install Warder's Debian package in a guest of this lane and run the suite there.

TEST narrows it down, as for unittest: suite.limits, suite.limits.Memory. Exit status: the suite's; 77: this machine or
user cannot run the lane, and the test counts as skipped. $WARDER_RIG_OUTPUT: a folder that keeps console and journal.
$WARDER_SERVER_PACKAGES: the folder that fetch_servers.py has filled; default: servers/ beside the package.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
HELPERS = {"__init__", "__main__", "warder"}  # of the suite; every other file of it is tests
LAST = ["first_hour", "package"]  # remove what the others use
FURTHER_PACKAGES = ("warder-agent", "warder-cluster", "warder-egress")
SECONDS = 2400


def with_version(package, suffix, folder):
    """The same package as a later version: what an upgrade installs."""
    tree = folder / "tree"
    subprocess.run(["dpkg-deb", "--raw-extract", str(package), str(tree)], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^(Version: .*)$", rf"\g<1>{suffix}", control.read_text()))
    made = folder / "warder-later.deb"
    subprocess.run(["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", str(tree), str(made)], check=True,
                   stdout=subprocess.DEVNULL)
    return made


def main():
    lane, package, wanted = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    if os.geteuid() != 0:
        print(f"SKIPPED: system tests need root, to boot a guest ({lane}); as root: ctest -R system")
        sys.exit(77)
    modules = sorted({file.stem for file in (HERE / "suite").glob("*.py")} - HELPERS - set(LAST)) + LAST
    tests = wanted or [f"suite.{module}" for module in modules]
    with tempfile.TemporaryDirectory(prefix="warder-packages-") as folder:
        later = with_version(package, "+later", pathlib.Path(folder))
        # policy-rc.d: what made the image has left it, and no package's services would be started.
        script = ("rm -f /usr/sbin/policy-rc.d && dpkg --install /packages/warder.deb && cd /tests/system && "
                  "exec python3 -B -m suite " + " ".join(tests))
        command = [sys.executable, "-B", str(HERE / "rig"), "run", "--lane", lane, "--timeout", str(SECONDS),
                   "--environment", f"RIG_LANE={lane}", "--put", f"{package}:/packages/warder.deb",
                   "--put", f"{later}:/packages/warder-later.deb", "--put", f"{TESTS}:/tests"]
        for name in FURTHER_PACKAGES:  # modules of the suite install them
            further = package.parent / f"{name}.deb"
            if further.exists():
                command += ["--put", f"{further.resolve()}:/packages/{name}.deb"]
        servers = pathlib.Path(os.environ.get("WARDER_SERVER_PACKAGES", package.parent / "servers"))
        if (servers / "versions.json").exists():  # fetch_servers.py has filled it
            command += ["--put", f"{servers}:/packages/servers"]
        if os.environ.get("WARDER_RIG_OUTPUT"):
            command += ["--output", os.environ["WARDER_RIG_OUTPUT"]]
        sys.exit(subprocess.run([*command, "--", "sh", "-ec", script]).returncode)


main()
