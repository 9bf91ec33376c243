"""Runs the work of `site` later, because it takes a quarter of a cold start and most code does not need it.

The runner is started with -S. The folders of installed packages are searched when a module is not one of Python's own,
or when the code looks at the search path. The names that `site` adds to builtins are bound at once.
"""
import _imp
import builtins
import sys
from _frozen_importlib_external import PathFinder

import _sitebuiltins

_OWN = tuple(sys.path)  # folders of Python's own modules
_REPLACED = ("distutils",)  # if setuptools is installed, it replaces these modules
_FOREIGN = ("msvcrt", "nt", "_winapi")  # Python's own modules try to import these, to detect the system
_pending = bool(sys.flags.no_site)
_completing = False
_put_off = False


def complete():
    """Does the work of `site`. Entries that the code has added to sys.path stay behind the entries of `site`."""
    global _pending, _completing
    _imp.acquire_lock()  # Python calls finders under this lock: other threads wait until this is complete
    try:
        if not _pending or _completing or _being_imported("site"):
            return
        _completing = True
        path = sys.path
        at = _own_part(path)
        try:
            import site
            sys.path = list(_OWN)
            site.main()
        finally:
            path[at:at] = [entry for entry in sys.path if entry not in _OWN]
            sys.path = path
            _pending = _completing = False
    finally:
        _imp.release_lock()


def put_off():
    """Arranges for complete() at the first need. Until then `sys.path` does not show the entries of `site`."""
    global _put_off
    if not _pending or _put_off:
        return
    _put_off = True
    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")
    builtins.help = _sitebuiltins._Helper()
    for name in ("copyright", "credits", "license"):
        setattr(builtins, name, _Text(name))
    places = sys.meta_path
    places.insert(places.index(PathFinder) if PathFinder in places else len(places), _Finder)


def asked_by(names):
    """True if code with these names uses results of `site`."""
    return "site" in names or ("path" in names and "sys" in names)


def _being_imported(name):
    """True while the module is being imported: the import itself then does the work."""
    module = sys.modules.get(name)
    return module is not None and getattr(module.__spec__, "_initializing", False)


def _own_part(path):
    """The number of entries of `path` that would come before those of `site`, if `site` had run at the start."""
    own = [at for at, entry in enumerate(path) if entry in _OWN]
    return own[-1] + 1 if own else 0


class _Finder:
    """On sys.meta_path before PathFinder; keeps the order in which PathFinder searches."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not _pending or path is not None or name in _FOREIGN:
            return None
        if name not in _REPLACED:
            spec = PathFinder.find_spec(name, sys.path[:_own_part(sys.path)], target)
            if spec is not None:
                return spec
        complete()
        for finder in tuple(sys.meta_path):  # also finders that complete() has added
            spec = None if finder is _Finder else finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    @staticmethod
    def find_distributions(context=None):  # importlib.metadata asks each finder, and this one first
        complete()
        return ()


class _Text:
    """Stands in for a text that `site` adds to builtins, which code hardly ever uses."""

    def __init__(self, name):
        self._name = name

    def _real(self):
        complete()
        return getattr(builtins, self._name)

    def __repr__(self):
        return repr(self._real())

    def __call__(self):
        return self._real()()
