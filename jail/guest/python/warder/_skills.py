"""Skills: `from skills import x`, and the functions that save, load and list them. Loaded on first use.

The supervisor sends a skill's code: it knows the tenant's own skills and the shared ones. Processes that the code has
started cannot ask the supervisor; there, shared skills are read from their folder.
"""
import builtins
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import PathFinder

import warder
from warder._stage import bind

PACKAGE = "skills"
_FOLDER = "/skills"


def save(name, code, description, language):
    try:
        return warder.call("save_skill", name=name, code=code, description=description, language=language)["message"]
    except warder.CallError as e:
        if e.code == "invalid":
            raise ValueError(e.message) from None
        raise


def load(name):
    return _source(name)["code"]


def listed():
    return warder.call("list_skills")["skills"]


def _source(name):
    """The supervisor's answer about the skill: code, name and metadata. Raises FileNotFoundError."""
    try:
        return warder.call("load_skill", name=name)
    except warder.CallError as e:
        if e.code == "not_found":
            raise FileNotFoundError(f"Skill not found: {name}") from None
        if e.code not in ("not_available", "gone"):
            raise
        shared = _shared(name)
        if shared is None:
            raise
        return shared


def _shared(name):
    code = _read(name, f"scripts/{name}.py")
    return None if code is None else {"name": name, "code": code, "metadata": {"language": "python", "shared": True}}


def _read(name, file):
    """A file of a shared skill; None if the file does not exist."""
    slug = "-".join(part for part in str(name).lower().split("_") if part)
    try:
        with open(f"{_FOLDER}/{slug}/{file}", encoding="utf-8") as opened:
            return opened.read()
    except (OSError, ValueError):
        return None


def _manual(name):
    """The text of SKILL.md of a shared skill, without its head."""
    text = _read(name, "SKILL.md")
    if text is None or not text.startswith("---"):
        return text
    return text.partition("\n---\n")[2].strip() or None


class Skill(type(sys)):
    """A skill's module. It can be called if it defines a function of the same name."""

    def __call__(self, *args, **kwargs):
        name = self.__name__.rpartition(".")[2]
        function = self.__dict__.get(name)
        if not callable(function):
            known = [key for key, value in self.__dict__.items() if callable(value) and not key.startswith("_")]
            raise TypeError(f"the skill '{name}' defines no function of this name; "
                            f"it defines {', '.join(known) or 'no functions'}")
        return function(*args, **kwargs)


class _Package(type(sys)):
    def __init__(self, name):
        super().__init__(name)
        self.missing = set()  # names of skills that do not exist, for the advice about the error

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        __import__(f"{PACKAGE}.{name}")
        return self.__dict__[name]

    def __dir__(self):
        return sorted({*self.__dict__, *(skill["name"] for skill in listed())})


class _PackageLoader:
    @staticmethod
    def create_module(spec):
        return _Package(spec.name)

    @staticmethod
    def exec_module(module):
        pass


class _Loader:
    """Runs a skill's code with the names that an execution finds bound; the module holds only the skill's own names."""

    def __init__(self, file, skill, workspace):
        self._file = file
        self._code = skill["code"]
        self._about = skill["metadata"].get("description")
        self._manual = _manual(skill["name"]) if skill["metadata"].get("shared") else None
        self._workspace = workspace

    def create_module(self, spec):
        return Skill(spec.name)

    def exec_module(self, module):
        code = compile(self._code, self._file, "exec", dont_inherit=True)
        names = {}
        bind(names, {"workspace": self._workspace}, code)
        del names["context_vars"]
        module.__dict__["__builtins__"] = {**vars(builtins), **names}
        exec(code, module.__dict__)
        self._document(module)

    def _document(self, module):
        """Sets the text that help() shows: the code's own docstring, the manual, or the description."""
        function = module.__dict__.get(module.__name__.rpartition(".")[2])
        own = module.__doc__ if self._manual is None else None
        module.__doc__ = own or self._manual or self._about
        if isinstance(function, type(find_spec)) and function.__doc__ is None:
            function.__doc__ = self._manual or self._about

    def get_source(self, fullname):  # for tracebacks
        return self._code


def find_spec(fullname, path, workspace, target):
    """The spec of the package or of one skill. Files of the workspace come first, as for any other module."""
    if fullname == PACKAGE:
        own = PathFinder.find_spec(PACKAGE, [workspace], target)
        if own is not None and own.origin is not None:
            return own  # a package in the workspace
        spec = ModuleSpec(PACKAGE, _PackageLoader, is_package=True)
        spec.submodule_search_locations.extend(own.submodule_search_locations if own is not None else ())
        return spec
    if type(sys.modules.get(PACKAGE)) is not _Package or fullname.count(".") > 1:
        return None
    own = PathFinder.find_spec(fullname, path, target) if path else None
    if own is not None:
        return own
    name = fullname.rpartition(".")[2]
    try:
        skill = _source(name)
    except FileNotFoundError:
        sys.modules[PACKAGE].missing.add(name)
        # The error's name is short on purpose: with the full name, `from skills import` would hide this error.
        raise ModuleNotFoundError(f"there is no skill '{name}'; list_skills() lists all skills",
                                  name=name) from None
    language = skill["metadata"].get("language")
    if language != "python":
        raise ImportError(f"the skill '{name}' is {language or 'no code'}, and cannot be imported here", name=fullname)
    file = f"{_FOLDER}/{name}.py"
    spec = ModuleSpec(fullname, _Loader(file, skill, workspace), origin=file)
    spec.has_location = True
    return spec
