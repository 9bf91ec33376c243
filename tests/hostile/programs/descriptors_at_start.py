# Looks for descriptors it was not meant to have.
import stat
KINDS = {0: stat.S_ISCHR, 1: stat.S_ISFIFO, 2: stat.S_ISFIFO, 3: stat.S_ISSOCK}
listing = os.open("/proc/self/fd", os.O_RDONLY)
for fd in sorted(int(name) for name in os.listdir(listing)):
    if fd == listing:
        continue
    try:
        kind = os.fstat(fd).st_mode
    except OSError:
        continue  # of the listing itself
    attempt(f"descriptor {fd} is {os.readlink(f'/proc/self/fd/{fd}')}", fd not in KINDS or not KINDS[fd](kind))
refused("read a directory above stdin", lambda: os.open("..", os.O_RDONLY, dir_fd=0))
