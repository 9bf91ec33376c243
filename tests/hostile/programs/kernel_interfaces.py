# Interfaces of the kernel that have been ways into it: performance counters, page faults, splices, handles, watches.
buffer = ctypes.create_string_buffer(128)
here = ctypes.c_void_p(ctypes.addressof(buffer))
CALLS = {"perf_event_open": (298, errno.EPERM), "userfaultfd": (323, errno.ENOSYS), "splice": (275, errno.ENOSYS),
         "tee": (276, errno.ENOSYS), "vmsplice": (278, errno.ENOSYS), "memfd_secret": (447, errno.ENOSYS),
         "open_by_handle_at": (304, errno.EPERM), "name_to_handle_at": (303, errno.EOPNOTSUPP),
         "fanotify_init": (300, errno.EPERM), "fanotify_mark": (301, errno.EPERM), "syslog": (103, errno.EPERM),
         "clock_settime": (227, errno.EPERM), "settimeofday": (164, errno.EPERM), "adjtimex": (159, errno.EPERM),
         "sethostname": (170, errno.EPERM), "acct": (163, errno.EPERM), "quotactl": (179, errno.ENOSYS),
         "seccomp": (317, errno.ENOSYS), "landlock_create_ruleset": (444, errno.ENOSYS), "iopl": (172, errno.EPERM),
         "ioperm": (173, errno.EPERM), "modify_ldt": (154, errno.ENOSYS), "move_pages": (279, errno.ENOSYS),
         "migrate_pages": (256, errno.ENOSYS), "mbind": (237, errno.ENOSYS), "openat2": (437, errno.ENOSYS)}
for what, (number, expected) in CALLS.items():
    refused(what, lambda: syscall(number, here, 0, 0, 0, 0, 0), expected)
refused("prctl PR_SET_SECCOMP", lambda: syscall(157, 22, 2, here, 0, 0), errno.EINVAL)
for number in (500, 1000, 0x1FF):
    refused(f"unknown call {number}", lambda: syscall(number, 0, 0, 0), errno.ENOSYS)
