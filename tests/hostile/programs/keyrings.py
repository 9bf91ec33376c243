# Uses the kernel's keyrings, which belong to a host user and not to a jail.
for what, number in (("add_key", 248), ("request_key", 249), ("keyctl", 250)):
    refused(what, lambda: syscall(number, 0, -3, 1, 0, 0), errno.ENOSYS)
attempt("/proc/keys is shown", os.path.exists("/proc/keys"))
