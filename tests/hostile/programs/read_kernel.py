# Reads the kernel's files in /proc and /sys, and writes them: all entries but those of the jail's own processes.
HARMLESS = {"self", "thread-self", "mounts", "net", "uptime", "version"}  # the kernel's: of this jail, a clock's, as uname(2)
OURS = {"loadavg", "filesystems", "vmstat", "sys", "cpuinfo", "stat", "meminfo"}
mounts = {line.split()[4]: line.split()[5].split(",") for line in open("/proc/self/mountinfo")}
listed = {name for name in os.listdir("/proc") if not name.isdigit()}
attempt(f"/proc lists {listed}", listed != {"self", "thread-self"})
attempt("/proc has no processes", not os.path.exists(f"/proc/{os.getpid()}/status"))
# Every entry that the machine has, by each way: a name that is hidden is not there at all, whoever asks how often.
attempt("the test does not know the machine's entries", not {"kallsyms", "interrupts"} <= set(context_vars["kernel_entries"]))
proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
for name in sorted(HARMLESS | OURS | set(context_vars["kernel_entries"])):
    path = f"/proc/{name}"
    if name in OURS:
        attempt(f"{path} is the kernel's own", os.path.lexists(path) and path not in mounts)
        attempt(f"{path} can be written, by its mount", "ro" not in mounts.get(path, []))
    elif name not in HARMLESS:
        for way in (path, f"/proc/self/root{path}", f"/proc/self/cwd/../proc/{name}", f"/proc/thread-self/root/proc/./{name}"):
            refused(f"stat {way}", lambda: os.lstat(way), errno.ENOENT)
            refused(f"open {way}", lambda: os.open(way, os.O_RDONLY), errno.ENOENT)
        refused(f"openat {name}", lambda: os.open(name, os.O_RDONLY, dir_fd=proc), errno.ENOENT)
    if not os.path.isdir(path):
        refused(f"write {path}", lambda: os.open(path, os.O_WRONLY), errno.ENOENT, errno.EROFS, errno.EACCES, errno.EPERM)
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
