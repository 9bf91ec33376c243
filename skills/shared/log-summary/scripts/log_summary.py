"""The lines of a log, counted by pattern."""
import re
from collections import Counter

_LEVEL = re.compile(r"\b(FATAL|CRITICAL|ERROR|WARN(?:ING)?|NOTICE|INFO|DEBUG|TRACE)\b", re.IGNORECASE)
_PARTS = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\"[^\"]*\"|'[^']*'"), "<text>"),
    (re.compile(r"\b(?:0x)?[0-9a-fA-F]{12,}\b"), "<id>"),
    (re.compile(r"\d+(?:\.\d+)?"), "<n>"),
)


def log_summary(lines, top=20):
    levels, patterns, examples, total = Counter(), Counter(), {}, 0
    for line in lines.splitlines() if isinstance(lines, str) else lines:
        line = line.rstrip("\n")
        if not line.strip():
            continue
        total += 1
        level = _LEVEL.search(line)
        levels[level[1].upper().replace("WARNING", "WARN") if level else "NONE"] += 1
        pattern = line[:1000]
        for part, name in _PARTS:
            pattern = part.sub(name, pattern)
        patterns[pattern] += 1
        examples.setdefault(pattern, line[:300])
    return {"lines": total, "levels": dict(levels.most_common()), "patterns": len(patterns),
            "top": [{"count": count, "pattern": pattern, "first": examples[pattern]}
                    for pattern, count in patterns.most_common(top)]}
