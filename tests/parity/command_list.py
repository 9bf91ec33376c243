"""The commands of the suite, read from commands/*.toml: one file for each family."""
import dataclasses
import fnmatch
import pathlib
import re
import tomllib

FOLDER = pathlib.Path(__file__).resolve().parent
LANGUAGES = {"shell": "shell", "python": "python", "node": "javascript"}


@dataclasses.dataclass
class Command:
    family: str
    name: str
    language: str  # a key of LANGUAGES
    code: str  # the family's preparation, then the command
    text: str  # the command alone
    ignored_contents: list  # patterns of file names whose contents vary from run to run: keys, archives with times
    ignored_names: list  # patterns of file names that are not compared at all: caches
    variable_parts: list = dataclasses.field(default_factory=list)  # (regular expression, replacement)

    def __str__(self):
        return f"{self.family}/{self.name}"

    def compares_name(self, name):
        return not any(fnmatch.fnmatch(name, pattern) for pattern in self.ignored_names)

    def compares_contents(self, name):
        return not any(fnmatch.fnmatch(name, pattern) for pattern in self.ignored_contents)

    def without_variable_parts(self, text):
        for expression, replacement in self.variable_parts:
            text = re.sub(expression, replacement, text, flags=re.MULTILINE)
        return text


def read_toml(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


def read_commands(folder=FOLDER):
    """All commands in the order of their families' names."""
    variable = read_toml(folder / "variable_parts.toml")
    commands = []
    for path in sorted((folder / "commands").glob("*.toml")):
        family = read_toml(path)
        preparation = family.get("setup", "").strip("\n")
        for name, text in family["commands"].items():
            text = text.strip("\n")
            code = f"{preparation}\n{text}" if preparation else text
            commands.append(Command(path.stem, name, family["language"], code, text, family.get("ignore_contents", []),
                                    family.get("ignore_names", []), variable.get(path.stem, {}).get(name, [])))
    return commands
