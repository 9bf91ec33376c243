"""multiprocessing's spawn: its new interpreters run the main code again, so the code and its names are put in files."""
import os

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_STUB = """\
import sys
sys.path.insert(0, {folder!r})
from warder import _respawn
sys.path.remove({folder!r})
_respawn.replay(globals(), {order!r})
"""


def watch_spawn(spawn, current_order):
    """Makes multiprocessing.spawn, just loaded, start processes with current_order()'s code as main module."""
    prepare = spawn.get_preparation_data
    written = []  # the order, the file

    def get_preparation_data(name):
        order = current_order()
        if not written or written[0] is not order:
            written[:] = order, _write(order)
        return {**prepare(name), "init_main_from_path": written[1]}

    spawn.get_preparation_data = get_preparation_data


def _write(order):
    import json
    import tempfile
    folder = tempfile.mkdtemp(prefix="execution-")
    kept = os.path.join(folder, "order.json")
    with open(kept, "w", encoding="utf-8") as file:
        json.dump({key: order.get(key) for key in ("code", "context_vars", "workspace")}, file)
    stub = os.path.join(folder, "execution.py")
    with open(stub, "w", encoding="utf-8") as file:
        file.write(_STUB.format(folder=_FOLDER, order=kept))
    return stub


def replay(namespace, path):
    """In the new process: runs the execution's code, with `__name__` as multiprocessing has set it."""
    import json

    from warder import _execution, _modules
    with open(path, encoding="utf-8") as file:
        order = json.load(file)
    _modules.Watch({}, order["workspace"])
    _execution.replay(order, namespace)
