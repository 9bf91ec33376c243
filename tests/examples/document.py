"""An example as it is written: servers, what an agent sends in its order with the answers, and the table of tokens.

    Servers: `crm`, `files`         the servers that there are, see NPM and OFFICE in scene.py; "none"
    Workspace: `scans.json`         files in the workspace before the first step, see WORKSPACE_FILES in scene.py
    Catalog: `example`              the tools of catalog/example are known, too
    Task: `Write a report`          a task for `warder agent`, whose model makes the steps, see task_scene.py
    Final: `It is written.`         the model's last words
    Policy: `{"pii": {...}}`        keys of the standard policy that differ
    ```python session=report        a program for execute_code, with arguments; also ```javascript, ```shell
    ```python save_skill name=x     the code for another of Warder's tools, with its other arguments
    ```json call_tool               the arguments of another of Warder's tools
    ```json direct crm__get_lead    a call that an agent without code would make instead: counted in that column only
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

# What is measured, or random, differs from run to run: compared and counted as if it always were this.
MEASURED = {"execution_id": "e0123456789abcdef", "execution_time_ms": 25}
PII_TOKEN = re.compile(r"\[([A-Z_]+)_[a-z0-9]{6}\]")


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
        self.servers = self.named("Servers")
        self.workspace = self.named("Workspace")
        self.has_catalog = self.named("Catalog") == ["example"]
        self.policy = json.loads((self.named("Policy") or ["{}"])[0])
        self.task = "".join(self.named("Task"))
        self.final = "".join(self.named("Final"))
        self.steps = []
        self.direct = []
        for language, words, body in BLOCK.findall(self.text):
            words = shlex.split(words)
            if language == "json" and words == ["answer"]:
                assert self.steps and self.steps[-1].answer is None, f"{path.name}: an answer to nothing"
                self.steps[-1].answer = json.loads(body)
            elif language == "json" and words[0] == "direct":
                self.direct.append(Step(words[1], json.loads(body)))
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

    def named(self, line):
        """The names on a line such as "Servers: `crm`, `files`"."""
        found = re.search(rf"^{line}: ((?:`[^`\n]*`(?:, )?)+)", self.text, re.MULTILINE)
        return re.findall("`(.+?)`", found[1]) if found else []

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


def steady(value):
    """An answer with what is measured in it as it stands in MEASURED, without the usage of a slow machine, and with one
    text for all tokens of a kind."""
    value.pop("usage", None)
    value.update({key: constant for key, constant in MEASURED.items() if key in value})
    return json.loads(PII_TOKEN.sub(r"[\1_k3v7qd]", json.dumps(value, ensure_ascii=False)))


def steady_text(text):
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return json.dumps(steady(value), separators=(",", ":"), ensure_ascii=False) if isinstance(value, dict) else text


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
