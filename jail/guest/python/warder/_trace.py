"""An exception as text for the agent: only lines of the agent's files, with their text. Of chained exceptions it has those
with such lines, and the first cause. What `error` has is not repeated, also not as the last line of a lone exception."""
import traceback

_FRAMES = 2000  # the innermost frames; a recursion may have a million
_CHAINED = 20  # exceptions of a chain that are shown
_TEXT = 16 * 1024
_SHORT = 80  # characters; a text of this length may stand twice
_HEADING = "Traceback (most recent call last):\n"
_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


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
    summary = headline(error)
    return summary, _shortened(_chain(told, summary))


def _chain(told, summary):
    """The text of an exception, whose headline is `summary`, below those of its causes, as Python orders them."""
    causes = []
    part = told.__cause__ or told.__context__
    while part is not None:
        causes.append(part)
        part = part.__cause__ or part.__context__
    shown = [part for part in causes if part.stack or _is_syntax(part)][:_CHAINED]
    if causes and not (causes[-1].stack or _is_syntax(causes[-1])) and str(causes[-1]) not in summary:
        shown.append(causes[-1])
    if not shown and _is_simple(told):
        return "".join(told.stack.format()) if told.stack else ""
    text = _one(told, _is_simple(told))
    if not shown:
        return text.removeprefix(_HEADING)
    below = told
    for part in shown:
        is_known = _is_long(part) and str(part) in summary
        text = _one(part, is_known) + (_CONTEXT if below.__cause__ is None else _CAUSE) + text
        below = part
    return text


def _one(part, is_known):
    """The frames and text of one exception; only its name if the text `is_known`."""
    if not is_known:
        return "".join(part.format(chain=False))
    frames = [_HEADING, *part.stack.format()] if part.stack else []
    return "".join(frames) + _name(part.exc_type) + "\n"


def _is_syntax(part):
    return hasattr(part, "lineno")  # the class has no other sign of it in every version


def _is_simple(part):
    return not (part.exceptions or getattr(part, "__notes__", None) or _is_syntax(part))


def _is_long(part):
    text = str(part)
    return _is_simple(part) and (len(text) > _SHORT or "\n" in text)


def _name(kind):
    """A class with its module's name, unless the module is obvious."""
    if kind.__module__ in ("builtins", "__main__", "__mp_main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def headline(error):
    """`ZeroDivisionError: division by zero`."""
    name = _name(type(error))
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
