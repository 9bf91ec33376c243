"""At build time: puts the modules that every execution needs into one file. Eight files cost a millisecond of a start.

python3 bundle FROM INSTALLED: FROM is the folder of runner.py, in which runner.bundle is written; INSTALLED is the
folder's path in the jails, for tracebacks.
"""
import importlib.util
import marshal
import os
import sys

MODULES = ("__init__", "_main", "_execution", "_modules", "_site", "_helpers", "_values", "_channel", "_reads", "_stage")


def compiled(path, installed):
    with open(path, encoding="utf-8") as file:
        return compile(file.read(), installed, "exec", dont_inherit=True)


def main(folder, installed):
    codes = {}
    for module in MODULES:
        name = "warder" if module == "__init__" else f"warder.{module}"
        codes[name] = compiled(f"{folder}/warder/{module}.py", f"{installed}/warder/{module}.py")
    loader = compiled(os.path.join(os.path.dirname(__file__), "loader.py"), "<bundle>")
    with open(f"{folder}/runner.bundle", "wb") as file:
        file.write(importlib.util.MAGIC_NUMBER + marshal.dumps((loader, codes)))


main(*sys.argv[1:])
