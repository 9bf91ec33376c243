"""Rehearsal: an execution without its exit, ahead of time. Loads, and in a fork copies, all that an execution uses."""
import posix
import sys

from warder import _helpers
from warder._channel import Messages
from warder._execution import Execution, open_files
from warder._values import encode

_CODE = "result = [1]\nresult"
_ID = "e01e100"  # it looks like a number with an exponent, as many ids do (_channel.py)


def rehearse(receive_order):
    """Runs a rehearsal and undoes its effects. `receive_order(channel)` reads the order."""
    finders, path, main = sys.meta_path[:], sys.path[:], sys.modules["__main__"]
    reading, writing = posix.pipe()
    Messages(writing).send(encode({"type": "run", "execution": _ID, "code": _CODE, "workspace": ".", "context_vars": {}}))
    _Rehearsal(receive_order(Messages(reading)), Messages(writing)).perform()
    posix.close(reading)
    posix.close(writing)
    sys.meta_path[:], sys.path[:] = finders, path
    sys.modules["__main__"] = main
    _helpers.pictures = None  # else a copy would free all that the rehearsal made, and copy its pages for that


class _Rehearsal(Execution):
    def __init__(self, order, channel):
        channel.max_message = order["max_message"]
        super().__init__(order, channel, open_files())

    def perform(self):
        """Runs the steps that can be undone: no exit functions of modules, and no waiting for threads."""
        self._run_main()
        self._take_answer()
        self._close_files()
        self._warn_of_coroutines()
        self._flush()
        self._channel.send(self._encoded())

    def _watched(self):
        actions = super()._watched()
        return {name: actions[name] for name in ("linecache", "site", "pkgutil")}  # the others change what they watch
