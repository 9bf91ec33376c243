#!/usr/bin/env python3
"""Comments name what they speak of: few words that stand for a thing without naming it.

Counted are vague words in every 1,000 words of the product's comments, and of the pages: pronouns and verbs that make
a reader look for the noun. All comments together may have MOST in 1,000 words, all pages together as many; one file
may have MOST_IN_ONE_FILE if it has at least FEWEST_WORDS words. The comments of well-known projects have 1 to 3.4.
  vague_words.py ROOT            the check
  vague_words.py --show FILE...  each vague word of these files, with its line
  vague_words.py --rates ROOT    the rate of each file, the worst last
"""
import re
import sys

import lint

FOLDERS = ("supervisor", "policies", "catalog", "skills", "jail", "units")
CODE = (".h", ".cc", ".c", ".py", ".js")
MOST = 6
MOST_IN_ONE_FILE = 25
FEWEST_WORDS = 120

# "who" and its like are fine behind a noun ("a client who reads"), but then "that" does as well: they count always.
VAGUE = re.compile(
    r"\b(who|whom|whose|whoever|whomever|whatever|whichever|nobody|somebody|anybody|everybody|someone|anyone|everyone|"
    r"none|nothing|something|anything|everything|"
    r"what (?:is|was|it|they|has|had|we|he|comes|came|goes|went|stands|stood|each|remains|remained|others)|"
    r"that is|of (?:it|ours|its own|theirs|his|them)|"
    r"told|tells? (?:of|what|how)|kept|lives|lived|goes on|went on|go on|anew|such|the latter|the former|"
    r"comes to|came to|has had|may be had)\b", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
CODE_SPAN = re.compile(r"`[^`]*`")
CPP = re.compile(r'(?P<comment>//[^\n]*|/\*.*?\*/)|R"(\w*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
SCRIPT = re.compile(r'(?P<comment>(?<![^\s])#[^\n]*|"""(?:\\.|[^\\])*?""")|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def prose(path):
    """(offset, text) of each piece of prose in a file: its comments, or a page without its code."""
    text = path.read_text()
    if path.suffix == ".md":
        blank = lambda match: re.sub(r"[^\n]", " ", match.group())
        yield 0, CODE_SPAN.sub(blank, FENCE.sub(blank, text))
        return
    pattern = SCRIPT if path.suffix == ".py" else CPP
    for match in pattern.finditer(text):
        if match.group("comment"):
            yield match.start(), CODE_SPAN.sub(lambda span: " " * len(span.group()), match.group())


def count(path):
    """How many words a file's prose has, and the vague ones as (line, word)."""
    words, vague = 0, []
    for offset, text in prose(path):
        words += len(WORD.findall(text))
        before = path.read_text()[:offset].count("\n") + 1
        for match in VAGUE.finditer(re.sub(r"\n(\s*)(//|#|\*)?", lambda m: "\n" + " " * (len(m.group()) - 1), text)):
            vague.append((before + text[:match.start()].count("\n"), match.group()))
    return words, vague


def groups(root):
    yield "comments", lint.files(root, *CODE, below=FOLDERS)
    yield "pages", lint.files(root, ".md")


def check(root):
    findings = []
    for name, paths in groups(root):
        all_words, all_vague = 0, 0
        for path in paths:
            words, vague = count(path)
            all_words += words
            all_vague += len(vague)
            if words >= FEWEST_WORDS and 1000 * len(vague) > MOST_IN_ONE_FILE * words:
                findings.append(f"{path.relative_to(root).as_posix()}:{vague[0][0]}: {len(vague)} vague words in {words}, "
                                f"of which {vague[0][1]!r} is the first: name the thing")
        if 1000 * all_vague > MOST * all_words:
            findings.append(f"{name}: {1000 * all_vague / all_words:.1f} vague words in 1,000; at most {MOST}")
    return findings


def show(paths):
    for path in paths:
        for line, word in count(path)[1]:
            print(f"{path}:{line}: {word}")


def rates(root):
    for name, paths in groups(root):
        rows, all_words, all_vague = [], 0, 0
        for path in paths:
            words, vague = count(path)
            all_words += words
            all_vague += len(vague)
            rows.append((1000 * len(vague) / max(words, 1), len(vague), words, path.relative_to(root).as_posix()))
        for rate, vague, words, path in sorted(rows):
            print(f"{rate:6.1f} {vague:4} of {words:5} {path}")
        print(f"{name}: {1000 * all_vague / max(all_words, 1):.1f} in 1,000")


CLEAR = "// The jail's memory limit in bytes. " + "The kernel enforces the limit. " * 40 + "\n"
PLANTS = [
    lint.Plant("a header of riddles", {"jail/a.h": CLEAR + "// What it was told, whoever kept it: nothing of ours lives.\n"},
               ["jail/a.h:2: 7 vague words", "comments: "]),
    lint.Plant("a page of riddles", {"README.md": "# A\n" + "The daemon reads one line. " * 40 + "" + "\nNobody told anybody such things." * 2 + "\n"},
               ["README.md:3: 8 vague words", "pages: "]),
    lint.Plant("two words in one, over lines, and a docstring", {
        "jail/a.h": CLEAR + "// The child reads what\n// is left. It goes\n// on, one of\n// them as\n// such.\n",
        "jail/guest/b.py": '"""What is run, by whoever."""\nx = "nobody"  # none\n'}, ["comments: "]),
    lint.Plant("words of code and of clear sentences", {
        "jail/a.h": CLEAR + 'const char* a = "nobody told whoever";  // `nobody` is the user 65534\n',
        "README.md": "The daemon answers.\n```\nnobody told\n```\n"}, []),
]

if __name__ == "__main__":
    import pathlib
    if sys.argv[1] == "--show":
        show([pathlib.Path(name) for name in sys.argv[2:]])
    elif sys.argv[1] == "--rates":
        rates(pathlib.Path(sys.argv[2]))
    else:
        lint.main(check, PLANTS)
