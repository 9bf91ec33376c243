"""An example as it is written: servers, what an agent sends in its order with the answers, and the table of tokens.

    Servers: `crm`, `files`         whose tools there are, see SERVERS in scene.py
    ```python session=report        a program for execute_code, with arguments; also ```javascript, ```shell
    ```python save_skill name=x     the code for another of Warder's tools, with its other arguments
    ```json call_tool               the arguments of another of Warder's tools
    ```json answer                  what the answer to the block before holds, each key exactly
"""
import dataclasses
import json
import pathlib
import re
import shlex

FOLDER = pathlib.Path(__file__).resolve().parent
BLOCK = re.compile(r"^```(\S+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^\| tokens \|.*?\n(?=\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass
class Step:
    tool: str
    arguments: dict
    answer: dict | None = None


class Document:
    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.title = self.text.split("\n", 1)[0].removeprefix("# ")
        self.servers = re.findall("`(.+?)`", re.search(r"^Servers: ([^(\n]+)", self.text, re.MULTILINE)[1])
        self.steps = []
        for language, words, body in BLOCK.findall(self.text):
            words = shlex.split(words)
            if language == "json" and words == ["answer"]:
                assert self.steps and self.steps[-1].answer is None, f"{path.name}: an answer to nothing"
                self.steps[-1].answer = json.loads(body)
            elif language == "json" and len(words) == 1:
                self.steps.append(Step(words[0], json.loads(body)))
            elif language in ("python", "javascript", "typescript", "shell"):
                tool = words.pop(0) if words and "=" not in words[0] else "execute_code"
                more = {} if language == "python" else {"language": language}
                more.update(word.split("=", 1) for word in words)
                self.steps.append(Step(tool, {"code": body.rstrip("\n"), **more}))
            else:
                raise ValueError(f"{path.name}: a block that is nothing to send: {language} {words}")
        unanswered = [step for step in self.steps if not step.answer]
        assert self.steps and not unanswered, f"{path.name}: nothing is said of the answer to {unanswered}"

    def table(self):
        """The table of tokens, as it stands there."""
        return TABLE.search(self.text)[0]

    def write_table(self, table):
        self.text = TABLE.sub(lambda _: table, self.text, count=1)
        self.path.write_text(self.text)


@dataclasses.dataclass
class Cost:
    """What one way of working puts into an agent's context."""
    definitions: int
    calls: int
    tokens: int  # of calls: arguments and results

    @property
    def together(self):
        return self.definitions + self.tokens


def table_of(direct, code):
    """What a document says of its two ways."""
    return (f"| tokens | tools called one by one | by code |\n|---|---|---|\n"
            f"| definitions of tools | {direct.definitions:,} | {code.definitions:,} |\n"
            f"| calls and answers: {direct.calls}, or {code.calls} | {direct.tokens:,} | {code.tokens:,} |\n"
            f"| together | {direct.together:,} | {code.together:,} |\n")


def documents():
    return [Document(path) for path in sorted(FOLDER.glob("[0-9]*.md"))]


def overview_of(some):
    """The README's table: of the documents' own tables."""
    rows = ["| example | calls, one by one | calls, by code | tokens, one by one | tokens, by code |", "|---|---|---|---|---|"]
    for document in some:
        _, _, definitions, calls, together = document.table().strip().split("\n")
        direct, code = re.match(r"\| calls and answers: (\d+), or (\d+) ", calls).groups()
        both = together.strip("|").split("|")
        rows.append(f"| [{document.title}]({document.path.name}) | {direct} | {code} | {both[1].strip()} | {both[2].strip()} |")
    return "\n".join(rows) + "\n"
