"""The life of a runner: get warm, say so, wait for the one order, run it."""
import faulthandler
import gc
import posix
import sys
from time import perf_counter, process_time_ns

import warder
from warder import _execution, _modules
from warder._channel import Channel, ProtocolError
from warder._stage import WORKSPACE, Stage
from warder._values import encode

SOCKET = 3
_EX_PROTOCOL = 76  # sysexits.h


def main():
    """The life of a runner that has its interpreter to itself. Does not return."""
    began = perf_counter()
    gc.disable()
    channel = Channel(SOCKET)
    _modules.warm(channel.waiting)
    if not channel.waiting():
        _modules.preload(sys.argv[1:])
    own_streams()
    live(channel, began)


def live(channel, began, stage=None, is_wanted=False):
    """From a warm interpreter on, its own or a fork of a zygote's. Does not return.

    `stage`: made ahead. `is_wanted`: an execution waits, though its order may not be here yet.
    """
    try:
        channel.own()
        if not is_wanted and not channel.waiting():
            from warder._rehearsal import rehearse
            rehearse(receive_order)
            stage = stage or Stage()
        before = _execution.open_files()
        if not gc.isenabled():
            let_collect()
        channel.send(encode(ready(began)))
        order = receive_order(channel)
    except (ProtocolError, OSError) as e:
        _give_up(str(e))
    channel.max_message = order["max_message"]
    warder._channel = channel
    if order.get("session") is True:
        from warder import _session
        _session.run(order, channel, before, stage, receive_order)
    _execution.Execution(order, channel, before, stage).run()


def let_collect():
    """Nothing of ours is looked at again by a collection, or copied by one after a fork."""
    gc.freeze()
    gc.enable()


def ready(began):
    return {"type": "ready", "interpreter": "Python " + sys.version.partition(" ")[0],
            "warm_ms": round((perf_counter() - began) * 1e3, 3), "cpu_us": process_time_ns() // 1000}


def receive_order(channel, receive=None):
    """An order, by channel.receive(). Ends the process when nobody wants it any more; raises ProtocolError for anything
    else."""
    order = (receive or channel.receive)()
    if order is None or order["type"] == "cancel":
        posix._exit(0)
    if order["type"] != "run":
        raise ProtocolError(f"expected 'run', got '{order['type']}'")
    order.setdefault("workspace", WORKSPACE)
    order.setdefault("max_message", 8 << 20)
    for key, kind in (("code", str), ("workspace", str), ("max_message", int)):
        if type(order.get(key)) is not kind:
            raise ProtocolError(f"'run' without a proper '{key}'")
    return order


def own_streams():
    """-u writes every piece of a print() by itself; a line at a time is as prompt and costs a quarter."""
    sys.argv[:] = [_execution.FILE]
    for name, fd in (("stdout", 1), ("stderr", 2)):
        stream = open(fd, "w", buffering=1, encoding="utf-8", errors=getattr(sys, name).errors, closefd=False)
        stream.mode = "w"
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    faulthandler.enable(2)  # a crash in C tells the line of the code that led to it


def _give_up(why):
    posix.write(2, f"warder python runner: {why}\n".encode(errors="replace"))
    posix._exit(_EX_PROTOCOL)
