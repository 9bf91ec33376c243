#!/usr/bin/env python3
"""A type that others can see has a name of its own: one that no other type of the product's namespaces has.

Looked at are the product's headers: classes, structs, unions, enums and aliases of namespaces with a name, and of none.
A type of an unnamed namespace may not have the name of a type in a header beside it or in supervisor/base/: a reader
takes the one for the other. Not looked at: types within types, declarations without a body, tests.
All types with a body have a budget, in percent, for names of one word (`Kind`, `What`) and for names that another type
has: MOST, for the level of namespaces, for types within types and functions, and for all. The commit that lowers a
percentage lowers MOST with it. The goals for all types: less than 25 % of one word, none shared. Aliases do not count.
  type_names.py ROOT          the check
  type_names.py --rates ROOT  the percentages, and each shared name with its places
"""
import collections
import pathlib
import re
import sys

import lint

FOLDERS = ("supervisor", "policies", "catalog", "skills", "jail")
MOST = {"namespace": (25, 3), "nested": (82, 47), "all": (41, 22)}  # level: percent of one word, percent shared
FEWEST_TYPES = 50  # a level with fewer types has no budget

TYPE = re.compile(r"(?:^|[>;}\s])(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+"
                  r"(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*)*(\w+)(?:\s+final)?\s*(?::[^:].*)?$", re.DOTALL)
# struct Server::Parts {
MEMBER_TYPE = re.compile(r"(?:^|[>;}\s])(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:\w+::)+(\w+)"
                         r"(?:\s+final)?\s*(?::[^:].*)?$", re.DOTALL)
ALIAS = re.compile(r"(?:^|>\s*)using\s+(\w+)\s*(?:\[\[[^\]]*\]\]\s*)?=", re.DOTALL)
TYPEDEF = re.compile(r"^typedef\b.*\b(\w+)$", re.DOTALL)
TWO_WORDS = re.compile(r"[a-z0-9][A-Z]|_")
NAMESPACE = re.compile(r'(?:^|\s)(?:inline\s+)?namespace\b\s*([\w:]*)$|^extern\s*""$')


BASE = pathlib.Path("supervisor/base")


def all_types(text):
    """(line, name, level, is_alias) of each type with a body and of each alias. level: "named" or "unnamed", the kind
    of namespace; "nested", in a type or a function. What stands before a brace says what the brace opens."""
    scopes, head = [], ""  # of each open brace: "named", "unnamed", "other"
    for number, line in lint.code_lines(text):
        if line.lstrip().startswith("#"):
            continue
        for char in line + "\n":
            if char not in "{};":
                head += char
                continue
            level = "nested" if "other" in scopes else "unnamed" if "unnamed" in scopes else "named"
            head, found = head.strip(), None
            if char == "{":
                space = NAMESPACE.search(head)
                scopes.append("other" if not space else "unnamed" if space.group(1) == "" else "named")  # extern "C": None
                found = None if space else TYPE.search(head)
                if not space and not found:
                    found = MEMBER_TYPE.search(head)
                    level = "nested" if found else level
            elif char == "}":
                if scopes:
                    scopes.pop()
            else:
                found = ALIAS.search(head) or TYPEDEF.search(head)
            if found:
                yield number, found.group(1), level, char == ";"
            head = ""


def types_of(text, in_unnamed=False):
    """(line, name) of each type of a namespace with a name, or of an unnamed one."""
    for number, name, level, _ in all_types(text):
        if level == ("unnamed" if in_unnamed else "named"):
            yield number, name


def types_by_level(root):
    """{"namespace", "nested", "all": {name: places}} of the types with a body."""
    levels = {level: collections.defaultdict(list) for level in MOST}
    for path in lint.files(root, ".h", ".cc", below=FOLDERS):
        for number, name, level, is_alias in all_types(path.read_text()):
            if not is_alias:
                place = f"{path.relative_to(root).as_posix()}:{number}"
                levels["nested" if level == "nested" else "namespace"][name].append(place)
                levels["all"][name].append(place)
    return levels


def numbers(names):
    """(types, types of one word, types that share a name) of {name: places}."""
    return (sum(len(places) for places in names.values()),
            sum(len(places) for name, places in names.items() if not TWO_WORDS.search(name)),
            sum(len(places) for places in names.values() if len(places) > 1))


def over_budget(root):
    for level, names in types_by_level(root).items():
        types, *counts = numbers(names)
        for count, most, about in zip(counts, MOST[level], ("have a name of one word", "share a name")):
            if types >= FEWEST_TYPES and 100 * count > most * types:
                yield f"types, {level}: {count} of {types} ({100 * count / types:.1f} %) {about}; at most {most} %"


def rates(root):
    levels = types_by_level(root)
    for name, places in sorted(levels["all"].items(), key=lambda item: len(item[1])):
        if len(places) > 1:
            print(f"{len(places):4} {name}: {', '.join(places)}")
    for level, names in levels.items():
        types, one_word, shared = numbers(names)
        print(f"{level}: {types} types; {one_word} of one word, {100 * one_word / max(types, 1):.1f} %; "
              f"{shared} share a name, {100 * shared / max(types, 1):.1f} %")


def check(root):
    places = {}
    for path in lint.files(root, ".h", below=FOLDERS):
        for number, name in types_of(path.read_text()):
            places.setdefault(name, []).append(f"{path.relative_to(root).as_posix()}:{number}")
    findings = list(over_budget(root))
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
    lint.Plant("types of one word, too many", {
        "jail/a.h": "namespace jail {\n" +
                    "".join(f"struct Tar{a}{b} {{}};\n" for a in "abcdefgh" for b in "stuvwxyz") + "}\n"},
               ["types, namespace: 64 of 64 (100.0 %) have a name of one word; at most",
                "types, all: 64 of 64 (100.0 %) have a name of one word"]),
    lint.Plant("types within types that share a name, too many", {
        "jail/a.h": "namespace jail {\n" +
                    "".join(f"struct JailPart{n} {{ struct PartState {{}}; }};\n" for n in range(60)) +
                    "struct JailPart1::FarState {\n};\n}\n"},
               ["types, nested: 60 of 61 (98.4 %) share a name; at most",
                "types, all: 60 of 121 (49.6 %) share a name"]),
    lint.Plant("many types with names of their own", {
        "jail/a.h": "namespace jail {\n" +
                    "".join(f"struct JailPart{n} {{ struct PartState{n} {{}}; }};\n" for n in range(60)) + "}\n"},
               []),
    lint.Plant("what only looks like it", {
        "jail/a.h": "namespace jail {\nclass Pool;\nstruct Pool { struct Kind {}; enum What { a }; };\nnamespace {\n"
                    "struct Local {};\n}\nPool make(struct Pool* pool) { struct Local {}; return {}; }\n}\n",
        "policies/b.h": "// struct Pool {\nnamespace p {\nstruct Rules { struct Kind {}; enum What { a }; };\nstruct Local {};\n}\n",
        "supervisor/c.cc": "struct Pool {};\n", "tests/d.h": "struct Pool {};\n"}, []),
]

if __name__ == "__main__":
    if sys.argv[1] == "--rates":
        rates(pathlib.Path(sys.argv[2]))
    else:
        lint.main(check, PLANTS)
