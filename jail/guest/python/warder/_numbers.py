"""Numbers of JSON that a float does not hold: the notes about them, and digits beyond Python's own limit.

Loaded when a message may have such a number. Whole numbers need nothing: they become int with all their digits.
"""
import sys

import _json

_MOST_DIGITS = 4300  # Python's default; the supervisor's numbers are shorter
_MOST_NOTES = 3  # of one message
_MOST_SHOWN = 60  # characters of a number in a note


def decoded(text):
    """Like json.loads(): the value and its end in `text`. Writes a note for decimals that a float does not hold."""
    lost = []

    def number_of(digits):
        number = float(digits)
        if not is_held(digits, number):
            lost.append((digits, number))
        return number

    class Scanning:  # the attributes that json.JSONDecoder passes to the C scanner
        strict = False
        object_hook = None
        object_pairs_hook = None
        parse_float = staticmethod(number_of)
        parse_int = int
        parse_constant = float
        memo = {}

    message = with_all_digits(lambda: _json.make_scanner(Scanning)(text, 0))
    for digits, number in lost[:_MOST_NOTES]:
        shown = digits if len(digits) <= _MOST_SHOWN else digits[:_MOST_SHOWN] + "..."
        _note(f"{shown} is not held by a float: here it is {number!r}; send it as a text to keep its digits")
    if len(lost) > _MOST_NOTES:
        _note(f"{len(lost) - _MOST_NOTES} more numbers are not held by floats")
    return message


def is_held(digits, number):
    """Whether the float, written with as many digits, is the same number."""
    text = repr(number)
    if text == digits:
        return True
    if number - number != 0:  # infinite
        return False
    wanted = _decimal(digits)
    return not wanted[0] and number == 0 or wanted == _decimal(f"{number:.{max(len(wanted[0]), 1) - 1}e}")


def _decimal(text):
    """0.DIGITS * 10 ** exponent: the digits, without zeros at both ends, and the exponent."""
    mantissa, _, exponent = text.lstrip("-").lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    return digits.rstrip("0"), int(exponent or 0) + len(digits) - len(fraction)


def with_all_digits(work):
    """work(), while int and text convert at least as many digits as a message may have."""
    limit = sys.get_int_max_str_digits()
    if not 0 < limit < _MOST_DIGITS:
        return work()
    sys.set_int_max_str_digits(_MOST_DIGITS)
    try:
        return work()
    finally:
        sys.set_int_max_str_digits(limit)


def _note(text):
    try:
        print("warder:", text, file=sys.stderr)
    except Exception:  # the code has replaced or closed the stream
        pass
