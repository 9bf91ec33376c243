#!/usr/bin/env python3
"""Inputs that models really write, and what the daemon's answer to each must contain. The rows are in *.json here.

    python3 mistakes_test.py                      every theme
    python3 mistakes_test.py files shell          these themes
    python3 mistakes_test.py files -n workspace   only rows whose name has this text

README.md describes a row. Each row that fails is printed with the whole answer. The exit status is 0 if all hold.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "supervisor"))
from harness import EXAMPLE_CATALOG, TOP, Daemon, Policies, eventually  # noqa: E402

FEWEST_ROWS = 60
UPSTREAM_SERVER = TOP / "tests/supervisor/upstream_server.py"
CLEAR = "rm -rf /workspace/* /workspace/.[!.]*"
ROW_KEYS = {"name", "needs", "before", "tool", "arguments", "meta", "expect", "then"}
CALL_KEYS = {"tool", "arguments", "meta", "expect"}
THEME_KEYS = {"about", "policy", "servers", "catalog", "example_catalog", "rows"}
EXPECT_KEYS = {"success", "is_error", "protocol_error", "outcome", "result", "keys", "absent", "has", "has_not", "within_ms",
               "image"}


def same(one, other):
    """Equal as JSON, with the order of keys; 1 is not true."""
    return json.dumps(one) == json.dumps(other)


def strings_of(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from strings_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings_of(one)


def value_at(answer, path):
    """The member of a dotted path, and whether there is one."""
    for word in path.split("."):
        if isinstance(answer, list) and word.isdigit() and int(word) < len(answer):
            answer = answer[int(word)]
        elif isinstance(answer, dict) and word in answer:
            answer = answer[word]
        else:
            return None, False
    return answer, True


class Answer:
    """What a call was answered with: the result of tools/call, or a JSON-RPC error."""

    def __init__(self, result=None, error=None):
        self.result, self.error = result or {}, error
        blocks = self.result.get("content", [])
        self.texts = [block["text"] for block in blocks if block.get("type") == "text"]
        self.images = [block for block in blocks if block.get("type") == "image"]
        try:
            self.body = json.loads(self.texts[0]) if self.texts else {}
        except ValueError:
            self.body = {}

    def all_text(self):
        """Every text a model can read in it, as it is written and with the escapes of JSON undone."""
        return "\n".join([*self.texts, *strings_of(self.body), *strings_of(self.error or {})])

    def __str__(self):
        return json.dumps(self.error or self.result, indent=1, ensure_ascii=False)


def problems_of(expect, answer):
    """All that an answer lacks of what a row expects."""
    def wrong(what, wanted, found):
        problems.append(f"{what}: {json.dumps(wanted, ensure_ascii=False)} expected, not {json.dumps(found, ensure_ascii=False)}")

    problems = []
    body, text = answer.body, answer.all_text()
    if (answer.error is not None) != expect.get("protocol_error", False):
        wrong("a JSON-RPC error", expect.get("protocol_error", False), answer.error is not None)
    if "success" in expect:
        # Tools that only read answer without `success`; there the protocol's own word counts.
        success = body.get("success", bool(answer.texts) and not answer.result.get("isError", False))
        if not answer.texts or success is not expect["success"]:
            wrong("success", expect["success"], success)
        is_error = expect.get("is_error", not expect["success"])
        if answer.result.get("isError", False) is not is_error:
            wrong("isError", is_error, answer.result.get("isError", False))
    if "outcome" in expect and body.get("outcome") != expect["outcome"]:
        wrong("outcome", expect["outcome"], body.get("outcome"))
    if "result" in expect and ("result" not in body or not same(body["result"], expect["result"])):
        wrong("result", expect["result"], body.get("result", "nothing"))
    for path, wanted in expect.get("keys", {}).items():
        found, there = value_at(body, path)
        if not there or not same(found, wanted):
            wrong(path, wanted, found if there else "nothing")
    for path in expect.get("absent", []):
        if value_at(body, path)[1]:
            problems.append(f"{path} should not be there")
    for words in expect.get("has", []):
        if words.lower() not in text.lower():
            problems.append(f"lacks the text {words!r}")
    for words in expect.get("has_not", []):
        if words.lower() in text.lower():
            problems.append(f"has the text {words!r}")
    if "within_ms" in expect:
        wall = value_at(body, "usage.wall_ms")[0]
        if not isinstance(wall, (int, float)) or wall > expect["within_ms"]:
            wrong("usage.wall_ms, at most", expect["within_ms"], wall)
    if "image" in expect and bool(answer.images) is not expect["image"]:
        wrong("a picture", expect["image"], bool(answer.images))
    return problems


def check_form(theme, document, rows):
    """Rows that could not fail, or whose keys are misspelt, end the test."""
    def unless(good, what):
        if not good:
            sys.exit(f"{theme}.json: {what}")

    unless(not set(document) - THEME_KEYS, f"knows no {set(document) - THEME_KEYS}")
    names = [row.get("name", "") for row in rows]
    unless(len(set(names)) == len(names) and all(names), "each row needs a name of its own")
    for row in rows:
        unless(not set(row) - ROW_KEYS, f"{row['name']}: knows no {set(row) - ROW_KEYS}")
        for call in [row, *row.get("before", []), *row.get("then", [])]:
            unless("tool" in call, f"{row['name']}: a call needs a tool")
            unless(call is row or not set(call) - CALL_KEYS, f"{row['name']}: knows no {set(call) - CALL_KEYS}")
            expect = call.get("expect", {})
            unless(not set(expect) - EXPECT_KEYS, f"{row['name']}: knows no {set(expect) - EXPECT_KEYS}")
        for call in [row, *row.get("then", [])]:
            unless(set(call.get("expect", {})) & {"success", "protocol_error"}, f"{row['name']}: expects neither success nor failure")


DEAD = [
    Answer({}), Answer({"content": []}), Answer({"content": [{"type": "text", "text": ""}]}),
    Answer({"content": [{"type": "text", "text": "{}"}]}),
    Answer({"content": [{"type": "text", "text": "{\"success\": false, \"error\": \"failed\"}"}], "isError": True}),
    Answer({"content": [{"type": "text", "text": "{\"success\": true}"}]}), Answer(error={"code": -32603, "message": "closed"}),
]


def check_against_the_dead(theme, rows):
    """No row holds for a server that answers everything alike."""
    for row in rows:
        for answer in DEAD:
            judged = [row, *row.get("then", [])]
            if not any(problems_of(call["expect"], answer) for call in judged):
                sys.exit(f"{theme}.json: {row['name']}: holds for the answer {answer}")


class Theme:
    """One file of rows, with a daemon of its own."""

    def __init__(self, file):
        self.name = file.stem
        self.document = json.loads(file.read_text())
        self.rows = self.document["rows"]
        check_form(self.name, self.document, self.rows)
        check_against_the_dead(self.name, self.rows)

    def run(self, rows):
        """The number of rows that fail and of those that need what this machine lacks."""
        failed = skipped = 0
        with tempfile.TemporaryDirectory(prefix="warder-test-mistakes-") as folder:
            place = pathlib.Path(folder)
            place.chmod(0o755)
            policies = Policies(**{"pool": {}, **self.document.get("policy", {})})
            with policies, Daemon(policies=policies, arguments=self.arguments(place)) as daemon:
                with daemon.connect() as client:
                    self.await_servers(client)
                    for row in rows:
                        if lacking := [need for need in row.get("needs", []) if not is_here(need)]:
                            skipped += 1
                            print(f"SKIPPED {self.name}: {row['name']}: this machine has no {', '.join(lacking)}")
                            continue
                        failed += not self.holds(client, row)
                        clear(client)
        return failed, skipped

    def arguments(self, place):
        configuration = {}
        if servers := self.document.get("servers"):
            shutil.copy(UPSTREAM_SERVER, place)
            configuration["servers"] = {name: {"command": "/usr/bin/python3", "args": [str(place / "upstream_server.py")],
                                               "jail": "none"} for name in servers}
        if catalog := self.document.get("catalog"):
            (place / "catalog").mkdir()
            (place / "catalog/catalog.json").write_text(json.dumps(catalog))
            configuration["catalog"] = str(place / "catalog")
        if self.document.get("example_catalog"):
            configuration["catalog"] = str(EXAMPLE_CATALOG)
        file = place / "config.json"
        file.write_text(json.dumps(configuration))
        return ["--config", file]

    def await_servers(self, client):
        for name in self.document.get("servers", []):
            eventually(lambda: name in json.dumps(send(client, {"tool": "list_tool_categories"}).body.get("servers", [])), name)

    def holds(self, client, row):
        for call in row.get("before", []):
            answer = send(client, call)
            if answer.error or problems_of({"success": True, **call.get("expect", {})}, answer):
                return self.tell(row, ["what comes before it failed"], answer)
        answer = send(client, row)
        if problems := problems_of(row["expect"], answer):
            return self.tell(row, problems, answer)
        for call in row.get("then", []):
            answer = send(client, call)
            if problems := problems_of(call["expect"], answer):
                return self.tell(row, [f"afterwards {call['tool']}: {problem}" for problem in problems], answer)
        return True

    def tell(self, row, problems, answer):
        print(f"FAILED {self.name}: {row['name']}")
        print(f"  call: {row['tool']} {json.dumps(row.get('arguments', {}), ensure_ascii=False)[:500]}")
        for problem in problems:
            print(f"  {problem}")
        print("  " + str(answer).replace("\n", "\n  "), flush=True)
        return False


def send(client, call):
    """One round trip, whatever it is answered with. Code is written as a list of lines."""
    arguments = dict(call.get("arguments", {}))
    if isinstance(arguments.get("code"), list):
        arguments["code"] = "\n".join(arguments["code"])
    try:
        more = {"_meta": call["meta"]} if "meta" in call else {}
        return Answer(client.request("tools/call", name=call["tool"], arguments=arguments, **more))
    except RuntimeError as error:
        return Answer(error=error.args[0])


def clear(client):
    """Empties the workspace for the next row."""
    if send(client, {"tool": "list_workspace_files"}).body.get("count", 1):
        send(client, {"tool": "execute_code", "arguments": {"language": "shell", "code": CLEAR}})


def is_here(need):
    """python:MODULE of the system's interpreter, or program:NAME in the folders that jails see."""
    kind, name = need.split(":")
    if kind == "python":
        return subprocess.run(["/usr/bin/python3", "-c", f"import {name}"], capture_output=True).returncode == 0
    assert kind == "program", need
    return shutil.which(name, path="/usr/bin:/bin:/usr/local/bin") is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("themes", nargs="*")
    parser.add_argument("-n", "--name", default="", help="only rows whose name has this text")
    options = parser.parse_args()
    themes = [Theme(file) for file in sorted(HERE.glob("*.json"))]
    total = sum(len(theme.rows) for theme in themes)
    if total < FEWEST_ROWS:
        sys.exit(f"the table has {total} rows; at least {FEWEST_ROWS} are wanted")
    failed = skipped = ran = 0
    for theme in themes:
        rows = [row for row in theme.rows if options.name.lower() in row["name"].lower()]
        if not rows or options.themes and theme.name not in options.themes:
            continue
        wrong, lacking = theme.run(rows)
        print(f"{theme.name}: {len(rows)} rows, {wrong} failed, {lacking} skipped", flush=True)
        ran, failed, skipped = ran + len(rows), failed + wrong, skipped + lacking
    if ran == skipped:
        sys.exit("no row ran")
    print(f"{ran} rows, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
