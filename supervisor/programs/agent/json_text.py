"""JSON of other programs, read strictly and with a bound of its depth, and members of any form."""
import json
import math
from typing import Any

from .failure import Failure, Kind
from .texts import utf8

MAX_DEPTH = 64
_LINE_ENDS = {mark: f"\\u{ord(mark):04x}" for mark in "\x7f\x85\u2028\u2029"}  # some readers split lines at them


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return depth


def parse_json(text: str) -> Any:
    """Raises Failure: invalid."""
    too_deep = Failure(Kind.INVALID, f"nested deeper than {MAX_DEPTH}")
    try:
        value = _DECODER.decode(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise Failure(Kind.INVALID, f"not JSON: {error.msg} (character {error.pos + 1})") from None
    except ValueError as error:
        raise Failure(Kind.INVALID, f"not JSON: {error}") from None
    except RecursionError:
        raise too_deep from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise too_deep
    return value


def dump_json(value: Any) -> str:
    """One line. Lone surrogates become U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for mark, escape in _LINE_ENDS.items():
        if mark in text:
            text = text.replace(mark, escape)
    return utf8(text).decode()


def member(value: Any, key: str) -> Any:
    """None if the value is no object, or lacks the member."""
    return value.get(key) if isinstance(value, dict) else None


def text_member(value: Any, key: str) -> str:
    text = member(value, key)
    return text if isinstance(text, str) else ""


def list_member(value: Any, key: str) -> list[Any]:
    items = member(value, key)
    return items if isinstance(items, list) else []


def number_member(value: Any, key: str) -> int:
    """A whole number from 0 on; 0 if the member is another value."""
    number = member(value, key)
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 64 else 0
