"""A regular expression in the files of a folder."""
import fnmatch
import os
import re

_LONGEST = 300  # characters of a line that are shown


def text_search(pattern, path=".", names="*", context=0, limit=50):
    wanted = re.compile(pattern)
    shown, hits, files = [], 0, 0
    for file in _files(path, names):
        lines = _lines(file)
        found = [at for at, line in enumerate(lines) if wanted.search(line)]
        files += bool(found)
        hits += len(found)
        for at in found[:limit - len(shown)]:
            hit = {"file": os.path.relpath(file, path) if os.path.isdir(path) else file, "line": at + 1,
                   "text": lines[at][:_LONGEST]}
            if context:
                hit["around"] = [line[:_LONGEST] for line in lines[max(0, at - context):at + context + 1]]
            shown.append(hit)
    return {"files": files, "hits": hits, "shown": shown}


def _files(path, names):
    if os.path.isfile(path):
        return [path]
    return sorted(os.path.join(folder, name) for folder, _, found in os.walk(path) for name in found
                  if fnmatch.fnmatch(name, names))


def _lines(file):
    try:
        with open(file, "rb") as opened:
            data = opened.read()
    except OSError:
        return []
    return [] if b"\0" in data[:8192] else data.decode("utf-8", "replace").splitlines()
