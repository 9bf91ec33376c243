"""Declared workflows: checked wholly, then run step by step over warder.workflow, which stores the values of finished steps."""
import ast
import re

import warder

TYPES = ("tool_call", "code_execution", "condition", "loop")
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*(?:\.\w+)*)\}")
_MOST_DEPTH = 16
_MOST_STEPS = 1000  # in a document
_GUARDRAILS = ("enabled", "strict_mode", "security_checks", "max_execution_time", "max_memory_mb")


def workflow(document, variables=None):
    mistakes = check(document)
    if mistakes:
        raise ValueError("this workflow has mistakes and did not begin:\n" + "\n".join(mistakes))
    run = _Run(document["name"], {**document.get("variables", {}), **(variables or {})})
    run.steps(document["steps"])
    return {"workflow": document["name"], "variables": run.variables, "steps": run.done}


def check(document):
    """The mistakes of a document, one text each: "steps[2].config.tool: missing"."""
    found = _Mistakes()
    found.document(document)
    return found.all


class _Mistakes:
    def __init__(self):
        self.all = []
        self.count = 0

    def add(self, place, what):
        self.all.append(f"{place}: {what}")

    def fields(self, place, value, required, optional):
        """True if the value is an object, and its fields have the right types."""
        if not isinstance(value, dict):
            self.add(place or "the document", f"not an object, but {_shown(value)}")
            return False
        before = len(self.all)
        at = f"{place}." if place else ""
        for key in value:
            if key not in required and key not in optional:
                known = ", ".join([*required, *optional])
                self.add(f"{at}{key}", f"not known here; known are {known}")
        for key, (kind, name) in {**required, **optional}.items():
            if key not in value:
                if key in required:
                    self.add(f"{at}{key}", "missing")
            elif not isinstance(value[key], kind) or (kind is int and isinstance(value[key], bool)):
                self.add(f"{at}{key}", f"not {name}, but {_shown(value[key])}")
        return len(self.all) == before

    def document(self, document):
        text, table = (str, "a text"), (dict, "an object")
        self.fields("", document, {"name": text, "steps": (list, "a list of steps")},
                    {"description": text, "version": text, "variables": table, "guardrails": table})
        if not isinstance(document, dict):
            return
        if isinstance(document.get("guardrails"), dict):
            self.guardrails("guardrails", document["guardrails"], _GUARDRAILS)
        name = document.get("name")
        if isinstance(name, str) and not _NAME.fullmatch(name):
            self.add("name", f"{_shown(name)} is not 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'")
        if isinstance(document.get("variables"), dict):
            for variable in document["variables"]:
                self.identifier(f"variables.{variable}", variable)
        if isinstance(document.get("steps"), list):
            self.steps("steps", document["steps"], 0)

    def guardrails(self, place, rules, known):
        for key, value in rules.items():
            if key not in known:
                self.add(f"{place}.{key}", f"not known here; known are {', '.join(known)}")
            elif key.startswith("max_") and (type(value) not in (int, float) or value <= 0):
                self.add(f"{place}.{key}", f"not a number above 0, but {_shown(value)}")
            elif not key.startswith("max_") and not isinstance(value, bool):
                self.add(f"{place}.{key}", f"not true or false, but {_shown(value)}")

    def identifier(self, place, name):
        if not isinstance(name, str) or not name.isidentifier():
            self.add(place, f"{_shown(name)} is not the name of a variable")

    def steps(self, place, steps, depth):
        if not isinstance(steps, list):
            return self.add(place, f"not a list of steps, but {_shown(steps)}")
        if not steps:
            return self.add(place, "has no step")
        if depth > _MOST_DEPTH:
            return self.add(place, f"steps are nested deeper than {_MOST_DEPTH}")
        for number, step in enumerate(steps):
            self.count += 1
            if self.count == _MOST_STEPS + 1:
                self.add(place, f"the document has more than {_MOST_STEPS} steps")
            if self.count <= _MOST_STEPS:
                self.step(f"{place}[{number}]", step, depth)

    def step(self, place, step, depth):
        text, table = (str, "a text"), (dict, "an object")
        self.fields(place, step, {"name": text, "type": text, "config": table},
                    {"retry": table, "on_error": text, "guardrails": table})
        if not isinstance(step, dict):
            return
        if isinstance(step.get("name"), str) and not 0 < len(step["name"].encode()) <= 100:
            self.add(f"{place}.name", "not 1 to 100 bytes")
        kind = step.get("type")
        if isinstance(kind, str) and kind not in TYPES:
            self.add(f"{place}.type", f"{_shown(kind)} is none of {', '.join(TYPES)}")
        elif isinstance(kind, str) and isinstance(step.get("config"), dict):
            getattr(self, kind)(f"{place}.config", step["config"], depth)
        if step.get("on_error", "stop") not in ("stop", "skip"):
            self.add(f"{place}.on_error", f"{_shown(step['on_error'])} is neither stop nor skip")
        retry = step.get("retry")
        if isinstance(retry, dict) and self.fields(f"{place}.retry", retry, {"attempts": (int, "a number")},
                                                   {"backoff_seconds": ((int, float), "a number")}):
            if not 1 <= retry["attempts"] <= 1000:
                self.add(f"{place}.retry.attempts", "not 1 to 1000")
            if not 0 <= retry.get("backoff_seconds", 0) <= 3600:
                self.add(f"{place}.retry.backoff_seconds", "not 0 to 3600")
        if isinstance(retry, dict) and kind in ("condition", "loop"):
            self.add(f"{place}.retry", f"a {kind} is not tried again; give its steps a retry")
        if isinstance(step.get("guardrails"), dict):
            self.guardrails(f"{place}.guardrails", step["guardrails"], ("max_execution_time",))

    def tool_call(self, place, config, _):
        self.fields(place, config, {"tool": (str, "a text")}, {"arguments": (dict, "an object"), "save_as": (str, "a text")})
        self.saved(place, config)

    def code_execution(self, place, config, _):
        if self.fields(place, config, {"code": (str, "a text")}, {"save_as": (str, "a text")}):
            self.python(f"{place}.code", config["code"], "exec")
        self.saved(place, config)

    def condition(self, place, config, depth):
        steps = (list, "a list of steps")
        self.fields(place, config, {"if": (str, "an expression"), "then": steps}, {"else": steps, "save_as": (str, "a text")})
        if isinstance(config.get("if"), str):
            self.python(f"{place}.if", config["if"], "eval")
        for branch in ("then", "else"):
            if isinstance(config.get(branch), list):
                self.steps(f"{place}.{branch}", config[branch], depth + 1)
        self.saved(place, config)

    def loop(self, place, config, depth):
        text = (str, "a text")
        self.fields(place, config, {"steps": (list, "a list of steps")},
                    {"items": ((list, str), "a list or an expression"), "as": text, "while": (str, "an expression"),
                     "times": (int, "a number"), "max_iterations": (int, "a number"), "save_as": text})
        ways = [key for key in ("items", "while", "times") if key in config]
        if len(ways) != 1:
            self.add(place, f"give one of items, while and times, not {' and '.join(ways) or 'none'}")
        for key in ways:
            if isinstance(config[key], str):
                self.python(f"{place}.{key}", config[key], "eval")
        if "as" in config:
            self.identifier(f"{place}.as", config["as"])
        if isinstance(config.get("max_iterations"), int) and not 1 <= config["max_iterations"] <= 9000:
            self.add(f"{place}.max_iterations", "not 1 to 9000")
        if isinstance(config.get("steps"), list):
            self.steps(f"{place}.steps", config["steps"], depth + 1)
        self.saved(place, config)

    def saved(self, place, config):
        if "save_as" in config:
            self.identifier(f"{place}.save_as", config["save_as"])

    def python(self, place, text, mode):
        try:
            ast.parse(text.strip() if mode == "eval" else text, mode=mode)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            line = f", line {e.lineno}" if getattr(e, "lineno", None) else ""
            self.add(place, f"not Python: {getattr(e, 'msg', e)}{line}")


class _Run:
    def __init__(self, name, variables):
        self.kept = warder.workflow(name)
        self.variables = variables
        self.done = []

    def steps(self, steps):
        value = None
        for step in steps:
            value = self.step(step)
        return value

    def step(self, step):
        state = "finished"
        try:
            value = getattr(self, step["type"])(step, step["config"])
        except warder.StepFailed:
            if step.get("on_error", "stop") == "stop":
                raise
            value, state = None, "skipped"
        self.done.append({"name": step["name"], "state": state})
        name = step["config"].get("save_as") or re.sub(r"\W", "_", step["name"])
        if name.isidentifier():
            self.variables[name] = value
        return value

    def keep(self, step, work, reads, part=""):
        """Runs `work` as a step, or returns what is recorded. `reads`: the text whose variables the work reads."""
        retry = step.get("retry", {})
        names = set(re.findall(r"\w+", reads))
        return self.kept.step(step["name"] + part, work, retries=retry.get("attempts", 1) - 1,
                              backoff=retry.get("backoff_seconds", 1),
                              timeout=step.get("guardrails", {}).get("max_execution_time"),
                              inputs={name: value for name, value in self.variables.items() if name in names})

    def tool_call(self, step, config):
        arguments = config.get("arguments", {})
        return self.keep(step, lambda: warder.call_tool(config["tool"], **self.filled(arguments)), repr(arguments))

    def code_execution(self, step, config):
        return self.keep(step, lambda: _run_code(step["name"], config["code"], dict(self.variables)), config["code"])

    def condition(self, step, config):
        holds = self.keep(step, lambda: bool(self.value_of(config["if"])), config["if"], " if")
        branch = config["then"] if holds else config.get("else")
        if branch:
            self.steps(branch)
        return holds

    def loop(self, step, config):
        values = []
        for item in self.rounds(step, config):
            if len(values) == config.get("max_iterations", 1000):
                raise RuntimeError(f"loop '{step['name']}' has more than {len(values)} iterations (max_iterations)")
            self.variables[config.get("as", "item")] = item
            values.append(self.steps(config["steps"]))
        return values

    def rounds(self, step, config):
        if "items" in config:
            items = config["items"]
            yield from items if isinstance(items, list) else self.keep(step, lambda: list(self.value_of(items)), items, " items")
        elif "times" in config:
            yield from range(config["times"])
        else:
            count = 0
            while self.keep(step, lambda: bool(self.value_of(config["while"])), config["while"], " while"):
                yield count
                count += 1

    def value_of(self, expression):
        return eval(expression.strip(), dict(self.variables))

    def filled(self, value):
        """The value with its references to variables replaced."""
        if isinstance(value, dict):
            return {key: self.filled(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.filled(inner) for inner in value]
        if not isinstance(value, str):
            return value
        whole = _REFERENCE.fullmatch(value)
        return self.found(whole[1]) if whole else _REFERENCE.sub(lambda found: str(self.found(found[1])), value)

    def found(self, path):
        first, *rest = path.split(".")
        if first not in self.variables:
            raise KeyError(f"${{{path}}}: there is no variable {first}; there are {', '.join(self.variables)}")
        value = self.variables[first]
        for key in rest:
            value = value[int(key)] if isinstance(value, list) else value[key]
        return value


def _run_code(name, code, variables):
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    variables.pop("result", None)
    exec(compile(tree, f"<{name}>", "exec"), variables)
    value = eval(compile(ast.Expression(last.value), f"<{name}>", "eval"), variables) if last else None
    return variables["result"] if "result" in variables else value


def _shown(value):
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
