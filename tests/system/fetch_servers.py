#!/usr/bin/env python3
"""fetch_servers.py FOLDER: npm packages of MCP servers for the guests, which have no network: FOLDER/NAME.tgz, each as
`warder servers install --from` takes it. The versions are those of tests/clients/package.json.

Nothing is done when the folder already holds these versions. No package's own scripts run. Exit status: 0, also without
a registry: then a line says so, and the guests skip their test, loudly.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

CLIENTS = pathlib.Path(__file__).resolve().parent.parent / "clients"
SCOPE = "@modelcontextprotocol/"
SERVERS = ("server-everything", "server-memory", "server-filesystem")


def main():
    folder = pathlib.Path(sys.argv[1])
    versions = json.loads((CLIENTS / "package.json").read_text())["dependencies"]
    wanted = {name: versions[SCOPE + name] for name in SERVERS}
    done = folder / "versions.json"
    if done.exists() and json.loads(done.read_text()) == wanted:
        return 0
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if not shutil.which("npm"):
        print("*** NOT TESTED in guests: npm is missing here, so no server was fetched ***", file=sys.stderr)
        return 0
    for name, version in wanted.items():
        with tempfile.TemporaryDirectory(prefix="warder-fetch-") as tree:
            npm = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-bin-links",
                                  "--loglevel=error", "--prefix", tree, f"{SCOPE}{name}@{version}"], cwd=tree,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if npm.returncode != 0:
                print(f"{npm.stdout}\n*** NOT TESTED in guests: {name} could not be fetched ***", file=sys.stderr)
                return 0
            subprocess.run(["tar", "czf", folder / f"{name}.tgz", "-C", tree, "."], check=True)
    done.write_text(json.dumps(wanted))
    return 0


if __name__ == "__main__":
    sys.exit(main())
