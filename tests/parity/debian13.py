#!/usr/bin/env python3
"""debian13.py PACKAGE.deb [WORD...]: the suite in a guest of Debian 13 (../system/rig), with this Debian package of Warder.

The words are those of parity_test.py; the exit status is its own. The first run makes the guest's image: 3 minutes, 2 GB.
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
MEMORY_MIB = 6144
SECONDS = 4 * 3600
# What the commands need: as in .ci/packages, and what another package recommends, which the image leaves out.
PACKAGES = """
  build-essential git jq ripgrep sqlite3 zip unzip cpio esbuild imagemagick gnupg openssh-client curl wget file xxd npm
  node-typescript bc time tzdata python3-pytest python3-venv python3-pip python3-pil python3-numpy python3-scipy
  python3-pandas python3-matplotlib python3-bs4 python3-lxml python3-yaml python3-openpyxl python3-setuptools
  python3-wheel node-acorn
"""
# The daemon has a cgroup of its own, with the controllers that it limits jails with.
SCRIPT = """
rm -f /usr/sbin/policy-rc.d  # the image was made with it; it keeps packages from starting their services
/usr/lib/systemd/systemd-sysctl  # a guest boots without it
dpkg --install /packages/warder.deb >/dev/null
mkdir "$RIG_CGROUP/warderd"
printf '#!/bin/sh\\necho 0 >%s/warderd/cgroup.procs; exec /usr/sbin/warderd "$@"\\n' "$RIG_CGROUP" >/warderd
chmod +x /warderd
WARDERD=/warderd exec python3 -B /tests/parity/parity_test.py --slow "$@"
"""


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    package, words = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    return subprocess.run(
        [sys.executable, "-B", TESTS / "system/rig", "run", "--lane", "debian13", "--packages", PACKAGES, "--memory",
         str(MEMORY_MIB), "--timeout", str(SECONDS), "--put", f"{package}:/packages/warder.deb", "--put", f"{TESTS}:/tests",
         "--put", f"{TESTS.parent / 'policies'}:/policies", "--", "sh", "-ec", SCRIPT, "-", *words]).returncode


if __name__ == "__main__":
    sys.exit(main())
