#!/usr/bin/env python3
"""The code that runs between clone3 and exec calls nothing but what is safe there: the child may share our memory, and
locks may be held by a thread that does not exist in it.

  child_symbols.py OBJECT...            checks object files
  child_symbols.py --self-test CXX      compiles a bad one and a good one, and expects to tell them apart
"""
import pathlib
import subprocess
import sys
import tempfile

# Each is async-signal-safe (signal-safety(7)) or a plain memory function, and takes no lock in glibc.
SAFE = {
    "__errno_location", "_exit", "chdir", "close", "dup2", "dup3", "execve", "execveat", "fcntl", "fcntl64", "getpid",
    "getppid", "memcpy", "memset", "prctl", "read", "setgroups", "setresgid", "setresuid", "setsid", "sigaction",
    "sigemptyset", "sigfillset", "sigprocmask", "syscall", "write",
}
BEFORE_CLONE = {"_GLOBAL_OFFSET_TABLE_", "clone"}  # made by the linker; called by the parent


def undefined(path):
    names = subprocess.run(["nm", "--undefined-only", "--format=just-symbols", path], check=True, capture_output=True,
                           text=True).stdout.split()
    return sorted({name.split("@")[0] for name in names})


def check(paths):
    return [f"{pathlib.Path(path).name}: calls {name}, which is not on the list in {pathlib.Path(__file__).name}"
            for path in paths for name in undefined(path) if name not in SAFE | BEFORE_CLONE]


def self_test(compiler):
    good = "#include <unistd.h>\nvoid child() { (void)!write(1, \"x\", 1); _exit(127); }\n"
    bad = "#include <cstdio>\n#include <string>\nint* child(char* t, int n) { snprintf(t, 9, \"%d\", n); return new int(n); }\n"
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text, expected in (("good", good, []), ("bad", bad, ["calls _Znwm", "calls snprintf"])):
            source, built = pathlib.Path(folder, f"{name}.cc"), pathlib.Path(folder, f"{name}.o")
            source.write_text(text)
            subprocess.run([compiler, "-std=c++20", "-O1", "-w", "-c", str(source), "-o", str(built)], check=True)
            findings = check([str(built)])
            if len(findings) != len(expected) or any(part not in line for part, line in zip(expected, findings)):
                failures.append(f"{name}: expected {expected}, found {findings}")
    return failures


if __name__ == "__main__":
    if sys.argv[1:2] == ["--self-test"]:
        lines = self_test(sys.argv[2])
    elif len(sys.argv) > 1:
        lines = check(sys.argv[1:])
    else:
        lines = ["no object file given"]
    for line in lines:
        print(line)
    sys.exit(1 if lines else 0)
