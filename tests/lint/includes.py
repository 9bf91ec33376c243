#!/usr/bin/env python3
"""A source includes, itself or through what it includes, a header that declares each name of the project that it uses.

All presets but `dev` join the sources of a library, so a missing include of ours is seen by nobody but the developer who
compiles the source alone. Looked at are names of namespaces: functions, types, constants, aliases, and macros. A name
counts as declared if a header that is reached spells it: each header is held to the same rule. Not looked at: members,
names of the standard library and of other projects, types that are only declared where their body is needed.
"""
import collections
import pathlib
import re

import lint

FOLDERS = ("supervisor", "policies", "catalog", "skills", "jail", "tests")

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"\n]+)"', re.MULTILINE)
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)", re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|&&|\|\||[0-9][\w.']*|\S")
NAMESPACE = re.compile(r'(?:^| )(?:inline )?namespace(?: ([\w ]+(?: :: \w+)*))?$|^extern ""$')
TYPE = re.compile(r"(?:^|[>\]] )(?:typedef )?(?:class|struct|union|enum class|enum struct|enum) (?:\[ \[.*?\] \] )?(\w+)(?: final)?(?: : .*)?$")
ALIAS = re.compile(r"(?:^|> )(?:using|concept) (\w+)(?: \[ \[.*\] \])?$")
# What may stand before a call; before any other word, the name is being declared.
BEFORE_CALL = {"return", "co_return", "co_await", "co_yield", "throw", "else", "case", "not", "and", "or", "new", "delete",
               "do", "in"}
TYPE_NAME = re.compile(r"[A-Z]")  # or a macro's
CONSTANT = re.compile(r"k[A-Z]")
ATTRIBUTE = re.compile(r"\[ \[.*?\] \] ?")


class Source:
    """One file: what it includes, which names it declares in namespaces, and where it uses which names."""

    def __init__(self, text):
        self.includes = INCLUDE.findall(text)
        self.macros = set(DEFINE.findall(text))
        self.declared = {}     # name: namespaces ("a::b", "" for none; an unnamed one counts as the one around it)
        self.named = set()     # types that it declares without a body
        self.namespaces = {""}  # those that it opens or uses, and those around them
        self.words = set()
        self.uses = []         # (line, word before, qualifier or None, name, word after)
        for name in self.macros:
            self.declared.setdefault(name, set()).add("")
        self.read([(number, word) for number, line in lint.code_lines(text) if not self.is_directive(line)
                   for word in TOKEN.findall(line)])
        self.words |= self.declared.keys()

    def is_directive(self, line):
        """A line of the preprocessor, and those that go on from it; the words of a macro's body are not read."""
        directive = getattr(self, "goes_on", False) or line.lstrip().startswith("#")
        self.goes_on = directive and line.rstrip().endswith("\\")
        return directive

    def read(self, tokens):
        scopes, head, spaces = [], [], []  # of each open brace: the number of namespaces it opened, or None
        parentheses = 0
        words = [word for _, word in tokens]
        for i, (line, word) in enumerate(tokens):
            if word[0].isalpha() or word[0] == "_":
                before, after = words[i - 1] if i else "", words[i + 1] if i + 1 < len(words) else ""
                qualifier = None
                if before == "::":
                    qualifier = words[i - 2] if i > 1 and re.match(r"\w", words[i - 2]) else ""
                self.words.add(word)
                self.uses.append((line, before, qualifier, word, after))
            in_namespace = None not in scopes
            parentheses += (word == "(") - (word == ")")
            if word not in "{};" or parentheses > 0 and word == ";":
                if in_namespace:
                    head.append(word)
                continue
            if word == "}":
                if scopes and (opened := scopes.pop()):
                    del spaces[-opened:]
                head = [] if None not in scopes else head
                continue
            text = ATTRIBUTE.sub("", " ".join(head))
            if word == "{":
                space = NAMESPACE.search(text) if in_namespace else None
                if space:
                    names = (space.group(1) or "").replace(" ", "").split("::")
                    names = [name for name in names if name]
                    spaces += names
                    scopes.append(len(names))
                    for count in range(len(spaces)):
                        self.namespaces.add("::".join(spaces[:count + 1]))
                else:
                    if in_namespace:
                        self.declare(text, "::".join(spaces), True)
                    scopes.append(None)
                    parentheses = 0
            elif in_namespace:
                self.declare(text, "::".join(spaces), False)
            if in_namespace:
                head = []

    def declare(self, text, space, has_body):
        if text.startswith("using namespace "):
            self.namespaces.add(text.removeprefix("using namespace ").replace(" ", ""))
            return
        before_value = without_templates(text.split(" = ")[0])
        found = TYPE.search(before_value)
        if found and not has_body:
            self.named.add(found.group(1))
            return
        found = found or ALIAS.search(before_value)
        if not found and "(" in before_value:
            found = re.search(r"([\w]+) \($", before_value[:before_value.index("(") + 1])
            if found and re.search(r":: (?:~ )?\w+ \($", before_value[:before_value.index("(") + 1]):
                found = None
        elif not found:
            found = re.search(r"[\w>&*] (\w+)(?: \[.*)?$", before_value)
            if found and ":: " + found.group(1) in before_value:
                found = None
        if found:
            self.declared.setdefault(found.group(1), set()).add(space)


def without_templates(text):
    """Text of tokens without what is between < and >."""
    kept, depth = [], 0
    for word in text.split(" "):
        if word == "<":
            depth += 1
        elif word == ">":
            depth = max(0, depth - 1)
            if not depth:
                kept.append(">")
        elif not depth:
            kept.append(word)
    return " ".join(kept)


def declares_itself(name, uses):
    """Whether the file declares something of its own by this name, in a type or in a function: a parameter, say."""
    for _, before, qualifier, _, after in uses:
        if qualifier is not None or before in (".", "->"):
            continue
        if TYPE_NAME.match(name):
            if before in ("class", "struct", "union", "enum", "using", "typename", "concept"):
                return True
        elif re.match(r"\w|[>&*\]]$", before) and before not in BEFORE_CALL or after != "(" and not CONSTANT.match(name):
            return True
    return False


def is_use(before, qualifier, name, after, spaces, opened):
    """Whether this occurrence means the name of namespaces `spaces`, in a file that opens the namespaces `opened`."""
    if qualifier is not None:
        return any(space.split("::")[-1] == qualifier for space in spaces if space) or qualifier == "" and "" in spaces
    if before in (".", "->") or not any(space in opened for space in spaces):
        return False
    return after == "(" or bool(TYPE_NAME.match(name) or CONSTANT.match(name))


def check(root):
    sources = {path.relative_to(root).as_posix(): Source(path.read_text())
               for path in lint.files(root, ".h", ".cc", below=FOLDERS)}
    for path in root.glob("supervisor/**/*.h.in"):  # the build makes headers of these
        sources[path.relative_to(root).as_posix().removesuffix(".in")] = Source(path.read_text())
    declared_by = collections.defaultdict(list)
    for path, source in sources.items():
        for name in source.declared:
            declared_by[name].append(path)
    reached, spelled = {}, {}

    def reach(path):
        """The project's headers behind this file, itself left out."""
        if path not in reached:
            reached[path] = set()
            for name in sources[path].includes:
                beside = (pathlib.PurePosixPath(path).parent / name).as_posix()
                header = name if name in sources else beside
                if header in sources:
                    reached[path] |= {header} | reach(header)
        return reached[path]

    # Names that the C library has as well.
    foreign = {name for source in sources.values() for _, _, qualifier, name, _ in source.uses if qualifier in ("", "std")}
    findings = []
    for path, source in sources.items():
        words = set().union(*(sources[header].words for header in reach(path)))
        by_name = collections.defaultdict(list)
        for use in source.uses:
            by_name[use[3]].append(use)
        for name in sorted((by_name.keys() & declared_by.keys()) - words - source.declared.keys() - source.named):
            headers = [other for other in declared_by[name] if other.endswith(".h")]
            # A helper of a source is known to the others of its folder where they are compiled as one.
            beside = [other for other in declared_by[name] if path.endswith(".cc") and other.endswith(".cc") and
                      name not in foreign | sources[other].macros and
                      pathlib.Path(other).parent == pathlib.Path(path).parent]
            spaces = set().union(*(sources[other].declared[name] for other in headers + beside), set())
            if not spaces:
                continue
            qualified = [use for use in by_name[name] if use[2] is not None]
            uses = by_name[name] if not declares_itself(name, by_name[name]) else qualified
            for line, before, qualifier, _, after in uses:
                if is_use(before, qualifier, name, after, spaces, source.namespaces):
                    where = " or ".join(sorted(headers)) or f"{beside[0]}, which is no header"
                    findings.append(f"{path}:{line}: {name} is declared by {where}: include it")
                    break
    return findings


LOOPBACK = "#pragma once\nnamespace net {\ninline constexpr char kAny[] = \"::\";\nbool is_local(int address);\nstruct Address {};\n}\n"
GLOBAL = "#pragma once\n#define TRY(x) x\nclass Fd {};\nint open_file(int flags);\n"

PLANTS = [
    lint.Plant("a function, a constant and a type with their namespace", {
        "jail/net.h": LOOPBACK,
        "jail/a.cc": "bool f(int a) { return net::is_local(a); }\n",
        "jail/b.cc": "// net::kAny\nauto any() { return net::kAny; }\n",
        "jail/c.cc": "net::Address address;\n"},
               ["jail/a.cc:1: is_local is declared by jail/net.h", "jail/b.cc:2: kAny is declared by jail/net.h",
                "jail/c.cc:1: Address is declared by jail/net.h"]),
    lint.Plant("the same within the namespace, in a test, and by using it", {
        "jail/net.h": LOOPBACK,
        "jail/a.cc": "namespace net {\nbool f() { return is_local(1) && kAny[0]; }\n}\n",
        "tests/jail/b.cc": "using namespace net;\nbool f() { return is_local(1); }\n"},
               ["jail/a.cc:2: is_local", "jail/a.cc:2: kAny", "tests/jail/b.cc:2: is_local"]),
    lint.Plant("names of no namespace, and a macro", {
        "supervisor/base/fd.h": GLOBAL,
        "jail/a.cc": "namespace jail {\nvoid f() {\n  Fd fd;\n  TRY(open_file(1));\n}\n}\n"},
               ["jail/a.cc:3: Fd", "jail/a.cc:4: TRY", "jail/a.cc:4: open_file"]),
    lint.Plant("a helper of another source of the folder", {
        "jail/a.cc": "namespace {\nint halved(int a) { return a / 2; }\n}\n",
        "jail/b.cc": "int f() { return halved(4); }\n", "policies/c.cc": "int f() { return halved(4); }\n"},
               ["jail/b.cc:1: halved is declared by jail/a.cc, which is no header"]),
    lint.Plant("a header that relies on what stands before it", {
        "jail/net.h": LOOPBACK, "jail/a.h": "inline net::Address here();\n",
        "jail/a.cc": "#include \"jail/net.h\"\n#include \"jail/a.h\"\nbool f() { return net::is_local(1'000 + 1'000); }\n"},
               ["jail/a.h:1: Address is declared by jail/net.h"]),
    lint.Plant("included, also by way of another header, and beside a test", {
        "jail/net.h": LOOPBACK, "jail/b.h": "#include \"jail/net.h\"\n", "tests/jail/scene.h": "#include \"jail/b.h\"\nint scene();\n",
        "jail/a.cc": "#include \"jail/b.h\"\nbool f() { return net::is_local(1) && net::kAny[0]; }\nnet::Address here;\n",
        "tests/jail/b.cc": "#include \"scene.h\"\nint f() { return scene() + net::is_local(1); }\n"}, []),
    lint.Plant("what only looks like it", {
        "jail/net.h": LOOPBACK, "supervisor/base/fd.h": GLOBAL,
        "jail/a.cc": "class Fd;\nvoid f(Fd* fd, other::Address a, const char* text = \"net::kAny\") { a.is_local(1); }\n"
                     "bool is_local(int);\nbool g() { return is_local(1); }\n",
        "jail/b.cc": "struct Address {};\nnamespace net {\nbool f(bool is_local) { return is_local; }\n}\n",
        "jail/c.cc": "int f() {\n  auto open_file = [] { return 1; };\n  return open_file();\n}\n"}, []),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
