# Writes, renames, removes or touches anything outside of the workspace and the private directories.
for place in ("/", "/usr", "/usr/bin", "/usr/lib", "/etc", "/warder", "/warder/python", "/mnt", "/dev", "/home", "/var",
              "/run", "/skills", "/servers", "/proc", "/etc/alternatives"):
    refused(f"a file in {place}", lambda: open(f"{place}/planted", "w"))
    refused(f"a directory in {place}", lambda: os.mkdir(f"{place}/planted"))
    refused(f"a link in {place}", lambda: os.symlink("/tmp", f"{place}/planted"))
    refused(f"mode of {place}", lambda: os.chmod(place, 0o777))
    refused(f"times of {place}", lambda: os.utime(place, (0, 0)))
    refused(f"rename of {place}", lambda: os.rename(place, "/tmp/taken"))
for path in ("/etc/passwd", "/etc/ld.so.cache", "/usr/bin/python3", "/usr/bin/env", "/warder/python/runner.py",
             "/warder/shell/warder-shell-runner", "/bin", "/workspace", "/var/tmp"):
    if os.path.isfile(path):
        refused(f"write {path}", lambda: open(path, "r+b"))
        refused(f"append to {path}", lambda: open(path, "ab"))
        refused(f"truncate {path}", lambda: os.truncate(path, 0))
    refused(f"remove {path}", lambda: os.unlink(path))
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/user/max_user_namespaces", "/proc/sysrq-trigger",
             "/proc/self/uid_map", "/proc/self/gid_map", "/proc/self/setgroups", "/proc/self/attr/current",
             "/sys/fs/cgroup/cgroup.procs", "/sys/kernel/uevent_helper"):
    refused(f"write {path}", lambda: os.write(os.open(path, os.O_WRONLY), b"0 0 1\n"))
