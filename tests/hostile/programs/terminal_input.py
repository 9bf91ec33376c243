# Types into a terminal of whoever started it (TIOCSTI, TIOCLINUX), with high bits set too; looks for one.
text = ctypes.create_string_buffer(b"x")
address = ctypes.c_void_p(ctypes.addressof(text))
for fd in range(4):
    for name, request in (("TIOCSTI", 0x5412), ("TIOCLINUX", 0x541C), ("TIOCSTI with a high bit", 0x5412 | 1 << 32)):
        refused(f"{name} on {fd}", lambda: syscall(16, fd, request, address), errno.EPERM)
for path in ("/dev/tty", "/dev/ptmx", "/dev/pts/ptmx", "/dev/tty0", "/dev/console", "/dev/vcs"):
    refused(path, lambda: os.open(path, os.O_RDWR))
attempt("a standard stream is a terminal", any(os.isatty(fd) for fd in range(3)))
