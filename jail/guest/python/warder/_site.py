"""What `site` does when an interpreter starts, put off: a quarter of a cold start, and most code wants none of it.

The runner is started with -S. The folders of installed packages are looked at when a module is not found among Python's
own, or when the code wants to know where modules come from; the names that `site` adds to builtins are there at once.
"""
import _imp
import builtins
import sys
from _frozen_importlib_external import PathFinder

import _sitebuiltins

_OWN = tuple(sys.path)  # where Python's own modules are
_REPLACED = ("distutils",)  # setuptools, where it is installed, puts its own in the place of these
_FOREIGN = ("msvcrt", "nt", "_winapi")  # Python's own modules try these first, to see on which system they are
_pending = bool(sys.flags.no_site)
_completing = False
_put_off = False


def complete():
    """What `site` would have done at the start is done; entries that the code has added to sys.path stay behind it."""
    global _pending, _completing
    _imp.acquire_lock()  # finders are asked under this one: other threads wait until they can find everything
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
    """As complete(), but not before something asks for it. `sys.path` tells nothing of it until then."""
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
    """Whether code with these names in it looks at what put_off() has not done."""
    return "site" in names or ("path" in names and "sys" in names)


def _being_imported(name):
    """The code imports it at this moment, and what it looks for itself comes before what it will do."""
    module = sys.modules.get(name)
    return module is not None and getattr(module.__spec__, "_initializing", False)


def _own_part(path):
    """How many entries of `path` come before those of site, if it had run at the start."""
    own = [at for at, entry in enumerate(path) if entry in _OWN]
    return own[-1] + 1 if own else 0


class _Finder:
    """On sys.meta_path before the finder of sys.path, whose order of places it keeps."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not _pending or path is not None or name in _FOREIGN:
            return None
        if name not in _REPLACED:
            spec = PathFinder.find_spec(name, sys.path[:_own_part(sys.path)], target)
            if spec is not None:
                return spec
        complete()
        for finder in tuple(sys.meta_path):  # also those that complete() has added
            spec = None if finder is _Finder else finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    @staticmethod
    def find_distributions(context=None):  # importlib.metadata asks each finder, and this one first
        complete()
        return ()


class _Text:
    """Stands for a text that `site` makes; an interpreter shows it, code hardly ever."""

    def __init__(self, name):
        self._name = name

    def _real(self):
        complete()
        return getattr(builtins, self._name)

    def __repr__(self):
        return repr(self._real())

    def __call__(self):
        return self._real()()
