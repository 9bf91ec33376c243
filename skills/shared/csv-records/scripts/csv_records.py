"""CSV or TSV to records."""
import csv
import io
import re

_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")


def csv_records(source, types=True):
    text = source if "\n" in source else _read(source)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text)))
    if not rows:
        return []
    header = _unique([name.strip() for name in rows[0]])
    records = [dict(zip(header, row)) for row in rows[1:] if any(cell.strip() for cell in row)]
    if types:
        for name in header:
            _convert(records, name)
    return records


def _read(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _delimiter(text):
    lines = [line for line in text.splitlines()[:50] if line.strip()]

    def evenness(mark):
        counts = [line.count(mark) for line in lines]
        return sum(count == counts[0] for count in counts) * (counts[0] > 0), counts[0]

    return max(",;\t|", key=evenness) if lines else ","


def _unique(names):
    seen = {}
    answer = []
    for at, name in enumerate(names, 1):
        name = name or f"column_{at}"
        seen[name] = seen.get(name, 0) + 1
        answer.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return answer


def _convert(records, name):
    values = [record[name].strip() for record in records if name in record]
    is_number = all(_NUMBER.fullmatch(value) for value in values if value)
    for record in records:
        value = record.get(name, "").strip()
        if not value:
            record[name] = None
        elif is_number:
            record[name] = float(value) if re.search(r"[.eE]", value) else int(value)
