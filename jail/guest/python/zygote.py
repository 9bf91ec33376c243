"""Entry of a Python zygote: `python3 -I -u /warder/python/zygote.py [MODULE,...]`, fork orders on descriptor 3.

Like runner.py, but this interpreter never runs code of a tenant: it warms up once and is copied for each jail.
"""
import sys

_here = __file__.rpartition("/")[0] or "."
_folders = [_here, _here.rpartition("/")[0] + "/zygote"]
sys.path[:0] = _folders
from warder._zygote import main  # noqa: E402

for _folder in _folders:
    sys.path.remove(_folder)
main()
