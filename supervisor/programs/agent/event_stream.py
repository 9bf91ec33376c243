"""EventStream: reads server-sent events from the bytes of a reply: the data of each."""
import re

from .failure import Failure, Kind

MAX_EVENT_BYTES = 4 << 20
_LINE_END = re.compile(b"\r\n|\r|\n")


class EventStream:
    def __init__(self, max_bytes: int = MAX_EVENT_BYTES):
        self._max = max_bytes
        self._line = bytearray()  # not whole yet
        self._data: list[bytes] = []
        self._size = 0  # of the data, in bytes; each line counts its end, too
        self._after_return = False  # a newline at the start of the next part belongs to a line that has ended
        self._at_start = True

    def feed(self, part: bytes) -> list[str]:
        """The data of the events that `part` ends. Raises Failure: other, an event is too large."""
        if self._after_return:
            part = part.removeprefix(b"\n")
        self._after_return = part.endswith(b"\r")
        events: list[str] = []
        lines = _LINE_END.split(part)
        for rest in lines[:-1]:
            line = bytes(self._line) + rest
            self._line.clear()
            self._take(line, events)
        self._line += lines[-1]
        if len(self._line) + self._size > self._max:
            raise Failure(Kind.OTHER, f"an event of the reply is larger than {self._max} bytes")
        return events

    def _take(self, line: bytes, events: list[str]) -> None:
        if self._at_start:
            line = line.removeprefix(b"\xef\xbb\xbf")
        self._at_start = False
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value) + 1
        elif not line and self._data:
            events.append(b"\n".join(self._data).decode(errors="replace"))
            self._data.clear()
            self._size = 0
