"""A small real Linux (own kernel, systemd, D-Bus, cgroup v2) to run tests in, on a machine that has none of these.

  tests/system/rig run --lane LANE [options] -- COMMAND [ARGUMENT...]   boot, run, power off; COMMAND's exit status
  tests/system/rig shell --lane LANE [options]                         the same with a shell on this terminal
  tests/system/rig prepare --lane LANE                                 only make what later runs need

Exit status: the command's own; 124 when it took too long; 125 when the rig or the guest's kernel failed; 77 when this
machine or this user cannot run the lane at all.
"""
import argparse
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile

import cache
import engines
import image
from lanes import ENGINE_PROGRAMS, LANES, PROGRAMS

FAILED, CANNOT_RUN = 125, 77


def arguments():
    parser = argparse.ArgumentParser(prog="rig", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["run", "shell", "prepare"])
    parser.add_argument("--lane", choices=LANES, default="debian12",
                        help="; ".join(f"{lane.name}: {lane.about}" for lane in LANES.values()))
    parser.add_argument("--put", action="append", default=[], metavar="PATH[:PLACE]",
                        help="copy a file or folder of this machine into the guest, to the same or another place; "
                             "a folder put at / is laid over the root (repeatable)")
    parser.add_argument("--packages", type=str.split, default=[], metavar='"PACKAGE ..."',
                        help="Debian packages in an image of its own, beside those that every guest has")
    parser.add_argument("--environment", action="append", default=[], metavar="NAME=VALUE", help="repeatable")
    parser.add_argument("--output", metavar="FOLDER",
                        help="keep the console, the journal and what the command left in $RIG_OUTPUT here")
    parser.add_argument("--memory", type=int, default=1024, help="MiB (default 1024)")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="default 600")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:end])
    options.command = sys.argv[end + 1:]
    if options.action == "run" and not options.command:
        parser.error("run needs a command after --")
    return options


def cannot_run(lane):
    """Why this machine or user cannot run a lane, with the remedy; None if it can."""
    if os.geteuid() != 0:
        return "needs root, to build a Debian tree and to keep the guest in namespaces of its own; run it with sudo"
    programs = {**PROGRAMS, **ENGINE_PROGRAMS[lane.engine]}
    missing = sorted({package for program, package in programs.items() if not shutil.which(program)})
    if missing:
        return f"needs {', '.join(missing)}; run .ci/install-packages test"
    if lane.engine == "uml" and "amx_tile" in pathlib.Path("/proc/cpuinfo").read_text():
        return ("cannot boot on this processor: its registers (AMX) are larger than user-mode Linux 6.1 has room for, and "
                "its first program ends in put_fp_registers; the other lanes run the same suite, more slowly")
    return None


def write_input(work, options):
    """The disk that carries the command and the folders to put; unpacked at the guest's /."""
    lines = [f"export {shlex.quote(pair)}" for pair in options.environment]
    lines.append("cd /")
    lines.append(f"exec {shlex.join(options.command) if options.command else 'bash -i'}")
    (work / "command").write_text("\n".join(lines) + "\n")

    def no_caches(member):
        return None if pathlib.PurePath(member.name).name in ("__pycache__", "node_modules", ".git") else member

    with tarfile.open(work / "input", "w") as archive:
        archive.add(work / "command", "rig/command")
        for put in options.put:
            source, _, place = put.partition(":")
            source = pathlib.Path(source).resolve()
            archive.add(source, (place or str(source)).strip("/") or ".", filter=no_caches)
    if (work / "input").stat().st_size > engines.DISK_BYTES:
        raise engines.EngineError(f"what is put into the guest exceeds {engines.DISK_BYTES >> 20} MiB")
    (work / "output").touch()
    for name in ("input", "output"):
        os.truncate(work / name, engines.DISK_BYTES)


def read_output(work):
    """The folder with what the guest left, or None if it left nothing."""
    with open(work / "output", "rb") as disk:
        if disk.read(1) in (b"\0", b""):
            return None
    left = work / "left"
    with tarfile.open(work / "output", "r:") as archive:
        for member in archive:
            place = pathlib.PurePosixPath(member.name)
            if member.isfile() and ".." not in place.parts:
                (left / place).parent.mkdir(parents=True, exist_ok=True)
                (left / place).write_bytes(archive.extractfile(member).read())
    return left / "rig/output"


def run(options):
    lane = LANES[options.lane]
    reason = cannot_run(lane)
    if reason:
        print(f"rig: SKIPPED, {options.action} in {lane.name} {reason}", file=sys.stderr)
        return CANNOT_RUN
    with cache.work_folder() as work:
        write_input(work, options)
        engine = engines.prepare(lane, options.memory, options.packages)
        if options.action == "prepare":
            return 0
        status = engines.run_isolated(engine, work, interactive=options.action == "shell", timeout=options.timeout)
        left = read_output(work)
        if options.output:
            kept = pathlib.Path(options.output)
            kept.mkdir(parents=True, exist_ok=True)
            shutil.copy(work / "console", kept)
            if left:
                shutil.copytree(left, kept, dirs_exist_ok=True)
        if left:
            return int((left / "status").read_text())
        if status == engines.TIMED_OUT:
            print(f"rig: no end after {options.timeout:g} s", file=sys.stderr)
            return engines.TIMED_OUT
        print(f"rig: the guest left no exit status (engine: {status}); its console ends with:", file=sys.stderr)
        console = work / "console"
        print("\n".join(console.read_text(errors="replace").splitlines()[-30:] if console.exists() else []),
              file=sys.stderr)
        return FAILED


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the work folder is removed
    try:
        return run(options)
    except (subprocess.CalledProcessError, OSError, engines.EngineError) as error:
        print(f"rig: {error}", file=sys.stderr)
        return FAILED


sys.exit(main())
