# Reads what belongs to the host or to other tenants.
for path in ("/etc/gshadow", "/etc/ssh", "/etc/sudoers", "/etc/machine-id", "/etc/fstab", "/root", "/boot",
             "/sys/kernel", "/sys/class", "/sys/fs", "/var/log", "/var/lib", "/run/systemd", "/run/secrets", "/lost+found", "/proc/1", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/fuse", "/dev/kvm",
             "/dev/net/tun", "/srv", "/opt", "/media", *context_vars.get("host_paths", [])):
    attempt(f"{path} is there", os.path.lexists(path))
refused("read /etc/shadow", lambda: open("/etc/shadow").read())
users = sorted(os.listdir("/home"))
attempt(f"homes of {users}", users != ["agent"])
attempt("/etc names users of the host", open("/etc/passwd").read().count("\n") != 3)
attempt("the host's name", os.uname().nodename != "jail")
