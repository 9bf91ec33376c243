#!/usr/bin/env python3
"""The program with privileges stays small: README.md tells its number of lines, and it links no library but the C and
C++ libraries.

  jailer_program.py ROOT PROGRAM SOURCE...   checks warder-jailer, and counts the sources and the headers that they include
  jailer_program.py --self-test CXX          compiles a bad program and a good one, and expects to tell them apart

Counted are the lines that are neither empty nor a comment.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

FOREIGN = re.compile(r"nlohmann|rapidjson|\bre2::|sqlite3|\buv_|curl_|fmt::|\bcap_|seccomp_|sd_bus|basic_i?ostream<|std::regex")
MOST_BYTES = 1 << 20  # text and data: most of them are the C library's
FIGURE = re.compile(r"A jailer of some ([\d,]+)\s+lines")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def sources_of(root, names):
    """These files, and those of ours that they include."""
    found, waiting = set(), [root / name for name in names]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [root / name for name in INCLUDE.findall(path.read_text())]
    return sorted(found)


def lines_of(path):
    return sum(bool(line.strip()) and not line.strip().startswith("//") for line in path.read_text().split("\n"))


def check_lines(root, names):
    told = FIGURE.search((root / "README.md").read_text())
    if not told:
        return [f"README.md: does not say \"{FIGURE.pattern}\""]
    figure, counted = int(told[1].replace(",", "")), sum(map(lines_of, sources_of(root, names)))
    if not figure * 0.95 <= counted <= figure:
        return [f"README.md: says that the jailer has {figure} lines; it has {counted}: correct the figure, or the jailer"]
    return []


def check_program(program):
    name = pathlib.Path(program).name
    symbols = subprocess.run(["nm", "--demangle", program], check=True, capture_output=True, text=True).stdout
    findings = [f"{name}: contains {line.split(maxsplit=2)[-1]}, of a library that the jailer must not have"
                for line in symbols.split("\n") if FOREIGN.search(line)][:5]
    headers = subprocess.run(["readelf", "--program-headers", "--wide", program], check=True, capture_output=True, text=True).stdout
    if "INTERP" in headers:
        findings.append(f"{name}: is not a static program")
    sizes = subprocess.run(["size", program], check=True, capture_output=True, text=True).stdout.split("\n")[1].split()
    if int(sizes[0]) + int(sizes[1]) > MOST_BYTES:
        findings.append(f"{name}: has more than {MOST_BYTES} bytes of text and data: {sizes[0]} and {sizes[1]}")
    return findings


def self_test(compiler):
    good = "int main() { return 0; }\n"
    bad = "namespace nlohmann { int parse(int n) { return n; } }\nint main() { return nlohmann::parse(0); }\n"
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text, flags, expected in (("good", good, ["-static"], []),
                                            ("bad", bad, [], ["contains nlohmann::parse", "not a static program"]),
                                            ("large", "char data[2 << 20] = {1};\n" + good, ["-static"], ["more than"])):
            (root / f"{name}.cc").write_text(text)
            subprocess.run([compiler, "-O0", *flags, str(root / f"{name}.cc"), "-o", str(root / name)], check=True)
            findings = check_program(str(root / name))
            if len(findings) != len(expected) or any(part not in line for part, line in zip(expected, findings)):
                failures.append(f"{name}: expected {expected}, found {findings}")
        (root / "a.cc").write_text('// comment\n#include "a.h"\n\nint one;\n')
        (root / "a.h").write_text("#pragma once\nint two;\n")
        for told, right in (("4", True), ("5", False), ("3", False)):
            (root / "README.md").write_text(f"A jailer of some {told}\n  lines\n")
            if (check_lines(root, ["a.cc"]) == []) != right:
                failures.append(f"{told} lines: {check_lines(root, ['a.cc'])}")
    return failures


if __name__ == "__main__":
    if sys.argv[1:2] == ["--self-test"]:
        lines = self_test(sys.argv[2])
    else:
        tree = pathlib.Path(sys.argv[1]).resolve()
        own = [pathlib.Path(source).resolve().relative_to(tree).as_posix() for source in sys.argv[3:]]
        lines = check_lines(tree, own) + check_program(sys.argv[2])
    for line in lines:
        print(line)
    sys.exit(1 if lines else 0)
