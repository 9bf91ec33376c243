#!/usr/bin/env python3
"""All C++ is laid out as .clang-format says. Remedy: clang-format-14 -i FILE"""
import pathlib
import shutil
import subprocess

import lint

OUR_STYLE = (pathlib.Path(__file__).resolve().parent.parent.parent / ".clang-format").read_text()


def check(root):
    program = shutil.which("clang-format-14")
    if not program:
        return ["clang-format-14 is missing; run .ci/install-packages test"]
    below = ("supervisor", "policies", "catalog", "skills", "jail", "tests")
    paths = [str(path.relative_to(root)) for path in lint.files(root, ".h", ".cc", below=below)]
    if not paths:
        return []
    result = subprocess.run([program, "--dry-run", *paths], cwd=root, capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in result.stderr.splitlines() if "-Wclang-format-violations" in line})
    if result.returncode and not wrong:
        return [result.stderr.strip()]
    return [f"{name}: run clang-format-14 -i" for name in wrong]


PLANTS = [
    lint.Plant("a file of another style", {".clang-format": OUR_STYLE, "jail/a.cc": "int  f( ){\n\treturn 1 ; }\n"},
               ["jail/a.cc: run clang-format-14 -i"]),
    lint.Plant("a file of ours", {".clang-format": OUR_STYLE, "jail/a.cc": "int f() { return 1; }\n"}, []),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
