#!/usr/bin/env python3
"""A value is never changed without a word: generated values go through every way in and out of programs, in Python,
JavaScript and TypeScript. Each comes back equal, or as the table "Values" of supervisor/tools/guide.md says of its very
form, with the note that the table names; a note about any other value fails the test.

    fidelity_test.py                         10,000 values of a fixed seed (CTest: fidelity)
    fidelity_test.py --values N --seed S     N values; prints the seed
"""
import argparse
import itertools
import json
import pathlib
import random
import re
import shutil
import struct
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent), str(FOLDER.parent / "supervisor")]
import exact  # noqa: E402
import generate  # noqa: E402
from daemon import Connection  # noqa: E402
from exact import Number  # noqa: E402
from harness import Daemon, Policies, eventually  # noqa: E402

BATCH = 500  # values of one execution
MOST_SAFE = 2 ** 53 - 1
LONE = re.compile("[\ud800-\udfff]")

PYTHON = """
import struct, warder

def seen(value, into):
    if isinstance(value, dict):
        for member in value.values(): seen(member, into)
    elif isinstance(value, list):
        for member in value: seen(member, into)
    elif type(value) is int:
        into.append("whole " + str(value))
    elif type(value) is float:
        into.append("double " + struct.pack(">d", value).hex())
    elif type(value) is str:
        into.append("text " + value)
    return into
"""
JAVASCRIPT = """
const view = new DataView(new ArrayBuffer(8));
function seen(value, into) {
  if (typeof value === 'number') {
    view.setFloat64(0, value);
    into.push('double ' + view.getBigUint64(0).toString(16).padStart(16, '0'));
  } else if (typeof value === 'bigint') into.push('whole ' + value);
  else if (typeof value === 'string') into.push('text ' + value);
  else if (value !== null && typeof value === 'object') for (const key of Object.keys(value)) seen(value[key], into);
  return into;
}
"""
FIRST = {
    "python": PYTHON + """
kept = values
step = warder.workflow(name).step("s", lambda: kept) if has_step else None
result = {"seen": seen(values, []), "result": values, "step": step,
          "tool": warder.call_tool("echo__echo", value=values)["value"],
          "tool's text": warder.call_tool("echo__echo_text", value=values)["value"]}
""",
    "javascript": JAVASCRIPT + """
var kept = values;
const step = has_step ? await warder.workflow(name).step("s", () => kept) : null;
return {seen: seen(values, []), result: values, step,
  tool: (await warder.call_tool("echo__echo", {value: values})).value,
  "tool's text": (await warder.call_tool("echo__echo_text", {value: values})).value};
"""}
SECOND = {
    "python": """
result = {"session": kept, "recorded step": warder.workflow(name).step("s", lambda: kept) if has_step else None}
""",
    "javascript": """
return {session: kept, "recorded step": has_step ? await warder.workflow(name).step("s", () => kept) : null};
"""}
FORK = {"python": PYTHON + "result = {'seen': seen(item, []), 'fork': item}",
        "javascript": JAVASCRIPT + "return {seen: seen(item, []), fork: item};"}
for programs in (FIRST, SECOND, FORK):
    programs["typescript"] = "interface Any { [key: string]: unknown }\n" + programs["javascript"]


class ExactConnection(Connection):
    def send(self, message):
        self.socket.sendall(exact.dumps(message).encode() + b"\n")

    def receive(self):
        line = self.lines.readline()
        message = exact.loads(line) if line else None
        if message and "id" in message:
            message["id"] = int(message["id"].text)
        return message

    def request(self, method, **params):
        self.last_id += 1
        params["_meta"] = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                           "io.modelcontextprotocol/clientCapabilities": {}}
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        while (message := self.receive()) is not None:
            if message.get("id") == self.last_id:
                return message["result"] if "result" in message else sys.exit(str(message))
        raise EOFError("the daemon closed the connection")

    def body(self, tool, arguments):
        return exact.loads(self.call(tool, arguments)["content"][0]["text"])


def scalars(value):
    """All scalars of a value, in the order of its text."""
    if isinstance(value, dict):
        for member in value.values():
            yield from scalars(member)
    elif isinstance(value, list):
        for member in value:
            yield from scalars(member)
    else:
        yield value


def repaired(text):
    return LONE.sub("\ufffd", text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass"))


def seen_as(value, language):
    """How a program must see a scalar; None: it is true, false or null."""
    if isinstance(value, str):
        return "text " + repaired(value)
    if not isinstance(value, Number):
        return None
    if value.is_whole and (language == "python" or abs(int(value.value)) > MOST_SAFE):
        return f"whole {int(value.value)}"
    return "double " + struct.pack(">d", float(value.text)).hex()


def is_lost(value):
    return isinstance(value, Number) and not value.is_whole and not value.is_held


def notes_of(values, language):
    """The lines that standard error must have about `values`."""
    kind, most = ("float", "floats") if language == "python" else ("number", "JavaScript's numbers")
    lost = [value.text for value in scalars(values) if is_lost(value)]
    shown = [text if len(text) <= 60 else text[:60] + "..." for text in lost[:3]]
    lines = [rf"warder: {re.escape(text)} is not held by a {kind}: here it is \S+; send it as a text to keep its digits"
             for text in shown]
    return lines + [rf"warder: {len(lost) - 3} more numbers are not held by {most}"] * (len(lost) > 3)


class Different(Exception):
    pass


def compare(sent, got, path, rounds=True):
    """Raises Different unless `got` is `sent`. `rounds`: a program has had the value, with its language's numbers."""
    if isinstance(sent, dict) and isinstance(got, dict):
        names = {repaired(key): member for key, member in sent.items()}
        if set(names) != set(got):
            raise Different(f"{path}: keys {sorted(names)} are {sorted(got)}")
        for key, member in names.items():
            compare(member, got[key], f"{path}.{key[:20]}", rounds)
    elif isinstance(sent, list) and isinstance(got, list) and len(sent) == len(got):
        for at, (member, other) in enumerate(zip(sent, got)):
            compare(member, other, f"{path}[{at}]", rounds)
    elif isinstance(sent, str):
        if got != repaired(sent):
            raise Different(f"{path}: {sent!r} is {got!r}")
    elif isinstance(sent, Number):
        compare_numbers(sent, got, path, rounds)
    elif sent is not got:
        raise Different(f"{path}: {exact.dumps(sent)} is {exact.dumps(got)}")


def compare_numbers(sent, got, path, rounds):
    nearest = float(sent.text)
    if rounds and nearest - nearest != 0 and not sent.is_whole:
        good = got == ("Infinity" if nearest > 0 else "-Infinity")
    elif not isinstance(got, Number):
        good = False
    elif sent.is_whole or not rounds and not sent.is_held:
        good = got.value == sent.value
    else:
        good = float(got.text) == nearest
    if not good:
        raise Different(f"{path}: {exact.dumps(sent)} is {exact.dumps(got)}")


class Rig:
    def __init__(self, client):
        self.client = client
        self.count = 0  # values that were compared, each in each language by each way

    def execute(self, code, language, notes, **arguments):
        body = self.client.body("execute_code", {"code": code, "language": language, "timeout_seconds": Number("120"), **arguments})
        if not body.get("success"):
            raise Different(f"{language}: {exact.dumps(body)[:2000]}")
        self.check_notes(body, notes, language)
        return body.get("result", body)

    @staticmethod
    def check_notes(body, notes, language):
        told = body.get("stderr", "").splitlines()
        if len(told) != len(notes) or not all(map(re.fullmatch, notes, told)):
            raise Different(f"{language}: notes {told} where these belong: {notes}")

    def check(self, values, language, seen, **ways):
        wanted = sorted(filter(None, (seen_as(value, language) for value in scalars(values))))
        if seen is not None and sorted(seen) != wanted:
            other = next((pair for pair in itertools.zip_longest(sorted(seen), wanted) if pair[0] != pair[1]))
            raise Different(f"{language}: the program sees {other[0]!r} instead of {other[1]!r}")
        for way, got in ways.items():
            if got is not None:
                compare(values, got, f"{language}, {way}: ")
                self.count += len(values)

    def one_batch(self, values, language, number, has_step):
        session, name = f"{language}-{number}", f"w-{language}-{number}"
        given = {"values": values, "name": name, "has_step": has_step}
        notes = notes_of(values, language)
        first = self.execute(FIRST[language], language, notes, session=session, context_vars=given)
        self.check(values, language, first.pop("seen"), **first)
        # As `values` themselves: they are a constant of the session, and a step finds them as it found them.
        self.check(values, language, None, **self.execute(SECOND[language], language, [], session=session,
                                                          context_vars={"name": name, "has_step": has_step}))
        self.client.body("execute_code", {"code": "", "language": language, "session": session, "reset_session": True})
        if has_step:
            self.client.call("delete_workspace_file", {"filename": f"workflow:///{name}"})
        half = len(values) // 2
        parts = [values[:half], values[half:]]
        body = self.client.body("execute_code", {"code": FORK[language], "language": language, "fork": parts})
        for part, branch in zip(parts, body["results"]):
            if branch.get("outcome") != "ok":
                raise Different(f"{language}: {exact.dumps(branch)[:2000]}")
            self.check_notes(branch, notes_of(part, language), language)
            self.check(part, language, branch["result"]["seen"], fork=branch["result"]["fork"])

    def beside_programs(self, values):
        """A client's own call of a tool: the value passes through the daemon alone."""
        for tool in ("echo__echo", "echo__echo_text"):
            body = self.client.body("call_tool", {"name": tool, "arguments": {"value": values}})
            compare(values, body["result"]["value"], f"{tool}: ", rounds=False)
            self.count += len(values)


def run(count, seed):
    print(f"fidelity: {count} values, seed {seed}", flush=True)
    numbers = random.Random(seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-fidelity-"))
    folder.chmod(0o755)
    try:
        for file in ("echo_server.py", "exact.py"):
            shutil.copy(FOLDER / file, folder)
            (folder / file).chmod(0o644)
        server = {"command": "/usr/bin/python3", "args": [str(folder / "echo_server.py")], "jail": "none"}
        (folder / "config.json").write_text(json.dumps({"servers": {"echo": server}}))
        (folder / "config.json").chmod(0o644)
        policies = Policies(pool={"min_idle": 1, "max_idle": 2, "zygotes": True})
        with policies, Daemon(policies=policies, arguments=["--config", folder / "config.json"]) as daemon, \
                ExactConnection(daemon.socket, timeout=600) as client:
            eventually(lambda: "error" not in client.body("call_tool", {"name": "echo__echo", "arguments": {"value": None}}), "the server")
            rig = Rig(client)
            for number in range((count + BATCH - 1) // BATCH):
                overflows = number % 5 == 4
                values = [generate.value(numbers, overflows) for _ in range(min(BATCH, count - number * BATCH))]
                rig.beside_programs(values)
                for language in ("python", "javascript", "typescript"):
                    rig.one_batch(values, language, number, has_step=not overflows)
                if number % 100 == 99:
                    print(f"fidelity: {(number + 1) * BATCH} values", flush=True)
        print(f"fidelity: {count} values, {rig.count} comparisons: none is different", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--values", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=40)
    chosen = parser.parse_args()
    try:
        run(chosen.values, chosen.seed)
    except Different as difference:
        sys.exit(f"fidelity: seed {chosen.seed}: {difference}")
