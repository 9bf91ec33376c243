# Reads the kernel's files in /proc and /sys, and writes them: all entries but those of the jail's own processes.
import stat
HARMLESS = {"self", "thread-self", "mounts", "net", "sysvipc", "uptime"}  # the kernel's, of this jail or a clock's
OURS = {"loadavg", "filesystems", "swaps", "vmstat", "devices", "cgroups", "partitions", "cmdline", "diskstats", "modules",
        "locks", "mdstat", "version", "sys", "cpuinfo", "stat", "meminfo"}
mounts = {line.split()[4]: line.split()[5].split(",") for line in open("/proc/self/mountinfo")}
for name in os.listdir("/proc"):
    path = f"/proc/{name}"
    if name.isdigit() or name in HARMLESS:
        continue
    if name in OURS:
        attempt(f"{path} is the kernel's own", path not in mounts)
        attempt(f"{path} can be written, by its mount", "ro" not in mounts.get(path, []))
    elif os.path.isdir(path):
        attempt(f"{path} has {os.listdir(path)[:3]}", bool(os.listdir(path)))
    else:
        refused(f"open {path}", lambda: os.open(path, os.O_RDONLY), errno.EACCES, errno.EPERM)
    if not os.path.isdir(path):
        refused(f"write {path}", lambda: os.open(path, os.O_WRONLY), errno.EROFS, errno.EACCES, errno.EPERM)
    refused(f"remove {path}", lambda: os.unlink(path))
    refused(f"chmod {path}", lambda: os.chmod(path, 0o777))
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/sysrq", "/proc/sys/vm/drop_caches",
             "/proc/sys/fs/binfmt_misc", "/proc/sys/net/ipv4/conf", "/proc/sys/kernel/ns_last_pid", "/proc/kallsyms/x"):
    attempt(f"{path} is there", os.path.lexists(path))
for top in ("/proc/sys", "/sys"):
    for folder, _, names in os.walk(top):
        refused(f"a new file in {folder}", lambda: os.open(f"{folder}/new", os.O_WRONLY | os.O_CREAT))
        for name in names:
            refused(f"write {folder}/{name}", lambda: os.open(f"{folder}/{name}", os.O_WRONLY))
attempt(f"/sys has {os.listdir('/sys')}", os.listdir("/sys") != ["devices"])
attempt("/sys tells more than the number of processors",
        sorted(os.listdir("/sys/devices/system/cpu")) != ["kernel_max", "online", "possible", "present"])
uuids = {open("/proc/sys/kernel/random/uuid").read() for _ in range(3)}
attempt("/proc/sys/kernel/random/uuid repeats itself", len(uuids) != 3)
lines = dict(line.split(":", 1) for line in open("/proc/meminfo"))
attempt("/proc/meminfo shows the machine's memory", int(lines["MemTotal"].split()[0]) << 10 != context_vars["memory_bytes"])
# What the covers hide is not reached by another way to the same mount.
for path in ("/proc/self/root/proc/kallsyms", "/proc/self/cwd/../proc/kallsyms", "/proc/thread-self/root/proc/config.gz"):
    if os.path.exists(path):
        refused(f"open {path}", lambda: os.open(path, os.O_RDONLY), errno.EACCES)
for name in ("kallsyms", "config.gz", "interrupts", "zoneinfo"):
    fd = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    refused(f"openat {name}", lambda: os.open(name, os.O_RDONLY, dir_fd=fd), errno.EACCES, errno.ENOENT)
