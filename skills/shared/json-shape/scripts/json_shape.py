"""The structure of a JSON value, without its data."""


def json_shape(value, depth=6):
    return _shown(_merged([value]), depth)


def _merged(values):
    """The common shape of the values: their kinds, the members of all lists, and the values of each key."""
    kinds, members, keys, lists, objects = {}, [], {}, 0, 0
    for value in values:
        if isinstance(value, dict):
            objects += 1
            for key, member in value.items():
                keys.setdefault(key, []).append(member)
        elif isinstance(value, (list, tuple)):
            lists += 1
            members.extend(value)
        else:
            kinds[_kind(value)] = True
    return {"kinds": list(kinds), "lists": lists, "members": members, "objects": objects, "keys": keys}


def _kind(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true/false"
    return "number" if isinstance(value, (int, float)) else "text"


def _shown(merged, depth):
    shapes = list(merged["kinds"])
    if merged["lists"]:
        members = merged["members"]
        below = _shown(_merged(members), depth - 1) if members and depth else "..." if members else "nothing"
        shapes.append([f"{len(members)} of", below])
    if merged["objects"]:
        shapes.append({key if len(values) == merged["objects"] else f"{key}?":
                       _shown(_merged(values), depth - 1) if depth else "..." for key, values in merged["keys"].items()})
    if all(isinstance(shape, str) for shape in shapes):
        return " or ".join(shapes)
    return shapes[0] if len(shapes) == 1 else {"either": shapes}
