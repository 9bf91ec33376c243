"""A copy of the shipped policies for a daemon that is measured, with other limits in the default policy."""
import json
import pathlib
import shutil

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


def merged(old, new):
    """The object `old` with the members of `new`; an object in an object is merged, too."""
    return {**old, **{key: merged(old.get(key, {}), value) if isinstance(value, dict) else value for key, value in new.items()}}


def policies_in(folder, **changes):
    """Writes the copy to folder/policies, readable for the daemon's user, and returns that path. `changes` are merged
    into the default policy."""
    policies = pathlib.Path(folder) / "policies"
    shutil.copytree(TOP / "policies", policies)
    policy = json.loads((policies / "default.json").read_text())
    (policies / "default.json").write_text(json.dumps(merged(policy, changes)))
    for path in [pathlib.Path(folder), policies, *policies.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return policies
