#!/usr/bin/env python3
"""The tree's measures, for people: sizes, functions, comments, includes, names, and the tests of each folder. No test.

The product is .h and .cc of FOLDERS, with its tables of words. Lines are all lines: code, comments, empty ones.
  house.py ROOT                 one table; each measure's docstring says how it is counted
  house.py ROOT --steps HEADER  the sources that recompile when this header changes, and their number
"""
import collections
import functools
import pathlib
import re
import statistics
import sys

import identifier_words
import lint
import type_names

FOLDERS = ("supervisor", "policies", "catalog", "skills", "jail")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
CONTROL = {"if", "for", "while", "switch", "catch", "constexpr", "decltype", "alignas", "sizeof"}
ACCESS = ("public", "private", "protected")
INITIALIZERS = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)\s*\w+")
BEHIND_PARAMETERS = re.compile(r"(?:\b(?:const|noexcept|override|final|mutable|try)\b|->\s*[\w:<>,&* ]+|&&?)\s*$")
COMMENT = re.compile(r"^\s*(//|/\*|\*)")


def spread(values):
    """"median / p90 / largest": p90 is the value with nine tenths of the values below it."""
    values = sorted(values) or [0]
    return f"{statistics.median_low(values)} / {values[int(len(values) * 0.9)]} / {values[-1]}"


class House:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.product = self.read(".h", ".cc", below=FOLDERS)
        self.tests = self.read(".h", ".cc", below=("tests",))
        self.lines = sum(text.count("\n") for text in self.product.values())

    def read(self, *suffixes, below):
        return {path.relative_to(self.root).as_posix(): path.read_text(errors="replace")
                for path in lint.files(self.root, *suffixes, below=below)}

    def per_1000(self, count):
        return f"{1000 * count / self.lines:.1f} ({count})"

    # Sizes

    def product_size(self):
        """Lines and files of the product's C++, and lines of its Python and JavaScript."""
        others = self.read(".py", ".js", ".mjs", below=FOLDERS)
        return f"{self.lines:,} in {len(self.product):,}; Python, JS {count_lines(others):,}"

    def test_size(self):
        """Lines and files below tests/ in C++, Python and JavaScript."""
        all_tests = self.tests | self.read(".py", ".js", ".mjs", below=("tests",))
        return f"{count_lines(all_tests):,} in {len(all_tests):,}; C++ {count_lines(self.tests):,}"

    def source_sizes(self):
        """Lines of each .cc of the product: median / p90 / largest."""
        return spread(text.count("\n") for path, text in self.product.items() if path.endswith(".cc"))

    def function_sizes(self):
        """Lines from a function's head to the brace that ends its body, lambdas included, in .h and .cc: median / p90 /
        largest. A brace opens a body if a parameter list stands before it, and no word of CONTROL before that list."""
        return spread(length for length, _ in self.functions)

    def long_functions(self):
        """Functions over 60 and over 100 lines, and the longest."""
        longest = max(self.functions, default=(0, ""))
        over = " / ".join(str(sum(length > limit for length, _ in self.functions)) for limit in (60, 100))
        return f"{over} of {len(self.functions):,}; {longest[1]}"

    @functools.cached_property
    def functions(self):
        return [(length, f"{path}:{line}") for path, text in self.product.items() for line, length in bodies(text)]

    def header_comments(self):
        """Percent of the lines with text in headers that are comments, and with those behind code."""
        lines = [line for path, text in self.product.items() if path.endswith(".h")
                 for line in text.split("\n") if line.strip()]
        whole = sum(bool(COMMENT.match(line)) for line in lines)
        trailing = sum("//" in line and not COMMENT.match(line) for line in lines)
        return f"{percent(whole, len(lines))} ({percent(whole + trailing, len(lines))})"

    # Includes

    def includes_of_a_file(self):
        """#include lines of each .h and .cc of the product: median / p90 / largest."""
        return spread(len(INCLUDE.findall(text)) for text in self.product.values())

    def headers_behind_a_source(self):
        """Headers of the project that each .cc of the product includes, itself or through others: median / p90 /
        largest. Generated headers do not count."""
        return spread(len(self.reached(path)) for path in self.product if path.endswith(".cc"))

    @functools.cached_property
    def all_sources(self):
        return self.product | self.tests

    @functools.cache
    def included(self, path):
        """The project's headers that a file includes itself: by their path from the root, or from the file's folder."""
        found = set()
        for name in INCLUDE.findall(self.all_sources[path]):
            beside = (pathlib.PurePosixPath(path).parent / name).as_posix()
            found.update(candidate for candidate in (beside, name) if candidate in self.all_sources)
        return found

    @functools.cache
    def reached(self, path):
        reached, waiting = set(), [path]
        while waiting:
            for header in self.included(waiting.pop()) - reached:
                reached.add(header)
                waiting.append(header)
        return reached

    def steps(self, header):
        """The .cc of product and tests that include a header, themselves or through others: the preset `dev`, which
        compiles each source alone, compiles them again."""
        return [path for path in self.all_sources if path.endswith(".cc") and header in self.reached(path)]

    def dearest_headers(self):
        """The five headers outside supervisor/base/ with the most steps, of all .cc of product and tests."""
        counts = collections.Counter(header for path in self.all_sources if path.endswith(".cc")
                                     for header in self.reached(path) if not header.startswith("supervisor/base/"))
        sources = sum(path.endswith(".cc") for path in self.all_sources)
        return f"of {sources:,}: " + ", ".join(f"{name} {count}" for name, count in counts.most_common(5))

    def policy_steps(self):
        """The steps of policies/policy.h, which changes with each new rule."""
        return str(len(self.steps("policies/policy.h")))

    # Names and words

    def functions_of_std(self):
        """std::function in the product's code, for each 1,000 lines."""
        return self.per_1000(self.in_code(r"\bstd::function\b"))

    def in_code(self, pattern):
        return sum(len(re.findall(pattern, line)) for text in self.product.values()
                   for _, line in lint.code_lines(text))

    def identifiers(self):
        """Words of identifiers that name no thing, for each 1,000 lines, by the rules of identifier_words.py; behind it
        the rate of its words in every form."""
        words, plain, lines = identifier_words.rate(self.root)
        return f"{1000 * words / max(lines, 1):.1f}; in every form {1000 * plain / max(lines, 1):.1f}"

    def one_word_types(self):
        """Types with a body and a name of one word: of all, of namespaces, of types and functions (type_names.py)."""
        return self.types(1)

    def shared_types(self):
        """Types with a body and a name that another type has: of all; of namespaces, of types and functions, each
        compared with its own level (type_names.py)."""
        return self.types(2)

    def types(self, which):
        levels = type_names.types_by_level(self.root)
        parts = []
        for level in ("all", "namespace", "nested"):
            counts = type_names.numbers(levels[level])
            parts.append(f"{level} {percent(counts[which], counts[0])} ({counts[which]} of {counts[0]:,})")
        return ", ".join(parts)

    def leftovers(self):
        """TODO, FIXME and XXX in the product's C++, comments included; goto and NOLINT."""
        todo = sum(len(re.findall(r"\b(?:TODO|FIXME|XXX)\b", text)) for text in self.product.values())
        nolint = sum(text.count("NOLINT") for text in self.product.values())
        goto = self.in_code(r"\bgoto\b")
        return f"{todo} / {goto} / {nolint}"

    # Folders

    def doors(self):
        """Folders directly below supervisor/ with C++, and all folders with C++ below it."""
        folders = {pathlib.PurePosixPath(path).parent for path in self.product if path.startswith("supervisor/")}
        return f"{len({folder.parts[1] for folder in folders if len(folder.parts) > 1})}; rooms {len(folders)}"

    def tested_folders(self):
        """[(folder, product lines, percent)]: lines of C++ in tests/FOLDER for each line of C++ in FOLDER, rooms below
        included in both. A folder whose tests stand in a folder of another name shows too few."""
        rows = []
        product, tests = lines_by_folder(self.product), lines_by_folder(self.tests)
        for folder, lines in sorted(product.items()):
            rows.append((folder, lines, percent(tests.get("tests/" + folder, 0), lines)))
        return rows


def percent(part, whole):
    return f"{100 * part / max(whole, 1):.0f} %"


def count_lines(files):
    return sum(text.count("\n") for text in files.values())


def lines_by_folder(files):
    lines = collections.Counter()
    for path, text in files.items():
        for folder in pathlib.PurePosixPath(path).parents:
            lines[folder.as_posix()] += text.count("\n")
    del lines["."]
    return lines


def bodies(text):
    """(line, length) of each function in C++ text: from the first line of its head to the brace that ends its body."""
    opened, head, begin, depth = [], "", 0, 0  # depth: of parentheses since the last open brace
    constructors = {}  # number of open braces: the first line of a constructor whose members are being initialized
    for number, line in lint.code_lines(text):
        if line.lstrip().startswith("#"):
            continue
        for char in line + "\n":
            depth += (char == "(") - (char == ")")
            if char not in "{};":
                begin = begin if head.strip() else number
                head = "" if char == ":" and head.strip() in ACCESS else head + char
                continue
            if char == "{":
                first = begin if opens_body(head) else None
                if INITIALIZERS.search(head) and (depth > 0 or first is None):
                    constructors.setdefault(len(opened), begin)
                elif depth == 0 and first is not None:
                    first = constructors.pop(len(opened), first)
                opened.append((first, depth))
                depth = 0
            elif char == "}" and opened:
                first, depth = opened.pop()
                if first is not None:
                    yield first, number - first + 1
            elif char == ";" and depth == 0:
                constructors.pop(len(opened), None)
            head = ""


def opens_body(head):
    head = head.rstrip()
    while BEHIND_PARAMETERS.search(head):
        head = BEHIND_PARAMETERS.sub("", head).rstrip()
    if head.endswith("]"):
        return True  # a lambda without parameters
    if not head.endswith(")"):
        return False
    depth = 0
    for i in range(len(head) - 1, -1, -1):
        depth += (head[i] == ")") - (head[i] == "(")
        if depth == 0:
            before = re.search(r"(\w+|\W)\s*$", head[:i])
            return bool(before) and before.group(1) not in CONTROL
    return False  # the end of for (a; b; c)


def table(house):
    rows = [
        ("C++ of the product, lines in files", house.product_size), ("tests, lines in files", house.test_size),
        (".cc, lines: median / p90 / largest", house.source_sizes),
        ("functions, lines: median / p90 / largest", house.function_sizes),
        ("functions over 60 / over 100", house.long_functions),
        ("comments in headers (with trailing)", house.header_comments),
        ("includes of a file: median / p90 / largest", house.includes_of_a_file),
        ("own headers behind a .cc: median / p90 / largest", house.headers_behind_a_source),
        ("sources that recompile with policies/policy.h", house.policy_steps),
        ("headers with the most such sources", house.dearest_headers),
        ("std::function in 1,000 lines", house.functions_of_std),
        ("vague words of identifiers in 1,000 lines", house.identifiers),
        ("types of one word", house.one_word_types), ("types that share a name", house.shared_types),
        ("TODO / goto / NOLINT", house.leftovers), ("folders directly below supervisor/", house.doors),
    ]
    for about, measure in rows:
        print(f"{about:50} {measure()}")
    print("\nlines of C++ tests for each line of the folder, with the folders below it")
    for folder, lines, share in house.tested_folders():
        print(f"  {folder:48} {share:>6} of {lines:,}")


if __name__ == "__main__":
    house = House(sys.argv[1])
    if len(sys.argv) > 3 and sys.argv[2] == "--steps":
        sources = house.steps(sys.argv[3])
        print(*sources, f"{len(sources)} sources", sep="\n")
    else:
        table(house)
