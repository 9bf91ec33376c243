"""The values that the function of a step reads: its arguments' defaults, the variables around it, and the global
variables that it and the program's own functions below it name.

The supervisor keeps them with the step's record, as short texts, and refuses a recorded step whose function reads other
values. The text of a function is no value, so corrected code continues. Modules, classes and other people's functions
are no values either, nor are objects without a text form, for example open files. Loaded with the first workflow.
"""
import builtins
import functools
import marshal
import re
import types
from _blake2 import blake2b
from opcode import EXTENDED_ARG, opmap

_MOST_INPUTS = 64
_MOST_TEXT = 120  # characters of a value's text; a longer value ends in a digest of the whole
_MOST_FUNCTIONS = 64
_MOST_MEMBERS = 4000  # of a list or tuple; of a longer one the first and the last half, and the length
_MOST_BYTES = 16 << 20  # of an array; of a larger one the first and the last members
_MOST_PARTS = 2000  # parts of one value that is not plain data
_MOST_DEPTH = 20
_LOADS = {opmap["LOAD_GLOBAL"]: 1, opmap["LOAD_NAME"]: 0}  # the lowest bits of the argument that are no part of a name
_PLAIN = (str, int, float, complex, bool, bytes, type(None), type(Ellipsis))
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_BY_TEXT = ("datetime", "date", "time", "timedelta", "timezone", "Decimal", "Fraction", "UUID", "PosixPath", "range")


def inputs_of(fn):
    """({name: text}, digest): at most 64 names, in the order in which the function has them."""
    values = {}
    _Reader(values).callable(fn)
    texts, whole = {}, blake2b(digest_size=8)
    for name, value in values.items():
        if len(texts) == _MOST_INPUTS:
            break
        form = _form(value)
        if form is not None:
            texts[_cut(name)] = _text(value, form)
            whole.update(name.encode("utf-8", "replace") + b"\0" + form)
    return texts, whole.hexdigest() if texts else ""


def given(values):
    """The same, of values that the program itself names: step(..., inputs={...})."""
    if type(values) is not dict or not all(type(name) is str for name in values):
        raise TypeError("inputs is a dict of names and values: the values that tell this step from others")
    namespace = types.SimpleNamespace(**values)
    return inputs_of(functools.partial(id, **vars(namespace)))


class _Reader:
    """Collects the values that functions read into `values`."""

    def __init__(self, values):
        self.values = values
        self.seen = set()

    def callable(self, fn):
        if isinstance(fn, functools.partial):
            self.callable(fn.func)
            for number, value in enumerate(fn.args):
                self.add(f"argument {number}", value)
            for name, value in fn.keywords.items():
                self.add(name, value)
        elif isinstance(fn, types.MethodType):
            self.add("self", fn.__self__)
            self.callable(fn.__func__)
        elif isinstance(fn, types.FunctionType):
            self.function(fn)
        elif not isinstance(fn, (types.BuiltinFunctionType, type)):
            self.add("self", fn)
            call = getattr(type(fn), "__call__", None)
            if isinstance(call, types.FunctionType):
                self.function(call)

    def function(self, fn):
        if fn in self.seen or len(self.seen) == _MOST_FUNCTIONS:
            return
        self.seen.add(fn)
        code = fn.__code__
        defaults = fn.__defaults__ or ()
        first = code.co_argcount - len(defaults)
        for name, value in zip(code.co_varnames[first:code.co_argcount], defaults):
            self.add(name, value, fn)
        for name, value in (fn.__kwdefaults__ or {}).items():
            self.add(name, value, fn)
        for name, cell in zip(code.co_freevars, fn.__closure__ or ()):
            try:
                self.add(name, cell.cell_contents, fn)
            except ValueError:  # it has no value yet
                pass
        for name in _globals_of(code):
            if name in fn.__globals__:
                self.add(name, fn.__globals__[name], fn)

    def add(self, name, value, reader=None):
        if isinstance(value, types.FunctionType):
            if reader is None or value.__globals__ is reader.__globals__:
                self.function(value)
        elif isinstance(value, (functools.partial, types.MethodType)):
            self.callable(value)
        elif not isinstance(value, (types.ModuleType, type, types.BuiltinFunctionType)):
            self.values.setdefault(name, value)


def _globals_of(code):
    """The global names that the code and the functions in it read, without the names of Python itself."""
    names, codes = {}, [code]
    while codes:
        code = codes.pop()
        argument = 0
        for at in range(0, len(code.co_code), 2):
            operation, argument = code.co_code[at], argument << 8 | code.co_code[at + 1]
            if operation == EXTENDED_ARG:
                continue
            if operation in _LOADS:
                name = code.co_names[argument >> _LOADS[operation]]
                if not hasattr(builtins, name):
                    names[name] = None
            argument = 0
        codes.extend(part for part in code.co_consts if isinstance(part, types.CodeType))
    return names


def _form(value):
    """Bytes that are equal for equal values; None: the value has no form."""
    if isinstance(value, types.CodeType):
        return None
    try:
        return marshal.dumps(_ends_of(value, 0), 2)  # the order of a set does not count here
    except ValueError:
        pass
    try:
        return marshal.dumps(_Parts().of(value, 0), 2)
    except Exception:  # no form, nested too deep, or an object whose attributes raise
        return None


def _ends_of(value, depth):
    """The value; of a long list or tuple in it the first and the last members, and their number."""
    kind = type(value)
    if kind is list or kind is tuple:
        if len(value) > _MOST_MEMBERS:
            half = _MOST_MEMBERS // 2
            return len(value), value[:half], value[-half:]
        if depth < 2 and len(value) <= 64:
            return kind(_ends_of(member, depth + 1) for member in value)
    if kind is dict and depth < 2 and len(value) <= 64:
        return {key: _ends_of(member, depth + 1) for key, member in value.items()}
    if hasattr(value, "__array__"):  # marshal would take its bytes without its shape
        raise ValueError
    return value


class _NoForm(Exception):
    pass


class _Parts:
    """Turns one value into tuples of plain values, at most about _MOST_PARTS of them.

    For a value that marshal does not take.
    """

    def __init__(self):
        self.left = _MOST_PARTS

    def of(self, value, depth):
        kind = type(value)
        if kind in _PLAIN:
            self.left -= 1
            return value
        if depth == _MOST_DEPTH:
            raise _NoForm
        if kind is list or kind is tuple:
            return kind.__name__, len(value), self.members(value, depth)
        if kind is dict:
            return "dict", len(value), tuple((self.of(key, depth + 1), self.part(value[key], depth))
                                             for key in self.some(value))
        if kind is set or kind is frozenset:
            if len(value) > self.left:
                return "set", len(value)
            return "set", tuple(sorted(marshal.dumps(self.of(part, depth + 1), 2) for part in value))
        return self.other(value, kind, depth)

    def members(self, value, depth):
        room = max(self.left, 2)
        if len(value) > room:
            value = [*value[:room // 2], *value[-(room // 2):]]
        return tuple(self.part(part, depth) for part in value)

    def some(self, value):
        return list(value)[:max(self.left, 1)]

    def part(self, value, depth):
        """A part without a form of its own is known by its type."""
        try:
            return self.of(value, depth + 1)
        except _NoForm:
            return "a", type(value).__name__

    def other(self, value, kind, depth):
        name = kind.__name__
        if name == "ndarray":
            flat = value.reshape(-1)
            if flat.dtype.hasobject:
                return name, value.shape, self.members(flat.tolist(), depth)
            ends = flat if value.nbytes <= _MOST_BYTES else (flat[:_MOST_MEMBERS], flat[-_MOST_MEMBERS:])
            whole = blake2b(digest_size=16)
            for end in ends if type(ends) is tuple else (ends,):
                whole.update(end.tobytes())
            return name, value.shape, str(value.dtype), whole.digest()
        if name in ("DataFrame", "Series", "Index"):
            return self.table(value, name, depth)
        if name in _BY_TEXT or isinstance(value, _PLAIN) or getattr(kind, "__module__", "") == "numpy":
            self.left -= 1
            return name, repr(value)
        if isinstance(value, (list, tuple)):
            return name, len(value), self.members(list(value), depth)
        if isinstance(value, dict):
            return name, self.of(dict(value), depth)
        if hasattr(value, "name") and hasattr(kind, "__members__"):  # an enumeration
            return name, value.name
        if kind.__module__ == "__main__" or hasattr(kind, "__dataclass_fields__"):
            return name, self.of(dict(getattr(value, "__dict__", {})), depth)
        raise _NoForm

    def table(self, value, name, depth):
        from pandas.util import hash_pandas_object
        columns = [str(column) for column in getattr(value, "columns", ())]
        hashes = hash_pandas_object(value, index=name != "Index", encoding="utf8")
        return name, value.shape, self.members(columns, depth), blake2b(hashes.to_numpy().tobytes(), digest_size=16).digest()


def _text(value, form):
    """A short text of the value: two values with one text have one form."""
    if type(value) in _PLAIN and (type(value) not in (str, bytes) or len(value) < _MOST_TEXT):
        return _cut(repr(value))
    import reprlib
    short = reprlib.Repr()
    short.maxother = short.maxstring = 60
    try:
        shown = _ADDRESS.sub("", short.repr(value))
    except Exception:
        shown = type(value).__name__
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return _cut(f"{shown} #{blake2b(form, digest_size=6).hexdigest()}")


def _cut(text):
    return text.encode("utf-8", "replace")[:240].decode("utf-8", "ignore")
