"""Reads files with a bound."""
from typing import BinaryIO

from .failure import Failure, Kind, os_failure


def read_complete(file: BinaryIO, max_bytes: int, name: str) -> bytes:
    """Raises Failure: other, the file cannot be read, is too large, or has data later. `name`: for errors."""
    data = bytearray()
    try:
        while (part := file.read(65536)) != b"":
            if part is None:  # the file was opened with O_NONBLOCK, perhaps by another process
                raise Failure(Kind.OTHER, f"{name}: more data may come, and a read does not wait for it (O_NONBLOCK)",
                              "write the data into a file first, or pass it through a pipe: PROGRAM | cat | warder ...")
            data += part
            if len(data) > max_bytes:
                raise Failure(Kind.OTHER, f"{name}: the file has more than {max_bytes} bytes", "read the file in parts")
    except OSError as error:
        raise os_failure(error, f"{name}: read") from None
    return bytes(data)
