"""An exception as text for the agent: only lines of the agent's files, with their text, and every chained exception."""
import traceback

_FRAMES = 2000  # the innermost frames; a recursion may have a million
_TEXT = 256 * 1024


def describe(error, roots):
    """The last line and the whole traceback. `roots`: the folders of the agent's own files."""
    roots = tuple(root.rstrip("/") + "/" for root in roots if root != "/")  # "/" would make every file the agent's

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
    """`ZeroDivisionError: division by zero`; the class has its module's name, unless the module is obvious."""
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
    except Exception as e:  # __str__ may be the agent's code
        text = f"<its str() raised {type(e).__name__}>"
    return _shortened(f"{name}: {text}" if text else name, 16 * 1024)


def _shortened(text, limit=_TEXT):
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"
