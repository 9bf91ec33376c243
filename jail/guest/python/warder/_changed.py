"""Modules of the workspace in a session: one whose file has changed is forgotten, so that `import` loads it again."""
import posix
import sys
from _frozen_importlib_external import PathFinder

_FUNCTION = type(lambda: 0)


class Changed:
    """A finder on sys.meta_path that notes which file each module of the workspace is loaded from."""

    def __init__(self, workspace):
        self._folder = workspace.rstrip("/") + "/"
        self._loaded = {}  # by module: the file, and its identity before it was read
        self._old = {}  # by name: modules that this order found changed
        finders = sys.meta_path
        finders.insert(finders.index(PathFinder) if PathFinder in finders else len(finders), self)

    def find_spec(self, name, path=None, target=None):
        """What PathFinder, the next finder, finds."""
        spec = PathFinder.find_spec(name, path, target)
        file = getattr(spec, "origin", None)
        if type(file) is str and file.startswith(self._folder) and file.endswith(".py"):
            self._loaded[name] = (file, _identity(file))
        return spec

    def forget(self):
        """At the begin of an order: removes changed modules, and those that use them, from sys.modules."""
        self._old = {}
        PathFinder.invalidate_caches()
        gone = {name for name, (file, identity) in self._loaded.items() if name in sys.modules and _identity(file) != identity}
        if not gone:
            return
        while True:
            more = {name for name in self._loaded if name not in gone and name in sys.modules and
                    (any(name.startswith(each + ".") for each in gone) or self._uses(sys.modules[name], gone))}
            if not more:
                break
            gone |= more
        for name in gone:
            self._old[name] = sys.modules.pop(name)
            del self._loaded[name]

    @staticmethod
    def _uses(module, gone):
        return any(_module_of(value) in gone for value in list(module.__dict__.values()))

    def tell_old(self, namespace):
        """At the end of an order: tells the agent which names are bound to objects of a module that has changed."""
        if not self._old:
            return
        by_module = {}
        for name, value in list(namespace.items()):
            module = self._old_module(value)
            if module is not None and not name.startswith("__"):
                by_module.setdefault(module, []).append(name)
        self._old = {}
        for module, names in by_module.items():
            some = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            print(f"warder: the file of the module {module}, or of one that it uses, has changed since it was imported: "
                  f"import it again; until then {some} {'is' if len(names) == 1 else 'are'} of the old file", file=sys.stderr)

    def _old_module(self, value):
        """The name of the changed module that `value` is of, or None."""
        name = _module_of(value) or _module_of(type(value))
        old = self._old.get(name)
        if old is None:
            return None
        if isinstance(value, type(sys)):
            return name if value is old else None
        if isinstance(value, _FUNCTION):
            return name if value.__globals__ is old.__dict__ else None
        kind = value if isinstance(value, type) else type(value)
        now = sys.modules.get(name)
        return name if now is None or now.__dict__.get(kind.__name__) is not kind else None


def _module_of(value):
    """The name of the module that is `value`, or that defines the function or class `value`."""
    if isinstance(value, type(sys)):
        return value.__dict__.get("__name__")
    return value.__module__ if isinstance(value, (_FUNCTION, type)) and type(value.__module__) is str else None


def _identity(file):
    try:
        status = posix.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
