"""Programs that compile only in part, or lack a name: a `return` at the top level, JSON's true, false and null.

Loaded only where there is one.
"""
import sys

import _ast

_JSON_NAMES = {"true": True, "false": False, "null": None}


def bind_json_names(code, mentioned, namespace):
    """Binds those of true, false and null that `code` uses and gives no meaning. `mentioned`: all names in it."""
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

    Its statements become a function whose names are all the module's. `names_left` are the names under which the value
    of a last expression, and the value that is returned, are left. Raises SyntaxError where that cannot be.
    """
    last, returned = names_left
    # What runs before can stay outside, where `from x import *` is allowed.
    outside = next((at for at, statement in enumerate(tree.body) if _returns(statement)), 0)
    names = _Names()
    body = [names.visit(statement) for statement in tree.body[outside:]]
    first = body[0]
    kinds = (_ast.AsyncFunctionDef, _ast.FunctionDef) if names.awaits else (_ast.FunctionDef,)
    place = {"lineno": first.lineno, "col_offset": 0, "end_lineno": first.lineno, "end_col_offset": 0}
    assigned = sorted(names.found | {last})
    call = _ast.Call(_ast.Name("<main>", _ast.Load(), **place), [], [], **place)
    head = [_ast.Global([*assigned, "<main>"], **place),
            _ast.Delete([_ast.Name("<main>", _ast.Del(), **place)], **place)]  # globals() shall not show it
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
    """Whether a statement has a `return` that is no function's."""
    if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef, _ast.Lambda)):
        return False
    if isinstance(node, _ast.Return):
        return True
    parts = (getattr(node, field, None) for field in node._fields)
    return any(_returns(member) for part in parts for member in (part if isinstance(part, list) else [part])
               if isinstance(member, (_ast.stmt, _ast.ExceptHandler, _ast.match_case)))


class _Names:
    """Which names the statements of a module bind, and whether they await; annotations of plain names go."""

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
            return node  # what is in it is its own
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
