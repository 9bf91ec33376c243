"""Values of a session for the branches of a fan-out, in a memory file of the supervisor.

The session writes what the code names (`answer`), in its own jail. Each branch reads it in its own jail (`load`): what
a pickle does when it is read happens only there. Large buffers (numpy's arrays, memoryviews) are not copied: a branch
maps them privately, so what it changes is its own copy. The supervisor never reads the file.

The file: a page with the header, the pickles of (name, value) one after the other, the buffers, and the table of where
they are.
"""
import marshal
import mmap
import posix
import sys
from _pickle import Pickler, PickleBuffer, Unpickler

from warder._stage import Refused, bind_context
from warder._values import encode

_MAGIC = b"warder 1"
_PAGE = mmap.PAGESIZE
_WINDOW = 16 << 20  # mapped at a time: a session may have no room for more
_MAIN = "__main__"
_OPTIMIZED = 0x1  # inspect.CO_OPTIMIZED: code of a function, not of a module or class
_Module = type(sys)
_Function = type(lambda: None)
_Code = type((lambda: None).__code__)
_Cell = type((lambda x: lambda: x)(0).__closure__[0])
_CLASS_FILE = "<class of the session>"


class Unshared(Exception):
    """A value cannot be shared; nothing else of the session has changed."""


# In the session


def answer(order, channel, module, sources):
    """Writes the values and answers the order. `sources`: the codes of the session that may define classes."""
    message = {"type": "result", "status": 0}
    try:
        message["value"] = _write(order, module.__dict__, sources)
    except Unshared as error:
        message.update(status=1, error=str(error))
    except BaseException as error:  # also raised by the values' own code
        message.update(status=1, error=f"the values cannot be shared: {type(error).__name__}: {error}"[:2000])
    posix.close(order["descriptor"])
    channel.abandon_calls()
    channel.send(encode(message))
    channel.abandon_calls()


def _write(order, namespace, sources):
    apart = order.get("context_vars") or {}
    writer = _Writer(order["descriptor"], order["most"])
    try:
        return _write_all(order, namespace, sources, apart, writer)
    finally:
        writer._close()  # before the answer: the supervisor looks whether the file is still in use


def _write_all(order, namespace, sources, apart, writer):
    buffers, shared, count = [], [], 0
    pickler = _Values(writer, 5, buffer_callback=buffers.append)
    pickler.begin(namespace, sources, apart)
    for name in needed(order["code"]):
        if not pickler.takes(name):
            continue
        try:
            pickler.dump((name, namespace[name]))
        except Exception as error:
            name, why = _culprit(pickler.mentioned, namespace, sources, apart) or (name, _told(error))
            raise Unshared(f"{name!r} of the session cannot be shared: {why}") from None
        shared.append(name)
        count += 1
    shared += sorted(set(pickler.mentioned).difference(shared))
    _write_end(writer, buffers, count)
    if writer.at > writer.most:
        raise Unshared(f"the values take {writer.at} bytes, and the session has room for {writer.most} more: "
                       "begin the session with more memory_mb, or delete values that are not needed")
    return {"names": shared, "bytes": writer.at}


def _told(error):
    return str(error) if isinstance(error, Unshared) else f"{type(error).__name__}: {error}"[:2000]


def _culprit(mentioned, namespace, sources, apart):
    """The name, of those that functions and classes mention, whose own value cannot be pickled, and why."""
    for name in sorted(mentioned):
        if isinstance(namespace[name], (type, _Function)):
            continue
        pickler = _Values(_Writer(-1, 0), 5, buffer_callback=lambda _: None)
        pickler.begin(namespace, sources, apart)
        try:
            pickler.dump(namespace[name])
        except Exception as error:
            return name, _told(error)
    return None


def _write_end(writer, buffers, count):
    pickles_end, table = writer.at, []
    for buffer in buffers:
        with buffer.raw() as raw:
            writer.align(_PAGE if raw.nbytes >= _PAGE else 64)
            table += writer.at, raw.nbytes
            writer.write(raw)
    writer.align(64)
    table_at = writer.at
    for first in range(0, len(table), 4096):
        writer.write(b"".join(number.to_bytes(8, "little") for number in table[first:first + 4096]))
    header = (count, pickles_end, table_at, len(table) // 2, writer.at)
    writer.write_header(_MAGIC + b"".join(number.to_bytes(8, "little") for number in header))


class _Writer:
    """Writes into the file through a window; beyond `most` it only counts."""

    def __init__(self, fd, most):
        self._fd = fd
        self.most = most
        self.at = _PAGE
        self._window, self._from = None, 0

    def write(self, data):
        view = memoryview(data).cast("B")
        size = view.nbytes
        if self.at + size <= self.most:
            done = 0
            while done < size:
                window, place, room = self._window_at(self.at + done)
                part = min(room, size - done)
                window[place:place + part] = view[done:done + part]
                done += part
        self.at += size
        if self._window is not None and self.at > self.most:
            self._close()
        return size

    def align(self, to):
        self.at += -self.at % to

    def write_header(self, header):
        self._close()
        if self.at <= self.most:
            with mmap.mmap(self._fd, _PAGE) as page:
                page[:len(header)] = header

    def _window_at(self, at):
        if self._window is None or not self._from <= at < self._from + len(self._window):
            self._close()
            self._from = at - at % _PAGE
            length = min(_WINDOW, self.most - self._from)
            self._window = mmap.mmap(self._fd, length, offset=self._from)
        place = at - self._from
        return self._window, place, len(self._window) - place

    def _close(self):
        if self._window is not None:
            self._window.close()
            self._window = None


class _Values(Pickler):
    """Pickles modules by their names, and functions and classes of the session by their code."""

    def begin(self, namespace, sources, apart):
        """`apart`: names that branches do not take from the session."""
        self._namespace = namespace
        self._sources = sources
        self._apart = apart
        self.mentioned = set()  # names that functions and classes mention, which are shared, too

    def takes(self, name):
        return name in self._namespace and name not in self._apart and not _is_preset(name, self._namespace[name])

    def _values_of(self, names):
        taken = {name: self._namespace[name] for name in names if self.takes(name)}
        self.mentioned.update(taken)
        return taken

    def reducer_override(self, thing):
        kind = type(thing)
        if kind is _Module:
            if thing is sys.modules.get(_MAIN) or sys.modules.get(thing.__name__) is not thing:
                raise Unshared(f"the module {thing.__name__!r} cannot be imported again")
            return _import, (thing.__name__,)
        if kind is _Function and thing.__globals__ is self._namespace:
            return self._function(thing)
        if isinstance(thing, type) and thing.__module__ == _MAIN:
            return self._class(thing)
        if kind is memoryview and thing.contiguous:
            return _view, (PickleBuffer(thing), thing.format, thing.shape)
        return NotImplemented

    def _function(self, function):
        code = function.__code__
        cells = function.__closure__ or ()
        state = {"defaults": function.__defaults__, "kwdefaults": function.__kwdefaults__,
                 "qualname": function.__qualname__, "doc": function.__doc__, "attributes": dict(function.__dict__),
                 "annotations": dict(function.__annotations__), "module": function.__module__,
                 "cells": [_contents(cell) for cell in cells], "names": self._values_of(_names_of(code, []))}
        return _make_function, (marshal.dumps(code), function.__name__, len(cells)), state, None, None, _set_function

    def _class(self, kind):
        name = kind.__name__
        fields = getattr(kind, "_fields", None)
        text = _source_of_class(name, self._sources) if kind.__qualname__ == name else None
        if text is not None and self._namespace.get(name, kind) is kind:
            needs, later = [], []
            _names_of_class(compile(text, _CLASS_FILE, "exec"), needs, later)
            values = self._values_of(need for need in needs if need != name)
            later = self._values_of(one for one in later if one != name)
            return _make_class, (name, text, values), later, None, None, _set_names
        if issubclass(kind, tuple) and type(fields) is tuple:
            return _make_named_tuple, (name, fields)
        raise Unshared(f"the class {kind.__qualname__!r} was not written at the top level of the session's code: write "
                       "it there, or in a module of the workspace")


def _contents(cell):
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()  # empty


def _names_of(code, names):
    """Adds the names of this code and of the code in it."""
    names += code.co_names
    for constant in code.co_consts:
        if type(constant) is _Code:
            _names_of(constant, names)
    return names


def _names_of_class(code, needs, later):
    """`needs`: names that the class statement uses when it runs. `later`: those of its functions."""
    needs += code.co_names
    for constant in code.co_consts:
        if type(constant) is _Code:
            if constant.co_flags & _OPTIMIZED:
                _names_of(constant, later)
            else:
                _names_of_class(constant, needs, later)


def _source_of_class(name, sources):
    """The newest class statement of this name, at the top level of a code of the session."""
    import ast
    for text in reversed(sources):
        if name not in text:
            continue
        for statement in reversed(_parsed(text, ast).body):
            if isinstance(statement, ast.ClassDef) and statement.name == name:
                return ast.unparse(statement)
    return None


def _parsed(text, ast):
    try:
        return ast.parse(text)
    except SyntaxError as error:
        from warder._execution import FILE, compiled
        from warder._repair import compile_as_meant
        meant = compile_as_meant(text, FILE, compiled)
        if meant is None:
            raise Unshared(f"the code cannot be compiled: {error}") from None
        return ast.parse(meant[0])


def _is_preset(name, value):
    """True for what every branch has of its own: modules by their usual names, the bound helpers."""
    if name.startswith("__") and name.endswith("__") or name in ("context_vars", "workspace"):
        return True
    if value is sys.modules.get("warder"):
        return True
    return (getattr(type(value), "__module__", None) or "").startswith("warder.") or (
        callable(value) and (getattr(value, "__module__", None) or "").startswith("warder."))


def needed(text):
    """The names that the code uses and has not set before, in the order of their first use."""
    import ast
    names, known = [], set()
    for statement in _parsed(text, ast).body:
        for node in ast.walk(statement):
            name = None
            if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Load, ast.Del)):
                name = node.id
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
            if name is not None and name not in known:
                known.add(name)
                names.append(name)
        known.update(_set_by(statement, ast))
    return names


def _set_by(statement, ast):
    """The names that a statement sets whenever it runs to its end."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [(one.asname or one.name).partition(".")[0] for one in statement.names]
    if isinstance(statement, ast.Assign):
        return [node.id for target in statement.targets for node in ast.walk(target)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    if isinstance(statement, ast.AnnAssign) and statement.value and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return []


# In a branch


def load(order, namespace):
    """Binds the session's values in the namespace, below the context variables. Raises Refused for a wrong file."""
    fd = order.pop("descriptor")
    try:
        size = posix.fstat(fd).st_size
        head = posix.pread(fd, len(_MAGIC) + 5 * 8, 0)
        numbers = [int.from_bytes(head[at:at + 8], "little") for at in range(len(_MAGIC), len(head), 8)]
        if head[:len(_MAGIC)] != _MAGIC or len(numbers) != 5:
            raise Refused("the values of the session are damaged")
        count, pickles_end, table_at, buffers, used = numbers
        if not _PAGE <= pickles_end <= table_at <= used <= size or buffers * 16 > used - table_at:
            raise Refused("the values of the session are damaged")
        view = _mapped(fd, used)
    finally:
        posix.close(fd)
    table = view[table_at:table_at + buffers * 16].cast("Q")
    parts = (view[table[at]:table[at] + table[at + 1]] for at in range(0, buffers * 2, 2))
    unpickler = Unpickler(_Reader(view[_PAGE:pickles_end]), buffers=parts)
    for _ in range(count):
        name, value = unpickler.load()
        namespace[name] = value
    bind_context(namespace, order)


def _mapped(fd, size):
    """Private and writable; without a cgroup, a limit of the process may allow only a mapping that is not written."""
    for access in (mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_READ):
        try:
            return memoryview(mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE, prot=access))
        except OSError:
            if access == mmap.PROT_READ:
                raise


class _Reader:
    """The file of the pickles, as Unpickler reads it."""

    def __init__(self, view):
        self._view, self._at = view, 0

    def read(self, size=-1):
        part = bytes(self._view[self._at:self._at + size if size >= 0 else None])
        self._at += len(part)
        return part

    def readinto(self, place):
        place = memoryview(place).cast("B")
        part = self._view[self._at:self._at + place.nbytes]
        place[:part.nbytes] = part
        self._at += part.nbytes
        return part.nbytes

    def readline(self):
        end = self._at
        while end < self._view.nbytes and self._view[end] != 10:
            end += 1
        return self.read(end + 1 - self._at)


def _import(name):
    import importlib
    return importlib.import_module(name)


def _view(buffer, form, shape):
    view = memoryview(buffer)
    if form == "B" and len(shape) == 1:
        return view
    return view.cast("B").cast(form, shape)


def _main_names():
    return sys.modules[_MAIN].__dict__


def _make_function(code, name, cells):
    return _Function(marshal.loads(code), _main_names(), name, None, tuple(_Cell() for _ in range(cells)) or None)


def _set_function(function, state):
    function.__defaults__ = state["defaults"]
    function.__kwdefaults__ = state["kwdefaults"]
    function.__qualname__ = state["qualname"]
    function.__doc__ = state["doc"]
    function.__module__ = state["module"]
    function.__annotations__ = state["annotations"]
    function.__dict__.update(state["attributes"])
    for cell, contents in zip(function.__closure__ or (), state["cells"]):
        if contents:
            cell.cell_contents = contents[0]
    _set_names(function, state["names"])


def _set_names(_, values):
    _main_names().update(values)


def _make_class(name, text, values):
    names = _main_names()
    _set_names(None, values)
    exec(compile(text, _CLASS_FILE, "exec", dont_inherit=True), names)
    return names[name]


def _make_named_tuple(name, fields):
    from collections import namedtuple
    return namedtuple(name, fields, module=_MAIN)
