"""Converts Python values to JSON that every strict parser reads. A value without a JSON form gets a readable one.

Has the same limits as the supervisor's parser: depth, size, numbers of 4,096 bytes, no lone surrogates, finite numbers.
"""
import sys
from math import isfinite

import _json

_MOST_NOTES = 5
MAX_DEPTH = 60  # the supervisor's limit is 64, and a message adds levels around the value
_SAFE = {str, bool, type(None)}
_INT = {int}
_FLOAT = {float}
_LOW, _HIGH = -(1 << 63), (1 << 64) - 1
_MOST = 10 ** 4095 - 1  # the supervisor takes numbers of 4,096 bytes


class Unanswerable(ValueError):
    """The value cannot be sent; the text says why, and what to do."""


def _refuse(value):
    raise TypeError(f"{type(value).__name__} is not plain")


_encoder = _json.make_encoder(None, _refuse, _json.encode_basestring, None, ":", ",", False, False, False)


def encode(value):
    """The JSON text, as UTF-8 bytes, of a value that plain() has converted."""
    try:
        text = "".join(_encoder(value, 0))
    except ValueError:  # the code has lowered the limit of sys.set_int_max_str_digits()
        from warder._numbers import with_all_digits
        text = "".join(with_all_digits(lambda: _encoder(value, 0)))
    try:
        return text.encode()
    except UnicodeEncodeError:  # lone surrogates, for example in file names that are not UTF-8
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def plain(value, limit):
    """`value` converted to dict, list, str, int, float, bool and None, for at most about `limit` bytes of JSON.

    Tells the agent the notes of the conversion.
    """
    converter = Plain(limit)
    converted = converter.of(value, 0)
    converter.tell()
    return converted


class Plain:
    """One conversion. `as_text` is the type's name when the whole value became a text; `notes`: sentences for the agent."""

    def __init__(self, limit):
        self.limit = limit
        self.as_text = None
        self.notes = []
        self._left = limit
        self._open = set()  # ids of the containers around the current value

    def note(self, sentence):
        if sentence not in self.notes and len(self.notes) < _MOST_NOTES:
            self.notes.append(sentence)

    def tell(self):
        for sentence in self.notes:
            print(f"warder: {sentence}", file=sys.stderr)

    def of(self, value, depth):
        kind = type(value)
        if kind is str:
            self._take(len(value))
            return value
        if kind is bool or value is None:
            return value
        if kind is int:
            return value if _LOW <= value <= _HIGH else self._big(value, depth)
        if kind is float:
            return value if isfinite(value) else _name_of(value)
        if kind is dict:
            return self._inside(value, depth, self._dict)
        if kind is list or kind is tuple:
            return self._inside(value, depth, self._list)
        return self._other(value, depth)

    def _take(self, size):
        self._left -= size
        if self._left < 0:
            raise Unanswerable(f"it is more than {self.limit} bytes of JSON, the most that can be sent")

    def _inside(self, value, depth, convert):
        if depth >= MAX_DEPTH:
            raise Unanswerable(f"it is nested more than {MAX_DEPTH} deep")
        key = id(value)
        if key in self._open:
            raise Unanswerable(f"it contains itself: a {type(value).__name__} is among its own members")
        self._open.add(key)
        converted = convert(value, depth + 1)
        self._open.discard(key)
        return converted

    def _list(self, values, depth):
        self._take(2 * len(values))
        if self._is_plain(values):
            return values
        return [self.of(value, depth) for value in values]

    def _dict(self, values, depth):
        self._take(4 * len(values))
        if set(map(type, values)) <= {str}:
            self._take(sum(map(len, values)))
            if type(values) is dict and self._is_plain(values.values()):
                return values
            return {key: self.of(value, depth) for key, value in values.items()}
        converted = {}
        for key, value in values.items():
            name = _key(key)
            if name in converted:
                name = f"{name} ({type(key).__name__})"  # 1 and "1" are two keys, and both must stay
            self._take(len(name))
            converted[name] = self.of(value, depth)
        return converted

    def _is_plain(self, values):
        """Fast check with set() and map(), which run in C: most large answers are lists of one plain type."""
        kinds = set(map(type, values))
        if kinds <= _SAFE:
            if str in kinds:
                self._take(sum(len(value) for value in values if type(value) is str))
            return True
        if kinds == _INT:
            return min(values) >= _LOW and max(values) <= _HIGH
        return kinds == _FLOAT and all(map(isfinite, values))

    def _other(self, value, depth):
        if isinstance(value, str):
            return self.of(str.__str__(value), depth)
        if isinstance(value, int):
            return self.of(int.__int__(value), depth)
        if isinstance(value, float):
            return self.of(float.__float__(value), depth)
        if isinstance(value, tuple):
            from warder._forms import fields_of
            fields = fields_of(value)
            if fields is not None:
                return self._inside(value, depth, lambda _, inner: self._dict(fields, inner))
        if isinstance(value, (list, tuple)):
            return self._inside(value, depth, self._list)
        if isinstance(value, dict):
            return self._inside(value, depth, self._dict)
        if isinstance(value, (set, frozenset)):
            return self._inside(_ordered(value), depth, self._list)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self._bytes(bytes(value), depth)
        if hasattr(type(value), "__dataclass_fields__"):
            fields = {name: getattr(value, name, None) for name in type(value).__dataclass_fields__}
            return self._inside(value, depth, lambda _, inner: self._dict(fields, inner))
        for module, convert in _BY_MODULE:
            loaded = sys.modules.get(module)
            if loaded is not None:
                converted = convert(loaded, value)
                if converted is not value:
                    return self.of(converted, depth)
        from warder._forms import form_of
        return form_of(self, value, depth)

    def _text(self, value, depth):
        if depth == 0:
            self.as_text = type(value).__qualname__
        try:
            return self.of(str(value), depth)
        except Unanswerable:
            raise
        except Exception as e:  # __str__ may be the agent's code
            return f"<{type(value).__qualname__}: its str() raised {type(e).__name__}>"

    def _big(self, value, depth):
        if -_MOST <= value <= _MOST:
            self._take(value.bit_length() // 3)
            return value
        if value.bit_length() > 330_000:
            raise Unanswerable(f"it holds an integer of {value.bit_length()} bits")
        if depth == 0:
            self.as_text = "int"
        self.note("an integer of more than 4,095 digits is sent as a text: numbers of JSON are shorter here")
        digits = sys.get_int_max_str_digits()
        sys.set_int_max_str_digits(0)
        try:
            return self.of(str(value), depth)
        finally:
            sys.set_int_max_str_digits(digits)

    def _bytes(self, value, depth):
        try:
            text = value.decode()
            if depth == 0:
                self.as_text = "bytes"
            return self.of(text, depth)
        except UnicodeDecodeError:
            self._take(len(value) * 4 // 3)
            import binascii
            return {"base64": binascii.b2a_base64(value, newline=False).decode()}


def _name_of(number):
    return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"


def _key(key):
    kind = type(key)
    if kind is str:
        return key
    if key is None:
        return "null"
    if kind is bool:
        return "true" if key else "false"
    try:
        if isinstance(key, str):
            return str.__str__(key)
        if hasattr(key, "isoformat"):
            return key.isoformat()
        return str(key)
    except Exception as e:
        return f"<{kind.__qualname__}: its str() raised {type(e).__name__}>"


def _ordered(values):
    try:
        return sorted(values)
    except Exception:  # mixed types, or the agent's own order fails
        return list(values)


def _from_datetime(module, value):
    return value.isoformat() if isinstance(value, (module.date, module.time)) and value == value else value


def _from_enum(module, value):
    return value.value if isinstance(value, module.Enum) else value


def _as_str(*names):
    def convert(module, value):
        kinds = tuple(getattr(module, name) for name in names)
        return str(value) if isinstance(value, kinds) else value
    return convert


def _from_collections(module, value):
    if isinstance(value, module.Mapping):
        return dict(value)
    if isinstance(value, (module.MappingView, range)):
        return list(value)
    return value


def _from_deque(module, value):
    return list(value) if isinstance(value, (module.deque, module.UserList)) else value


def _from_numpy(module, value):
    if isinstance(value, module.ndarray):
        if value.dtype.names is not None:  # records
            return [dict(zip(value.dtype.names, row)) for row in value.reshape(-1)]
        if value.dtype.kind in "mM":  # tolist() would give integers of nanoseconds
            return value.astype(str).tolist()
        return value.tolist()
    if not isinstance(value, module.generic):
        return value
    if isinstance(value, (module.datetime64, module.timedelta64)):
        return None if module.isnat(value) else str(value)
    item = value.item()
    return float(item) if isinstance(item, module.longdouble) else item


def _from_pandas(module, value):
    if value is module.NaT or value is module.NA:
        return None
    if not type(value).__module__.startswith("pandas.") and not isinstance(value, (module.DataFrame, module.Series)):
        return value
    from warder._tables import plain_of
    return plain_of(module, value)


_BY_MODULE = (  # used only if the code, or a warm start, has loaded the module
    ("pandas", _from_pandas),
    ("numpy", _from_numpy),
    ("_datetime", _from_datetime),
    ("datetime", _from_datetime),
    ("enum", _from_enum),
    ("decimal", _as_str("Decimal")),
    ("fractions", _as_str("Fraction")),
    ("pathlib", _as_str("PurePath")),
    ("uuid", _as_str("UUID")),
    ("collections", _from_deque),
    ("_collections_abc", _from_collections),
)
