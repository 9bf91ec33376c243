# Opens descriptors without end, in one process and by sending them to itself unopened.
import socket
held = []
try:
    while len(held) < 100_000:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as e:
    attempt(f"ended with {e!r}", e.errno != errno.EMFILE)
attempt(f"{len(held)} descriptors", len(held) > 5000 or not held)
for fd in held[10:]:
    os.close(fd)
queued = 0
try:
    while queued < 100_000:
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        a.setblocking(False)
        for i in range(10):
            socket.send_fds(a, [b"x"], held[:10])
            queued += 10
        held.append((a, b))
except OSError as e:
    attempt(f"sending ended with {e!r}", e.errno not in (errno.ETOOMANYREFS, errno.EMFILE, errno.EAGAIN, errno.ENOBUFS))
attempt(f"{queued} descriptors on their way", queued >= 100_000)
