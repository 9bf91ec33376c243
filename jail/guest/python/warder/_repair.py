"""Repairs Python that does not compile as sent, where its meaning is clear: indentation, magics, characters.

What is around a program in any language (fences, prompts) the supervisor has left out before the code came here.

Loaded only when the compiler has refused the code, so correct code does not wait for it. Lines keep their numbers. If
a repair leaves code out or changes a text, stderr says so. Broken code stays an error: a repair must not make another
program of it, for example from a code example inside one of its texts.
"""
import re
import sys

import _ast

_LITERAL = re.compile(  # texts and comments
    r"#[^\n]*|'''(?:\\.|[^\\])*?(?:'''|\Z)|\"\"\"(?:\\.|[^\\])*?(?:\"\"\"|\Z)|"
    r"'(?:\\.|[^\\\n'])*'|\"(?:\\.|[^\\\n\"])*\"", re.DOTALL)
_GOES_ON = re.compile(r"[rbuf]{0,2}['\"]|[-+*/%~.,<>=|&^:)\]}]", re.IGNORECASE)  # how a continuing line can begin
_INVISIBLE = {0xA0: " ", 0x202F: " ", 0x2007: " ", 0x200B: None, 0x200C: None, 0x200D: None, 0x2060: None, 0xFEFF: None}
_QUOTES = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x2212: "-", 0x2013: "-", 0xFF08: "(", 0xFF09: ")",
           0xFF0C: ",", 0xFF1A: ":"}
_SIGNS = {0xD7: "*", 0xF7: "/", 0x2264: "<=", 0x2265: ">=", 0x2260: "!=", 0x2026: "..."}  # × ÷ ≤ ≥ ≠ …
_HARMLESS = ("matplotlib", "load_ext", "reload_ext", "autoreload", "config", "pylab", "precision", "capture")


def compile_as_meant(code, file, compiled):
    """(source, code object) of the first repaired `code` that compiles; None if no repair helps.

    `compiled(source, file)` raises SyntaxError for code that it cannot compile.
    """
    source, notes = code, []
    for step in (_without_invisible, _without_indentation, _without_magics, _without_indentation, _with_line_ends,
                 _with_plain_quotes_outside, _with_plain_quotes, _without_entities):
        changed, note = step(source)
        if changed == source:
            continue
        source = changed
        notes += [note] if note and note not in notes else []
        try:
            answer = compiled(source, file)
        except (SyntaxError, ValueError):
            continue
        for note in notes:
            print(f"warder: {note}", file=sys.stderr)
        return source, answer
    return None


def _outside(code, change):
    """Applies `change` to the parts of `code` that are neither text nor comment."""
    parts, end = [], 0
    for literal in _LITERAL.finditer(code):
        parts += [change(code[end:literal.start()]), literal.group()]
        end = literal.end()
    return "".join([*parts, change(code[end:])])


def _parses(code):
    try:
        compile(code, "<code>", "exec", _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
    except (SyntaxError, ValueError):
        return False
    return True


def _without_invisible(code):
    changed = _outside(code, lambda part: part.translate(_INVISIBLE))
    return changed, "invisible characters outside of strings were replaced by spaces, or removed"


def _without_indentation(code):
    """Removes the whitespace that all lines, or all but the first, begin with."""
    lines = code.split("\n")
    full = [line for line in lines if line.strip()]
    for first in (0, 1):
        shared = _shared_indentation(full[first:])
        if shared and (first == 0 or _can_end(full[0], [line.removeprefix(shared) for line in full[1:]])):
            head = lines.index(full[0]) + 1 if first else 0
            is_said = first or '"""' in code or "'''" in code
            return ("\n".join(lines[:head] + [line.removeprefix(shared) for line in lines[head:]]),
                    "the indentation that all lines share was removed" + (" behind the first" if first else "")
                    if is_said else None)
    return code, None


def _can_end(first, rest):
    """True if the first line is a whole statement, and the next lines, `rest`, do not continue it."""
    if first.rstrip().endswith((":", "\\")):
        return False
    if first.startswith(("import ", "from ", "#")):
        return True
    return not (any(map(_GOES_ON.match, rest)) or rest[0].startswith(("(", "[", "{")))


def _shared_indentation(lines):
    shared = None
    for line in lines:
        own = line[:len(line) - len(line.lstrip())]
        while shared is not None and not own.startswith(shared):
            shared = shared[:-1]
        shared = own if shared is None else shared
    return shared or ""


def _without_magics(code):
    """Removes magics that only change a notebook's display, and installs of packages (which cannot work here)."""
    lines, left_out = code.split("\n"), []
    in_text = {at for literal in _LITERAL.finditer(code) if "\n" in literal.group()
               for at in range(code.count("\n", 0, literal.start()) + 1, code.count("\n", 0, literal.end()) + 1)}
    for at, line in enumerate(lines):
        if at in in_text:
            continue
        text = line.strip()
        word, _, rest = text.lstrip("%").partition(" ")
        if text.startswith("%") and word in ("time", "timeit"):
            lines[at] = line[:len(line) - len(line.lstrip())] + rest
        elif text.startswith("%") and word in _HARMLESS or is_installing(text):
            lines[at] = line[:len(line) - len(line.lstrip())] + "pass" if line[:1].isspace() else ""
            left_out.append(text)
    if not left_out:
        return "\n".join(lines), None
    reason = "; this jail has no network to install from" if any(map(is_installing, left_out)) else ""
    return "\n".join(lines), f"left out, because this is not a notebook: {', '.join(left_out)}{reason}"


def is_installing(line):
    words = line.lstrip("!% ").split()
    return line[:1] in "!%" and words[1:2] == ["install"] and words[0] in ("pip", "pip3", "conda", "mamba", "uv")


def _with_line_ends(code):
    """Undoes line ends that were escaped once too often: with all JSON escapes, or only outside of texts."""
    if "\n" in code.strip() or "\\n" not in code:
        return code, None
    note = "the code had \\n instead of line ends"
    import json
    try:
        plain = json.loads(f'"{code.strip()}"')
        if _parses(plain):
            return plain, note
    except ValueError:
        pass
    if any(found.group().startswith("#") and "\\n" in found.group() for found in _LITERAL.finditer(code)):
        return code, None  # the end of this comment cannot be found
    return _outside(code, lambda part: part.replace("\\n", "\n").replace("\\t", "\t")), note


_QUOTES_NOTE = "typographic quotes, dashes, brackets and signs were replaced by plain characters"


def _with_plain_quotes_outside(code):
    return _outside(code, lambda part: part.translate(_QUOTES | _SIGNS)), _QUOTES_NOTE


def _with_plain_quotes(code):
    return code.translate(_QUOTES), _QUOTES_NOTE


def _without_entities(code):
    if "&" not in code:
        return code, None
    import html
    return html.unescape(code), "the code had entities like &lt;, which were replaced by their characters"
