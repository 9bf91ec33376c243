# Uses the kernel's keyrings, which belong to a host user and not to a jail.
for what, number in (("add_key", 248), ("request_key", 249), ("keyctl", 250)):
    refused(what, lambda: syscall(number, 0, -3, 1, 0, 0), errno.ENOSYS)
for path in ("/proc/keys", "/proc/key-users"):
    refused(f"open {path}", lambda: os.open(path, os.O_RDONLY), errno.EACCES, errno.ENOENT)
