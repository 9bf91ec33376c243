"""One of the official SDKs, in one era, against a daemon: python3 test_sdk.py KIND. The cases are in cases.mjs."""
import subprocess
import sys

from harness import CLIENTS, NODE, WARDER, Daemon


def main():
    with Daemon() as daemon:
        cases = subprocess.run([NODE, "--no-warnings", "--test-reporter=spec", CLIENTS / "cases.mjs", sys.argv[1]],
                               env={"WARDER": WARDER, "WARDER_SOCKET": str(daemon.socket), "PATH": "/usr/bin:/bin"},
                               timeout=280)
    return cases.returncode


if __name__ == "__main__":
    sys.exit(main())
