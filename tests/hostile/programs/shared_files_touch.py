# Takes the locks that a first jail holds, and reads what it watches.
import fcntl
for path in ("/usr/bin/python3", "/etc/passwd", "/usr/lib/os-release", "/warder/python/runner.py",
             "/proc/sys/kernel/random/uuid", "/proc/sys/kernel/osrelease",
             "/proc/cpuinfo", "/proc/loadavg", "/proc/meminfo"):
    with open(path, "rb") as file:
        file.read(1)
        for what, lock in (("flock", fcntl.flock), ("lockf", fcntl.lockf)):
            try:
                lock(file, (fcntl.LOCK_EX if what == "flock" else fcntl.LOCK_SH) | fcntl.LOCK_NB)
                attempt(what, False)
            except BlockingIOError:
                attempt(f"{what} of another jail holds {path}", True)
open("/workspace/touched", "w").close()
