"""What an execution finds that no order tells: its module with names bound. Made while nobody waits, used once."""
import builtins
import posix
import sys

from warder import _modules
from warder._helpers import (Files, aggregate_stats, detokenize_pii, filter_by_field, format_output, list_skills,
                             load_skill, save_skill, summarize_list, tokenize_pii)
from warder._reads import Reads

FILE = "<execution>"
WORKSPACE = "/workspace"
Module = type(sys)  # types.ModuleType, without importing types


class Refused(Exception):
    """The order cannot be run as it is; nothing of it ran."""


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
        """Binds what `order` and its `code` (a code object) ask for. Raises Refused, see bind_context()."""
        namespace = self.module.__dict__
        if not self._has_modules:
            _modules.bind(namespace, code)
        _bind_order(namespace, order)


def bind(namespace, order, code):
    """Fills a `namespace` with what code finds bound. Raises Refused for a context variable that would hide any of it."""
    _modules.bind(namespace, code)
    _bind_helpers(namespace, order["workspace"])
    _bind_order(namespace, order)


def _bind_order(namespace, order):
    bind_context(namespace, order, namespace)
    if "traceparent" in order:
        bind_trace(order["traceparent"])


def _bind_helpers(namespace, workspace):
    files = Files(workspace)
    namespace.update(
        workspace=workspace, read_file=files.read_file, write_file=files.write_file, list_files=files.list_files,
        delete_file=files.delete_file, filter_by_field=filter_by_field, summarize_list=summarize_list,
        aggregate_stats=aggregate_stats, format_output=format_output, save_skill=save_skill, load_skill=load_skill,
        list_skills=list_skills, tokenize_pii=tokenize_pii, detokenize_pii=detokenize_pii)


def bind_trace(text):
    """TRACEPARENT of the environment, for programs and libraries that trace. Empty: there is none, or no longer."""
    loaded = sys.modules.get("os")  # which has a copy of its own
    environment = loaded.environ if loaded else posix.environ
    name = "TRACEPARENT" if loaded else b"TRACEPARENT"
    if text:
        environment[name] = text if loaded else text.encode()
        posix.putenv(b"TRACEPARENT", text.encode())
    elif name in environment:
        del environment[name]
        posix.unsetenv(b"TRACEPARENT")


def bind_context(namespace, order, taken):
    """Binds the context variables. Raises Refused for one that would hide a name of `taken`, or Python's own."""
    context = order.get("context_vars") or {}
    if type(context) is not dict:
        raise Refused("context_vars is not an object of names and values")
    for name in context:
        if name in taken or name in ("result", "context_vars") or name.startswith("__") or hasattr(builtins, name):
            raise Refused(f"context_vars: the name '{name}' is taken by Python or by a helper; give it another name")
    namespace["context_vars"] = context
    namespace.update((name, value) for name, value in context.items() if name.isidentifier())
