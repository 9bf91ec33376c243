# Takes descriptors out of init and of its own parent with pidfd_getfd.
import socket
for pid in (1, os.getppid(), os.getpid()):
    try:
        pidfd = syscall(434, pid, 0)
    except OSError:
        attempt("pidfd_open", False)
        continue
    for fd in range(8):
        refused(f"pidfd_getfd {fd} of {pid}", lambda: syscall(438, pidfd, fd, 0), errno.EPERM)
