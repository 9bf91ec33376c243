# Leaves set-user-id files behind, by every call that takes a mode.
import stat
for place in ("/workspace", "/tmp"):
    path = f"{place}/set-id"
    for mode in (0o4755, 0o2755, 0o6777):
        if os.path.exists(path):
            os.unlink(path)
        refused(f"open {mode:o}", lambda: os.open(path, os.O_CREAT | os.O_WRONLY, mode), errno.EPERM)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o755))
        refused(f"chmod {mode:o}", lambda: os.chmod(path, mode), errno.EPERM)
        refused(f"fchmod {mode:o}", lambda: os.fchmod(os.open(path, os.O_RDONLY), mode), errno.EPERM)
        refused(f"fchmodat {mode:o}", lambda: os.chmod(os.path.basename(path), mode, dir_fd=os.open(place, os.O_RDONLY)),
                errno.EPERM)
        refused(f"fchmodat2 {mode:o}", lambda: syscall(452, -100, ctypes.c_char_p(path.encode()), mode, 0))
        refused(f"mknod {mode:o}", lambda: os.mknod(path + "n", 0o100000 | mode), errno.EPERM)
        refused(f"creat {mode:o}", lambda: syscall(85, ctypes.c_char_p(path.encode()), mode), errno.EPERM)
        attempt(f"{path} is set-id", bool(os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID)))
    os.unlink(path)
    refused("chown to root", lambda: os.chown(place, 0, 0))
