"""The table of repairs in supervisor/tools/guide.md: each cell is proved by programs that are sent as models send them."""
import json
import re
import unittest

from harness import TOP, Client, Daemon

GUIDE = TOP / "supervisor/tools/guide.md"
COLUMNS = ("Python", "JavaScript", "TypeScript", "shell", "`save_skill`")
LANGUAGES = {"Python": "python", "JavaScript": "javascript", "TypeScript": "typescript", "shell": "shell",
             "`save_skill`": "python"}
# For each language: a program of two lines whose value (in shell: its output) is 42, and the word of its fence.
PROGRAM = {"python": "x = 40\nx + 2", "javascript": "const x = 40\nx + 2", "typescript": "const x: number = 40\nx + 2",
           "shell": "x=40\necho $((x + 2))"}
WORD = {"python": "python", "javascript": "js", "typescript": "ts", "shell": "bash"}
OTHER = {"python": "bash", "javascript": "python", "typescript": "py", "shell": "python"}
NESTED = {"python": "s = '''\n```\n'''\n{}", "javascript": "/*\n```\n*/\n{}", "typescript": "/*\n```\n*/\n{}",
          "shell": "cat > README.md <<'EOF'\n```\nmake\n```\nEOF\n{}"}
PROMPTS = {"python": [(">>> ", "... "), ("In [1]: ", "   ...: ")], "javascript": [("> ", "> ")],
           "typescript": [("> ", "> ")], "shell": [("$ ", "$ "), ("ada@host:~/x$ ", "ada@host:~/x$ ")]}
FOREIGN_PROMPT = {"python": "$ ls\na.txt", "javascript": ">>> x = 1", "typescript": "In [1]: x = 1", "shell": ">>> x = 1"}
FOREIGN = {"python": "const x = 1;\nconsole.log(x);", "javascript": "import os\nprint(os.getcwd())",
           "typescript": "def f(x):\n    return x\nprint(f(1))", "shell": "import os\nprint(os.getcwd())"}
TYPOGRAPHIC = {"python": "x = 21 × 2\nprint(“a”)\nx", "javascript": "const s = “a”\ns", "typescript": "const s = “a”\ns",
               "shell": "“ls”"}


def fenced(language):
    yield f"```{WORD[language]}\n{PROGRAM[language]}\n```"
    yield f"  ~~~ {WORD[language].upper()}\n  " + PROGRAM[language].replace("\n", "\n  ") + "\n  ~~~"
    yield f"Here is the program:\n\n```\n{PROGRAM[language]}\n```\n\nIt answers 42."


def with_prompts(language):
    first, second = PROGRAM[language].split("\n")
    for one, more in PROMPTS[language]:
        yield f"{one}{first}\n{more}{second}"


def indented(language):
    if language == "shell":
        yield "    cat > out.txt <<END\n    a\n    END\n    cat out.txt > /dev/null; echo 42"
    else:
        yield "    " + PROGRAM[language].replace("\n", "\n    ")


ROWS = {
    "fences of Markdown, prose around them": fenced,
    "a fence without its end, or only the end": lambda language: [f"```{WORD[language]}\n{PROGRAM[language]}",
                                                                  f"{PROGRAM[language]}\n```"],
    "a fence inside a text of the fenced program": lambda language: [
        f"```{WORD[language]}\n" + NESTED[language].format(PROGRAM[language]) + "\n```"],
    "blocks of other languages beside the program's": lambda language: [
        f"```{OTHER[language]}\nno program\n```\n```{WORD[language]}\n{PROGRAM[language]}\n```\nOutput:\n```\nrm x\n```"],
    "a fence of another language only": lambda language: [f"```{OTHER[language]}\nx\n```"],
    "fences in a program's own text": lambda language: [NESTED[language].format(PROGRAM[language])],
    "line ends of Windows, CR LF": lambda language: [PROGRAM[language].replace("\n", "\r\n") + "\r\n"],
    "a byte order mark": lambda language: ["\ufeff" + PROGRAM[language]],
    'the JSON object `{"code": ...}`': lambda language: [json.dumps({"code": PROGRAM[language]})],
    "tags: `<code>`, `<pre>`": lambda language: [f"<code>{PROGRAM[language]}</code>",
                                                 f"<pre><code>\n{PROGRAM[language]}\n</code></pre>"],
    "line numbers: `1: `, `1\\| `": lambda language: ["1: " + PROGRAM[language].replace("\n", "\n2: "),
                                                     "9| " + PROGRAM[language].replace("\n", "\n10| ")],
    "prompts of its interpreter: `>>>`, `In [1]:`, `>`, `$`": with_prompts,
    "prompts of another interpreter": lambda language: [FOREIGN_PROMPT[language]],
    "indentation that all lines share": indented,
    "another language without a mark": lambda language: [FOREIGN[language]],
    "typographic quotes and signs: “x”, ×": lambda language: [TYPOGRAPHIC[language]],
}


def table():
    """{row: {column: word}} of the guide."""
    text = GUIDE.read_text()
    lines = text[text.index("| sent code |"):].split("\n\n")[0].split("\n")
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert tuple(cells[0][1:]) == COLUMNS, cells[0]
    return {row[0]: dict(zip(COLUMNS, row[1:])) for row in cells[2:]}


class Repairs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Daemon())
        cls.client = cls.enterClassContext(Client(cls.daemon.socket))
        cls.skills = 0

    def tool(self, name, /, **arguments):
        return json.loads(self.client.call(name, arguments)["content"][0]["text"])

    def run_program(self, code, language):
        """The answer, and whether the program had its value."""
        body = self.client.execute(code, language=language)
        return body, body["success"] and ("42" in body["output"] if language == "shell" else body["result"] == 42)

    def save_skill(self, code):
        """The answer, and whether the saved text is the program that was meant: it runs, and its last line is there."""
        Repairs.skills += 1
        name = f"skill_{self.skills}"
        body = self.tool("save_skill", name=name, code=code)
        if not body.get("success"):
            return {**body, "success": False}, False
        saved = self.tool("load_skill", name=name)["code"]
        return body, self.client.execute(saved).get("result") == 42

    def check(self, word, code, column):
        language = LANGUAGES[column]
        body, is_right = self.save_skill(code) if column == "`save_skill`" else self.run_program(code, language)
        said = json.dumps([body.get("notes", []), body.get("stderr", "")], ensure_ascii=False)
        if word == "error":
            self.assertFalse(body["success"], body)
            self.assertRegex(json.dumps(body, ensure_ascii=False), r'language=|"remedy"|leave out|write plain')
        else:
            self.assertTrue(is_right, body)
        if word == "unchanged":
            self.assertNotIn("notes", body)
            self.assertEqual(body.get("stderr", ""), "")
        if word == "repaired" and not (code.startswith("    ") and language == "python"):
            self.assertRegex(said, "took|left out|removed|replaced")

    def test_each_cell_of_the_table_in_the_guide_is_true(self):
        rows = table()
        self.assertEqual(list(rows), list(ROWS))
        for row, cells in rows.items():
            for column, word in cells.items():
                self.assertIn(word, ("repaired", "error", "unchanged"))
                for code in ROWS[row](LANGUAGES[column]):
                    with self.subTest(row=row, column=column, code=code):
                        self.check(word, code, column)

    def test_the_output_that_a_model_put_behind_its_program_is_not_run(self):
        self.tool("write_workspace_file", filename="list.txt", content="touch owned\n")
        for code in ("```bash\ncat list.txt\n```", "```\ncat list.txt\n```", "   ```sh\n   cat list.txt\n   ```",
                     "```bash\r\ncat list.txt\r\n```\r\n", "Do this:\n```bash\ncat list.txt\n```\n```\ntouch owned\n```"):
            with self.subTest(code=code):
                body = self.client.execute(code, language="shell")
                self.assertEqual((body["success"], body["output"]), (True, ["touch owned"]), body)
                self.assertNotIn("files", body)

    def test_lines_keep_their_numbers_and_texts_their_content(self):
        body = self.client.execute("Here it is:\n```python\nx = 1\n1/0\n```")
        self.assertIn("line 4, in <module>\n    1/0", body["traceback"])
        text = self.client.execute("```python\ns = '''\n```bash\nls\n```\n'''\ns\n```")
        self.assertEqual(text["result"], "\n```bash\nls\n```\n")

    def test_a_skill_in_fences_works(self):
        body = self.tool("save_skill", name="fenced", code="```js\nexports.f = () => 1\n```", language="javascript")
        self.assertTrue(body["success"], body)
        self.assertIn("took the code between the fences", body["notes"][0])
        body = self.client.execute("require('skills/fenced').f()", language="javascript")
        self.assertEqual((body["success"], body["result"]), (True, 1), body)


if __name__ == "__main__":
    unittest.main()
