"""Stubs of servers' tools that /servers does not have: the supervisor sends each file when it is imported.

The daemon may still write the files of a large catalog while it serves; a jail sees the files that existed when it was
built. Loaded when an import below `servers` finds no file.
"""
import sys
from _frozen_importlib import ModuleSpec

import warder

_FOLDER = "/servers"


class _Loader:
    def __init__(self, path, source):
        self._path = path
        self._source = source

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(self._source, self._path, "exec", dont_inherit=True), module.__dict__)

    def get_source(self, name):
        return self._source


def find_spec(name, path):
    """The spec of `servers`, `servers.SERVER` or `servers.SERVER.TOOL`; None if the catalog does not have it."""
    parts = name.split(".")[1:]
    if len(parts) > 2 or (parts and not _is_ours()):
        return None
    if len(parts) == 2:
        return _asked(name, f"{parts[0]}/{parts[1]}.py", None)
    package = "/".join(parts)
    return _asked(name, f"{package}/__init__.py".lstrip("/"), f"{_FOLDER}/{package}".rstrip("/"))


def _is_ours():
    """False if the code has its own package `servers`."""
    return _FOLDER in getattr(sys.modules.get("servers"), "__path__", ())


def _asked(name, file, folder):
    try:
        source = warder.call("stub_file", path=file)["content"]
    except warder.CallError as e:
        if e.code in ("not_found", "not_available", "gone"):
            return None
        raise
    spec = ModuleSpec(name, _Loader(f"{_FOLDER}/{file}", source), origin=f"{_FOLDER}/{file}", is_package=folder is not None)
    if folder is not None:
        spec.submodule_search_locations = [folder]
    return spec
