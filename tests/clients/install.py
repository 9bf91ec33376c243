"""Installs the clients that package-lock.json pins into a folder of the build: python3 install.py FOLDER.

Runs as a CTest fixture. Nothing is done when the folder already holds what the lock says. No package's own scripts run.
Exit status 77 (CTest: skipped) only if the registry cannot be reached; everything else that goes wrong is a failure.
"""
import filecmp
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH",
               "ENOTCACHED", "network")
MANIFESTS = ("package.json", "package-lock.json")


def installed(folder):
    """Whether the folder was filled from exactly these manifests; they are copied back last."""
    done = folder / "installed"
    return all((done / name).exists() and filecmp.cmp(HERE / name, done / name, shallow=False) for name in MANIFESTS)


def copy_scripts(folder):
    """Modules are found upwards from a script's real place, so the scripts live beside node_modules."""
    for script in HERE.glob("*.mjs"):
        shutil.copyfile(script, folder / script.name)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    copy_scripts(folder)
    if installed(folder):
        return 0
    shutil.rmtree(folder / "installed", ignore_errors=True)
    for name in MANIFESTS:
        shutil.copyfile(HERE / name, folder / name)
    if not shutil.which("npm"):
        print("npm is missing: apt-get install npm", file=sys.stderr)
        return 1
    npm = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(npm.stdout)
    if npm.returncode == 0:
        (folder / "installed").mkdir()
        for name in MANIFESTS:
            shutil.copyfile(HERE / name, folder / "installed" / name)
        return 0
    if any(sign in npm.stdout for sign in UNREACHABLE) and "EINTEGRITY" not in npm.stdout:
        print("\n*** NOT TESTED: the npm registry cannot be reached, no real MCP client was run ***\n", file=sys.stderr)
        return SKIPPED
    return 1


if __name__ == "__main__":
    sys.exit(main())
