"""A program on a terminal of its own, and the screen that its output makes: what a person would see."""
import codecs
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

from harness import PATIENCE

SEQUENCE = re.compile(r"\x1b(?:\[([?>=]?)([0-9;]*)([@-~])|[()][0-9A-B]|[=>78M]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


class Screen:
    """Cells of a terminal like xterm, as far as ncurses drives it."""

    def __init__(self, rows, columns):
        self.rest, self.colours, self.unknown, self.last = "", set(), [], " "
        self.alternate = False
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.marks = [[False] * columns for _ in range(rows)]
        self.y = self.x = 0
        self.reverse, self.top, self.bottom = False, 0, rows - 1

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def marked(self):
        """The lines that are shown in reverse."""
        return ["".join(row).rstrip() for row, marks in zip(self.cells, self.marks) if marks[0]]

    def feed(self, text):
        text = self.rest + text
        self.rest, at = "", 0
        while at < len(text):
            if text[at] != "\x1b":
                self.put(text[at])
                at += 1
                continue
            found = SEQUENCE.match(text, at)
            if not found:
                if len(text) - at > 64:
                    self.unknown.append(text[at:at + 16])
                    at += 1
                    continue
                self.rest = text[at:]
                return
            if found.group(3):
                self.control(found.group(1), [int(n or 0) for n in found.group(2).split(";")], found.group(3))
            elif found.group(0) == "\x1bM":
                self.scroll(-1) if self.y == self.top else setattr(self, "y", self.y - 1)
            at = found.end()

    def put(self, character):
        if character == "\r":
            self.x = 0
        elif character == "\n":
            self.scroll(1) if self.y == self.bottom else setattr(self, "y", min(self.y + 1, self.rows - 1))
        elif character == "\b":
            self.x = max(0, self.x - 1)
        elif character == "\t":
            self.x = min(self.columns - 1, self.x // 8 * 8 + 8)
        elif character >= " ":
            if self.x >= self.columns:
                self.x = 0
                self.put("\n")
            self.cells[self.y][self.x], self.marks[self.y][self.x] = character, self.reverse
            self.last, self.x = character, self.x + 1
        elif character not in "\x07\x0e\x0f":
            self.unknown.append(character)

    def scroll(self, lines):
        for _ in range(abs(lines)):
            gone, new = (self.top, self.bottom) if lines > 0 else (self.bottom, self.top)
            for cells, blank in ((self.cells, " "), (self.marks, False)):
                cells.pop(gone)
                cells.insert(new, [blank] * self.columns)

    def erase(self, y, begin, end):
        for x in range(begin, min(end, self.columns)):
            self.cells[y][x], self.marks[y][x] = " ", False

    def control(self, private, numbers, kind):
        first = max(1, numbers[0])
        if private:
            if kind in "hl" and 1049 in numbers:
                self.alternate = kind == "h"
            return
        if kind == "m":
            for number in numbers:
                self.reverse = {0: False, 7: True, 27: False}.get(number, self.reverse)
                if 30 <= number <= 37 or 40 <= number <= 47 or 90 <= number <= 97:
                    self.colours.add(number)
        elif kind in "Hf":
            self.y, self.x = min(first, self.rows) - 1, min(max(1, numbers[1] if len(numbers) > 1 else 1), self.columns) - 1
        elif kind == "d":
            self.y = min(first, self.rows) - 1
        elif kind == "G":
            self.x = min(first, self.columns) - 1
        elif kind in "AB":
            self.y = min(max(0, self.y + (first if kind == "B" else -first)), self.rows - 1)
        elif kind in "CD":
            self.x = min(max(0, self.x + (first if kind == "C" else -first)), self.columns - 1)
        elif kind == "J":
            for y in range(self.rows) if numbers[0] == 2 else range(self.y + 1, self.rows):
                self.erase(y, 0, self.columns)
            self.erase(self.y, self.x, self.columns)
        elif kind == "K":
            self.erase(self.y, 0 if numbers[0] else self.x, self.x + 1 if numbers[0] == 1 else self.columns)
        elif kind == "X":
            self.erase(self.y, self.x, self.x + first)
        elif kind == "b":
            for _ in range(first):
                self.put(self.last)
        elif kind in "P@":
            for cells, blank in ((self.cells[self.y], " "), (self.marks[self.y], False)):
                for _ in range(first):
                    cells.pop(self.x if kind == "P" else -1)
                    cells.insert(len(cells) if kind == "P" else self.x, blank)
        elif kind in "LM":
            top, self.top = self.top, self.y
            self.scroll(first if kind == "M" else -first)
            self.top = top
        elif kind in "ST":
            self.scroll(first if kind == "S" else -first)
        elif kind == "r":
            self.top, self.bottom = first - 1, (numbers[1] if len(numbers) > 1 and numbers[1] else self.rows) - 1
        elif kind not in "hltn":
            self.unknown.append(f"{numbers}{kind}")


class ScreenTerminal:
    """A program on a terminal."""

    def __init__(self, *command, rows=30, columns=100, environment=None):
        self.screen = Screen(rows, columns)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(environment or {})})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.master)
        if self.pid:
            os.waitpid(self.pid, 0)

    def read(self, until):
        """Takes what it shows next; False: it has ended."""
        if not select.select([self.master], [], [], max(0, until - time.monotonic()))[0]:
            raise AssertionError(f"not within {PATIENCE} s; the screen:\n{self.screen.text()}")
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # EIO: the program has closed it
            return False
        self.screen.feed(self.decoder.decode(piece))
        return bool(piece)

    def wait_for(self, *texts, without=()):
        """Waits until the screen has all these texts, and none of the others."""
        until = time.monotonic() + PATIENCE
        while not all(t in self.screen.text() for t in texts) or any(t in self.screen.text() for t in without):
            if not self.read(until):
                raise AssertionError(f"it ended without {texts}:\n{self.screen.text()}")
        return self.screen.text()

    def wait_until(self, fits, what):
        until = time.monotonic() + PATIENCE
        while not fits(self.screen):
            if not self.read(until):
                raise AssertionError(f"it ended without {what}:\n{self.screen.text()}")

    def press(self, keys):
        os.write(self.master, keys)

    def resize(self, rows, columns):
        """The kernel sends SIGWINCH. The screen is empty until it is drawn again."""
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self):
        """Waits for its end; the exit status."""
        until = time.monotonic() + PATIENCE
        while self.read(until):
            pass
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = None
        return status
