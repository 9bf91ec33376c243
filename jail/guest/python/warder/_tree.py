"""Programs that need a change before they compile: a `return` at the top level, or JSON's true, false and null.

Loaded only for programs that have one of these.
"""
import sys

import _ast

_JSON_NAMES = {"true": True, "false": False, "null": None}


def bind_json_names(code, mentioned, namespace):
    """Binds the names true, false and null that `code` uses but does not define. `mentioned`: all names in `code`."""
    wanted = [name for name in _JSON_NAMES if name in mentioned and name not in namespace]
    if not wanted:
        return
    used, bound = set(), set()
    nodes = [compile(code, "<code>", "exec", _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, _ast.Name):
            (used if isinstance(node.ctx, _ast.Load) else bound).add(node.id)
        elif isinstance(node, _ast.alias):
            bound.add(node.asname or node.name)
        elif isinstance(node, (_ast.FunctionDef, _ast.ClassDef)):
            bound.add(node.name)
        for field in node._fields:
            part = getattr(node, field, None)
            nodes += [member for member in (part if isinstance(part, list) else [part]) if isinstance(member, _ast.AST)]
    taken = [name for name in wanted if name in used - bound]
    namespace.update((name, _JSON_NAMES[name]) for name in taken)
    if taken:
        told = ", ".join(f"{name} as {_JSON_NAMES[name]}" for name in taken)
        print(f"warder: this is Python: took {told}", file=sys.stderr)


def with_return(tree, file, flags, names_left):
    """The code object of a module (`tree`) that returns at its top level.

    Its statements become a function with global names only. `names_left`: the name for the value of a last
    expression, and the name for the returned value. Raises SyntaxError if the change is not possible.
    """
    last, returned = names_left
    # Statements before the first `return` can stay outside, where `from x import *` is allowed.
    outside = next((at for at, statement in enumerate(tree.body) if _returns(statement)), 0)
    names = _Names()
    body = [names.visit(statement) for statement in tree.body[outside:]]
    first = body[0]
    kinds = (_ast.AsyncFunctionDef, _ast.FunctionDef) if names.awaits else (_ast.FunctionDef,)
    place = {"lineno": first.lineno, "col_offset": 0, "end_lineno": first.lineno, "end_col_offset": 0}
    assigned = sorted(names.found | {last})
    call = _ast.Call(_ast.Name("<main>", _ast.Load(), **place), [], [], **place)
    head = [_ast.Global([*assigned, "<main>"], **place),
            _ast.Delete([_ast.Name("<main>", _ast.Del(), **place)], **place)]  # globals() must not show it
    function = kinds[0]("<main>", _no_arguments(), [*head, *body], [], **place)
    if "type_params" in function._fields:
        function.type_params = []
    value = _ast.Await(call, **place) if names.awaits else call
    keep = _ast.Assign([_ast.Name(returned, _ast.Store(), **place)], value, **place)
    whole = _ast.Module([*tree.body[:outside], function, keep], [])
    return compile(whole, file, "exec", flags, True)


def _no_arguments():
    return _ast.arguments([], [], None, [], [], None, [])


def _returns(node):
    """True if a statement has a `return` outside of any function."""
    if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef, _ast.Lambda)):
        return False
    if isinstance(node, _ast.Return):
        return True
    parts = (getattr(node, field, None) for field in node._fields)
    return any(_returns(member) for part in parts for member in (part if isinstance(part, list) else [part])
               if isinstance(member, (_ast.stmt, _ast.ExceptHandler, _ast.match_case)))


class _Names:
    """Collects the names that a module's statements bind, and if they await. Removes annotations of plain names."""

    def __init__(self):
        self.found = set()
        self.awaits = False

    def visit(self, node):
        if isinstance(node, _ast.AnnAssign) and isinstance(node.target, _ast.Name):
            place = {name: getattr(node, name) for name in node._attributes}
            value = self.visit(node.value) if node.value else None
            self.found.add(node.target.id)
            return _ast.Assign([node.target], value, **place) if value else _ast.Pass(**place)
        if isinstance(node, _ast.Name) and not isinstance(node.ctx, _ast.Load):
            self.found.add(node.id)
        elif isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)):
            self.found.add(node.name)
            return node  # its body has its own names
        elif isinstance(node, _ast.Lambda):
            return node
        elif isinstance(node, _ast.alias):
            self.found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (_ast.ExceptHandler, _ast.MatchAs, _ast.MatchStar)) and node.name:
            self.found.add(node.name)
        elif isinstance(node, _ast.MatchMapping) and node.rest:
            self.found.add(node.rest)
        elif isinstance(node, (_ast.Await, _ast.AsyncFor, _ast.AsyncWith)) or getattr(node, "is_async", 0):
            self.awaits = True
        for field in node._fields:
            part = getattr(node, field, None)
            if isinstance(part, list):
                part[:] = [self.visit(member) if isinstance(member, _ast.AST) else member for member in part]
            elif isinstance(part, _ast.AST):
                setattr(node, field, self.visit(part))
        return node
