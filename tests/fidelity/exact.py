"""JSON whose numbers keep their text: what a client, or a server, of any language may send.

loads() makes a Number of each number; dumps() writes it unchanged.
"""
import json
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal

_WIDE = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


class Number:
    """A number of JSON text. Two are equal if their values are."""

    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return f"Number({self.text})"

    @property
    def is_whole(self):
        """Whether it is written without a point and an exponent."""
        return not set(self.text) & set(".eE")

    @property
    def value(self):
        return _WIDE.create_decimal(self.text)

    @property
    def is_held(self):
        """Whether a double, written with as many digits, is the same number."""
        number = float(self.text)
        digits = self.value.normalize(_WIDE).as_tuple().digits
        return number - number == 0 and Decimal(f"{number:.{len(digits) - 1}e}") == self.value


def loads(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


def dumps(value):
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{dumps(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dumps, value)) + "]"
    return json.dumps(value)
