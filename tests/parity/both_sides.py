"""Runs one command in a jail and beside it, and compares what the two did."""
import base64
import difflib
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

from command_list import LANGUAGES

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_S = 120
UID = 1000
WORKSPACE_KEY = "org.warder/workspace"
PARTS = ("status", "output", "errors", "files")
NAMESPACES = ["--mount", "--uts", "--net", "--ipc", "--pid", "--fork", "--kill-child"]
# The name that each side gives to a program without a file: "<execution>" in a jail, "<string>" or "[eval]" beside it.
PROGRAM_NAMES = (("<string>", "<execution>"), ("[eval]", "<execution>"))

# Where in the program an error was: a jail shows the lines of the program itself, and leaves out those of libraries. Of a
# Python exception, the text in parentheses at its end: a jail adds advice there.
PLACES = {"python": ((r"^(<execution>:\d+: \w*Warning: .*\n)  .*\n?", r"\1"), (r"^(Traceback \(most recent call last\):\n)(?:[ \t].*\n?)+", r"\1"),
                     (r"^(Traceback \(most recent call last\):\n[\w.]+: .*?) \(.*\)$", r"\1")),
          "node": ((r"^<execution>:\d+\n.*\n +\^+\n\n", ""), (r"\n(?:    at .*|        .*)(?=\n|$)", ""), (r"\n*^Node\.js v.*", ""))}


class Lane:
    """One jail at a time in a workspace of its own, and one ordinary machine beside it."""

    def __init__(self, daemon, name):
        self.name = name
        self.client = daemon.connect(TIMEOUT_S + 60)
        self.jailed_folder = self.find_workspace(daemon)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-parity-"))
        self.folder.chmod(0o700)
        root = os.geteuid() == 0
        if root:
            os.chown(self.folder, UID, UID)
        words = ["unshare", *([] if root else ["--user", "--map-root-user"]), *NAMESPACES, sys.executable, "-B",
                 HERE / "beside.py", self.folder, "root" if root else "mapped"]
        self.machine = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.environments = {}

    def close(self):
        self.machine.stdin.close()
        self.machine.wait()
        self.machine.stdout.close()
        self.client.close()
        clear(self.folder)
        self.folder.rmdir()

    def find_workspace(self, daemon):
        marker = f"marker-of-{self.name}"
        self.execute("shell", f": > {marker}")
        (found,) = daemon.state.glob(f"tenants/**/{marker}")
        return found.parent

    def execute(self, language, code):
        arguments = {"code": code, "language": LANGUAGES[language], "timeout_seconds": TIMEOUT_S}
        result = self.client.request("tools/call", name="execute_code", arguments=arguments, _meta={WORKSPACE_KEY: self.name})
        return json.loads(result["content"][0]["text"])

    def environment(self, language):
        """The environment that a jail has in this language, for the other side."""
        if language not in self.environments:
            code = {"shell": "env -0 | base64 -w0", "python": "import base64\nprint(base64.b64encode(open('/proc/self/environ', 'rb').read()).decode())",
                    "node": "console.log(require('fs').readFileSync('/proc/self/environ').toString('base64'))"}[language]
            text = base64.b64decode("".join(self.execute(language, code)["output"])).decode()
            self.environments[language] = dict(entry.split("=", 1) for entry in text.split("\0") if entry)
            for name in ("_", "SHLVL", "PWD", "TRACEPARENT"):
                self.environments[language].pop(name, None)
        return self.environments[language]

    def jailed(self, command):
        clear(self.jailed_folder)
        answer = self.execute(command.language, command.code)
        output = self.kept(answer, "stdout") if answer["output"] else ""
        errors = (self.kept(answer, "stderr") if "stderr" in answer else "") + traceback_of(command, answer)
        if answer.get("outcome") not in ("ok", "exit", "error", "signal"):
            errors += f"[outcome {answer.get('outcome')}: {answer.get('error')}]"
        status = answer.get("exit_status", 0 if answer["success"] else 1 if answer["outcome"] == "error" else None)
        if "signal" in answer:
            status = -answer["signal"]
        return self.result(command, status, output, errors, self.jailed_folder)

    def kept(self, answer, stream):
        """The bytes of a stream: the answer shows them as a terminal would."""
        uri = f"exec:///{answer['execution_id']}/{stream}"
        [contents] = self.client.request("resources/read", uri=uri, _meta={WORKSPACE_KEY: self.name})["contents"]
        return contents["text"] if "text" in contents else base64.b64decode(contents["blob"]).decode(errors="replace")

    def beside(self, command):
        clear(self.folder)
        words = {"shell": ["bash", "--noprofile", "--norc", "-c", command.code, "execution"],
                 "python": ["/usr/bin/python3", "-c", command.code], "node": ["node", "-e", command.code]}[command.language]
        request = {"words": words, "environment": self.environment(command.language), "timeout_s": TIMEOUT_S}
        self.machine.stdin.write(json.dumps(request) + "\n")
        self.machine.stdin.flush()
        answer = json.loads(self.machine.stdout.readline())
        return self.result(command, answer["status"], answer["output"], answer["errors"], self.folder)

    def result(self, command, status, output, errors, folder):
        return {"status": str(status), "output": lines_of(command, output), "errors": lines_of(command, errors),
                "files": files_of(command, folder)}


def traceback_of(command, answer):
    """What Python would print: the text of the exception is in `error` alone, and a single exception has no heading."""
    text, error = answer.get("traceback", ""), answer.get("error", "")
    if command.language != "python" or not text:
        return text
    lines = text.splitlines(keepends=True)
    if error.startswith(lines[-1].rstrip("\n")):
        lines.pop()
    heading = "Traceback (most recent call last):\n"
    return ("" if text.startswith(heading) else heading) + "".join(lines) + error + "\n"


def lines_of(command, text):
    for name, replacement in PROGRAM_NAMES:
        text = text.replace(name, replacement)
    for expression, replacement in PLACES.get(command.language, ()):
        text = re.sub(expression, replacement, text, flags=re.MULTILINE)
    return command.without_variable_parts(text).rstrip("\n").split("\n")


def files_of(command, folder):
    """A line for each file that is compared: name, kind and mode, and the digest of its contents or its link's target."""
    lines = []
    for parent, folders, names in os.walk(folder):
        for name in folders + names:
            path = pathlib.Path(parent, name)
            relative = path.relative_to(folder).as_posix()
            status = path.lstat()
            if not command.compares_name(relative) or stat.S_ISSOCK(status.st_mode):
                continue
            line = f"{relative} {stat.filemode(status.st_mode)}"
            if path.is_symlink():
                line += f" -> {os.readlink(path)}"
            elif stat.S_ISREG(status.st_mode) and command.compares_contents(relative):
                line += f" {status.st_size} {digest_of(command, path)}"
            lines.append(line)
    return sorted(lines)


def digest_of(command, path):
    try:
        contents = path.read_bytes()
    except PermissionError:  # only root can read a file without any permission
        return "unreadable"
    return hashlib.sha256(contents).hexdigest()[:16]


def clear(folder):
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            for parent, _, _ in os.walk(path):
                os.chmod(parent, 0o700)
            shutil.rmtree(path)
        else:
            path.unlink()


def differing_parts(jailed, beside):
    return [part for part in PARTS if jailed[part] != beside[part]]


def shown_difference(part, jailed, beside):
    if part == "status":
        return f"    status: {jailed[part]} in the jail, {beside[part]} beside it"
    lines = difflib.unified_diff(beside[part], jailed[part], "beside", "jail", n=0, lineterm="")
    return "\n".join(f"    {part}: {line[:300]}" for line in list(lines)[2:14])
