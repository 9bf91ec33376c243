"""Texts of servers, models and programs, which are not trusted: for a line of progress, for a terminal, as bytes."""
import contextlib
import re
import time
from typing import IO

# Characters that drive a terminal, are invisible, or change the direction of writing; not newline and tab. The same as
# in supervisor/base/deceiving_text.cc.
_DECEIVING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
                        "\U000e0000-\U000e007f]")


def utf8(text: str) -> bytes:
    """Lone surrogates, which no UTF-8 has, become U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def cut(text: str, max_bytes: int) -> str:
    """The beginning of the text, in whole characters."""
    return utf8(text)[:max_bytes].decode(errors="ignore")


def printable(text: str, max_bytes: int = 256) -> str:
    """One line of visible ASCII: other bytes, and backslashes, become \\x1b."""
    data = utf8(text)
    shown = "".join(chr(c) if 0x20 <= c < 0x7F and c != 0x5C else f"\\x{c:02x}" for c in data[:max_bytes])
    return shown + ("..." if len(data) > max_bytes else "")


def for_terminal(text: str) -> str:
    """Deceiving characters become visible: \\x1b, \\u202e or \\U000e0041."""
    def escaped(match: re.Match[str]) -> str:
        code = ord(match.group())
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return _DECEIVING.sub(escaped, text)


def print_text(to: IO[str], text: str) -> None:
    with contextlib.suppress(OSError):  # the reader has left
        to.buffer.write(utf8(for_terminal(text) if to.isatty() else text))
        to.buffer.flush()


def iso_time_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
