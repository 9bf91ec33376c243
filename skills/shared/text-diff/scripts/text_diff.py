"""Two texts, compared by lines."""
import difflib


def text_diff(before, after, context=2, limit=200):
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=context))
    body = lines[2:]
    added = sum(line.startswith("+") for line in body)
    removed = sum(line.startswith("-") for line in body)
    if len(lines) > limit:
        lines = lines[:limit] + [f"... {len(lines) - limit} more lines"]
    return {"added": added, "removed": removed, "diff": "\n".join(lines)}
