"""Makes the code of a skill of the code of one program: a function of the skill's name, whatever the program was."""
import ast
import builtins
import dis
import io
import keyword
import re
import tokenize

import warder._modules
import warder._stage

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_ASYNC = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_COROUTINE = 0x80  # inspect.CO_COROUTINE
_JSON = {"true": "True", "false": "False", "null": "None"}
_INTERACTIVE = {"copyright", "credits", "exit", "help", "license", "quit"}  # builtins that the module site adds
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def skill_from_code(code, name, language="python", parameters=()):
    """{code, language, description, parameters, usage, notes}. Raises ValueError if the code cannot become a skill."""
    if not isinstance(code, str) or not code.strip():
        raise ValueError("there is no code")
    if not _NAME.fullmatch(name) or not name.strip("_") or keyword.iskeyword(name):
        raise ValueError(f"{name!r} is not a name for a skill: use letters, digits and underscores, and no word of Python")
    for parameter in parameters:
        if not _NAME.fullmatch(parameter) or keyword.iskeyword(parameter):
            raise ValueError(f"{parameter!r} is not a name for a parameter")
    if language == "javascript":
        return _of_javascript(code, name, list(parameters))
    if language != "python":
        raise ValueError(f"the program is {language}; skills are Python or JavaScript")
    try:
        return _Python(code, name, list(parameters)).skill()
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"the program cannot become a function: {error}") from None


class _Python:
    def __init__(self, code, name, wanted):
        self.name = name
        self.notes = []
        self.code, self.tree = self.parsed(code)
        self.statements = [part for part in self.tree.body if not _is_main_guard(part)]
        guards = [part for part in self.tree.body if _is_main_guard(part)]
        self.statements += [inner for guard in guards for inner in guard.body]
        self.text_of = _texts_of(self.code, self.tree)
        self.defaults = self.taken(wanted)
        self.bound = _counted(name for part in self.statements for name in _bound_by(part))
        self.given = _known_names(self.code)

    def parsed(self, code):
        try:
            compile(code, "<code>", "exec", ast.PyCF_ONLY_AST | _ASYNC, True)
        except (MemoryError, RecursionError):
            raise ValueError("the code is not Python that can be read: it is nested too deeply") from None
        except (SyntaxError, ValueError) as error:
            from warder._execution import compiled
            from warder._repair import compile_as_meant
            meant = compile_as_meant(code, "<code>", compiled)
            if meant is None:
                raise ValueError(f"the code is not Python: {error}") from None
            code = meant[0]
            self.notes.append("the code is the repaired one that ran (its indentation or some characters were changed)")
        code = code.replace("\r\n", "\n").replace("\r", "\n")  # as Python reads it
        tree = ast.parse(code)
        for node in _outside_functions(tree):
            if isinstance(node, (ast.Yield, ast.YieldFrom)):
                raise ValueError(f"line {node.lineno}: a `yield` outside of a function cannot become a part of one")
        stars = [node for node in ast.walk(tree) if _is_star(node) and node not in tree.body]
        if stars:
            raise ValueError(f"line {stars[0].lineno}: `from {stars[0].module} import *` in a block cannot become a part of a "
                             "function: name what it imports, and run the program again")
        return code, tree

    def taken(self, wanted):
        """Takes the assignments of wanted parameters out of the program: {name: text of its value}."""
        defaults = {}
        for name in wanted:
            places = [part for part in self.statements if name in _bound_by(part)]
            if not places:
                defaults[name] = None
                continue
            if len(places) > 1 or not _is_plain_assignment(places[0]):
                raise ValueError(f"--parameter {name}: the program does not set it once, to a number, a text, true, false or "
                                 "None; such a value would be its default")
            defaults[name] = ast.unparse(places[0].value)
            self.statements.remove(places[0])
        return defaults

    def skill(self):
        definitions = self.hoisted(mutable=True)  # a module's own lists may change; those of a call may not last
        function = self.named_function(definitions)
        if function is not None and not self.defaults:
            return self.definitions(definitions, function)
        head = self.hoisted(mutable=False)
        rest = [part for part in self.statements if part not in head]
        functions = [part for part in head if isinstance(part, (*_FUNCTIONS, ast.ClassDef)) and not part.name.startswith("_")]
        if not rest and not functions:
            raise ValueError("the code has no work for a function: it only imports modules or sets names")
        if not rest and not self.defaults:
            return self.module(functions)
        return self.program(head, rest)

    def named_function(self, head):
        found = [part for part in head if isinstance(part, (*_FUNCTIONS, ast.ClassDef)) and part.name == self.name]
        return found[0] if found else None

    def hoisted(self, mutable):
        """The statements that can stand before the function: they use no variable of the program."""
        fixed = {part: _needed_by(part) for part in self.statements if self.can_be_hoisted(part, mutable)}
        while True:
            names = {name for part in fixed for name in _bound_by(part)} | ((self.given | set(_JSON)) - set(self.bound))
            star = any(_is_star(part) for part in fixed)
            unfit = [part for part, needed in fixed.items() if not (needed <= names or (star and not needed & set(self.bound)))]
            if not unfit:
                return [part for part in self.statements if part in fixed]
            for part in unfit:
                del fixed[part]

    def can_be_hoisted(self, part, mutable):
        if any(self.bound[name] > 1 for name in _bound_by(part)) or any(name in self.defaults for name in _needed_by(part)):
            return False
        if isinstance(part, (ast.Import, ast.ImportFrom, *_FUNCTIONS, ast.ClassDef)) or _is_text(part):
            return True
        return _is_plain_assignment(part) or (mutable and isinstance(part, ast.Assign) and _is_literal(part.value))

    def definitions(self, head, function):
        left = [part for part in self.statements if part not in head]
        if left:
            self.notes.append(f"left out, because it only ran the function: {_lines(left)}")
        told = self.answer(self.joined(head), _parameters_of(function), isinstance(function, ast.AsyncFunctionDef))
        told["description"] = (ast.get_docstring(function) or told["description"]).split("\n")[0][:200]
        return told

    def module(self, functions):
        code = self.code.strip("\n") + "\n"
        if len(functions) > 1:
            names = ", ".join(part.name for part in functions)
            self.notes.append(f"the skill is a module with {names}; none of them has the skill's name")
            told = self.answer(code, [], False)
            told["usage"] = f"from skills import {self.name}\n{self.name}.{functions[0].name}(...)"
            return told
        only = functions[0]
        code += f"\n\n{self.name} = {only.name}\n"
        return self.answer(code, _parameters_of(only), isinstance(only, ast.AsyncFunctionDef))

    def program(self, head, rest):
        whole = compile(ast.Module(self.tree.body, []), "<code>", "exec", _ASYNC, True) if not _has_return(rest) else None
        is_async = _awaits(rest) if whole is None else bool(whole.co_flags & _COROUTINE)
        body = self.body(rest)
        code = self.assembled(head, body, is_async, [])
        imported = {name for part in head if _is_star(part) for name in dir(__import__(part.module, fromlist=["*"]))}
        free = [name for name in _free_in(code, self.name) if name not in self.given | imported]
        constants = [name for name in free if name in _JSON]
        parameters = [name for name in free if name not in _JSON and self.defaults.get(name) is None]
        parameters += [name for name, value in self.defaults.items() if value is None and name not in parameters]
        signature = parameters + [f"{name}={value}" for name, value in self.defaults.items() if value is not None]
        code = self.assembled(head, body, is_async, signature, constants)
        compile(code, "<skill>", "exec", 0, True)
        return self.answer(code, signature, is_async)

    def body(self, rest):
        """The lines of the function's body, and the value that it returns."""
        lines = []
        shared = sorted({name for part in rest for inner in ast.walk(part) if isinstance(inner, ast.Global) for name in inner.names})
        if shared:
            lines.append(f"global {', '.join(shared)}")
        sets_result = any("result" in _bound_by(part) for part in rest)
        if sets_result and not any(isinstance(part, ast.Assign) and "result" in _bound_by(part) for part in rest):
            lines.append("result = None")
        last = rest[-1] if rest and rest[-1] is self.statements[-1] and isinstance(rest[-1], ast.Expr) else None
        for part in rest:
            text = self.text_of(part)
            if part is last and not sets_result:
                text = _returning(text, part, self.text_of)
            lines.extend(text.split("\n"))
        if sets_result:
            lines.append("return result")
        return _indented("\n".join(lines))

    def assembled(self, head, body, is_async, signature, constants=()):
        parts = [self.joined(head)] if head else []
        if constants:
            parts.append(f"{', '.join(constants)} = {', '.join(_JSON[name] for name in constants)}\n")
        parts.append(f"{'async ' if is_async else ''}def {self.name}({', '.join(signature)}):\n{body}\n")
        return "\n\n".join(parts) if head or constants else parts[-1]

    def joined(self, parts):
        text = ""
        for before, part in zip([None, *parts], parts):
            if before is not None:
                large = isinstance(part, (*_FUNCTIONS, ast.ClassDef)) or isinstance(before, (*_FUNCTIONS, ast.ClassDef))
                text += "\n\n" if large else ""
            text += self.text_of(part) + "\n"
        return text

    def answer(self, code, parameters, is_async):
        names = [parameter.split("=")[0] for parameter in parameters]
        call = f"{self.name}({', '.join(parameters)})"
        return {"code": code, "language": "python", "description": _description(self.code, self.tree), "parameters": names,
                "usage": f"from skills import {self.name}\n{'await ' if is_async else ''}{call}", "notes": self.notes}


def _is_main_guard(part):
    return isinstance(part, ast.If) and not part.orelse and ast.unparse(part.test) in (
        "__name__ == '__main__'", "'__main__' == __name__")


def _is_text(part):
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str)


def _is_star(part):
    return isinstance(part, ast.ImportFrom) and part.names[0].name == "*"


def _is_literal(value):
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_plain_assignment(part):
    """NAME = a value that cannot be changed in place."""
    if isinstance(part, ast.AnnAssign):
        targets, value = [part.target], part.value
    elif isinstance(part, ast.Assign):
        targets, value = part.targets, part.value
    else:
        return False
    if len(targets) != 1 or not isinstance(targets[0], ast.Name) or targets[0].id == "result" or value is None or not _is_literal(value):
        return False
    return not any(isinstance(node, (ast.List, ast.Dict, ast.Set)) for node in ast.walk(value))


def _outside_functions(tree):
    """All nodes that are not within a function or a class."""
    todo = list(ast.iter_child_nodes(tree))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _SCOPES):
            todo.extend(ast.iter_child_nodes(node))


def _has_return(parts):
    return any(isinstance(node, ast.Return) for node in _outside_functions(ast.Module(list(parts), [])))


def _awaits(parts):
    kinds = (ast.Await, ast.AsyncFor, ast.AsyncWith)
    return any(isinstance(node, kinds) or (isinstance(node, ast.comprehension) and node.is_async)
               for node in _outside_functions(ast.Module(list(parts), [])))


def _bound_by(part):
    """The names that a top-level statement binds; those that functions within it declare as global, too."""
    names = []
    for node in [part, *([] if isinstance(part, _SCOPES) else _outside_functions(part))]:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.append(node.id)
        elif isinstance(node, ast.alias):
            if node.name != "*":
                names.append(node.asname or node.name.partition(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names.append(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.append(node.rest)
    names += [name for node in ast.walk(part) if isinstance(node, ast.Global) for name in node.names]
    return set(names)


def _counted(names):
    counts = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _codes_in(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_consts"):
            yield from _codes_in(constant)


def _globals_of(code, own_scope):
    """The names that a code object takes from its module, in their order; `own_scope`: it is the module's own code."""
    names = {}
    for inner in _codes_in(code):
        stored = set()
        for step in dis.get_instructions(inner):
            word = step.opname
            if word in ("STORE_GLOBAL", "DELETE_GLOBAL") or (word.startswith("LOAD_") and "GLOBAL" in word):
                names.setdefault(step.argval)
            elif word == "STORE_NAME":
                stored.add(step.argval)
            elif word == "LOAD_NAME" and (own_scope if inner is code else step.argval not in stored):
                names.setdefault(step.argval)
    return [name for name in names if not (name.startswith("__") and name.endswith("__"))]


def _needed_by(part):
    """The names that a statement, and the functions in it, take from the module."""
    if _has_return([part]):
        return {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}
    return set(_globals_of(compile(ast.Module([part], []), "<code>", "exec", _ASYNC, True), True))


def _free_in(code, name):
    """The names that the module's functions use, and that the module does not bind."""
    module = compile(code, "<code>", "exec", 0, True)
    stored = {step.argval for step in dis.get_instructions(module) if step.opname == "STORE_NAME"}
    (function,) = [inner for inner in module.co_consts if hasattr(inner, "co_consts") and inner.co_name == name][-1:]
    declared = {word for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Global) for word in node.names}
    return [word for word in _globals_of(function, False) if word not in stored and word not in declared]


def _known_names(code):
    """The names that a skill finds without an import: builtins, and what Warder binds."""
    names = {}
    warder._stage.bind(names, {"workspace": "/workspace"}, compile("pass", "<code>", "exec"))
    return (set(dir(builtins)) | set(names) | _INTERACTIVE) - {"context_vars"}


def _texts_of(code, tree):
    """A function: the text of a statement, with the comments before it."""
    lines = code.split("\n")
    texts = {}
    body, before = tree.body, 0
    for number, part in enumerate(body):
        begin = min([part.lineno, *(decorator.lineno for decorator in getattr(part, "decorator_list", []))])
        after = body[number + 1] if number + 1 < len(body) else None
        shares_line = begin <= before or (after is not None and after.lineno <= part.end_lineno)
        if not shares_line:
            last = part.end_lineno if after is not None else len(lines)
            texts[part] = "\n".join(lines[before:last]).strip("\n")
        before = part.end_lineno

    def text_of(part):
        text = texts.get(part)
        if text is None or [ast.dump(one) for one in ast.parse(text).body] != [ast.dump(part)]:
            return ast.unparse(part)
        return text

    return text_of


def _returning(text, part, text_of):
    """The text of an expression, as the value of the function."""
    comments = []
    lines = text.split("\n")
    while lines and (not lines[0].strip() or lines[0].lstrip().startswith("#")):
        comments.append(lines.pop(0))
    tried = "\n".join([*comments, "return " + "\n".join(lines)])
    try:
        (parsed,) = ast.parse(f"def f():\n{_indented(tried)}").body[0].body
        if ast.dump(parsed.value) == ast.dump(part.value):
            return tried
    except (SyntaxError, ValueError, AttributeError):
        pass
    return f"return {ast.unparse(part)}"


def _indented(text):
    """The lines of a program within a function. Lines within a text of several lines stay as they are."""
    within, begin = set(), None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
            word = tokenize.tok_name[token.type]
            if word in ("FSTRING_START", "TSTRING_START") and begin is None:
                begin, depth = token.start[0], 0
            if word in ("FSTRING_START", "TSTRING_START"):
                depth += 1
            elif word in ("FSTRING_END", "TSTRING_END"):
                depth -= 1
                if depth == 0:
                    within.update(range(begin + 1, token.end[0] + 1))
                    begin = None
            elif word == "STRING":
                within.update(range(token.start[0] + 1, token.end[0] + 1))
        lines = [line if number in within or not line.strip() else "    " + line
                 for number, line in enumerate(text.split("\n"), 1)]
        made = "\n".join(lines)
        if _same(made, text):
            return made
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return "\n".join("    " + line for line in ast.unparse(ast.parse(text)).split("\n"))


def _same(made, text):
    whole = ast.parse(f"async def f():\n{made}\n").body[0].body
    return [ast.dump(part) for part in whole] == [ast.dump(part) for part in ast.parse(text).body]


def _parameters_of(function):
    if isinstance(function, ast.ClassDef):
        return []
    given = function.args
    return [one.arg for one in [*given.posonlyargs, *given.args, *given.kwonlyargs]]


def _lines(parts):
    return "; ".join(f"line {part.lineno}" if part.lineno == part.end_lineno else f"lines {part.lineno} to {part.end_lineno}"
                     for part in parts)


def _description(code, tree):
    text = ast.get_docstring(tree) or ""
    if not text:
        found = re.match(r"(?:\s*#!.*\n)?\s*(?:#|//)\s*(.+)", code)
        text = found[1] if found else ""
    return text.strip().split("\n")[0][:200]


def _of_javascript(code, name, parameters):
    notes = []
    usage = f"const {name} = require('skills/{name}');"
    told = {"language": "javascript", "description": _description(code, ast.Module([], [])), "parameters": parameters, "notes": notes}
    if re.search(r"\bmodule\.exports\b|\bexports\.\w+\s*=", code):
        if parameters:
            raise ValueError("--parameter: the program exports its own function, and its parameters are its own")
        return {**told, "code": code.rstrip("\n") + "\n", "usage": f"{usage}\n{name}(...)"}
    found = re.search(r"^(?:import\s*[\w{*'\"]|export\s).*$", code, re.MULTILINE)
    if found:
        raise ValueError(f"`{found[0].strip()[:80]}` cannot stand in a function: use require(), or await import(), and run the "
                         "program again")
    lines = code.rstrip().split("\n")
    if not re.search(r"^return\b", code, re.MULTILINE):
        if re.search(r"^(?:const |let |var )?result\s*=(?!=)", code, re.MULTILINE):
            lines.append("return result;")
        elif re.fullmatch(r"(?!(?:if|for|while|do|switch|try|const|let|var|function|class|throw|async|await\s+using)\b)[\w$({\[`'\"!-].*[^{,(\[]",
                          lines[-1]) and not lines[-1].startswith(("}", ")", "]")):
            lines[-1] = f"return {lines[-1]}"
        else:
            notes.append("the program has no `return` at its end and sets no `result`: the function returns no value")
    if not parameters:
        notes.append("variables that the program was given, or had from a session, are not found: name each with --parameter")
    signature = f"{{{', '.join(parameters)}}} = {{}}" if parameters else ""
    body = "\n".join(lines)
    call = f"await {name}({{{', '.join(parameters)}}})" if parameters else f"await {name}()"
    return {**told, "code": f"module.exports = async function {name}({signature}) {{\n{body}\n}};\n", "usage": f"{usage}\n{call}"}
