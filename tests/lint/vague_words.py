#!/usr/bin/env python3
"""Comments, pages and messages name what they speak of: few words that stand for a thing without naming it.

Counted are vague words in every 1,000 words of the product's comments, of the pages, and of the messages that users
read: pronouns and verbs that make a reader look for the noun. Messages are the sentences in string literals (errors,
log lines, help, from which manual pages are generated), the descriptions of D-Bus interfaces, polkit's questions, the
descriptions in schemas and of units. Each of the three groups may have MOST in 1,000 words; one file may have
MOST_IN_ONE_FILE if it has at least FEWEST_WORDS words. The comments of well-known projects have 1 to 3.4.
No comment begins with a word of OPENING: its subject would stand in the code below, or nowhere.
  vague_words.py ROOT            the check
  vague_words.py --show FILE...  each vague word of these files, with its line
  vague_words.py --rates ROOT    the rate of each file, the worst last
"""
import re
import sys

import lint

FOLDERS = ("supervisor", "policies", "catalog", "skills", "jail", "units")
CODE = (".h", ".cc", ".c", ".py", ".js")
MOST = 5
MOST_IN_ONE_FILE = 25
FEWEST_WORDS = 120
# String literals of these files are tables of search words, which users write and never read.
WORD_TABLES = ("catalog/everyday_words.cc", "catalog/everyday_wishes.cc")
UNITS = (".service", ".socket", ".slice")

# "who" and its like are fine behind a noun ("a client who reads"), but then "that" does as well: they count always.
VAGUE = re.compile(
    r"\b(who|whom|whose|whoever|whomever|whatever|whichever|nobody|somebody|anybody|everybody|someone|anyone|everyone|"
    r"none|nothing|something|anything|everything|"
    r"what (?:is|was|it|they|has|had|we|he|comes|came|goes|went|stands|stood|each|remains|remained|others)|"
    r"that is|of (?:it|ours|its own|theirs|his|them)|"
    r"told|tells? (?:of|what|how)|the leave of|kept|lives|lived|goes on|went on|go on|anew|such|the latter|the former|"
    r"comes to|came to|has had|may be had)\b", re.IGNORECASE)
OPENING = re.compile(r"(?:Of|It|Its|They|Their|Theirs|Them|Those|Else|Then|So)\b(?!:)")
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
CODE_SPAN = re.compile(r"`[^`]*`")
CPP = re.compile(r'(?P<comment>//[^\n]*|/\*.*?\*/)|R"(\w*)\(.*?\)\2"|'
                 r'(?P<string>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)|'
                 r'\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
JAVASCRIPT = re.compile(r"(?P<comment>//[^\n]*|/\*.*?\*/)|"
                        r"(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\\n])*`)",
                        re.DOTALL)
SCRIPT = re.compile(r'(?P<comment>(?<![^\s])#[^\n]*|"""(?:\\.|[^\\])*?""")|'
                    r'(?P<string>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.DOTALL)
XML = re.compile(r"(?P<comment><!--.*?-->)|<(?P<element>description|message)>(?P<string>.*?)</(?P=element)>", re.DOTALL)
DESCRIPTION = re.compile(r'"(?:description|title|comment|why|remedy|\$comment)"\s*:\s*"(?P<string>(?:\\.|[^"\\])*)"')
UNIT = re.compile(r"^Description=(?P<string>.*)$", re.MULTILINE)
SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE FROM|CREATE|ALTER|PRAGMA|WHERE|VALUES|FROM|SAVEPOINT|ROLLBACK)\b")
SEAM = re.compile(r'(?<!\\)"\s*"')
QUOTED_NONE = re.compile(r"'none'|\\\"none\\\"")
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


def messages(path):
    """(offset, text) of each message in a file: a string literal of at least two words that is not SQL."""
    text = path.read_text()
    pattern = {".py": SCRIPT, ".js": JAVASCRIPT, ".xml": XML, ".policy": XML, ".json": DESCRIPTION,
               **dict.fromkeys(UNITS, UNIT)}.get(path.suffix, CPP)
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    for match in pattern.finditer(text):
        if path.suffix == ".xml" and match.group("comment"):  # interfaces are described in comments
            yield match.start(), match.group("comment")
            continue
        string = match.group("string")
        if string and len(WORD.findall(string)) > 1 and " " in string.strip() and not SQL.search(string):
            yield match.start("string"), SEAM.sub(blank, QUOTED_NONE.sub(blank, string.replace("\\n", "  ")))


def count(path, pieces=prose):
    """How many words a file's pieces have, and the vague ones as (line, word)."""
    words, vague = 0, []
    for offset, text in pieces(path):
        words += len(WORD.findall(text))
        before = path.read_text()[:offset].count("\n") + 1
        for match in VAGUE.finditer(re.sub(r"\n(\s*)(//|#|\*)?", lambda m: "\n" + " " * (len(m.group()) - 1), text)):
            vague.append((before + text[:match.start()].count("\n"), match.group()))
    return words, vague


def openings(path):
    """(line, first word) of each comment of a source that begins with a word of OPENING. Comments of lines that follow
    each other, in one column, are one comment."""
    text, former = path.read_text(), None
    for offset, comment in prose(path):
        line, column = text.count("\n", 0, offset), offset - text.rfind("\n", 0, offset)
        begins = former != (line - 1, column)
        former = (line, column)
        found = OPENING.match(comment.lstrip("/*#\" "))
        if begins and found:
            yield line + 1, found.group()


def groups(root):
    yield "comments", prose, lint.files(root, *CODE, below=FOLDERS)
    yield "pages", prose, lint.files(root, ".md")
    sources = lint.files(root, *CODE, ".xml", ".policy", ".json", *UNITS, below=FOLDERS)
    yield "messages", messages, [path for path in sources if path.relative_to(root).as_posix() not in WORD_TABLES]


def check(root):
    findings = []
    for name, pieces, paths in groups(root):
        all_words, all_vague = 0, 0
        for path in paths:
            if name == "comments":
                findings += [f"{path.relative_to(root).as_posix()}:{line}: a comment begins with {word!r}: name its subject"
                             for line, word in openings(path)]
            words, vague = count(path, pieces)
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
        for pieces in (prose, messages):
            for line, word in count(path, pieces)[1]:
                print(f"{path}:{line}: {word}")


def rates(root):
    for name, pieces, paths in groups(root):
        rows, all_words, all_vague = [], 0, 0
        for path in paths:
            words, vague = count(path, pieces)
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
    lint.Plant("messages of riddles, one in each kind of file", {
        "supervisor/a.cc": 'auto a = fail("nobody " // why\n  "told");\nauto b = fail("what "\n "is kept");\n',
        "jail/guest/a.py": 'raise ValueError("nothing is told")\n', "jail/guest/b.js": "fail(`anew, by ${whom}`);\n",
        "units/dbus/a.xml": "<node><!-- Whose it is. --></node>\n",
        "units/dbus/a.policy": "<message>Let somebody in</message>\n",
        "units/a.socket": "[Unit]\nDescription=Everything for everybody\n",
        "policies/a.json": '{"description": "Who gets it", "why": "it tells of you"}\n'}, ["messages: "]),
    lint.Plant("a file of riddles in its messages", {
        "supervisor/a.cc": CLEAR + 'const char* a = "%s";\n' % ("the daemon reads one line " * 30 + "nobody told whoever anew" * 2)},
               ["supervisor/a.cc:2: 6 vague words", "messages: "]),
    lint.Plant("literals that no user reads", {
        "supervisor/a.cc": 'const char* a = "SELECT kept FROM such";\nauto b = R"(nobody told)";\nauto c = "nobody";\n'
                           'auto d = "script-src \'none\'; isolation is \\"none\\"";\n',
        "catalog/everyday_words.cc": 'auto a = "somebody whom nobody told";\n',
        "units/a.conf": "Description=nobody told\n"}, []),
    lint.Plant("comments without a subject", {
        "jail/a.h": CLEAR + "int a();\n// Of the last job.\nint b();\n  // Its requests are cancelled.\nint c;  // It ends.\n",
        "jail/guest/a.py": "def a():\n    # Then ends the threads.\n    return 1\n"},
               ["jail/a.h:3: a comment begins with 'Of'", "jail/a.h:5: a comment begins with 'Its'",
                "jail/a.h:6: a comment begins with 'It'", "jail/guest/a.py:2: a comment begins with 'Then'"]),
    lint.Plant("comments with a subject, and their second lines", {
        "jail/a.h": CLEAR + "// The job ended.\n// It was the last.\nint b;  // of the last job\n// Often used.\n"
                            "// So: a label of a list.\n"}, []),
    lint.Plant("words of code and of clear sentences", {
        "jail/a.h": CLEAR + 'const char* a = "nobody";  // `nobody` is the user 65534\n',
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
