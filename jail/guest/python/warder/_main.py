"""The main program of a runner: warm up, send `ready`, wait for the one order, run it."""
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
    """Main function of a runner with its own interpreter. Does not return."""
    began = perf_counter()
    gc.disable()
    channel = Channel(SOCKET)
    _modules.warm(channel.waiting)
    if not channel.waiting():
        _modules.preload(sys.argv[1:])
    own_streams()
    live(channel, began)


def live(channel, began, stage=None):
    """Runs from a warm interpreter on: its own, or a fork of a zygote's. Does not return.

    `stage`: made ahead of time by a zygote, which has rehearsed, too.
    """
    try:
        channel.own()
        if stage is None and not channel.waiting():
            from warder._rehearsal import rehearse
            rehearse(receive_order)
            stage = Stage()
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
    """Enables garbage collection; it skips the objects made so far, so a fork need not copy them."""
    gc.freeze()
    gc.enable()


def ready(began):
    return {"type": "ready", "interpreter": "Python " + sys.version.partition(" ")[0],
            "warm_ms": round((perf_counter() - began) * 1e3, 3), "cpu_us": process_time_ns() // 1000}


def receive_order(channel, receive=None):
    """The order, read by channel.receive(). Ends the process if the order was cancelled or the channel is closed.

    Raises ProtocolError for any other message.
    """
    order = (receive or channel.receive)()
    if order is None or order["type"] == "cancel":
        posix._exit(0)
    if order["type"] not in ("run", "share"):  # share: only in a session
        raise ProtocolError(f"expected 'run', got '{order['type']}'")
    order.setdefault("workspace", WORKSPACE)
    order.setdefault("max_message", 8 << 20)
    for key, kind in (("code", str), ("workspace", str), ("max_message", int)):
        if type(order.get(key)) is not kind:
            raise ProtocolError(f"'run' without a proper '{key}'")
    return order


def own_streams():
    """Makes line-buffered streams. With -u Python writes each piece of a print() alone, at four times the cost."""
    sys.argv[:] = [_execution.FILE]
    for name, fd in (("stdout", 1), ("stderr", 2)):
        stream = open(fd, "w", buffering=1, encoding="utf-8", errors=getattr(sys, name).errors, closefd=False)
        stream.mode = "w"
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    faulthandler.enable(2)  # a crash in C then prints the line of the code that caused it


def _give_up(why):
    posix.write(2, f"warder python runner: {why}\n".encode(errors="replace"))
    posix._exit(_EX_PROTOCOL)
