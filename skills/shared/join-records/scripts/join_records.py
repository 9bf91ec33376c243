"""Two lists of records, joined by a key."""


def join_records(left, right, on, keep="both"):
    if keep not in ("both", "left"):
        raise ValueError("keep is 'both' or 'left'")
    left_key, right_key = (on, on) if isinstance(on, str) else on
    partners = {}
    for record in right:
        partners.setdefault(record.get(right_key), []).append(record)
    records, left_only, met = [], [], set()
    for record in left:
        key = record.get(left_key)
        if key is None or key not in partners:
            left_only.append(record)
            if keep == "left":
                records.append(dict(record))
            continue
        met.add(key)
        for partner in partners[key]:
            extra = {f"right_{name}" if name in record else name: value for name, value in partner.items()
                     if name != right_key}
            records.append({**record, **extra})
    right_only = [record for key, members in partners.items() if key not in met for record in members]
    return {"records": records, "left_only": left_only, "right_only": right_only}
