# Types into a terminal of whoever started it or into its own (TIOCSTI, TIOCLINUX), with high bits set too; looks for one.
import pty
text = ctypes.create_string_buffer(b"x")
address = ctypes.c_void_p(ctypes.addressof(text))
leader, own = pty.openpty()
for fd in (0, 1, 2, 3, leader, own):
    for name, request in (("TIOCSTI", 0x5412), ("TIOCLINUX", 0x541C), ("TIOCSTI with a high bit", 0x5412 | 1 << 32)):
        refused(f"{name} on {fd}", lambda: syscall(16, fd, request, address), errno.ENOTTY)
for path in ("/dev/tty", "/dev/tty0", "/dev/console", "/dev/vcs"):
    refused(path, lambda: os.open(path, os.O_RDWR))
attempt("a standard stream is a terminal", any(os.isatty(fd) for fd in range(3)))
attempt(f"other terminals: {os.listdir('/dev/pts')}", sorted(os.listdir("/dev/pts")) != ["0", "ptmx"])
many = []
try:
    for _ in range(200):
        many.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
except OSError as e:
    attempt(f"terminals end with {e!r}", e.errno != errno.ENOSPC)
attempt(f"{len(many)} terminals", len(many) > 64)
