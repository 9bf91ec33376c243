#!/usr/bin/env python3
"""run_lane.py LANE BUILD [TEST...]: install what BUILD made into a guest of this lane and run the suite there as root.

TEST narrows it down, as for unittest: suite.limits, suite.limits.Memory. Exit status: the suite's; 77: this machine or
user cannot run the lane, and the test counts as skipped. $WARDER_RIG_OUTPUT: a folder that keeps console and journal.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
HELPERS = {"__init__", "warder"}  # of the suite; every other file of it is tests
# A lane whose Debian is not the one that the programs were built on brings their libraries along.
FOREIGN_LANES = {"debian13"}
SECONDS = 900


def install(build, stage):
    """What a user would install, at /usr below the stage."""
    subprocess.run(["cmake", "--install", str(build), "--prefix", "/usr", "--strip"], check=True,
                   env={**os.environ, "DESTDIR": str(stage)}, stdout=subprocess.DEVNULL)


def bring_libraries(stage):
    folder = stage / "usr/local/lib"
    folder.mkdir(parents=True)
    listed = subprocess.run(["ldd", str(stage / "usr/bin/warderd")], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        words = line.split()
        if len(words) > 2 and words[0].startswith(("libfmt", "libnl", "libre2", "libuv")):
            (folder / words[0]).write_bytes(pathlib.Path(words[2]).read_bytes())


def main():
    lane, build, wanted = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    if os.geteuid() != 0:
        print(f"SKIPPED: system tests need root, to boot a guest ({lane}); as root: ctest -R system")
        sys.exit(77)
    tests = wanted or sorted(f"suite.{file.stem}" for file in (HERE / "suite").glob("*.py") if file.stem not in HELPERS)
    with tempfile.TemporaryDirectory(prefix="warder-stage-") as folder:
        stage = pathlib.Path(folder)
        stage.chmod(0o755)
        install(build, stage)
        if lane in FOREIGN_LANES:
            bring_libraries(stage)
        script = ("ldconfig && systemd-sysusers && systemd-tmpfiles --create && systemctl daemon-reload && "
                  "cd /tests/system && exec python3 -B -m unittest -v " + " ".join(tests))
        command = [sys.executable, "-B", str(HERE / "rig"), "run", "--lane", lane, "--timeout", str(SECONDS),
                   "--environment", f"RIG_LANE={lane}", "--put", f"{stage}:/", "--put", f"{TESTS}:/tests"]
        if os.environ.get("WARDER_RIG_OUTPUT"):
            command += ["--output", os.environ["WARDER_RIG_OUTPUT"]]
        sys.exit(subprocess.run([*command, "--", "sh", "-ec", script]).returncode)


main()
