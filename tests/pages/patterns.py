"""How the text of a page is compared with what a program printed: word by word, except for what differs in each run.

These forms on a page stand for anything of the same form:
  id        e24151, e29e9f76b4d8714eb-0, pa9eed8735491f00e: the same id is the same thing wherever the pages show it
  time      2026-11-26T18:20:04Z, 2026-11-27 09:42:45
  duration  2.9ms, 17ms, 16.0s, 4min; a dash stands for an unknown one
  size      3.4M, 9.3M, 150kB; likewise
  measured  the number behind a key of MEASURED in JSON
  ...       any text up to what follows on the page; on a line of its own, any lines
A run of spaces stands for any run of spaces: a column is as wide as its widest word. All else is literal.
"""
import re

MEASURED = ("wall_ms", "cpu_ms", "memory_peak_bytes", "execution_time_ms", "build_ms", "daemon", "init", "runner",
            "instructions", "abi")
DURATION = r"\d+(?:\.\d+)?(?:us|ms|s|min|h|d)"
SIZE = r"\d+(?:\.\d+)?(?:K|M|G|kB|MB|GB|KiB|MiB|GiB)"
ID = r"[ep][0-9a-f]{5,16}(?:-\d+)?"
# name: how the form is found on a page, and what may stand in its place
RULES = {
    "measured": (r'(?:(?<=":)|(?<=": ))-?\d+(?:\.\d+)?', r"-?\d+(?:\.\d+)?"),
    "id": (rf"\b{ID}\b", rf"{ID}"),
    "time": (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?"),
    "duration": (rf"(?<![\w.-]){DURATION}(?![\w-])", rf"(?:{DURATION}|-)"),
    "size": (rf"(?<![\w.-]){SIZE}(?![\w-])", rf"(?:{SIZE}|-)"),
    "lines": (r"(?m:^ *\.\.\.$)", None),
    "rest": (r"\.\.\.", None),
}
FORMS = re.compile("|".join(f"(?P<{name}>{found})" for name, (found, _) in RULES.items()))


class Ids:
    """What the ids of pages are in this run."""

    def __init__(self):
        self.known = {}

    def bind(self, shown, actual):
        """False if it is known as another one. A shorter form of an id is the same id."""
        for page, meant in self.known.items():
            if page.startswith(shown) or shown.startswith(page):
                if not (meant.startswith(actual) or actual.startswith(meant)):
                    return False
                self.known[max(page, shown, key=len)] = max(meant, actual, key=len)
                return True
        self.known[shown] = actual
        return True

    def replace(self, command):
        """The command with the ids of this run."""
        def meant(match):
            word = match.group()
            for page, actual in self.known.items():
                if page.startswith(word) or word.startswith(page):
                    return actual
            return word
        return re.sub(r"\b[aep][0-9a-f]*\d[0-9a-f]*(?:-\d+)?\b", meant, command)


def mismatch(page, printed, ids, is_json=False, vary=()):
    """None if what was printed fits the page; else where it does not. vary: (text on the page, pattern) pairs."""
    if is_json:
        page, printed = re.sub(r"\s+", "", page), re.sub(r"\s+", "", printed)
    page, printed = page.strip("\n"), printed.strip("\n")
    parts, shown, here = [], [], 0  # parts: one regular expression for each literal and each form
    special = re.compile("|".join(re.escape(text) for text, _ in vary)) if vary else None
    while here < len(page):
        own = special.search(page, here) if special else None
        form = FORMS.search(page, here)
        if form and form.lastgroup == "measured" and not is_measured(page, form.start()):
            form = next((later for later in FORMS.finditer(page, form.end()) if later.lastgroup != "measured" or
                         is_measured(page, later.start())), None)
        following = min((m for m in (own, form) if m), key=lambda m: m.start(), default=None)
        parts.append(literal(page[here:following.start() if following else len(page)]))
        if not following:
            break
        if following is own:
            parts.append(dict(vary)[following.group()])
        elif following.lastgroup == "id":
            parts.append(f"({ID})")
            shown.append(following.group())
        elif following.lastgroup == "lines":
            parts.append(r"(?:[^\n]*\n)*?[^\n]*")
        elif following.lastgroup == "rest":
            parts.append(r".*?" if is_json else r"[^\n]*?")
        else:
            parts.append(RULES[following.lastgroup][1])
        here = following.end()
    match = re.fullmatch("".join(parts), printed)
    if match:
        for page_id, actual in zip(shown, match.groups()):
            if not ids.bind(page_id, actual):
                return f"{page_id} is {ids.known} elsewhere, and {actual} here"
        return None
    end = max((n for n in range(len(parts) + 1) if re.match("".join(parts[:n]), printed)), default=0)
    return f"the page shows\n{page}\nprinted was\n{printed}\nwhich fits up to the part {''.join(parts[end:end + 1])[:300]!r}"


def is_measured(page, at):
    key = re.search(r'"(\w+)": ?$', page[:at])
    return bool(key) and key[1] in MEASURED


def literal(text):
    words = re.split(r"( +|\n)", text)
    return "".join(r" *\n" if word == "\n" else " +" if word.strip(" ") == "" and word else re.escape(word) for word in words)
