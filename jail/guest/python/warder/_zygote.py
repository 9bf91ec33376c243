"""The main program of a zygote: warm up, then be copied by fork orders. Each copy is a runner in its own jail."""
import gc
import os
import sys
from time import perf_counter

import _warder_fork

from warder import _fresh_pools, _main, _modules
from warder._channel import Channel
from warder._rehearsal import rehearse
from warder._stage import Stage
from warder._values import encode

_REHEARSALS = 20  # until CPython (3.11 on) has specialised the code: in a copy, each change to code copies its page


def main():
    """Does not return, neither in the zygote nor in a copy."""
    began = perf_counter()
    gc.disable()
    _modules.warm(lambda: False)
    _modules.preload(sys.argv[1:])
    _main.own_streams()  # copies have other streams under the same numbers
    for _ in range(_REHEARSALS):
        rehearse(_main.receive_order)
    stage, channel = Stage(), Channel(_main.SOCKET)

    def live():
        began = perf_counter()
        reseed()
        _main.live(channel, began, stage)

    gc.collect()
    _fresh_pools.begin()
    _main.let_collect()
    os.write(_main.SOCKET, b"F" + encode(_main.ready(began)))
    _warder_fork.serve(live)
    os._exit(0)


def reseed():
    """Renews state that must differ between copies and has no fork hook. (`random` has a hook.)

    The hash seed cannot change in a running interpreter: copies of one zygote share it, and their addresses.
    """
    modules = sys.modules
    if "tempfile" in modules:
        modules["tempfile"]._name_sequence = None
    if "_ssl" in modules:
        modules["_ssl"].RAND_add(os.urandom(32), 32.0)
    if "uuid" in modules:
        modules["uuid"]._last_timestamp = None
    if "numpy.random" in modules:
        modules["numpy.random"].seed()
