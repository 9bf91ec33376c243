"""Groups of records, and figures for each."""
import statistics


def group_by(records, by, of=None, sort="count"):
    by = [by] if isinstance(by, str) else list(by)
    of = [of] if isinstance(of, str) else list(of or ())
    groups = {}
    for record in records:
        groups.setdefault(tuple(record.get(name) for name in by), []).append(record)
    rows = []
    for key, members in groups.items():
        row = dict(zip(by, key), count=len(members))
        for name in of:
            values = [member[name] for member in members if _is_number(member.get(name))]
            if values:
                row.update({f"{name}_sum": sum(values), f"{name}_avg": statistics.fmean(values),
                            f"{name}_min": min(values), f"{name}_median": statistics.median(values),
                            f"{name}_max": max(values)})
        rows.append(row)
    return sorted(rows, key=lambda row: row.get(sort, float("-inf")), reverse=True)


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
