"""The modules that jailed code finds bound: loaded ahead of time or, if there was no time, on first use."""
import sys

import _datetime

from warder import _site

BOUND = ("math", "collections", "re", "json", "statistics")
_AHEAD = (*BOUND, "datetime", "linecache", "traceback", "warder._numbers")


def warm(asked):
    """Loads modules of most code, until `asked()` is true: a waiting execution loads only what its code names."""
    if asked():
        return
    _site.complete()
    for name in _AHEAD:
        if asked():
            return
        __import__(name)


def preload(lists):
    """Loads the installed modules that the policy lists ("numpy,pandas"), so that executions need not wait for them."""
    for name in ",".join(lists).split(","):
        try:
            if name:
                __import__(name)
        except Exception as e:  # a missing or broken package fails later, in the code that imports it
            print(f"warder: cannot load {name} in advance: {e}", file=sys.stderr)


class _Later(type(sys)):
    """Stands in for a module until the code uses an attribute of the module."""

    def __init__(self, name, namespace):
        super().__init__(name)
        self.__dict__["_namespace"] = namespace

    def __getattr__(self, attribute):
        module = __import__(self.__name__)
        namespace = self.__dict__["_namespace"]
        if namespace.get(self.__name__) is self:
            namespace[self.__name__] = module
        return getattr(module, attribute)

    def __dir__(self):
        return dir(__import__(self.__name__))


def are_loaded():
    """True if bind() can work without the code."""
    return all(name in sys.modules for name in BOUND)


def bind(namespace, code=None):
    """Binds the preset modules and classes in `namespace`, for `code` (a code object) to find."""
    missing = [name for name in BOUND if name not in sys.modules]
    mentioned = names_of(code) if missing else ()
    for name in BOUND:
        if name in missing and name not in mentioned:
            namespace[name] = _Later(name, namespace)
        else:
            namespace[name] = __import__(name)
    if _site.asked_by(mentioned):
        _site.complete()
    _site.put_off()
    namespace["datetime"] = _datetime.datetime  # the class, not the module
    namespace["date"] = _datetime.date
    namespace["timedelta"] = _datetime.timedelta


def names_of(code):
    """The names that a code object and the code objects within it use: globals, attributes, modules."""
    names = set()
    todo = [code]
    while todo:
        part = todo.pop()
        names.update(part.co_names)
        todo.extend(constant for constant in part.co_consts if type(constant) is type(code))
    return names


def _path_finder():
    from _frozen_importlib_external import PathFinder
    return PathFinder


def _find_servers(target):
    """Finds `servers`: the stubs in /servers, unless the code has a package of that name."""
    own = _path_finder().find_spec("servers", None, target)
    if own is not None and own.origin is not None:
        return own
    found = _path_finder().find_spec("servers", ["/"], target)
    return found if found is not None and found.origin is not None else _ask_for_stub("servers", None) or own


def _ask_for_stub(name, path):
    from warder import _stubs
    return _stubs.find_spec(name, path)


class Watch:
    """A finder on sys.meta_path that runs an action when the jailed code has first loaded a module.

    It also finds skills and the stubs of servers.
    """

    def __init__(self, actions, workspace):
        self._actions = {}
        self._workspace = workspace
        for name, action in actions.items():
            module = sys.modules.get(name)
            if module is not None:
                action(module)
            else:
                self._actions[name] = action
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        action = self._actions.pop(name, None)
        if action is None:
            if name == "skills" or name.startswith("skills."):
                from warder import _skills
                return _skills.find_spec(name, path, self._workspace, target)
            if name == "servers":
                return _find_servers(target)
            if name.startswith("servers."):
                return _path_finder().find_spec(name, path, target) or _ask_for_stub(name, path)
            if name == "IPython" or name == "IPython.display":
                from warder import _notebook
                return _path_finder().find_spec(name, path, target) or _notebook.find_spec(name)
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                break
        else:
            return None
        try:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                action(module)

            spec.loader.exec_module = exec_module
        except AttributeError:
            pass  # another kind of loader: the module works, but the action does not run
        return spec
