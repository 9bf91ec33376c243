"""One of the official SDKs, in one era, against a daemon: python3 test_sdk.py KIND [http]. The cases are in cases.mjs.

With `http`, the SDK speaks Streamable HTTP over TCP, with a token; else `warder mcp` is between.
"""
import contextlib
import subprocess
import sys

from harness import CLIENTS, NODE, WARDER, Daemon, HttpDaemon


def main():
    kind, over_http = sys.argv[1], sys.argv[2:] == ["http"]
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(HttpDaemon() if over_http else Daemon())
        environment = {"WARDER": WARDER, "WARDER_SOCKET": str(daemon.socket), "PATH": "/usr/bin:/bin"}
        if over_http:
            environment |= {"WARDER_URL": daemon.url, "WARDER_TOKEN": daemon.token}
        cases = subprocess.run([NODE, "--no-warnings", "--test-reporter=spec", CLIENTS / "cases.mjs", kind], env=environment,
                               timeout=280)
    return cases.returncode


if __name__ == "__main__":
    sys.exit(main())
