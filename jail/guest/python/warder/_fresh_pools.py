"""Makes new objects of a zygote lie together. A copy must copy each page that it writes, even a reference count.

CPython's allocator fills the holes that earlier objects have left, anywhere in its memory, before it begins another
pool. Source: Objects/obmalloc.c of Python 3.11: pools of 16 KiB, their first block after a header of 48 bytes; a size
class every 16 bytes up to 512.
"""
_POOL, _HEADER, _CLASS, _LARGEST = 16384, 48, 16, 512
_MOST = 256 << 10  # bytes for a size class, if the allocator has no pools
_BYTES_HEADER = 33
_fillers = []  # never freed


def begin():
    """Objects made from now on, up to 512 bytes, lie in new pools."""
    for size in range(_CLASS, _LARGEST + 1, _CLASS):
        first = None
        for number in range(_MOST // size):
            filler = _block(size, number)
            _fillers.append(filler)
            if first is not None and id(filler) == first + size:
                break  # a new pool hands out its blocks in order
            first = id(filler) if id(filler) % _POOL == _HEADER else None


def _block(size, number):
    if size == 16:
        return object()
    if size == 32:
        return number + 0.5
    return bytes(size - _BYTES_HEADER)
