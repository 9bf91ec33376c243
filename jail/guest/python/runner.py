"""Entry of the Python runner: `python3 -I -S -u /warder/python/runner.py`, the guest socket on descriptor 3.

Python compiles a script given by path at every start, so this script is short: the modules of every execution are in
one file of code objects beside it (bundle/). If another Python made that file, the package is imported as usual.
"""
import gc
import sys
from _frozen_importlib_external import MAGIC_NUMBER
from marshal import loads

gc.disable()  # until the interpreter is warm: the modules loaded here are never freed
_here = __file__.rpartition("/")[0] or "."
with open(_here + "/runner.bundle", "rb", 0) as _file:
    _bundle = _file.read()
if _bundle.startswith(MAGIC_NUMBER):
    _loader, _codes = loads(memoryview(_bundle)[len(MAGIC_NUMBER):])
    exec(_loader, {"here": _here, "codes": _codes})
sys.path.insert(0, _here)  # for this single import; jailed code never sees this entry
from warder._main import main  # noqa: E402

sys.path.remove(_here)
main()
