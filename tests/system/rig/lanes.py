"""The systems that tests can run in."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Lane:
    name: str
    engine: str  # "qemu": Debian's own kernel, restored from a snapshot; "uml": User-mode Linux, booted each time
    suite: str  # Debian release of the userland, and of the kernel under qemu
    about: str


LANES = {
    lane.name: lane
    for lane in (
        Lane("debian12", "qemu", "bookworm", "Debian 12 with its own kernel 6.1: Landlock, PSI, cpuset, real drivers"),
        Lane("debian13", "qemu", "trixie", "Debian 13 with its own kernel 6.12: newer systemd, newer Landlock"),
        Lane("uml", "uml", "bookworm", "Debian 12 under User-mode Linux 6.1: native CPU speed, no Landlock"),
    )
}

# What the daemon, its jails and the tests use inside; the kernel comes from guest/build-image.
PACKAGES = [
    "busybox-static", "dbus", "e2fsprogs", "iproute2", "kmod", "libcap2", "libcap2-bin", "libnl-3-200", "libnl-route-3-200", "libseccomp2", "libsodium23",
    "libsqlite3-0", "libstemmer0d", "libyaml-0-2", "libzstd1", "nats-server", "nodejs", "polkitd", "procps", "python3", "quota", "strace", "systemd", "systemd-sysv", "uidmap", "util-linux-extra", "xz-utils", "zstd",
]
SUITE_PACKAGES = {"bookworm": ["libc-ares2", "libcurl4", "libfmt9", "libnats3.4", "libre2-9", "libuv1"], "trixie": ["libcares2", "libcurl4t64", "libfmt10", "libnats3.10", "libre2-11", "libuv1t64"]}

# Programs the engines need on this machine, and the Debian package of each.
PROGRAMS = {
    "mmdebstrap": "mmdebstrap",
    "mkfs.ext4": "e2fsprogs",
    "unshare": "util-linux",
    "xz": "xz-utils",
}
ENGINE_PROGRAMS = {
    "qemu": {"qemu-system-x86_64": "qemu-system-x86", "zstd": "zstd"},
    "uml": {"linux.uml": "user-mode-linux"},
}
