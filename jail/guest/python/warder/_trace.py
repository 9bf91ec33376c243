"""An exception as the agent should read it: its own lines only, with their text, and every exception in the chain."""
import traceback

_FRAMES = 2000  # the innermost ones; a recursion may have left a million
_TEXT = 256 * 1024


def describe(error, roots):
    """The last line and the whole traceback. `roots` are the folders whose files are the agent's own."""
    roots = tuple(root.rstrip("/") + "/" for root in roots if root != "/")  # where everything is, nothing is the agent's

    def is_own(filename):
        return filename.startswith(roots) or (filename.startswith("<") and not filename.startswith("<frozen "))

    told = traceback.TracebackException(type(error), error, error.__traceback__, limit=-_FRAMES, compact=True)
    seen = set()
    todo = [told]
    while todo:
        part = todo.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        if part.stack is not None:
            part.stack[:] = [frame for frame in part.stack if is_own(frame.filename)]
            if not part.stack:
                part.stack = None
        todo += [part.__cause__, part.__context__, *(part.exceptions or ())]
    return headline(error), _shortened("".join(told.format()))


def headline(error):
    """`ZeroDivisionError: division by zero`, the class with its module where that is not obvious."""
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__", "__mp_main__"):
        name = f"{kind.__module__}.{name}"
    try:
        if isinstance(error, SyntaxError) and error.lineno:
            where = "" if (error.filename or "<execution").startswith("<execution") else f"{error.filename}, "
            text = f"{error.msg} ({where}line {error.lineno})"
        else:
            text = str(error)
    except Exception as e:  # its __str__ is the agent's code
        text = f"<its str() raised {type(e).__name__}>"
    return _shortened(f"{name}: {text}" if text else name, 16 * 1024)


def _shortened(text, limit=_TEXT):
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"
