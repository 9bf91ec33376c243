#!/usr/bin/env python3
"""supervisor/stations.md is walked: each function that the page names is defined in the file beside it, and is called
in a file of that station or of an earlier one. A function that no code calls by name is listed on the page with the
text through which it is reached, and that text stands in one of those files.

Only text is read: a name that several classes have may count as a call of each. tests/lint/lint.py runs check() on the
tree, or the self-test on PLANTS.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lint"))
import lint  # noqa: E402

PAGE = "supervisor/stations.md"
PLACE = re.compile(r"^- `(\w+)`: ")
ROW = re.compile(r"^\| (\d+) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$")
REACHED = re.compile(r"^- (\d+) `([\w:]+)`: .*`([^`]+)`$")
CODE = re.compile(r"`([^`]+)`")
PYTHON_TEXT = re.compile(r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*')
BODY = re.compile(r"\s*(?:(?:const|noexcept|override|final)\s*)*(?:\{|:(?!:))")


class Source:
    """The text of a file without its comments and strings, and where functions are defined in it."""

    def __init__(self, path):
        text = path.read_text()
        self.is_python = path.suffix == ".py"
        self.code = PYTHON_TEXT.sub('""', text) if self.is_python else "\n".join(
            line for _, line in lint.code_lines(text))

    def definitions(self, name):
        """The positions of the name in each definition; `name` may have its class before it: Loop::run."""
        if self.is_python:
            heads = re.finditer(rf"^[ \t]*(?:async )?def ({name})\(", self.code, re.MULTILINE)
            return [match.start(1) for match in heads]
        before = r"^[\w:<>,&* \t]*[ \t&*>]" + ("" if "::" in name else r"(?:\w+::)*")
        heads = re.finditer(rf"{before}({name})\(", self.code, re.MULTILINE)
        return [match.start(1) for match in heads if BODY.match(self.code, self.end_of_parameters(match.end()))]

    def end_of_parameters(self, at):
        depth = 1
        while depth and at < len(self.code):
            depth += {"(": 1, ")": -1}.get(self.code[at], 0)
            at += 1
        return at

    def defines(self, name):
        found = self.definitions(name)
        if "::" in name or self.is_python:
            return bool(found)
        # A free function, or a member within the braces of its class: not one of another class.
        return any(not self.code.endswith("::", 0, at) for at in found)

    def calls(self, name):
        name = name.rpartition("::")[2]
        own = set(self.definitions(name))
        calls = re.finditer(rf"(?<![\w~])({name})(?:<[^;()]*>)?\(", self.code)
        return any(match.start(1) not in own for match in calls)


class Station:
    def __init__(self, line, number, files, places, sentence, reason):
        self.line, self.number, self.sentence, self.reason = line, number, sentence, reason
        self.places = CODE.findall(places)
        self.functions = []  # (file, function)
        self.files = []
        for word in CODE.findall(files):
            if "/" in word:
                self.files.append(word)
            elif self.files:
                self.functions.append((self.files[-1], word))


def check(root):
    root = pathlib.Path(root)
    if not (root / PAGE).is_file():
        return [f"{PAGE}: the page is missing: it shows the way of a call through the code"]
    lines = (root / PAGE).read_text().split("\n")
    places = {match[1] for line in lines if (match := PLACE.match(line))}
    reached = {(int(match[1]), match[2]): (number, match[3])
               for number, line in enumerate(lines, 1) if (match := REACHED.match(line))}
    stations = [Station(number, int(match[1]), *match.groups()[1:])
                for number, line in enumerate(lines, 1) if (match := ROW.match(line))]
    findings = []
    if [station.number for station in stations] != list(range(1, len(stations) + 1)) or not stations:
        findings.append(f"{PAGE}: the stations are not numbered 1, 2, 3 and so on: number the rows again")
    sources, texts = {}, {}
    for station in stations:
        def find(what):
            findings.append(f"{PAGE}:{station.line}: station {station.number}: {what}")
        if not station.functions or not station.sentence or not station.reason:
            find("the row needs a file, a function, a sentence and a reason to open it")
        if not station.places or set(station.places) - places:
            find("name a thread or process of the list 'Where a station runs'")
        for file in station.files:
            if file in sources:
                continue
            if (root / file).is_file():
                sources[file], texts[file] = Source(root / file), (root / file).read_text()
            else:
                find(f"there is no file {file}: name the file that has this work now")
        for file, function in station.functions:
            _, text = reached.pop((station.number, function), (0, None))
            if file not in sources:
                continue
            if not sources[file].defines(function):
                find(f"{file} defines no function {function}: name the function that does this work now")
            elif text is not None:
                if not any(text in known for known in texts.values()):
                    find(f"{function} is said to be reached through `{text}`, which no file of the stations up to "
                         "here has: look how it is reached now")
            elif not any(source.calls(function) for source in sources.values()):
                find(f"no file of the stations up to here calls {function}: name the function that is called now, or "
                     "write under 'Reached without a call' through which text it is reached")
    for (number, function), (line, _) in reached.items():
        findings.append(f"{PAGE}:{line}: station {number} names no function {function}: delete this line or correct it")
    return findings


HEAD = "- `loop`: the loop\n\n"
ROWS = ("| 1 | `jail/a.cc` `Reader::read` | `loop` | Bytes come. | see bytes |\n"
        "| 2 | `jail/b.cc` `parse` · `jail/guest/c.py` `main` | `loop` | Text. | see text |\n")
REACH = "\n- 1 `Reader::read`: by the kernel, `receive(`\n- 2 `main`: by a message, `\"run\"`\n"
A = ("void Reader::read(int fd) {\n  parse(\n      receive(fd));\n}\n")
B = "Json parse(std::string_view text) {\n  return send(\"run\");\n}\n"
C = "def main():\n    pass\n"
GOOD = {PAGE: HEAD + ROWS + REACH, "jail/a.cc": A, "jail/b.cc": B, "jail/guest/c.py": C}
PLANTS = [
    lint.Plant("a page that is true", GOOD, []),
    lint.Plant("no page", {"jail/a.cc": A}, ["the page is missing"]),
    lint.Plant("a function was renamed", {**GOOD, "jail/b.cc": B.replace("parse", "parse_json")},
               ["station 2: jail/b.cc defines no function parse: name the function"]),
    lint.Plant("a member became one of another class", {**GOOD, "jail/a.cc": A.replace("Reader::", "Writer::")},
               ["station 1: jail/a.cc defines no function Reader::read"]),
    lint.Plant("a free function became a member", {**GOOD, "jail/b.cc": B.replace("parse", "Json::parse")},
               ["station 2: jail/b.cc defines no function parse"]),
    lint.Plant("only a declaration is left", {**GOOD, "jail/b.cc": "Json parse(int text);\nauto a = \"run\";\n"},
               ["station 2: jail/b.cc defines no function parse"]),
    lint.Plant("the definition is a comment", {**GOOD, "jail/b.cc": "// Json parse(int) {\nauto a = \"run\";\n"},
               ["station 2: jail/b.cc defines no function parse"]),
    lint.Plant("no station calls it any longer", {**GOOD, "jail/a.cc": A.replace("parse(", "scan(")},
               ["station 2: no file of the stations up to here calls parse: name the function"]),
    lint.Plant("only a string names it", {**GOOD, "jail/a.cc": A.replace("parse(", 'log("parse()", ')},
               ["station 2: no file of the stations up to here calls parse"]),
    lint.Plant("a later station calls it", {
        **GOOD, "jail/a.cc": A.replace("parse(", "scan("),
        PAGE: HEAD + ROWS + "| 3 | `jail/d.cc` `last` | `loop` | End. | see it |\n" + REACH,
        "jail/d.cc": "int last() {\n  parse(1);\n  return last();\n}\n"},
               ["station 2: no file of the stations up to here calls parse"]),
    lint.Plant("a message has another name", {**GOOD, "jail/b.cc": B.replace('"run"', '"start"')},
               ['station 2: main is said to be reached through `"run"`']),
    lint.Plant("a file has moved", {**GOOD, PAGE: (HEAD + ROWS + REACH).replace("jail/b.cc", "jail/old.cc")},
               ["station 2: there is no file jail/old.cc: name the file", "station 2: main is said"]),
    lint.Plant("an unknown thread, no sentence", {
        **GOOD, PAGE: HEAD.replace("loop", "main") + ROWS.replace("Text.", "") + REACH},
               ["station 1: name a thread", "station 2: the row needs", "station 2: name a thread"]),
    lint.Plant("a row is gone", {**GOOD, PAGE: HEAD + ROWS.split("\n")[1] + "\n" + REACH},
               ["not numbered 1, 2, 3", "station 2: no file of the stations up to here calls parse",
                "station 1 names no function Reader::read"]),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
