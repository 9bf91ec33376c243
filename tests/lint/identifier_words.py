#!/usr/bin/env python3
"""Identifiers take the field's words: few participles and pronouns that stand for a thing without naming it.

Counted are the words of identifiers in the product's C++: `lost_calls_told` has one, `TakenPlace` two. 1,000 lines of
all files together, comments and empty lines included, may have MOST counted words: a commit that lowers the rate lowers
MOST with it. LevelDB 1.20 has 1.9 by these rules.
A word of ANYWHERE counts wherever it stands. A word of AT_THE_END counts only as the last word of a name: before a noun
it is a plain adjective or a number (`known_tools`, `one_digit`), behind `is_`, `has_` and their like a predicate
(`is_known`).
Not counted:
- names of others: macros (`CURLOPT_NOBODY`), `std::`, `what()` of an exception, names that begin with two underscores;
- TERMS: words of standards and of the standard library, and names that are public keys of this project;
- `found` with the value of a call that finds (`auto found = calls.find(id)`), up to the next value of `found`;
- `left` in a file that also has `right`: two operands.
Not on the list, because well-known projects use them the same way: `other` (operator==, move constructors), `rest`
(of a text), `seen` (a set), `none` and `ask` (enumerators), `keep`, `give`, `end`, `first`, `last`, `owner`.
  identifier_words.py ROOT            the check
  identifier_words.py --show FILE...  each counted identifier of these files, with its line and better words
  identifier_words.py --rates ROOT    the rate of each file, the worst last, and of each word; the rate of the tree, and
                                      its rate if each word of EVERY_FORM counts in each place, without exceptions
                                      (LevelDB 1.20: 5.6)
"""
import collections
import pathlib
import re
import sys

import lint

FOLDERS = ("supervisor", "policies", "catalog", "skills", "jail")
MOST = 10

# Word: the words to write instead, of which one fits.
ANYWHERE = {
    "told": "reported, notified, sent", "tell": "report, notify, send", "tells": "reports, notifies",
    "asked": "requested, request, query", "kept": "stored, saved, retained, cached",
    "given": "request, input, arguments, params", "made": "created, result, built", "taken": "reserved, used, claimed",
    "found": "match, result, it, entry", "place": "path, position, location, slot, install",
    "places": "paths, positions, locations, slots", "again": "retry, repeat, resumed", "begun": "started",
    "began": "started", "meant": "intended, requested", "heard": "received", "said": "reported, message",
    "what": "subject, kind, description, action", "who": "user, client, requester, owner", "whose": "owner",
    "whom": "owner, recipient", "nobody": "no client, no user", "nothing": "empty, no result",
    "everybody": "all users", "others": "the noun, in the plural", "anew": "restart, from the start",
    "wish": "request", "look": "check, scan, inspection", "looked": "checked, scanned",
}
AT_THE_END = {
    "one": "the noun: entry, node, item; a and b of two", "most": "max, limit", "known": "entry, state, the noun",
    "shown": "text, display name, visible", "held": "reserved, owned, the noun", "hold": "reservation, lock, guard",
    "whole": "text, full, the noun", "wanted": "request, required", "left": "remaining, omitted",
    "gone": "exited, removed, closed",
}
PREDICATES = {"is", "has", "are", "was", "were", "not", "be", "can", "still"}
# Runs of words within a name, with their reason.
TERMS = {
    "not_found": "HTTP, JSON-RPC, MCP", "in_place": "std::in_place", "at_most": "the limit of a wait",
    "notify_one": "std::condition_variable", "run_one": "event loops", "one_of": "JSON Schema's oneOf",
    "try_again": "EAGAIN", "look_up": "look-up in a table", "executions_kept": "key of the configuration",
    "days_kept": "key of the configuration", "audit_kept": "key of the configuration",
    "place_key": "org.warder/place", "kept_key": "org.warder/kept",
}
EVERY_FORM = frozenset("again ask asked begun found given heard held hold kept known left made meant most nobody none "
                       "one other place rest seen shown taken tell told whole".split())

NAME = re.compile(r"(?:\.|->)what\(\)|\bstd(?:\s*::\s*\w+)+|\b[A-Za-z_]\w*")
PARTS = re.compile(r"_|(?<=[a-z0-9])(?=[A-Z])")
MACRO = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+$|Py_")
FOUND_GETS = re.compile(r"\bfound\s*(?:=(?!=)|:(?!:))(?P<value>[^;{]*)")
FINDS = re.compile(r"\b(?:find|lower_bound|upper_bound|search)(?:\b|_)")


def parts_of(name):
    return [part.lower() for part in PARTS.split(name) if part]


def counted(name):
    """The dialect's words of an identifier."""
    if name.startswith("__") or re.search(r"\W", name) or MACRO.match(name):  # std::found, .what()
        return []
    parts = parts_of(name)
    if parts[:1] == ["k"]:
        parts = parts[1:]
    text = "_".join(parts)
    for term in TERMS:
        text = re.sub(rf"(?<![a-z]){term}(?![a-z])", "", text)
    parts = [part for part in text.split("_") if part]
    words = [part for part in parts if part in ANYWHERE]
    if parts and parts[-1] in AT_THE_END and not PREDICATES.intersection(parts[:-1]):
        words.append(parts[-1])
    return words


def identifiers(text):
    """(line, name) of each identifier of C++ text; includes and text in quotes have none."""
    for number, line in lint.code_lines(text):
        if not line.lstrip().startswith("#"):
            for match in NAME.finditer(line):
                yield number, match.group()


def finds_in(text):
    """The lines from which on the local `found` has, or no longer has, the value of a call that finds."""
    code = "\n".join(line for _, line in lint.code_lines(text))
    return [(code.count("\n", 0, match.start()) + 1, bool(FINDS.search(match.group("value"))))
            for match in FOUND_GETS.finditer(code)]


def findings_of(text):
    """(line, name, word) of each counted word."""
    finds = finds_in(text)
    names = list(identifiers(text))
    has_right = any(name in ("right", "right_") for _, name in names)
    for number, name in names:
        for word in counted(name):
            if name == "left" and has_right:
                continue
            if name == "found" and next((of_a_find for line, of_a_find in reversed(finds) if line <= number), False):
                continue
            yield number, name, word


def sources(root):
    return lint.files(root, ".h", ".cc", below=FOLDERS)


def check(root):
    lines, words, worst = 0, 0, (0, "")
    for path in sources(root):
        text = path.read_text()
        of_file = len(list(findings_of(text)))
        lines += text.count("\n")
        words += of_file
        worst = max(worst, (of_file, path.relative_to(root).as_posix()))
    if 1000 * words <= MOST * lines:
        return []
    return [f"{1000 * words / lines:.1f} words of identifiers in 1,000 lines name no thing; at most {MOST}; the most, "
            f"{worst[0]}, are in {worst[1]} (--show, --rates)"]


def show(paths):
    for path in paths:
        for number, name, word in findings_of(path.read_text()):
            print(f"{path}:{number}: {name}: {ANYWHERE.get(word) or AT_THE_END[word]}")


def rate(root):
    """(counted words, words of EVERY_FORM, lines) of a tree."""
    words, plain, lines = 0, 0, 0
    for path in sources(root):
        text = path.read_text()
        words += len(list(findings_of(text)))
        plain += sum(part in EVERY_FORM for _, name in identifiers(text) for part in parts_of(name))
        lines += text.count("\n")
    return words, plain, lines


def rates(root):
    rows, of_words = [], collections.Counter()
    for path in sources(root):
        text = path.read_text()
        words = [word for _, _, word in findings_of(text)]
        of_words.update(words)
        lines = max(text.count("\n"), 1)
        rows.append((1000 * len(words) / lines, len(words), lines, path.relative_to(root).as_posix()))
    for of_file, count, lines, path in sorted(rows):
        print(f"{of_file:6.1f} {count:4} in {lines:5} {path}")
    words, plain, lines = rate(root)
    for word, count in of_words.most_common():
        print(f"{word}: {1000 * count / lines:.1f} in 1,000 lines ({count})")
    print(f"all: {1000 * words / lines:.1f} in 1,000 lines; in every form: {1000 * plain / lines:.1f}")


PADDING = "int jail_limit = 1;\n" * 40
PLANTS = [
    lint.Plant("riddles in functions, types, members and constants", {
        "jail/a.h": "struct TakenPlace {\n  bool was_told_;\n};\nconstexpr int kMaxAsked = 1;\n"
                    "int told_of_lost(int given);\n"},
               ["1200.0 words of identifiers in 1,000 lines name no thing; at most"]),
    lint.Plant("names that end without their noun", {
        "policies/a.cc": "int a(Item one, int most) {\n  return count_left + known_;\n}\n"},
               ["1333.3 words"]),
    lint.Plant("one riddle in a long file, and many in a short one", {
        "jail/a.cc": "int told;\n" + PADDING, "jail/b.cc": "int told, asked, given;\n" * 30},
               ["the most, 90, are in jail/b.cc"]),
    lint.Plant("a match that no call found", {
        "jail/a.cc": "auto found = read(given);\nreturn found;\n" * 20}, ["1500.0 words"]),
    lint.Plant("clear names, adjectives, predicates and numbers", {
        "jail/a.cc": "int known_tools, left_files, one_digit, most_used;\n"
                     "bool is_known, is_held, has_one, not_shown;\n" * 20}, []),
    lint.Plant("names of others and of standards", {
        "jail/a.cc": "CURLOPT_NOBODY; SCHED_TOLD; not_found; kStreamNotFound; notify_one(); std::in_place; __who_t;\n"
                     "e.what(); one_of; kPlaceKey; executions_kept;\n" * 20}, []),
    lint.Plant("the iterator of a find, and operands", {
        "jail/a.cc": "auto found = std::find_if(a,\n  b);\nif (found == end) return found;\n"
                     "if (auto found = find_tool(x); found) a();\nreturn left < right;\n" * 20}, []),
    lint.Plant("comments, strings and includes", {
        "jail/a.cc": '#include "jail/told.h"\n// told given asked\nauto a = "told";  /* what */\n' * 20}, []),
    lint.Plant("code that is not the product's", {
        "tests/a.cc": "int told, asked;\n", "jail/guest/a.py": "told = asked\n"}, []),
]

if __name__ == "__main__":
    if sys.argv[1] == "--show":
        show([pathlib.Path(name) for name in sys.argv[2:]])
    elif sys.argv[1] == "--rates":
        rates(pathlib.Path(sys.argv[2]))
    else:
        lint.main(check, PLANTS)
