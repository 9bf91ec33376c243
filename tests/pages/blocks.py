"""The blocks of a page (fenced, or indented by four spaces after an empty line), and the commands that they show."""
import dataclasses
import re
import subprocess

PROMPT = re.compile(r"(?:([a-z]\w*)?([$#]) )(.*)")


@dataclasses.dataclass
class Command:
    text: str
    printed: str       # what the page shows below it; "" where it shows nothing
    host: str = ""     # before the prompt: "n1# "
    line: int = 0


@dataclasses.dataclass
class Block:
    page: str
    line: int
    text: str
    is_fenced: bool

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def commands(self):
        """A prompt begins a command; in an indented block each line is one. Empty where the block shows none."""
        if self.is_fenced and not any(PROMPT.match(line) for line in self.text.split("\n")):
            return []
        if not self.is_fenced and re.match(r"[{\[\"]|.* ~~ ", self.text):
            return []
        commands, lines = [], self.text.split("\n")
        kind = next((match[2] for line in lines if (match := PROMPT.match(line))), None)
        for number, line in enumerate(lines):
            prompt = PROMPT.match(line) if self.is_fenced else None
            prompt = prompt if prompt and prompt[2] == kind else None  # "# " below a "$ " is a comment of a program
            open_command = commands and not commands[-1].printed and not is_whole(commands[-1].text)
            if open_command:
                commands[-1].text += "\n" + line
            elif prompt:
                commands.append(Command(prompt[3], "", prompt[1] or "", self.line + number + self.is_fenced))
            elif not self.is_fenced:
                commands.append(Command(line, "", "", self.line + number))
            elif commands:
                commands[-1].printed += line + "\n"
        return commands


def is_whole(text):
    """Whether bash would begin to run it."""
    return not text.endswith("\\") and subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True).returncode == 0


def blocks_of(page, text):
    found, lines, i = [], text.split("\n"), 0
    while i < len(lines):
        line = lines[i]
        if line.startswith("```"):
            end = lines.index("```", i + 1)
            found.append(Block(page, i + 1, "\n".join(lines[i + 1:end]), True))
            i = end
        elif line.startswith("    ") and not lines[i - 1]:
            end = next(j for j in range(i, len(lines) + 1) if j == len(lines) or not lines[j].startswith("    "))
            found.append(Block(page, i + 1, "\n".join(part[4:] for part in lines[i:end]), False))
            i = end - 1
        i += 1
    return found
