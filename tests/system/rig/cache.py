"""What is built once and kept. Removing the folder is always safe: everything in it is made again on demand."""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import tempfile


def folder():
    """$WARDER_RIG_CACHE, else /var/cache/warder-rig for root, else ~/.cache/warder-rig."""
    chosen = os.environ.get("WARDER_RIG_CACHE")
    if not chosen and os.geteuid() == 0:
        chosen = "/var/cache/warder-rig"
    if not chosen:
        chosen = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "warder-rig")
    path = pathlib.Path(chosen).absolute()
    path.mkdir(parents=True, exist_ok=True)
    return path


def key(*parts):
    """A short name for a set of inputs: text, or files and folders by their contents, names and modes."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, pathlib.Path):
            for file in sorted(part.rglob("*")) if part.is_dir() else [part]:
                if file.is_file():
                    digest.update(f"{file.relative_to(part.parent)} {file.stat().st_mode:o}\n".encode())
                    digest.update(file.read_bytes())
        else:
            digest.update(f"{part}\n".encode())
    return digest.hexdigest()[:12]


def made(name, make):
    """The folder `name` in the cache. If missing, make(path) fills it: once, whoever else asks for it waits."""
    path = folder() / name
    if path.is_dir():
        return path
    with open(folder() / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.is_dir():
            return path
        unfinished = folder() / f"{name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        try:
            make(unfinished)
            unfinished.rename(path)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    forget_older(name)
    return path


def forget_older(name):
    """Keep the two newest folders of a kind ("image-bookworm-<key>"): another checkout may use the other one."""
    kind = name.rsplit("-", 1)[0]
    versions = [path for path in folder().glob(f"{kind}-*") if path.is_dir() and not path.suffix]
    for old in sorted(versions, key=lambda path: path.stat().st_mtime)[:-2]:
        shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def work_folder():
    """A folder of one run, removed at its end. What a killed run left is removed by the next one."""
    runs = folder() / "runs"
    runs.mkdir(exist_ok=True)
    for old in runs.iterdir():
        with contextlib.suppress(OSError), open(old / "lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its run lives
            shutil.rmtree(old, ignore_errors=True)
    path = pathlib.Path(tempfile.mkdtemp(dir=runs))
    try:
        with open(path / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
