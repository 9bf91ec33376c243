#!/usr/bin/env python3
"""The coroutine shapes that g++ 12 miscompiles without a word (GCC PR 101976, 103871, 106188, 115851).

  coroutine_shapes.py CLANG-QUERY ROOT BUILD     BUILD has the compile_commands.json of the tree
  coroutine_shapes.py CLANG-QUERY --self-test    looks at coroutine_plants.cc, where each bad line names its shape

A file is parsed if it, or a header of ours that it includes, has an await that await_places.py does not know to be plain.
A file that was found clean is not parsed again until it, or such a header, changes: BUILD keeps a stamp for it.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

import await_places

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


def single_sources(root, entries):
    """(source, command) of each source of ours, also of those that CMake compiles joined (CMAKE_UNITY_BUILD)."""
    for entry in entries:
        source = pathlib.Path(entry["directory"], entry["file"])
        if source.suffix == ".cc" and source.is_relative_to(root):
            yield source, entry
        elif "/Unity/" in entry["file"]:
            for name in INCLUDE.findall(source.read_text()):
                yield pathlib.Path(name), {**entry, "file": name,
                                           "command": entry["command"].replace(entry["file"], name)}


def to_parse(root, entries):
    """{source: entry}: every source with a suspicious await, and for each header with one a source that includes it."""
    known, chosen, covered = {}, {}, set()

    def suspicious(path):
        if path not in known:
            text = path.read_text()
            known[path] = "co_await" in text and bool(await_places.suspicious_lines(text))
        return known[path]

    for source, entry in single_sources(root, entries):
        ours = {path for path in with_headers(root, source) if suspicious(path)}
        if source not in chosen and not ours <= covered:
            chosen[source] = entry
            covered |= ours
    return chosen


def check(clang_query, root, build):
    root, stamps = root.resolve(), build / "lint" / "coroutine_shapes"
    stamps.mkdir(parents=True, exist_ok=True)
    findings, waiting, entries = set(), {}, []
    for source, entry in to_parse(root, json.loads((build / "compile_commands.json").read_text())).items():
        stamp = stamps / stamp_name(root, source, entry["command"])
        if not stamp.exists():
            waiting[source] = stamp
            entries.append(entry)
    (stamps / "compile_commands.json").write_text(json.dumps(entries))

    def look(source):
        return source, *find_shapes(clang_query, source, "-p", str(stamps))

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for source, found, broken in pool.map(look, waiting):
            ours = {(name, line, shape) for name, line, shape in found if name.startswith(f"{root}/")}
            findings |= {f"{name[len(str(root)) + 1:]}:{line}: {shape}" for name, line, shape in ours}
            findings |= {f"cannot be checked: {line}" for line in broken[:1]}
            if not ours and not broken:
                waiting[source].touch()
    return sorted(findings)


def plain_lines(source):
    """The lines of the plants' good functions which the first look has to let pass, marked "plain"."""
    return {number for number, line in enumerate(source.read_text().split("\n"), 1) if line.endswith("// plain")}


def self_test(clang_query):
    source = HERE / "coroutine_plants.cc"
    found, broken = find_shapes(clang_query, source, "--", "-std=c++20", "-w")
    found = {(line, shape) for name, line, shape in found if name == str(source)}
    expected = {(number, line.split("// finds: ")[1])
                for number, line in enumerate(source.read_text().split("\n"), 1) if "// finds: " in line}
    suspicious = set(await_places.suspicious_lines(source.read_text()))
    return [*broken, *(f"line {line}: not suspicious: {shape}" for line, shape in sorted(found | expected)
                       if line not in suspicious),
            *(f"line {line}: suspicious without reason" for line in suspicious & plain_lines(source)),
            *(f"line {line}: not found: {shape}" for line, shape in sorted(expected - found)),
            *(f"line {line}: found without reason: {shape}" for line, shape in sorted(found - expected))]


if __name__ == "__main__":
    if sys.argv[2] == "--self-test":
        lines = self_test(sys.argv[1])
    else:
        lines = check(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    for line in lines:
        print(line)
    sys.exit(1 if lines else 0)
