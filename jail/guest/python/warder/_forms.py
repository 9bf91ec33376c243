"""Forms of values that have no JSON form: what an iterator yields, the fields of a named tuple, the columns of a row.

Also awaits an answer that is a coroutine. Loaded by the first answer that holds such a value.
"""
import sys
from time import monotonic

MOST_MEMBERS = 10_000  # of an iterator
MOST_SECONDS = 3  # for reading it
_MOST_ROUNDS = 10  # for a coroutine that returns a coroutine, and so on


def form_of(plain, value, depth):
    """The JSON of `value`, by `plain`, the conversion that met it; else its str()."""
    kind = type(value)
    if hasattr(kind, "__next__") and not hasattr(kind, "read"):  # files stay texts
        return plain._inside(value, depth, lambda iterator, inner: _members(plain, iterator, inner))
    sqlite = sys.modules.get("sqlite3")
    if sqlite is not None and isinstance(value, sqlite.Row):
        from warder._tables import unique
        return plain.of(dict(zip(unique(value.keys()), value)), depth)
    array = sys.modules.get("array")
    if array is not None and isinstance(value, array.array):
        return plain.of(value.tolist(), depth)
    if hasattr(kind, "cr_frame"):
        plain.note(f"a coroutine in the result did not run: write `await {_name(value)}(...)`; "
                   "`await asyncio.gather(*list)` runs a list of coroutines")
        value.close()  # else Python warns a second time
    elif hasattr(kind, "__anext__"):
        plain.note("an async generator in the result was not read: [x async for x in it] reads it")
    elif kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__:
        if hasattr(kind, "_repr_html_") or hasattr(kind, "_repr_markdown_"):
            from warder._images import text_of
            return plain.of(text_of(value), depth)
        if hasattr(kind, "__iter__") and not hasattr(kind, "read"):
            return plain._inside(value, depth, lambda iterable, inner: _members(plain, iterable, inner))
    return plain._text(value, depth)


def _members(plain, iterable, depth):
    members = []
    end = monotonic() + MOST_SECONDS
    for member in iterable:
        if len(members) >= MOST_MEMBERS or monotonic() > end:
            plain.note(_cut(iterable, len(members)))
            break
        plain._take(2)
        members.append(plain.of(member, depth))
    return members


def _cut(iterable, count):
    kind = type(iterable).__qualname__
    named = "an async generator" if kind == "async_generator" else f"an iterator ({kind})"
    return (f"the result holds the first {count} members of {named} that may have more: at most "
            f"{MOST_MEMBERS} are read, for at most {MOST_SECONDS} seconds; make a list of the members that you need")


def fields_of(value):
    """The fields of a named tuple as a dict; None for another tuple."""
    kind = type(value)
    names = getattr(kind, "_fields", None)
    if type(names) is tuple and len(names) == len(value) and all(type(name) is str for name in names):
        return dict(zip(names, value))
    if not hasattr(kind, "n_sequence_fields"):  # not one of CPython's own, like time.struct_time
        return None
    names = kind.__match_args__
    if kind.__name__ == "stat_result":
        names = (*names, "st_atime", "st_mtime", "st_ctime")
    return {name: getattr(value, name) for name in names}


async def finished(value):
    """The value of a coroutine, or of several, one within another; the members of an async generator. Tells the agent."""
    for _ in range(_MOST_ROUNDS):
        if type(value) is list:
            if all(hasattr(type(member), "cr_frame") for member in value):
                import asyncio
                _tell("the result was a list of coroutines, and they were awaited: write `await asyncio.gather(*list)`")
                value = await asyncio.gather(*value)
            break
        if hasattr(type(value), "cr_frame"):
            _tell(f"the result was a coroutine, and it was awaited: write `await {_name(value)}(...)`")
            value = await value
        elif hasattr(type(value), "__anext__"):
            value = await _async_members(value)
        else:
            break
    return value


def warn_of(coroutine):
    """Python's warning, if the coroutine has not begun."""
    if coroutine.cr_frame is None or coroutine.cr_suspended or coroutine.cr_running:
        return
    code = coroutine.cr_code
    print(f"{code.co_filename}:{code.co_firstlineno}: RuntimeWarning: coroutine '{_name(coroutine)}' was never awaited",
          file=sys.stderr)
    coroutine.close()  # else Python warns, too


async def _async_members(generator):
    import asyncio
    members = []
    end = monotonic() + MOST_SECONDS
    while True:
        try:
            member = await asyncio.wait_for(anext(generator), max(0.001, end - monotonic()))
        except StopAsyncIteration:
            return members
        except asyncio.TimeoutError:
            if monotonic() < end:
                raise  # the generator's own
            _tell(_cut(generator, len(members)))
            return members
        if len(members) >= MOST_MEMBERS or monotonic() > end:
            _tell(_cut(generator, len(members)))
            return members
        members.append(member)


def _name(coroutine):
    return str(coroutine.__name__)[:100]


def _tell(note):
    print(f"warder: {note}", file=sys.stderr)
