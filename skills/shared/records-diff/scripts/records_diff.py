"""The changes from one list of records to another."""


def records_diff(before, after, key):
    old, new = _by_key(before, key, "before"), _by_key(after, key, "after")
    changed = []
    for value in [value for value in old if value in new]:
        fields = {name: [old[value].get(name), new[value].get(name)]
                  for name in {**old[value], **new[value]} if old[value].get(name) != new[value].get(name)}
        if fields:
            changed.append({key: value, "fields": fields})
    return {"added": [new[value] for value in new if value not in old],
            "removed": [old[value] for value in old if value not in new],
            "changed": changed, "same": len(old.keys() & new.keys()) - len(changed)}


def _by_key(records, key, which):
    found = {}
    for at, record in enumerate(records):
        if record.get(key) is None:
            raise ValueError(f"record {at} of `{which}` has no '{key}'")
        if record[key] in found:
            raise ValueError(f"'{key}' is {record[key]!r} twice in `{which}`")
        found[record[key]] = record
    return found
