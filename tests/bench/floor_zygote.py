"""The interpreter of the floor: `python3 -I -S floor_zygote.py FOLDER WAITING`, see floor.cc. cost.py starts it.

It has the modules loaded that Warder's zygote has, and runs a program as plainly as possible.
"""
import collections
import datetime  # noqa: F401
import decimal  # noqa: F401
import functools  # noqa: F401
import gc
import io
import itertools  # noqa: F401
import json
import math
import random  # noqa: F401
import re
import statistics
import sys
import traceback

sys.path.insert(0, sys.argv[3])  # the folder of _warder_floor
import _warder_floor  # noqa: E402

_encode = json.JSONEncoder(default=str, separators=(",", ":")).encode
_WARMING = b"import json\nx = [i * 2 for i in range(50)]\nprint(len({str(k): k for k in x}))\nresult = sum(x)\n"


def run(code):
    """The answer to a program, one line of JSON."""
    out = sys.stdout = sys.stderr = io.StringIO()
    names = {"__name__": "__main__", "json": json, "re": re, "math": math, "statistics": statistics,
             "collections": collections}
    try:
        exec(compile(code, "<jail>", "exec"), names)
        answer = {"success": True, "result": names.get("result"), "output": out.getvalue()}
    except BaseException as error:
        answer = {"success": False, "error": repr(error), "traceback": traceback.format_exc(), "output": out.getvalue()}
    return _encode(answer).encode() + b"\n"


def warm():
    run(_WARMING)


for _ in range(20):
    warm()
gc.collect()
gc.freeze()
_warder_floor.serve(sys.argv[1], int(sys.argv[2]), run, warm)
