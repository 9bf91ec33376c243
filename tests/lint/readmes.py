#!/usr/bin/env python3
"""Every folder that is a concept, and every large folder, has one page, with the parts that a newcomer looks for."""
import lint

PARTS = ("Key files", "Where to look", "Conventions", "Not here")
LIMIT = 120  # lines; one page, two at most
TOP = ("supervisor", "jail", "policies", "units", "catalog", "skills", "var", "tests")
MANY = 10  # files; a folder of the product with so many has a page at any depth


def concepts(root):
    """The top folders, the daemon's and the jail's inner ones, those tests that mirror no folder, and large folders."""
    found = set()
    for name in TOP:
        if (root / name).is_dir():
            found.add(root / name)
    for name in ("supervisor", "jail", "tests"):
        for folder in sorted((root / name).glob("*/")):
            mirrors = name == "tests" and (root / folder.name).is_dir()
            if folder.is_dir() and not mirrors and folder.name not in lint.SKIPPED_FOLDERS:
                found.add(folder)
    for name in ("supervisor", "jail", "policies", "catalog", "skills"):
        for folder in (root / name).rglob("*/"):
            skipped = lint.SKIPPED_FOLDERS & set(folder.relative_to(root).parts)
            if not skipped and sum(path.is_file() for path in folder.iterdir()) >= MANY:
                found.add(folder)
    return sorted(found)


def check(root):
    findings = []
    for folder in concepts(root):
        if not any(path.is_file() for path in folder.rglob("*")):
            continue  # an empty folder: git does not know it either
        page, name = folder / "README.md", folder.relative_to(root).as_posix()
        if not page.is_file():
            findings.append(f"{name}: has no README.md")
            continue
        text = page.read_text()
        missing = [part for part in PARTS if part.lower() not in text.lower()]
        if missing:
            findings.append(f"{name}/README.md: says nothing about: {', '.join(missing)}")
        if text.count("\n") > LIMIT:
            findings.append(f"{name}/README.md: {text.count(chr(10))} lines is more than a page ({LIMIT})")
    return findings


GOOD = "# jail\nKey files a\nWhere to look b\nConventions c\nNot here d\n"
PLANTS = [
    lint.Plant("no page", {"jail/jail.cc": ""}, ["jail: has no README.md"]),
    lint.Plant("an empty page", {"jail/README.md": "# jail\nKey files\n"}, ["says nothing about: Where to look"]),
    lint.Plant("a book", {"jail/README.md": GOOD + "more\n" * LIMIT}, ["lines is more than a page"]),
    lint.Plant("an inner folder", {"jail/README.md": GOOD, "jail/init/main.cc": ""}, ["jail/init: has no README.md"]),
    lint.Plant("a large folder far down", {"supervisor/README.md": GOOD, "supervisor/a/README.md": GOOD,
                                           **{f"supervisor/a/b/{i}.cc": "" for i in range(MANY)}},
               ["supervisor/a/b: has no README.md"]),
    lint.Plant("a small folder far down", {"supervisor/README.md": GOOD, "supervisor/a/README.md": GOOD,
                                           **{f"supervisor/a/b/{i}.cc": "" for i in range(MANY - 1)}}, []),
    lint.Plant("mirrors need none", {"jail/README.md": GOOD, "tests/README.md": GOOD, "tests/jail/a.cc": ""}, []),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
