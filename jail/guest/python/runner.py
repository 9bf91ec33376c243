"""Entry of the Python runner: `python3 -I -u /warder/python/runner.py`, the guest socket on descriptor 3.

A script given by path is compiled at every start, so this one only finds the package that holds the work: that one is
shipped with its bytecode. The folder is on sys.path for this single import; the jailed code never sees it there.
"""
import sys

_here = __file__.rpartition("/")[0] or "."
sys.path.insert(0, _here)
from warder._main import main  # noqa: E402

sys.path.remove(_here)
main()
