"""Records as a Markdown table."""


def markdown_table(records, fields=None, limit=20, width=40):
    records = list(records)
    fields = list(fields or dict.fromkeys(name for record in records for name in record))
    if not fields:
        return "(nothing)"
    shown = records[:limit]
    is_number = {name: bool(shown) and all(isinstance(record.get(name), (int, float, type(None))) for record in shown)
                 for name in fields}
    lines = [fields, ["--:" if is_number[name] else "---" for name in fields],
             *([_cell(record.get(name), width) for name in fields] for record in shown)]
    text = "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
    return text if len(records) <= limit else f"{text}\n\n{len(records) - limit} more records"


def _cell(value, width):
    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split()).replace("|", "\\|")
    return text if len(text) <= width else text[:width - 1] + "\u2026"
