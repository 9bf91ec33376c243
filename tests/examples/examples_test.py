#!/usr/bin/env python3
"""Each example's document is true: its programs answer as it says, and cost what it says.

    examples_test.py NUMBER     plays one: CTest does, for each
    examples_test.py overview   compares the README's table with the documents'
    examples_test.py write      plays all, and writes the tables of tokens anew

CTest sets WARDERD, WARDER, and CLIENTS for the servers from npm and the tokenizer.
"""
import json
import sys
import unittest

from document import FOLDER, documents, overview_of, steady, table_of

BEGIN, END = "<!-- overview -->\n", "<!-- end -->\n"


def check_answers(document, results):
    """Every key that the document names, exactly."""
    for step, result in zip(document.steps, results):
        body = json.loads(result["content"][0]["text"])
        body = steady(body)
        said = {key: body.get(key) for key in step.answer}
        assert said == step.answer, f"{document.path.name}: {step.tool} answered {json.dumps(body, indent=1)}, not {step.answer}"


def play(document):
    """The table of tokens that is true of it; its answers have been compared."""
    from scene import Scene  # leaves the test when there is nothing from npm
    from task_scene import TaskScene

    with (TaskScene if document.task else Scene)(document) as scene:
        results = scene.play_all()
        scene.play_direct()
        check_answers(document, results)
        return table_of(scene.cost_of_calls(), scene.cost_of_code(results))


def overview():
    """The README in three parts: before the table, the table, after it."""
    text = (FOLDER / "README.md").read_text()
    begin = text.index(BEGIN) + len(BEGIN)
    end = text.index(END)
    return text[:begin], text[begin:end], text[end:]


class Overview(unittest.TestCase):
    def test_the_readme_s_table_says_what_the_documents_say(self):
        self.assertEqual(overview()[1], overview_of(documents()))

    def test_no_document_is_left_out_of_the_tests(self):
        played = (FOLDER / "CMakeLists.txt").read_text()
        for document in documents():
            self.assertIn(document.path.stem, played)


class Example(unittest.TestCase):
    def test_it_answers_and_costs_what_it_says(self):
        self.assertEqual(play(self.document), self.document.table(), "if that is meant: examples_test.py write")


def write():
    for document in documents():
        document.write_table(play(document))
        print(document.table())
    before, _, after = overview()
    (FOLDER / "README.md").write_text(before + overview_of(documents()) + after)


if __name__ == "__main__":
    what = sys.argv.pop(1)
    if what == "write":
        write()
    elif what == "overview":
        unittest.main(argv=[sys.argv[0], "Overview"], verbosity=2)
    else:
        (Example.document,) = [document for document in documents() if document.path.stem == what]
        unittest.main(argv=[sys.argv[0], "Example"], verbosity=2)
