#!/usr/bin/env python3
"""No file of ours grows past what one reads in a sitting."""
import lint

LIMIT = 500
# Path: why it may be longer.
REASONED = {}


def check(root):
    findings = []
    for path in lint.files(root, ".h", ".cc", ".py", ".js", ".mjs", ".ts", ".sh", ".cmake"):
        name = path.relative_to(root).as_posix()
        lines = path.read_text(errors="replace").count("\n")
        if lines > LIMIT and name not in REASONED:
            findings.append(f"{name}: {lines} lines; split it (limit {LIMIT}), or give a reason in file_length.py")
    return findings


PLANTS = [
    lint.Plant("a long file", {"jail/long.cc": "int x;\n" * (LIMIT + 1)}, ["jail/long.cc: 501 lines"]),
    lint.Plant("a file at the limit", {"jail/short.cc": "int x;\n" * LIMIT}, []),
    lint.Plant("what is not ours", {"node_modules/a/b.js": "x\n" * 9999, "build/dev/c.cc": "x\n" * 9999}, []),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
