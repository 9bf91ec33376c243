"""Values of pandas as JSON: a table is a list of records, and the labels of its rows are columns like the others.

Loaded by the first answer that holds a pandas value. Only the row numbers that pandas makes, 0, 1, ..., are left out.
"""
MAX_ROWS = 1000  # of a table; a longer table's answer has the number of its rows


def plain_of(pandas, value):
    """`value` as lists, dicts and single values; `value` itself if it is not a pandas value."""
    if isinstance(value, pandas.DataFrame):
        if len(value) == 0 and len(value.columns) > 0:
            names = unique([_name(label) for label in value.columns])
            return {"rows": 0, "columns": names, "records": []}
        return _shown(_records(pandas, value), len(value), "records")
    if isinstance(value, pandas.Series):
        if _is_numbering(pandas, value.index):
            return _shown(_cells(pandas, value.head(MAX_ROWS)), len(value), "values")
        frame = value.to_frame(value.name if value.name is not None else "value")
        return _shown(_records(pandas, frame), len(value), "records")
    if isinstance(value, (pandas.Index, pandas.api.extensions.ExtensionArray)):
        return _cells(pandas, value)
    if isinstance(value, (pandas.Period, pandas.Interval, pandas.Timedelta)):
        return str(value)
    return value


def _shown(rows, count, key):
    if count <= MAX_ROWS:
        return rows
    return {"rows": count, key: rows, "omitted": count - MAX_ROWS}


def _records(pandas, frame):
    columns = [] if _is_numbering(pandas, frame.index) else _levels(pandas, frame.head(MAX_ROWS))
    frame = frame.head(MAX_ROWS)
    columns += [(_name(label), _cells(pandas, frame.iloc[:, at])) for at, label in enumerate(frame.columns)]
    names = unique([name for name, _ in columns])
    if not names:
        return [{} for _ in range(len(frame))]
    return [dict(zip(names, row)) for row in zip(*(cells for _, cells in columns))]


def _is_numbering(pandas, index):
    """True if the labels are 0, 1, 2, ... without a name: then the order of the rows says the same."""
    if index.nlevels > 1 or index.name is not None or getattr(index.dtype, "kind", "O") not in "iu":
        return False
    return index.equals(pandas.RangeIndex(len(index)))


def _levels(pandas, frame):
    """The row labels as columns: each with its name, else with the name that reset_index() gives."""
    index = frame.index
    levels = []
    for at in range(index.nlevels):
        name = index.names[at]
        if name is None:
            name = "index" if index.nlevels == 1 and "index" not in frame.columns else f"level_{at}"
        levels.append((_name(name), _cells(pandas, index.get_level_values(at))))
    return levels


def _cells(pandas, values):
    """The single values of a column; None for a missing value."""
    return [_cell(pandas, cell) for cell in values]


def _cell(pandas, cell):
    if cell is None or cell is pandas.NA or cell is pandas.NaT:
        return None
    return None if isinstance(cell, float) and cell != cell else cell


def _name(label):
    """A column's key. For several levels, the parts that are not empty: ("n", "sum") becomes "n_sum"."""
    if isinstance(label, tuple):
        return "_".join(_text(part) for part in label if _text(part))
    return _text(label)


def _text(label):
    if label is None:
        return ""
    if hasattr(label, "isoformat"):
        return label.isoformat()
    return str(label)


def unique(names):
    """Adds a number to each repeated name, as read_csv() does: x, x.1, x.2."""
    taken = set()
    unique = []
    for name in names:
        free, number = name, 0
        while free in taken:
            number += 1
            free = f"{name}.{number}"
        taken.add(free)
        unique.append(free)
    return unique
