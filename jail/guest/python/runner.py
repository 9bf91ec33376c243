"""Entry of the Python runner: `python3 -I -S -u /warder/python/runner.py`, the guest socket on descriptor 3.

A script given by path is compiled at every start, so this one is short: what every execution needs is in one file of code
objects beside it (bundle/). Where another Python has made that, the package is imported as any other.
"""
import gc
import sys
from _frozen_importlib_external import MAGIC_NUMBER
from marshal import loads

gc.disable()  # until warm: what is loaded here stays
_here = __file__.rpartition("/")[0] or "."
with open(_here + "/runner.bundle", "rb", 0) as _file:
    _bundle = _file.read()
if _bundle.startswith(MAGIC_NUMBER):
    _loader, _codes = loads(memoryview(_bundle)[len(MAGIC_NUMBER):])
    exec(_loader, {"here": _here, "codes": _codes})
sys.path.insert(0, _here)  # for this single import; the jailed code never sees it there
from warder._main import main  # noqa: E402

sys.path.remove(_here)
main()
