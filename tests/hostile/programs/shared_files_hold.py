# Locks and watches files that every jail reads; a second jail must not meet the lock, nor be seen reading.
import fcntl, time
FILES = ("/usr/bin/python3", "/etc/passwd", "/usr/lib/os-release", "/warder/python/runner.py",
         "/proc/sys/kernel/random/uuid", "/proc/sys/kernel/osrelease",
         "/proc/cpuinfo", "/proc/loadavg", "/proc/meminfo")
held = [open(path, "rb") for path in FILES]
for file in held:
    fcntl.flock(file, fcntl.LOCK_EX)
    fcntl.lockf(file, fcntl.LOCK_SH)
watch = libc.inotify_init1(0o4000)
for path in FILES:
    attempt(f"{path} cannot be watched", libc.inotify_add_watch(watch, path.encode(), 0x20 | 0x1) < 0)  # IN_OPEN, IN_ACCESS
print("holding", flush=True)
while not os.path.exists("/workspace/touched"):
    time.sleep(0.01)
refused("another jail was seen reading", lambda: os.read(watch, 4096), errno.EAGAIN)
for file in held:
    file.close()
    open(file.name, "rb").close()
attempt("a watch sees nothing at all", not os.read(watch, 4096))  # or the attempt above meant nothing
