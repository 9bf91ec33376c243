#!/usr/bin/env python3
"""A type that others can see has a name of its own: one that no other type of the product's namespaces has.

Looked at are the product's headers: classes, structs, unions, enums and aliases of namespaces with a name, and of none.
A type of an unnamed namespace may not have the name of a type in a header beside it or in supervisor/base/: a reader
takes the one for the other. Not looked at: types within types, declarations without a body, tests.
"""
import pathlib
import re

import lint

FOLDERS = ("supervisor", "policies", "catalog", "skills", "jail")

TYPE = re.compile(r"(?:^|[>;}\s])(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+"
                  r"(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*)*(\w+)(?:\s+final)?\s*(?::[^:].*)?$", re.DOTALL)
ALIAS = re.compile(r"(?:^|>\s*)using\s+(\w+)\s*(?:\[\[[^\]]*\]\]\s*)?=", re.DOTALL)
TYPEDEF = re.compile(r"^typedef\b.*\b(\w+)$", re.DOTALL)
NAMESPACE = re.compile(r'(?:^|\s)(?:inline\s+)?namespace\b\s*([\w:]*)$|^extern\s*""$')


BASE = pathlib.Path("supervisor/base")


def types_of(text, in_unnamed=False):
    """(line, name) of each type of a namespace with a name, or of an unnamed one. What stands before a brace says what
    the brace opens."""
    scopes, head = [], ""  # of each open brace: "named", "unnamed", "other"
    for number, line in lint.code_lines(text):
        if line.lstrip().startswith("#"):
            continue
        for char in line + "\n":
            if char not in "{};":
                head += char
                continue
            counts, head = "other" not in scopes and ("unnamed" in scopes) == in_unnamed, head.strip()
            found = None
            if char == "{":
                space = NAMESPACE.search(head)
                scopes.append("other" if not space else "unnamed" if space.group(1) == "" else "named")  # extern "C": None
                if counts and not space:
                    found = TYPE.search(head)
            elif char == "}":
                if scopes:
                    scopes.pop()
            elif counts:
                found = ALIAS.search(head) or TYPEDEF.search(head)
            if found:
                yield number, found.group(1)
            head = ""


def check(root):
    places = {}
    for path in lint.files(root, ".h", below=FOLDERS):
        for number, name in types_of(path.read_text()):
            places.setdefault(name, []).append(f"{path.relative_to(root).as_posix()}:{number}")
    findings = []
    for name, where in sorted(places.items()):
        if len(where) > 1:
            findings.append(f"{where[-1]}: another type is named {name}: {', '.join(where[:-1])}")
    for path in lint.files(root, ".h", ".cc", ".c", below=FOLDERS):
        inside = path.relative_to(root)
        for number, name in types_of(path.read_text(), in_unnamed=True):
            for place in places.get(name, []):
                if pathlib.Path(place).parent in (inside.parent, BASE):
                    findings.append(f"{inside.as_posix()}:{number}: a type near by is named {name}: {place}")
    return findings


PLANTS = [
    lint.Plant("a name in two namespaces", {"jail/a.h": "namespace jail {\nstruct Answer {\n};\n}\n",
                                            "supervisor/b.h": "namespace mcp {\nclass Answer final : public X {\n};\n}\n"},
               ["supervisor/b.h:2: another type is named Answer: jail/a.h:2"]),
    lint.Plant("an alias, an enum and a template", {
        "jail/a.h": "namespace jail {\nusing Counts = int;\nenum class Kind : uint8_t { a, b };\n}\n",
        "policies/b.h": "namespace p {\nstruct Counts {};\ntemplate <class T>\nstruct Kind {};\n}\n"},
               ["policies/b.h:2: another type is named Counts", "policies/b.h:4: another type is named Kind"]),
    lint.Plant("a type of no namespace", {"catalog/a.h": "struct Fd {\n};\n", "jail/b.h": 'extern "C" {\nstruct Fd { int a; };\n}\n'},
               ["jail/b.h:2: another type is named Fd"]),
    lint.Plant("a type of an unnamed namespace, beside a header and with base", {
        "jail/a.h": "namespace jail {\nstruct Pool {\n};\n}\n", "supervisor/base/fd.h": "class Fd {\n};\n",
        "jail/b.cc": "namespace jail {\nnamespace {\nstruct Pool {};\nusing Fd = int;\n}\n}\n"},
               ["jail/b.cc:3: a type near by is named Pool: jail/a.h:2", "jail/b.cc:4: a type near by is named Fd: supervisor/base/fd.h:1"]),
    lint.Plant("a type of an unnamed namespace, of another folder, and within a type", {
        "jail/a.h": "namespace jail {\nstruct Pool {\n};\n}\n",
        "policies/b.cc": "namespace policies {\nnamespace {\nstruct Pool {};\n}\n}\n",
        "jail/c.cc": "namespace jail {\nnamespace {\nstruct Stock { struct Pool {}; };\n}\n}\n"}, []),
    lint.Plant("what only looks like it", {
        "jail/a.h": "namespace jail {\nclass Pool;\nstruct Pool { struct Kind {}; enum What { a }; };\nnamespace {\n"
                    "struct Local {};\n}\nPool make(struct Pool* pool) { struct Local {}; return {}; }\n}\n",
        "policies/b.h": "// struct Pool {\nnamespace p {\nstruct Rules { struct Kind {}; enum What { a }; };\nstruct Local {};\n}\n",
        "supervisor/c.cc": "struct Pool {};\n", "tests/d.h": "struct Pool {};\n"}, []),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
