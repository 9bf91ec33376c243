# Attaches to init with ptrace, by every request that begins to trace.
for what, request in (("PTRACE_ATTACH", 16), ("PTRACE_SEIZE", 0x4206), ("PTRACE_PEEKDATA", 2), ("PTRACE_INTERRUPT", 0x4207)):
    for pid in (1, os.getppid()):
        refused(f"{what} {pid}", lambda: syscall(101, request, pid, 0, 0), errno.EPERM)
