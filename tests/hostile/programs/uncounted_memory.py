# Takes memory that belongs to no process, so that only a cgroup would count it.
import mmap
if counted:
    attempt("where a cgroup counts, nothing of this is refused", os.close(os.memfd_create("x")) is not None)
else:
    refused("memfd_create", lambda: os.memfd_create("x"), errno.ENOSYS)
    refused("shmget", lambda: syscall(29, 0, 1 << 20, 0o1600), errno.ENOSYS)
    refused("semget", lambda: syscall(64, 0, 32000, 0o1600), errno.ENOSYS)
    import socket
    pair = socket.socketpair()
    before = pair[0].getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
    attempt("the buffer of a socket grew", pair[0].getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) > before)
    refused("shared memory without a file", lambda: mmap.mmap(-1, 1 << 20), errno.EPERM)
    for flags in (0x21, 0x23, 0x8021, 0x40021):  # also MAP_SHARED_VALIDATE, MAP_POPULATE, MAP_HUGETLB
        refused(f"mmap with flags {flags:#x}", lambda: syscall(9, 0, 1 << 21, 3, flags, -1, 0), errno.EPERM)
    for device in ("/dev/zero", "/dev/full", "/dev/null"):
        for access in (os.O_RDWR, os.O_RDONLY):
            fd = os.open(device, access)
            refused(f"mapping {device}", lambda: mmap.mmap(fd, 1 << 20, prot=mmap.PROT_READ), errno.ENODEV)
            os.close(fd)
    attempt("/dev/zero does not read as zeros", open("/dev/zero", "rb").read(100) != bytes(100))
