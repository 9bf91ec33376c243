# Seizes a child of its own, itself and its process group, and lets itself be traced.
child = os.fork()
if child == 0:
    signal.pause()
    os._exit(0)
for what, pid in (("a child", child), ("itself", os.getpid()), ("the group", -os.getpgrp())):
    refused(f"PTRACE_SEIZE {what}", lambda: syscall(101, 0x4206, pid, 0, 0), errno.EPERM)
    refused(f"PTRACE_ATTACH {what}", lambda: syscall(101, 16, pid, 0, 0), errno.EPERM)
refused("PTRACE_TRACEME", lambda: syscall(101, 0, 0, 0, 0), errno.EPERM)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
