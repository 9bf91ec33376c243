#!/usr/bin/env python3
"""A comment or a page that names a source file of ours names one that exists: files are renamed, and comments stay.

Looked at are C++ file names of any form ("loop.h", "mcp/server.h"), and paths of other files that begin with one of our
folders ("tests/lint/lint.py", "../README.md"). A name fits each file whose path ends with it.
Not looked at: names with a part in capitals (NAME.cc), absolute paths, names in angle brackets, and FOREIGN.
"""
import os
import re

import lint
import vague_words

FOLDERS = ("supervisor", "jail", "policies", "units", "catalog", "skills", "tests", ".ci", ".github")
# Headers of the system, the kernel and libraries that comments cite.
FOREIGN = {"nats.h", "posix-timers.h", "sysexits.h", "unistd.h"}
FOREIGN_FOLDERS = ("linux/",)

CODE = re.compile(r"(?<![\w/.<*{$~-])((?:\.\./)*(?:[\w.+-]+/)*[\w+-]+\.(?:h|cc))(?![\w*/{]|\.\w)")
PATH = re.compile(r"(?<![\w/.<*{$~-])((?:(?:\.\./)+|(?:%s)/)(?:[\w.+-]+/)*[\w+-]+\.(?:py|js|md|query|json))(?![\w*/{]|\.\w)"
                  % "|".join(map(re.escape, FOLDERS)))
COMMENTS = {".h": vague_words.CPP, ".cc": vague_words.CPP, ".js": vague_words.JAVASCRIPT, ".py": vague_words.SCRIPT}
PLACEHOLDER = re.compile(r"(?:^|[/_-])[A-Z][A-Z_]+(?=[./_-])")


def prose(path):
    """(offset, text) of each comment of a file, or of a whole page."""
    text = path.read_text()
    if path.suffix == ".md":
        yield 0, text
        return
    for match in COMMENTS[path.suffix].finditer(text):
        if match.group("comment"):
            yield match.start(), match.group("comment")


def is_foreign(name):
    return name in FOREIGN or name.startswith(FOREIGN_FOLDERS) or (
        PLACEHOLDER.search(name) and not name.endswith(("README.md", "GLOSSARY.md", "STYLE.md")))


def endings(root):
    """Each path of the tree, and each end of it at a folder: of a/b/README.md also b/README.md and README.md."""
    found = set()
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in lint.SKIPPED_FOLDERS]
        parts = os.path.relpath(folder, root).split(os.sep)
        parts = [] if parts == ["."] else parts
        for name in names:
            whole = parts + [name]
            found.update("/".join(whole[i:]) for i in range(len(whole)))
    return found


def check(root):
    findings, known = [], endings(root)
    for path in lint.files(root, ".md") + lint.files(root, *COMMENTS, below=FOLDERS):
        text = None
        for offset, prose_text in prose(path):
            for pattern in (CODE, PATH):
                for match in pattern.finditer(prose_text):
                    name = re.sub(r"^(?:\.\./)+", "", match.group(1))
                    if name in known or is_foreign(name):
                        continue
                    text = text if text is not None else path.read_text()
                    line = text.count("\n", 0, offset + match.start()) + 1
                    findings.append(f"{path.relative_to(root).as_posix()}:{line}: no file is named {match.group(1)}")
    return findings


PLANTS = [
    lint.Plant("a header that was renamed", {"jail/a.h": "// Used by: b.cc,\n// pool.h.\n", "jail/b.cc": ""},
               ["jail/a.h:2: no file is named pool.h"]),
    lint.Plant("a path that has moved", {"supervisor/tools/a.cc": "int a;  // see supervisor/tools/b.cc\n", "jail/b.cc": ""},
               ["supervisor/tools/a.cc:1: no file is named supervisor/tools/b.cc"]),
    lint.Plant("a page", {"jail/README.md": "# jail\n`pool.h` jails, `../tests/bench/a.py`\n"},
               ["jail/README.md:2: no file is named pool.h", "jail/README.md:2: no file is named ../tests/bench/a.py"]),
    lint.Plant("comments of scripts", {"tests/a.py": '"""As tests/b.py does."""\n', "jail/guest/a.js": "// jail/c.h\n"},
               ["jail/guest/a.js:1", "tests/a.py:1"]),
    lint.Plant("names that exist, foreign names, examples, code", {
        "jail/a.h": "// jail/a.h, a.h, guest/b.js; linux/magic.h, <sched.h>, /usr/include/x.h, unistd.h, NAME.cc, *_test.cc\n",
        "jail/guest/b.js": "const a = 'missing.h';  // a.txt, notes.md\n",
        "jail/README.md": "`a.h` `guest/` `tests/TOPIC_test.py` query.py `report.json`\n"}, []),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
