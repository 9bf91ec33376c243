# Makes device nodes, wherever something can be made.
for place in ("/tmp", "/dev/shm", "/home/agent", "/workspace", "/dev"):
    for kind, name in ((0o020000, "char"), (0o060000, "block")):
        refused(f"{name} device in {place}", lambda: os.mknod(f"{place}/d{name}", kind | 0o666, os.makedev(1, 1)))
        refused(f"{name} by directory in {place}",
                lambda: os.mknod(f"e{name}", kind | 0o666, os.makedev(1, 1), dir_fd=os.open(place, os.O_RDONLY)))
devices = sorted(n for n in os.listdir("/dev") if n not in ("shm", "pts", "ptmx", "fd", "stdin", "stdout", "stderr"))
attempt(f"/dev shows {devices}", devices != ["full", "null", "random", "tty", "urandom", "zero"])
