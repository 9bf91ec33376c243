"""Reads C++ as tokens and names the awaits that could be a bad coroutine shape; `coroutine_shapes.py` asks clang about them.

It may name too many, never too few. A place is plain, and is not named, if no statement around it (a lambda's outer
statement included) has a `?` or a brace beside it, and if it stands neither in a condition nor in braces that could
build a value nor in the argument of a macro that this file does not know. The self-test of coroutine_shapes.py holds
that it names every plant.
"""
import re

TOKEN = re.compile(r"""
    (?P<blank>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<text>(?:u8|[uUL])?R"(?P<mark>[^\s()\\]*)\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"
      |(?:u8|[uUL])?'(?:\\.|[^'\\\n])*')
  | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<sign>->|::|&&|\|\||.)
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
CLOSING = {"(": ")", "[": "]", "{": "}"}
CONDITIONS = {"if", "while", "switch", "constexpr"}
SCOPES = {"namespace", "struct", "class", "union", "enum", "extern"}
BEFORE_BLOCK = {"else", "do", "try", ";", "}", ":"}
BEHIND_PARAMETERS = {"const", "noexcept", "override", "final", "mutable", "&", "&&"}
PLAIN_MACROS = {"TRY", "CO_TRY", "CHECKED", "CO_CHECKED"}  # supervisor/base/result.h: the argument becomes a value
MACRO = re.compile(r"[A-Z][A-Z0-9_]+|assert")


class Tokens:
    def __init__(self, text):
        self.words, self.lines, self.awaiting_macros = [], [], []
        line = 1
        for match in TOKEN.finditer(text):
            kind, value = match.lastgroup, match[0]
            kind = "text" if match["text"] else kind
            if kind == "directive" and "co_await" in value:
                self.awaiting_macros.append(line)
            if kind in ("number", "word", "sign", "text"):
                self.words.append('""' if kind == "text" else value)
                self.lines.append(line)
            line += value.count("\n")
        self.partner, self.parent, opened, self.balanced = {}, [], [], True
        for index, word in enumerate(self.words):
            if word in CLOSING.values():
                if not opened or CLOSING[self.words[opened[-1]]] != word:
                    self.balanced = False
                    return
                self.partner[index] = opened[-1]
                self.partner[opened.pop()] = index
            self.parent.append(opened[-1] if opened else None)
            if word in CLOSING:
                opened.append(index)
        self.balanced = not opened

    def word(self, index):
        return self.words[index] if 0 <= index < len(self.words) else ""

    def before_parameters(self, index):
        """Where `index` is the last token of `(...) const -> T`: the token before the parenthesis; None where it is not."""
        while self.word(index) in BEHIND_PARAMETERS:
            index -= 1
        if self.word(index) == ")":
            return self.partner.get(index, 0) - 1
        start = index  # of a type behind an arrow
        while re.match(r"[\w<>:,*&]", self.word(start)) or self.word(start) == "::":
            start -= 1
        return self.before_parameters(start - 1) if self.word(start) == "->" and start < index else None

    def kind_of_brace(self, index):
        """What the brace at `index` opens: block, lambda, scope (of a class or namespace), or value (or what this file does not know)."""
        before = index - 1
        if self.word(before) in BEFORE_BLOCK or before < 0:
            return "block"
        if self.word(before) == "{":
            return "value" if self.kind_of_brace(before) == "value" else "block"
        head = self.before_parameters(before)
        if head is not None:
            if self.word(head) == "]":
                return "lambda"
            return "block" if re.match(r"\w", self.word(head)) or self.word(head) == ")" else "value"
        first = self.first_of_statement(index)
        return "scope" if SCOPES & set(self.words[first:index]) else "value"

    def first_of_statement(self, index):
        """The first token of the statement around `index`, which stands directly in a block or in parentheses."""
        parent = self.parent[index]
        index -= 1
        while index >= 0 and index != parent:
            word = self.words[index]
            if word == ";":
                break
            if word == "}" and re.match(r"[A-Za-z_~]", self.word(index + 1)):
                break  # no expression goes on with a word
            index = self.partner.get(index, index) - 1 if word in CLOSING.values() else index - 1
        return index + 1

    def last_of_statement(self, index):
        parent = self.parent[index]
        end = self.partner.get(parent, len(self.words)) if parent is not None else len(self.words)
        while index < end and self.words[index] != ";":
            index = self.partner.get(index, index) + 1 if self.words[index] in CLOSING else index + 1
        return index

    def is_plain(self, index):
        inside = None  # the brace of the lambda that was left last
        signs = "?{" if self.words[index] == "co_await" else ""  # a co_return: the hidden awaits of its coroutine
        while True:
            while (outer := self.parent[index]) is not None and self.words[outer] != "{":
                before = self.word(outer - 1)
                if before in CONDITIONS or (MACRO.fullmatch(before) and before not in PLAIN_MACROS):
                    return False
                index = outer
            if signs and not self.is_without(signs, self.first_of_statement(index), self.last_of_statement(index), inside):
                return False
            if outer is not None and self.kind_of_brace(outer) == "scope":
                return False  # `struct S s{co_await f()};` looks like one
            while outer is not None and self.kind_of_brace(outer) in ("block", "scope"):
                outer = self.parent[outer]
                if outer is not None and self.words[outer] != "{":
                    return False  # a block within parentheses
            if outer is None:
                return True
            if self.kind_of_brace(outer) == "value":
                return False
            index = inside = outer
            signs = "?"  # braces beside a lambda are another expression's

    def is_without(self, signs, first, last, inside):
        """Whether none of these tokens is one of the signs, except in the lambda's body that begins at `inside`."""
        index = first
        while index < last:
            if index != inside and self.words[index] in signs:
                return False
            index = self.partner.get(index, last) + 1 if index == inside else index + 1
        return True


def suspicious_lines(text):
    """The lines of awaits that only clang can tell to be good."""
    tokens = Tokens(text)
    found = {tokens.lines[index] for index, word in enumerate(tokens.words)
             if word in ("co_await", "co_return", "co_yield") and tokens.word(index - 1) != "operator"
             and not (tokens.balanced and tokens.is_plain(index))}
    return sorted(found | set(tokens.awaiting_macros))
