# Fills every private directory with bytes, then with files: both must end with ENOSPC long before the host notices.
for place in ("/tmp", "/dev/shm", "/home/agent"):
    written = 0
    try:
        with open(f"{place}/large", "wb", buffering=0) as file:
            while written < 64 << 20:
                written += file.write(b"x" * (1 << 20))
    except OSError as e:
        attempt(f"{place} ended with {e!r}", e.errno not in (errno.ENOSPC, errno.EFBIG))
    attempt(f"{written} bytes fit into {place}", written >= 64 << 20 or written == 0)
    os.unlink(f"{place}/large")
    made = 0
    try:
        while made < 20_000:
            os.close(os.open(f"{place}/f{made}", os.O_CREAT | os.O_WRONLY))
            made += 1
    except OSError as e:
        attempt(f"{place} ended with {e!r}", e.errno != errno.ENOSPC)
    attempt(f"{made} files fit into {place}", made >= 20_000 or made == 0)
    for i in range(made):
        os.unlink(f"{place}/f{i}")
