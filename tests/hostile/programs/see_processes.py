# Looks for processes that are not its own children: in /proc and by signalling every number.
mine = {os.getpid()}
seen = {int(name) for name in os.listdir("/proc") if name.isdigit()} - mine
attempt(f"processes {sorted(seen)} are shown in /proc", bool(seen))
found = []
for pid in range(2, 5000):
    if pid in mine:
        continue
    try:
        os.kill(pid, 0)
        found.append(pid)
    except PermissionError:
        found.append(pid)
    except ProcessLookupError:
        pass
attempt(f"processes {found[:5]} can be named", bool(found))
