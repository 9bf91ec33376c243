#!/usr/bin/env python3
"""supervisor/records/on-disk.md is held to the code: each form has all its parts, each file that the page names exists,
each mark of a version stands in the file beside it, and each source that creates files is named on the page.

tests/lint/lint.py runs check() on the tree, or the self-test on PLANTS.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lint"))
import lint  # noqa: E402

PAGE = "supervisor/records/on-disk.md"
PARTS = ("Files", "Writes", "Reads", "Version", "Upgrade", "Damage", "Header")
NO_FORM = "Files that are no form"  # this section lists sources only
FOLDERS = ("supervisor", "jail", "policies", "catalog", "skills")
# What creates a file in C++ text without comments and strings.
CREATES = re.compile(r"\b(?:O_CREAT|O_TMPFILE|ofstream)\b|\b(?:mkstemp|mkostemp|mkdtemp|write_whole_file)\(")
PART = re.compile(r"^- \*\*(\w+)\*\*:\s*(.*)", re.DOTALL)
CODE = re.compile(r"`([^`]+)`")
MARK = re.compile(r"`([^`]+)` in\s+`([^`]+)`")
FILE = re.compile(r"^(?:%s|tests|var)/[\w./-]+\.(?:h|cc|py|md|json)$" % "|".join(FOLDERS))


def sections_of(text):
    """(line, title, {part: text}, parts in their order) of each section."""
    found = []
    for match in re.finditer(r"^## (.+)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE):
        items = [PART.match(item) for item in re.split(r"\n(?=- )", match[2].strip())]
        parts = [(item[1], item[2].strip()) for item in items if item]
        found.append((text.count("\n", 0, match.start()) + 1, match[1], dict(parts), [name for name, _ in parts]))
    return found


def creates_files(path):
    return any(CREATES.search(line) for _, line in lint.code_lines(path.read_text()))


def check(root):
    root = pathlib.Path(root)
    if not (root / PAGE).is_file():
        return [f"{PAGE}: the page is missing: it lists what is on the disk"]
    text, findings = (root / PAGE).read_text(), []
    for line, title, parts, order in sections_of(text):
        if title == NO_FORM:
            continue
        if order != list(PARTS) or not all(parts.values()):
            findings.append(f"{PAGE}:{line}: {title}: the parts must be {', '.join(PARTS)}, each with a text")
            continue
        if not re.fullmatch(r"`[^`]+\.(?:h|py)`", parts["Header"]):
            findings.append(f"{PAGE}:{line}: {title}: name one header or module that describes the form")
        marks = MARK.findall(parts["Version"])
        if not marks and not parts["Version"].startswith("no mark"):
            findings.append(f"{PAGE}:{line}: {title}: name the mark and its file, or begin with 'no mark'")
        for mark, file in MARK.findall(parts["Version"] + "\n" + parts["Upgrade"]):
            if (root / file).is_file() and mark not in (root / file).read_text():
                findings.append(f"{PAGE}:{line}: {title}: {file} has no `{mark}`: write down the mark of now, and what "
                                "an upgrade does with files of the one before")
    named = set(CODE.findall(text))
    for name in sorted(name for name in named if FILE.match(name)):
        if not (root / name).is_file():
            findings.append(f"{PAGE}: there is no file {name}: name the file that has this work now")
    for path in lint.files(root, ".cc", below=FOLDERS):
        name = path.relative_to(root).as_posix()
        if name not in named and creates_files(path):
            findings.append(f"{name}: creates a file, and {PAGE} does not name this source: add the form, or add the "
                            f"source to '{NO_FORM}'")
    return findings


MARKS = '`"a 1"` in `jail/a.cc`, `kVersion = 2` in\n  `jail/b.cc`'
FORM = ("# Page\n\n## The journal\n"
        "- **Files**: `STATE/a`\n"
        "- **Writes**: the daemon (`jail/a.cc`,\n  `jail/b.cc`)\n"
        "- **Reads**: the daemon\n"
        f"- **Version**: {MARKS}\n"
        "- **Upgrade**: not needed\n"
        "- **Damage**: ends the start\n"
        "- **Header**: `jail/a.h`\n")
GOOD = {PAGE: FORM + "\n## Files that are no form\n- `jail/c.cc`\n", "jail/a.h": "",
        "jail/a.cc": 'open(path, O_CREAT);\nauto a = "a 1";\n', "jail/b.cc": "constexpr int kVersion = 2;\n",
        "jail/c.cc": "std::ofstream to(path);\n", "jail/d.cc": "// O_CREAT is not used here\nopen(path, O_RDWR);\n"}


def page(before, after):
    assert before in GOOD[PAGE]
    return {**GOOD, PAGE: GOOD[PAGE].replace(before, after)}


PLANTS = [
    lint.Plant("a page that is true", GOOD, []),
    lint.Plant("no page", {"jail/a.h": ""}, ["the page is missing"]),
    lint.Plant("a form without a mark", page(MARKS, "no mark: text"), []),
    lint.Plant("a new version", {**GOOD, "jail/b.cc": "constexpr int kVersion = 3;\n"},
               ["The journal: jail/b.cc has no `kVersion = 2`: write down the mark of now"]),
    lint.Plant("a header was renamed", {name: text for name, text in GOOD.items() if name != "jail/a.h"},
               ["there is no file jail/a.h"]),
    lint.Plant("a header is a source", page("`jail/a.h`", "`jail/a.cc`"), ["name one header"]),
    lint.Plant("a part is missing", page("- **Damage**: ends the start\n", ""), ["the parts must be Files, Writes"]),
    lint.Plant("a part is empty", page("ends the start", ""), ["the parts must be Files, Writes"]),
    lint.Plant("a sentence in place of a mark", page(MARKS, "one"), ["name the mark and its file"]),
    lint.Plant("a new source that writes", {**GOOD, "skills/new.cc": "auto fd = open(path, O_WRONLY | O_CREAT);\n"},
               ["skills/new.cc: creates a file"]),
    lint.Plant("a source that is gone", {name: text for name, text in GOOD.items() if name != "jail/c.cc"},
               ["there is no file jail/c.cc"]),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
