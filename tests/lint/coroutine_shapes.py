#!/usr/bin/env python3
"""The coroutine shapes that g++ 12 miscompiles without a word (GCC PR 101976, 103871, 106188, 115851).

  coroutine_shapes.py CLANG-QUERY ROOT BUILD     BUILD has the compile_commands.json of the tree
  coroutine_shapes.py CLANG-QUERY --self-test    looks at coroutine_plants.cc, where each bad line names its shape

A file that was found clean is not parsed again until it, or a header of ours that it includes, changes: BUILD keeps a
stamp for it.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
QUERY = HERE / "coroutine_shapes.query"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
FINDING = re.compile(r'^(/[^:]+):(\d+):\d+: note: "([^"]+)" binds here', re.MULTILINE)
BROKEN = re.compile(r"^[^\n]*: (?:fatal )?error: [^\n]*", re.MULTILINE)


def find_shapes(clang_query, source, *arguments):
    """{(file, line, shape)} in a source and its headers, and what kept clang from understanding it."""
    result = subprocess.run([clang_query, "-f", str(QUERY), str(source), *arguments], capture_output=True, text=True)
    found = {(name, int(line), shape) for name, line, shape in FINDING.findall(result.stdout)}
    broken = BROKEN.findall(result.stderr) + BROKEN.findall(result.stdout)
    if result.returncode != 0 and not broken:
        broken = [f"{source}: {clang_query} ended with {result.returncode}"]
    return found, broken


def with_headers(root, source):
    """A source and all headers of ours that it includes."""
    seen, waiting = set(), [source]
    while waiting:
        path = waiting.pop()
        if path not in seen and path.is_file():
            seen.add(path)
            for name in INCLUDE.findall(path.read_text(errors="replace")):
                waiting += [root / name, path.parent / name]
    return sorted(seen)


def stamp_name(root, source, command):
    digest = hashlib.sha256(QUERY.read_bytes() + command.encode())
    for path in with_headers(root, source):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def has_coroutines(root, source):
    """Of a source of ours, or of one that CMake has made of several (CMAKE_UNITY_BUILD): is any of them a coroutine's?"""
    if source.suffix == ".cc":
        return source.is_relative_to(root) and "co_" in source.read_text()
    ours = [path for path in with_headers(root, source) if path.suffix == ".cc"]
    return any(path.is_relative_to(root) and "co_" in path.read_text() for path in ours)


def check(clang_query, root, build):
    root, stamps = root.resolve(), build / "lint" / "coroutine_shapes"
    stamps.mkdir(parents=True, exist_ok=True)
    findings, waiting = set(), {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["directory"], entry["file"])
        if has_coroutines(root, source):
            stamp = stamps / stamp_name(root, source, entry["command"])
            if not stamp.exists():
                waiting[source] = stamp

    def look(source):
        return source, *find_shapes(clang_query, source, "-p", str(build))

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for source, found, broken in pool.map(look, waiting):
            ours = {(name, line, shape) for name, line, shape in found if name.startswith(f"{root}/")}
            findings |= {f"{name[len(str(root)) + 1:]}:{line}: {shape}" for name, line, shape in ours}
            findings |= {f"cannot be checked: {line}" for line in broken[:1]}
            if not ours and not broken:
                waiting[source].touch()
    return sorted(findings)


def self_test(clang_query):
    source = HERE / "coroutine_plants.cc"
    found, broken = find_shapes(clang_query, source, "--", "-std=c++20", "-w")
    found = {(line, shape) for name, line, shape in found if name == str(source)}
    expected = {(number, line.split("// finds: ")[1])
                for number, line in enumerate(source.read_text().split("\n"), 1) if "// finds: " in line}
    return [*broken, *(f"line {line}: not found: {shape}" for line, shape in sorted(expected - found)),
            *(f"line {line}: found without reason: {shape}" for line, shape in sorted(found - expected))]


if __name__ == "__main__":
    if sys.argv[2] == "--self-test":
        lines = self_test(sys.argv[1])
    else:
        lines = check(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    for line in lines:
        print(line)
    sys.exit(1 if lines else 0)
