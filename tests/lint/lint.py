"""What every lint shares: the tree's files, the report, and the proof that the lint can fail.

A lint is a script with `check(root) -> list of findings` and `PLANTS`, small trees that it must find fault with:
  NAME.py ROOT          checks the tree; one finding a line, exit status 1 if there are any
  NAME.py --self-test   plants each tree in a temporary folder and fails unless the lint finds exactly what it should
"""
import dataclasses
import pathlib
import re
import sys
import tempfile

SKIPPED_FOLDERS = {".git", "build", "node_modules", "__pycache__"}


@dataclasses.dataclass
class Plant:
    about: str
    files: dict  # path: text
    finds: list  # a part of each finding, in order; empty: this tree is fine


def files(root, *suffixes, below=("",)):
    """The tree's own files with these suffixes, sorted; below: only in these folders."""
    root = pathlib.Path(root)
    found = set()
    for folder in below:
        for path in (root / folder).rglob("*"):
            inside = path.relative_to(root)
            generated = inside.parts[0] == "var" and inside.name != "README.md"
            if path.suffix in suffixes and path.is_file() and not generated and not SKIPPED_FOLDERS & set(inside.parts):
                found.add(path)
    return sorted(found)


def code_lines(text):
    """(number, line) of C++ text, comments and the contents of string literals blanked out."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)

    def blank(match):
        newlines = "\n" * match.group().count("\n")
        return f'""{newlines}' if match.group()[0] in "\"R" else newlines

    text = re.sub(r"(?<=\d)'(?=\d)", "", text)  # 1'000 has no character in quotes
    keep_includes = re.sub(r'^(\s*#\s*include\s+)"([^"\n]+)"', r"\1<\2>", text, flags=re.MULTILINE)
    return enumerate(pattern.sub(blank, keep_includes).split("\n"), 1)


def self_test(check, plants):
    failures = []
    for plant in plants:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in plant.files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            findings = check(root)
        if len(findings) != len(plant.finds) or any(part not in line for part, line in zip(plant.finds, findings)):
            failures.append(f"{plant.about}: expected {plant.finds}, found {findings}")
    if not any(plant.finds for plant in plants):
        failures.append("no plant that the lint must find fault with")
    return failures


def main(check, plants):
    findings = self_test(check, plants) if sys.argv[1:] == ["--self-test"] else check(pathlib.Path(sys.argv[1]))
    for line in findings:
        print(line)
    sys.exit(1 if findings else 0)
