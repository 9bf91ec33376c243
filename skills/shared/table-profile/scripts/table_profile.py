"""The fields of a list of records: types, ranges and common values."""
from collections import Counter


def table_profile(records, top=3):
    records = list(records)
    names = dict.fromkeys(name for record in records for name in record)
    return {"records": len(records), "fields": {name: _field(records, name, top) for name in names}}


def _field(records, name, top):
    values = [record[name] for record in records if record.get(name) is not None]
    counts = Counter(value if isinstance(value, (str, int, float)) else repr(value) for value in values)
    field = {"types": dict(Counter(type(value).__name__ for value in values)), "missing": len(records) - len(values),
             "distinct": len(counts)}
    try:
        field["min"], field["max"] = min(values), max(values)
    except (TypeError, ValueError):
        pass  # values of several types, or no values
    if len(counts) < len(values):
        field["top"] = [[value, count] for value, count in counts.most_common(top)]
    return field
