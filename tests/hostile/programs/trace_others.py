# Seizes init, its parent and a child of its own, each from a process that may die of it.
for what, pid in (("init", 1), ("the parent", os.getppid()), ("itself", os.getpid())):
    killed(f"PTRACE_SEIZE {what}", lambda: syscall(101, 0x4206, pid, 0, 0))
killed("PTRACE_TRACEME", lambda: syscall(101, 0, 0, 0, 0))
