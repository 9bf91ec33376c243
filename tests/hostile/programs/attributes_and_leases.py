# Sets extended attributes, leases, directory notices: state that no quota counts or that holds up others.
import fcntl
for place in ("/tmp", "/workspace"):
    path = f"{place}/attributes"
    with open(path, "w") as file:
        refused(f"setxattr in {place}", lambda: os.setxattr(path, "user.x", b"1"), errno.EOPNOTSUPP)
        refused(f"fsetxattr in {place}", lambda: os.setxattr(file.fileno(), "user.x", b"1"), errno.EOPNOTSUPP)
        refused(f"removexattr in {place}", lambda: os.removexattr(path, "user.x"), errno.EOPNOTSUPP)
        refused(f"lease in {place}", lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK), errno.EINVAL)
    refused(f"notices of {place}", lambda: fcntl.fcntl(os.open(place, os.O_RDONLY), fcntl.F_NOTIFY, 1), errno.EINVAL)
    os.unlink(path)
refused("lease on a program", lambda: fcntl.fcntl(os.open("/usr/bin/python3", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK))
