"""The guest socket: whole messages over a SOCK_SEQPACKET descriptor, and calls that several threads may make at once.

A packet is one byte, `F` (final) or `M` (more follows), and at most 65,535 bytes of UTF-8 JSON. json and re are not
imported here: the C scanner and encoder that they use are enough, and a cold start saves 7 ms.
"""
import errno
import posix
import select
from _thread import allocate_lock

import _json

from warder import CallError
from warder._values import Unanswerable, encode, plain

_PART = 65535
_DOWN_LIMIT = 64 << 20
_LOST = (errno.EPIPE, errno.ECONNRESET, errno.EBADF, errno.ENOTSOCK)  # other OSErrors come from signal handlers
_CALLS_LIMIT = 200  # the supervisor ends an execution with more unanswered calls
_ORDER = 0  # the key in _calls for a thread that waits for an order; calls count from 1


class _Scanning:  # the attributes that json.JSONDecoder passes to the C scanner
    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo = {}


_scan = _json.make_scanner(_Scanning)
_FORM = bytes(48 if byte in b"0123456789." else 101 if byte in b"eE" else byte for byte in range(256))
_LONG = b"0" * 17  # a shorter decimal is held by a float
_EXPONENTS = (b"0e000", b"0e-000", b"0e+000")
_BEFORE = b":,[- \t\r\n"  # the byte before a number
_MOST_PLACES = 20  # that are looked at; a message with more is read digit by digit


class ProtocolError(Exception):
    """The supervisor sent bytes that are not a message; no answer to them is possible."""


def decode(data):
    try:
        text = data.decode()
        form = data.translate(_FORM)
        message, end = _exactly(text) if _LONG in form or b"0e" in form and _has_exponent(form) else _scan(text, 0)
    except (ValueError, StopIteration, RecursionError) as e:
        raise ProtocolError(f"a message is not JSON: {e!r}"[:200]) from None
    if end != len(text) or type(message) is not dict or type(message.get("type")) is not str:
        raise ProtocolError("a message is not one JSON object with a type")
    return message


def _has_exponent(form):
    """Whether a number may have a long exponent. Hexadecimal digits in a text, such as an id, often look like one."""
    for exponent in _EXPONENTS:
        at = -1
        for _ in range(_MOST_PLACES):
            at = form.find(exponent, at + 1)
            if at < 0:
                break
            if form[max(at - len(_LONG), 0):at].rstrip(b"0")[-1:] in _BEFORE:
                return True
        else:
            return True
    return False


def _exactly(text):
    """Reads a message that may have numbers which a float does not hold."""
    from warder._numbers import decoded
    return decoded(text)


class _Call:
    __slots__ = ("answer", "wake")

    def __init__(self):
        self.answer = None
        self.wake = allocate_lock()  # released once for its thread: with the answer, or with the turn to read
        self.wake.acquire()


class Messages:
    """Whole messages of one descriptor."""

    def __init__(self, fd):
        self._fd = fd
        self._parts = []
        self._parts_size = 0
        self._sending = allocate_lock()

    def receive(self):
        """The next whole message; None at the end of the stream. Parts already read survive an exception."""
        while True:
            packet = posix.read(self._fd, _PART + 2)
            if not packet:
                return None
            if len(packet) > _PART + 1 or packet[0] not in b"FM":
                raise ProtocolError("a packet is too long or begins with neither F nor M")
            self._parts.append(packet[1:])
            self._parts_size += len(packet) - 1
            if self._parts_size > _DOWN_LIMIT:
                raise ProtocolError("a message is longer than 64 MiB")
            if packet[0] == b"F"[0]:
                data = b"".join(self._parts)
                self._parts.clear()
                self._parts_size = 0
                message = decode(data)
                if message.get("descriptor") is True:
                    message["descriptor"] = self._receive_descriptor()
                return message

    def _receive_descriptor(self):
        """The descriptor of the packet that follows a message which announces it."""
        import _socket
        socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, self._fd)
        try:
            packet, parts, _, _ = socket.recvmsg(2, 64, _socket.MSG_CMSG_CLOEXEC)
        finally:
            socket.detach()
        if packet != b"D" or [part[:2] for part in parts] != [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS)]:
            raise ProtocolError("a message announced a descriptor that did not follow")
        return int.from_bytes(parts[0][2][:4], "little")

    def send(self, data):
        """Sends the JSON text `data` (bytes). The caller makes sure that it fits into max_message."""
        with self._sending:
            while len(data) > _PART:
                posix.write(self._fd, b"M" + data[:_PART])
                data = memoryview(data)[_PART:]
            posix.write(self._fd, b"".join((b"F", data)))


class Channel(Messages):
    """Owns the descriptor. One of the threads that wait for a reply reads for all, and then passes the turn on."""

    def __init__(self, fd):
        super().__init__(fd)
        self._state = allocate_lock()
        self._calls = {}
        self._last_id = 0
        self._reading = False
        self._early_order = None  # an order that arrived before a thread waited for one
        self.max_message = 8 << 20
        self.ended_orders = 0  # of a session

    def own(self):
        """Takes the descriptor away from programs that the code starts and from forked copies of this process."""
        posix.set_inheritable(self._fd, False)
        posix.register_at_fork(after_in_child=self._forget)

    def waiting(self):
        """True if a message can be read without waiting."""
        return bool(select.select([self._fd], [], [], 0)[0])

    def send_last(self, data):
        """Sends a short message with posix.write() only."""
        posix.write(self._fd, b"F" + data)

    def linger(self):
        """Waits until the supervisor closes its side or ends this jail: it still checks the jail after the answer."""
        while posix.read(self._fd, _PART + 2):
            pass

    def call(self, name, arguments):
        if type(name) is not str:
            raise TypeError(f"the name of a call is a str, not {type(name).__name__}")
        waiter = _Call()
        with self._state:
            if len(self._calls) >= _CALLS_LIMIT:
                raise CallError("too_many", f"{_CALLS_LIMIT} calls are waiting for their answers already",
                                remedy="make fewer calls at once")
            self._last_id += 1
            number = self._last_id
            mine = self._enlist(number, waiter)
        return _value_of(self._await(number, waiter, mine, lambda: self._ask(number, name, arguments)))

    def next_order(self):
        """The next message that is not a reply; None at the end. Other threads may call at the same time."""
        waiter = _Call()
        with self._state:
            message, self._early_order = self._early_order, None
            if message is not None:
                return message
            mine = self._enlist(_ORDER, waiter)
        message = self._await(_ORDER, waiter, mine, lambda: None)
        return None if "error" in message else message

    def abandon_calls(self):
        """Lets all waiting calls fail: the execution that made them has been answered."""
        error = {"code": "cancelled", "message": "the execution that made this call has ended"}
        self.ended_orders += 1
        with self._state:
            for number in [number for number in self._calls if number != _ORDER]:
                self._answer(self._calls.pop(number), {"error": error})

    def _enlist(self, number, waiter):
        """True if the waiter's thread must read now."""
        self._calls[number] = waiter
        mine = not self._reading
        self._reading = True
        return mine

    def _await(self, number, waiter, mine, ask):
        try:
            ask()
            while waiter.answer is None:
                if not mine:
                    waiter.wake.acquire()
                    if waiter.answer is not None:
                        break
                    mine = True
                self._read_one()
        finally:
            with self._state:
                self._calls.pop(number, None)
                # A turn passed on between the last check and here appears as a released lock without an answer.
                if mine or (waiter.answer is None and waiter.wake.acquire(False)):
                    self._hand_on()
        return waiter.answer

    def _ask(self, number, name, arguments):
        try:
            data = encode({"type": "call", "id": number, "name": name, "arguments": plain(arguments, self.max_message)})
        except Unanswerable as e:
            raise CallError("invalid", f"the arguments of '{name}' cannot be sent: {e}") from None
        if len(data) > self.max_message:
            raise CallError("too_large", f"the arguments of '{name}' are {len(data)} bytes of JSON, "
                            f"at most {self.max_message} can be sent", remedy="send a file's name instead")
        try:
            self.send(data)
        except OSError as e:
            if e.errno not in _LOST:
                raise
            raise CallError("gone", f"the supervisor cannot be reached: {e.strerror}") from None

    def _read_one(self):
        try:
            message = self.receive()
        except (ProtocolError, OSError) as e:
            if isinstance(e, OSError) and e.errno not in _LOST:
                raise
            message = None
        if message is None or message["type"] == "cancel":
            error = {"code": "gone", "message": "the supervisor has closed the channel"}
            if message is not None:
                error = {"code": "cancelled", "message": "the execution was cancelled"}
            with self._state:
                waiters, self._calls = self._calls, {}
                for waiter in waiters.values():
                    self._answer(waiter, {"error": error})
            return
        number = {"reply": message.get("id"), "run": _ORDER, "share": _ORDER}.get(message["type"])
        with self._state:
            waiter = self._calls.pop(number, None)
            if waiter is not None:
                self._answer(waiter, message)
            elif number == _ORDER and message["type"] in ("run", "share"):
                self._early_order = message

    @staticmethod
    def _answer(waiter, message):
        waiter.answer = message
        if waiter.wake.locked():
            waiter.wake.release()

    def _hand_on(self):
        for waiter in self._calls.values():
            if waiter.answer is None:
                waiter.wake.release()
                return
        self._reading = False

    def _forget(self):
        """In a forked child: closes the socket, which only the parent may use."""
        import warder
        warder._channel = None
        if self._fd >= 0:
            posix.close(self._fd)
            self._fd = -1


def _value_of(message):
    error = message.get("error")
    if error is None:
        return message.get("result")
    if type(error) is not dict:
        error = {"message": str(error)}
    raise CallError(str(error.get("code", "internal")), str(error.get("message", "the call failed")),
                    error.get("rule"), error.get("remedy"))
