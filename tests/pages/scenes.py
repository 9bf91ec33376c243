"""What must be there before a page's block runs, and what shows that a block without commands is true."""
import contextlib
import json
import pathlib
import shlex
import time

import machine
import patterns
import registry
from daemon import Connection

TOP = machine.TOP
SOCKET = "/run/warder/mcp.sock"
POLICIES, DROP_INS = pathlib.Path("/etc/warder/policies"), pathlib.Path("/etc/warder/warderd.json.d")
SCENES = {}  # (page, first words of the block): a function of Scenes


def scene(page, *begins):
    def known(function):
        for words in begins:
            SCENES[page, words] = function
        return function
    return known


class Setting:
    """How the commands of one block are run and compared."""

    def __init__(self, user="root", vary=(), replace=(), statuses=None, environment=None, before=None, terminal=False,
                 folder="/root", is_repeated=False):
        self.user, self.vary, self.replace, self.environment = user, list(vary), list(replace), environment or {}
        self.statuses = statuses or {}  # first words of a command: its exit status, if not 0
        self.before = before            # called with each command
        self.folder = folder
        self.is_repeated = is_repeated  # until what is printed fits the page
        self.terminal = terminal        # both streams come in the order in which a person sees them


class Scenes:
    def __init__(self, a_machine):
        self.machine, self.ids, self.printed = a_machine, patterns.Ids(), ""
        self.ends = contextlib.ExitStack()

    def __enter__(self):
        url, end = registry.start()
        self.ends.callback(end)
        self.npm = {"npm_config_registry": url, "npm_config_update_notifier": "false"}
        return self

    def __exit__(self, *_):
        self.ends.close()

    # What scenes are made of

    def play(self, block, is_excepted):
        if not block.commands and is_excepted(block.text):
            return
        fitting = [function for (page, words), function in SCENES.items() if page == block.page and block.text.startswith(words)]
        if not block.commands:
            assert fitting, f"{block.place}: no scene shows that this block is true"
            fitting[0](self, block)
            return
        if all(is_excepted(command.text) for command in block.commands):
            return
        setting = fitting[0](self, block) if fitting else Setting()
        for command in block.commands:
            if not is_excepted(command.text):
                self.perform(command, setting)

    def perform(self, command, setting):
        if setting.before:
            setting.before(command)
        text = self.ids.replace(command.text)
        for shown, meant in setting.replace:
            text = text.replace(shown, meant)
        if setting.terminal:
            text = f"script -qefc {shlex.quote(text)} /dev/null | tr -d '\\r'"
        until = time.monotonic() + machine.PATIENCE
        while True:
            status, printed = self.machine.shell(text, setting.user, setting.folder,
                                                 environment={**self.npm, **setting.environment})
            if not setting.is_repeated or time.monotonic() > until or \
                    patterns.mismatch(command.printed, printed, patterns.Ids()) is None:
                break
        wanted = next((number for words, number in setting.statuses.items() if command.text.startswith(words)), 0)
        self.printed = printed
        assert status == wanted, f"line {command.line}: {text}\nended with {status}, not {wanted}: {printed}"
        if command.printed.strip():
            self.compare(command.printed, printed, vary=setting.vary, where=f"line {command.line}: {command.text}\n")
        return printed

    def compare(self, shown, printed, is_json=False, vary=(), where=""):
        problem = patterns.mismatch(shown, printed, self.ids, is_json, vary)
        assert problem is None, where + problem

    def doctor_status(self):
        """1 if the machine lacks something that the doctor calls bad."""
        return self.machine.shell("warder doctor")[0]

    def shell(self, command, user="root", status=0):
        ended, printed = self.machine.shell(command, user, environment=self.npm)
        assert ended == status, f"{command}: {ended}: {printed}"
        return printed

    def call(self, tool, meta=None, **arguments):
        with Connection(SOCKET) as client:
            return client.request("tools/call", name=tool, arguments=arguments, _meta={"org.warder/receipt": False, **(meta or {})})

    def execute(self, code, **arguments):
        return json.loads(self.call("execute_code", code=code, **arguments)["content"][0]["text"])

    def write(self, name, text):
        self.call("write_workspace_file", filename=name, content=text)

    def reload(self):
        self.shell("warder reload")

    @contextlib.contextmanager
    def configuration(self, file, text):
        """A file of the configuration while something is shown with it."""
        file = pathlib.Path(file)
        former = file.read_text() if file.exists() else None
        file.write_text(text)
        file.chmod(0o644)
        try:
            yield
        finally:
            file.write_text(former) if former is not None else file.unlink()

    def is_good(self, file, text):
        with self.configuration(file, text):
            printed = self.shell("warder config check")
            assert printed.startswith("good: "), printed
            assert "warning" not in printed, printed
