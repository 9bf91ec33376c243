"""Each command and each block that the pages show is run on a machine of the test's own, and what is printed is compared
with the page (patterns.py says how). A block that no scene knows fails the test; exceptions.txt has those that do not run.

    pages_test.py [PAGE ...]      only these pages
"""
import re
import sys
import time
import unittest

import machine
import patterns
from blocks import blocks_of

PAGES = ("README.md", "supervisor/tools/guide.md", "units/first-hour.md", "supervisor/programs/cli/administration.md", "units/layers.md",
         "units/egress.md", "units/cluster.md", ".github/CONTRIBUTING.md")
TOP = machine.TOP
BEGUN = time.monotonic()


def exceptions():
    """(page, first words) of each line."""
    lines = (machine.HERE / "exceptions.txt").read_text().splitlines()
    rows = [[part.strip() for part in line.split(" | ")] for line in lines if line and not line.startswith("#")]
    if any(len(row) != 3 or not all(row) for row in rows):
        raise AssertionError("exceptions.txt: a line is PAGE | FIRST WORDS | REASON")
    return [(page, words) for page, words, _ in rows]


def items_of(block):
    """What counts as one: each command; a block without commands."""
    return [command.text for command in block.commands] or [block.text]


class Counts(unittest.TestCase):
    def test_at_most_a_tenth_is_not_run_and_each_exception_is_on_its_page(self):
        excepted = exceptions()
        everything = [(page, item) for page in PAGES for block in blocks_of(page, (TOP / page).read_text())
                      for item in items_of(block)]
        left_out = [(page, item) for page, item in everything
                    if any(page == known and item.startswith(words) for known, words in excepted)]
        for page, words in excepted:
            self.assertTrue(any(page == known and item.startswith(words) for known, item in left_out),
                            f"exceptions.txt: {page} does not show {words!r}")
        print(f"{len(everything)} commands and blocks, {len(left_out)} of them are not run")
        self.assertLessEqual(10 * len(left_out), len(everything))

    def test_a_false_page_is_seen(self):
        ids = patterns.Ids()
        page = "ID      STATE  AGE\ne24151  ended  295ms\n...\n{\"result\":42,\"wall_ms\":2.2}"
        printed = "ID                 STATE    AGE\ne0123456789abcdef  ended  1.2s\nmore\nmore\n{\"result\":42,\"wall_ms\":9}"
        self.assertIsNone(patterns.mismatch(page, printed, ids))
        self.assertEqual(ids.replace("warder logs e24"), "warder logs e0123456789abcdef")
        for wrong in (printed.replace("42", "43"), printed.replace("ended", "killed"), printed.replace("1.2s", "soon"),
                      printed.replace("AGE", "YEARS"), printed + "\nmore", printed.replace("wall_ms", "cpu")):
            self.assertIsNotNone(patterns.mismatch(page, wrong, patterns.Ids()), wrong)
        self.assertIsNotNone(patterns.mismatch("e24151", "e1111111111111111", ids), "another id than above")


@unittest.skipUnless(machine.is_possible(), "needs root, to make a mount namespace with layers over /etc, /usr and /var")
class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import agent_scenes  # noqa: F401, each registers its scenes
        import operator_scenes  # noqa: F401
        from scenes import Scenes
        cls.machine = cls.enterClassContext(machine.Machine(machine.build_folder()))
        cls.scenes = cls.enterClassContext(Scenes(cls.machine))

    def page(self, page):
        excepted = [words for known, words in exceptions() if known == page]
        for block in blocks_of(page, (TOP / page).read_text()):
            print(f"{time.monotonic() - BEGUN:6.1f} s  {block.place}", file=sys.stderr)
            with self.subTest(block=block.place, begins=block.text[:60]):
                self.scenes.play(block, lambda text: any(text.startswith(words) for words in excepted))

    def test_commands_within_sentences_have_the_words_that_help_names(self):
        helps, count = {}, 0

        def help_of(path):
            if path not in helps:
                helps[path] = self.machine.shell(f"{' '.join(path)} --help")[1]
            return helps[path]

        for page in PAGES:
            for span in re.findall(r"`((?:sudo )?warderd? [^`]+)`", (TOP / page).read_text().replace("\n", " ")):
                program, *words = span.removeprefix("sudo ").split()
                path, count = (program,), count + 1
                with self.subTest(page=page, command=span):
                    for word in words:
                        word = word.strip("[],.").split("=")[0]
                        if word.startswith("--"):
                            self.assertIn(word, help_of(path))
                        elif word.isalpha() and word.islower() and "Subcommands:" in help_of(path):
                            listed = re.findall(r"(?m)^  ([a-z][a-z-]*)", help_of(path).split("Subcommands:", 1)[1])
                            self.assertIn(word, listed)
                            path += (word,)
        self.assertGreater(count, 50)


def test_of(page):
    return lambda self: self.page(page)


for number, name in enumerate(PAGES):
    setattr(Pages, f"test_{number}_{name.strip('.').replace('/', '_').replace('-', '_').removesuffix('.md')}", test_of(name))

if __name__ == "__main__":
    if machine.is_possible():
        machine.enter()
    chosen = [f"Pages.{name}" for name in dir(Pages) for word in sys.argv[1:] if name.startswith("test_") and word in name]
    unittest.main(argv=sys.argv[:1] + chosen)
