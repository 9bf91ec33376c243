"""Stage: the module of an execution with its names bound. Made before the order arrives, used once."""
import builtins
import posix
import sys

import warder
from warder import _modules
from warder._helpers import (Files, aggregate_stats, detokenize_pii, display, filter_by_field, format_output,
                             list_skills, load_skill, save_skill, summarize_list, tokenize_pii)
from warder._reads import Reads

FILE = "<execution>"
WORKSPACE = "/workspace"
Module = type(sys)  # types.ModuleType, without importing types
_KEYWORDS = frozenset((  # keyword.kwlist, without importing keyword
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or",
    "pass", "raise", "return", "try", "while", "with", "yield"))


class Refused(Exception):
    """The order cannot be run as it is; no part of it ran."""


class Stage:
    def __init__(self, workspace=WORKSPACE):
        self.workspace = workspace
        self.module = Module("__main__")
        self.reads = Reads()
        namespace = self.module.__dict__
        namespace.update(__file__=FILE, __builtins__=builtins, __package__=None)
        _bind_helpers(namespace, workspace)
        self._has_modules = _modules.are_loaded()
        if self._has_modules:
            _modules.bind(namespace)

    def enter(self, order, code):
        """Binds the names that `order` and its `code` (a code object) need. Raises Refused, see bind_context()."""
        namespace = self.module.__dict__
        if not self._has_modules:
            _modules.bind(namespace, code)
        tell_unreachable(_bind_order(namespace, order))


def bind(namespace, order, code):
    """Binds all names that code finds in a `namespace`. Raises Refused, see bind_context()."""
    _modules.bind(namespace, code)
    _bind_helpers(namespace, order["workspace"])
    _bind_order(namespace, order)


def _bind_order(namespace, order):
    unreachable = bind_context(namespace, order)
    if "traceparent" in order:
        bind_trace(order["traceparent"])
    return unreachable


def _bind_helpers(namespace, workspace):
    files = Files(workspace)
    namespace.update(
        workspace=workspace, read_file=files.read_file, write_file=files.write_file, list_files=files.list_files,
        delete_file=files.delete_file, filter_by_field=filter_by_field, summarize_list=summarize_list,
        aggregate_stats=aggregate_stats, format_output=format_output, save_skill=save_skill, load_skill=load_skill,
        list_skills=list_skills, tokenize_pii=tokenize_pii, detokenize_pii=detokenize_pii,
        display=display, warder=warder)


def bind_trace(text):
    """Sets TRACEPARENT in the environment, for programs and libraries that trace. An empty `text` removes it."""
    loaded = sys.modules.get("os")  # os has its own copy of the environment
    environment = loaded.environ if loaded else posix.environ
    name = "TRACEPARENT" if loaded else b"TRACEPARENT"
    if text:
        environment[name] = text if loaded else text.encode()
        posix.putenv(b"TRACEPARENT", text.encode())
    elif name in environment:
        del environment[name]
        posix.unsetenv(b"TRACEPARENT")


def bind_context(namespace, order):
    """Binds the context variables, also over existing names; `context_vars` holds all of them.

    Returns the names that only `context_vars` reaches. Raises Refused if `context_vars` is not an object.
    """
    context = order.get("context_vars") or {}
    if type(context) is not dict:
        raise Refused("context_vars is not an object of names and values")
    namespace["context_vars"] = context
    if not context:
        return ()
    unreachable = [name for name in context if not _can_be_bound(name)]
    namespace.update((name, value) for name, value in context.items() if name not in unreachable)
    return unreachable


def _can_be_bound(name):
    # Names like __builtins__ belong to the interpreter: a value in their place would break the runner.
    return name.isidentifier() and name not in _KEYWORDS and not (name.startswith("__") and name.endswith("__"))


def tell_unreachable(names):
    for name in names:
        print(f"warder: {name!r} is not a valid name in Python: use context_vars[{name!r}]", file=sys.stderr)
