"""The functions that jailed code finds bound: files of the workspace, skills, personal data, lists of records.

The check of paths that leave the workspace gives a clear message; the kernel enforces the limit. Modules that only some
code needs are imported inside functions: os alone takes 2 ms of a cold start.
"""
import errno
from math import fsum, isfinite

import warder
from warder._values import encode, plain

_FORMAT_LIMIT = 64 << 20
pictures = None  # returns the pictures of the running execution, which sets it


def _kept_text(uri):
    import binascii
    parts, offset, more = [], 0, True
    while more:
        part = warder.call("read_workspace_file", filename=uri, offset=offset, limit=1 << 18, encoding="base64")
        if "content" not in part:
            return encode(part).decode()  # the execution still runs
        gap = part.get("left_out")
        if gap and offset <= gap["offset"] < part["offset"]:
            parts.append(f"\n[... {gap['bytes']} bytes left out ...]\n".encode())
        parts.append(binascii.a2b_base64(part["content"]))
        offset, more = part["offset"] + part["length"], part["more"]
    return b"".join(parts).decode(errors="replace")


class Files:
    """read_file, write_file, list_files, delete_file of one workspace."""

    def __init__(self, workspace):
        self._root = workspace
        self._real_root = None

    def _inside(self, name):
        import os
        if not isinstance(name, (str, os.PathLike)):
            raise TypeError(f"a file's name is a str or a path, not {type(name).__name__}")
        if self._real_root is None:
            self._real_root = os.path.realpath(self._root)
        path = os.path.realpath(os.path.join(self._root, name))
        if path != self._real_root and not path.startswith(self._real_root + "/"):
            raise PermissionError(errno.EACCES, "this path is outside the workspace", str(name))
        return path

    def read_file(self, filename):
        """The text (UTF-8) of a file of the workspace, or of kept output: "exec:///<execution_id>/stdout"."""
        if isinstance(filename, str) and filename.startswith("exec:///"):
            return _kept_text(filename)
        try:
            with open(self._inside(filename), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, "there is no such file in the workspace", str(filename)) from None
        except UnicodeDecodeError as e:
            e.add_note(f"'{filename}' is not UTF-8 text: read it with open('{filename}', 'rb')")
            raise

    def write_file(self, filename, content):
        """Writes text (as UTF-8) or bytes, makes missing folders, and returns a line with the file's size in bytes."""
        if isinstance(content, str):
            content = content.encode()
        elif not isinstance(content, (bytes, bytearray, memoryview)):
            raise TypeError(f"write_file writes text or bytes, not {type(content).__name__}: json.dumps() makes text")
        size = _write_whole(self._inside(filename), content)
        return f"Written {size} bytes to {filename}"

    def list_files(self, path="."):
        """The names of all files in a folder of the workspace and below, sorted, relative to the workspace.

        An empty list if the folder does not exist.
        """
        import os
        top = self._inside(path)
        if os.path.isfile(top):
            return [os.path.relpath(top, self._real_root)]
        if not os.path.isdir(top):
            return []
        names = []
        folders = [top] if os.path.lexists(top) else []
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_file():
                        names.append(os.path.relpath(entry.path, self._real_root))
        names.sort()
        return names

    def delete_file(self, filename):
        """Deletes one file; for a link, the link itself and not its target."""
        import os
        folder, name = os.path.split(os.path.join(self._root, filename))
        try:
            os.unlink(os.path.join(self._inside(folder), name))
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, "there is no such file in the workspace", str(filename)) from None
        return f"Deleted {filename}"


def _write_whole(path, content):
    """Writes the whole file or leaves it: if the workspace is full, the old file stays. Keeps the permission bits."""
    import os
    import stat
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    mode = None
    if os.path.exists(path):
        status = os.stat(path)
        mode = stat.S_IMODE(status.st_mode)
        if not stat.S_ISREG(status.st_mode) or not os.access(path, os.W_OK):
            with open(path, "wb") as file:  # a device, or a file that open() refuses with the right error
                return file.write(content)
    beside = os.path.join(folder, f".{os.urandom(8).hex()}.part")
    try:
        with open(beside, "xb") as file:
            size = file.write(content)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
        os.replace(beside, path)
    except BaseException:
        try:
            os.unlink(beside)
        except OSError:
            pass
        raise
    return size


def save_skill(name, code, description="", language="python"):
    """Saves code under a name for later executions, which do `from skills import <name>`."""
    from warder import _skills
    return _skills.save(name, code, description, language)


def load_skill(name):
    """The code of a skill, for exec()."""
    from warder import _skills
    return _skills.load(name)


def list_skills():
    """The list of skills, each with name, description, ..."""
    from warder import _skills
    return _skills.listed()


def tokenize_pii(text):
    """The text with tokens in place of personal data, and a dict from each token to its original text."""
    answer = warder.call("tokenize_pii", text=text)
    return answer["text"], answer["tokens"]


def detokenize_pii(text, tokens=None):
    """The text with its tokens replaced: by the dict, else by all the tenant's tokens if its policy allows that."""
    if tokens is None:
        return warder.call("detokenize_pii", text=text)["text"]
    if not tokens:
        return text
    import re
    names = sorted(tokens, key=len, reverse=True)  # one pass: inserted text is not searched again
    return re.sub("|".join(map(re.escape, names)), lambda found: tokens[found[0]], text)


def display(*values, **_options):
    """Shows values as a notebook does: pictures and figures in the answer, other values as text on stdout."""
    from warder._images import display as show
    show(values, pictures())


def filter_by_field(data, field, value):
    """The records (dicts) of `data` with a `field` that equals `value`."""
    return [record for record in data if isinstance(record, dict) and record.get(field) == value]


def summarize_list(data, limit=10):
    """The number of members, and the first `limit` members."""
    if not isinstance(data, (list, tuple)):
        data = list(data)
    if limit < 0:
        raise ValueError(f"limit is {limit}, it cannot be negative")
    return {"count": len(data), "sample": data[:limit]}


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _sum(values):
    if all(isinstance(value, int) for value in values):
        return sum(values)
    return fsum(values) if all(map(isfinite, values)) else sum(values)


def aggregate_stats(data, numeric_fields=None):
    """`count` of records, then sum, avg, min and max of each numeric field (`price_sum`, ...).

    Only numbers count: a record without the field, or with a bool, a NaN or a text in the field, is skipped. If fewer
    values than records count, `price_count` gives their number. Without `numeric_fields`: all fields that hold numbers.
    """
    data = list(data)
    answer = {"count": len(data)}
    records = [record for record in data if isinstance(record, dict)]
    if numeric_fields is None:
        numeric_fields = list(dict.fromkeys(key for record in records for key in record if _is_number(record[key])))
    elif isinstance(numeric_fields, str):
        numeric_fields = [numeric_fields]
    for field in numeric_fields:
        values = [record[field] for record in records if field in record and _is_number(record[field])]
        if not values:
            continue
        total = _sum(values)
        answer[f"{field}_sum"] = total
        answer[f"{field}_avg"] = total / len(values)
        answer[f"{field}_min"] = min(values)
        answer[f"{field}_max"] = max(values)
        if len(values) < len(data):
            answer[f"{field}_count"] = len(values)
    return answer


def format_output(data, max_chars=5000):
    """Indented, valid JSON of at most `max_chars`; shortened lists, objects and texts say how much is left out."""
    import json

    def dump(value):
        return json.dumps(value, indent=2, ensure_ascii=False)

    data = plain(data, _FORMAT_LIMIT)
    text = dump(data)
    if len(text) <= max_chars:
        return text
    best, low, high = None, 0, max_chars
    while low <= high:  # the largest measure that fits
        measure = (low + high) // 2
        shorter = dump(_shorten(data, measure, 20))
        if len(shorter) <= max_chars:
            best, low = shorter, measure + 1
        else:
            high = measure - 1
    for depth in (4, 2, 1, 0):
        best = best or _if_fits(dump(_shorten(data, 3, depth)), max_chars)
    return best or dump(f"... {len(text)} characters of JSON left out")


def _if_fits(text, max_chars):
    return text if len(text) <= max_chars else None


def _shorten(value, measure, depth):
    """`value` with at most `measure` members in each list and object, and texts of about 8 * `measure` characters."""
    if isinstance(value, str):
        keep = 40 + 8 * measure
        return value if len(value) <= keep else f"{value[:keep]}... {len(value) - keep} more characters"
    if isinstance(value, (list, tuple)):
        if depth == 0 and value:
            return f"... a list of {len(value)}"
        kept = [_shorten(member, measure, depth - 1) for member in value[:measure]]
        return kept if len(value) <= measure else kept + [f"... {len(value) - measure} more items"]
    if isinstance(value, dict):
        if depth == 0 and value:
            return f"... an object of {len(value)} keys"
        keep = max(measure, 8)  # the keys of one record matter more than another record
        kept = {key: _shorten(member, measure, depth - 1) for key, member in list(value.items())[:keep]}
        if len(value) > keep:
            kept["..."] = f"{len(value) - keep} more keys"
        return kept
    return value
