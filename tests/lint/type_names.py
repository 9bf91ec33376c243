#!/usr/bin/env python3
"""A type that others can see has a name of its own: one that no other type of the product's namespaces has.

Looked at are the product's headers: classes, structs, unions, enums and aliases of namespaces with a name, and of none.
Not looked at: types within types, types of unnamed namespaces, declarations without a body, headers of tests.
"""
import re

import lint

FOLDERS = ("supervisor", "policies", "catalog", "skills", "jail")

TYPE = re.compile(r"(?:^|[>;}\s])(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+"
                  r"(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*)*(\w+)(?:\s+final)?\s*(?::[^:].*)?$", re.DOTALL)
ALIAS = re.compile(r"(?:^|>\s*)using\s+(\w+)\s*(?:\[\[[^\]]*\]\]\s*)?=", re.DOTALL)
TYPEDEF = re.compile(r"^typedef\b.*\b(\w+)$", re.DOTALL)
NAMESPACE = re.compile(r'(?:^|\s)(?:inline\s+)?namespace\b\s*([\w:]*)$|^extern\s*""$')


def types_of(text):
    """(line, name) of each type of a namespace. What stands before a brace says what the brace opens."""
    scopes, head = [], ""  # of each open brace: whether types in it count
    for number, line in lint.code_lines(text):
        if line.lstrip().startswith("#"):
            continue
        for char in line + "\n":
            if char not in "{};":
                head += char
                continue
            counts, head = all(scopes), head.strip()
            found = None
            if char == "{":
                space = NAMESPACE.search(head)
                scopes.append(bool(space) and space.group(1) != "")  # extern "C": group(1) is None
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
    lint.Plant("what only looks like it", {
        "jail/a.h": "namespace jail {\nclass Pool;\nstruct Pool { struct Kind {}; enum What { a }; };\nnamespace {\n"
                    "struct Local {};\n}\nPool make(struct Pool* pool) { struct Local {}; return {}; }\n}\n",
        "policies/b.h": "// struct Pool {\nnamespace p {\nstruct Rules { struct Kind {}; enum What { a }; };\nstruct Local {};\n}\n",
        "supervisor/c.cc": "struct Pool {};\n", "tests/d.h": "struct Pool {};\n"}, []),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
