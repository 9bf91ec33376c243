#!/usr/bin/env python3
"""The pages that the package installs in /usr/share/doc/warder: each link of theirs leads to a file that is installed."""
import pathlib
import re
import subprocess
import sys
import tempfile

import lint

LINK = re.compile(r"\[[^][]+\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
INSTALL = pathlib.Path(__file__).resolve().parent.parent.parent / "units/debian/install-documents"


def check(root):
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        installed = pathlib.Path(folder)
        done = subprocess.run([sys.executable, "-B", str(INSTALL), str(root / "units/debian/documents"), folder], cwd=root,
                              capture_output=True, text=True)
        if done.returncode != 0:
            return [f"install-documents: {done.stderr.strip()}"]
        for page in sorted(installed.rglob("*.md")):
            for link in LINK.findall(page.read_text()):
                if ":" not in link and not (page.parent / link).is_file():
                    findings.append(f"{page.relative_to(installed)}: the link {link} leads nowhere")
        for name in installed.rglob("*"):
            if name.name.startswith("."):
                findings.append(f"{name.relative_to(installed)}: is hidden")
    return findings


LIST = "units/debian/documents"
PLANTS = [
    lint.Plant("links to a page, a folder, another place and what is not installed", {
        LIST: "README.md\njail/README.md  # one\n.github/A.md\n",
        "README.md": "[jail](jail/README.md) [jails](jail/) [a](.github/A.md#part) [code](jail/a.cc) [web](https://a.b)\n",
        "jail/README.md": "[top](../README.md)\n", "jail/a.cc": "", ".github/A.md": "[jail](../jail/)\n"}, []),
    lint.Plant("a list that names what is not there", {LIST: "README.md\nnone.md\n", "README.md": ""},
               ["nothing is named none.md"]),
    lint.Plant("a hidden page", {LIST: ".hidden/a.md\n", ".hidden/a.md": "[a](b.md)\n"}, [".hidden: is hidden"]),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
