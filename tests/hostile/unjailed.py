#!/usr/bin/python3
"""Runs one hostile program without a jail, to see that it would notice: unjailed.py programs/NAME.py

Only for programs that just look: those that write, rename, signal or fill would do so to this machine. As root it
becomes nobody first, so that a program on this list by mistake finds nothing that it may change."""
import ctypes
import os
import pathlib
import sys

ONLY_LOOK = {"descriptors_at_start", "environment", "network_out", "personality", "read_host", "see_processes",
             "socket_families"}
NOBODY = 65534


def main():
    path = pathlib.Path(sys.argv[1])
    if path.stem not in ONLY_LOOK:
        sys.exit(f"{path.stem} does more than look: it runs in jails only")
    texts = [(name, name.read_text()) for name in (pathlib.Path(__file__).with_name("attack.py"), path)]
    os.chdir("/")
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE, so that /proc/self is its own again
    names = {"context_vars": {}}
    for name, text in texts:
        exec(compile(text, str(name), "exec"), names)
    print(names["verdict"]())


main()
