"""Workflows: the supervisor stores the values of steps, so the same program, sent again, skips finished steps.

Loaded when a program first calls warder.workflow().
"""
import json
import signal
import sys
import time
from _thread import allocate_lock

import warder
from warder import CallError, call
from warder._step_inputs import given, inputs_of
from warder._values import encode, plain

_MOST_VALUE = 1 << 20  # bytes of a value as JSON
_MOST_SHOWN = 100  # characters of a value in a note
_MOST_PART = 100_000  # characters of a value in one message, which is JSON again: at most six times as long
_MOST_PAUSE = 3600  # seconds between two attempts


class StepFailed(Exception):
    """All attempts of a step failed. __cause__ is the exception of the last attempt, if it was made in this run."""


class StepTimeout(Exception):
    """An attempt of a step took longer than its timeout."""


class Workflow:
    """The steps of one program, in their order. `key`: the idempotency key of the running step, or None."""

    def __init__(self, name):
        if type(name) is not str:
            raise TypeError(f"the name of a workflow is a str, not {type(name).__name__}")
        self.name = name
        self.key = None
        self._next = 0  # the position of the next step
        self._recorded = 0  # steps that earlier runs have recorded
        self._order = None  # of a session: the one in which the supervisor was asked; each order holds the workflow anew
        self._run = None
        self._inputs = {}  # of the running step, as the supervisor's calls take them
        self._announcing = allocate_lock()

    def step(self, name, fn, retries=0, backoff=1.0, timeout=None, inputs=None):
        """Returns fn()'s value, from the record of an earlier run if this step has finished in it.

        A recorded step whose function reads other values now is refused. `inputs`: the values to compare, by name; if
        it is left out, those that fn reads.

        A failed attempt is followed by up to `retries` others, after `backoff` seconds, then twice as long each time.
        An attempt has at most `timeout` seconds. If the program is ended in a step, that step runs again in the next
        run: what it does should be safe to do twice. The value is kept as JSON: a tuple comes back as a list, a date as
        its text, as in an answer, and a note says so.
        """
        _check(name, fn, retries, backoff, timeout)
        if self.key is not None:
            raise CallError("invalid", f"step '{name}' of workflow '{self.name}' cannot begin: another step has not ended",
                            remedy="steps run one after another: end the one before first; inside a step, work may run "
                            "in parallel")
        texts, digest = inputs_of(fn) if inputs is None else given(inputs)
        self._inputs = {"inputs": texts, "digest": digest} if texts else {}
        order = getattr(warder._channel, "ended_orders", 0)
        if self._order != order or self._next < self._recorded:
            start = self._begin(name)
            self._recorded, self._run, self._order = start["recorded"], start["run"], order
            if start["state"] == "finished":
                self._next += 1
                return json.loads(start["value"])
            if start["state"] == "failed":
                self._next += 1
                raise StepFailed(start["message"])
            self._announced = True
        else:
            self._announced = False  # a new step: the supervisor learns of it at its end, or when it calls a tool
        self._step = name
        self.key = f"{self._run}-{self._next}" + (f"-{digest}" if digest else "")
        warder._announce = self._announce
        try:
            text, failure, attempts = self._attempts(name, fn, retries, backoff, timeout)
            self._end(attempts, {"value": text} if failure is None else {"failure": _described(failure)})
        finally:
            self.key = warder._announce = None
        self._next += 1
        if failure is None:
            return json.loads(text)
        if not isinstance(failure, Exception):  # the program ends
            raise failure
        raise StepFailed(f"step '{name}' failed after {attempts} attempt{'s' * (attempts > 1)}: "
                         f"{_described(failure)}") from failure

    def _attempts(self, name, fn, retries, backoff, timeout):
        for attempt in range(1, retries + 2):
            try:
                return _encoded(name, _limited(name, fn, timeout)), None, attempt
            except Exception as e:
                failure = e
                if isinstance(e, _NotJson) or attempt > retries:
                    break
            except BaseException as e:
                return None, e, attempt
            time.sleep(min(backoff * 2 ** (attempt - 1), _MOST_PAUSE))
            if self._announced:
                call("step_retry", workflow=self.name)
        return None, failure, attempt

    def _begin(self, name):
        return call("step_begin", workflow=self.name, step=name, position=self._next, **self._inputs)

    def _announce(self):
        """Before the step's call of a tool, which gets a key from the supervisor."""
        with self._announcing:
            if not self._announced:
                self._begin(self._step)
                self._announced = True

    def _end(self, attempts, ending):
        try:
            rest = ending.get("value", "")
            if len(rest) > _MOST_PART:
                self._announce()
            while len(rest) > _MOST_PART:
                call("step_value", workflow=self.name, part=rest[:_MOST_PART])
                rest = rest[_MOST_PART:]
            if "value" in ending:
                ending = {"value": rest}
            call("step_end", workflow=self.name, step=self._step, position=self._next, attempts=attempts,
                 **self._inputs, **ending)
        except CallError as e:
            if "value" not in ending:
                return  # the failure itself is told
            e.message = f"the step has run, but its value was not kept, so it runs again next time: {e.message}"
            e.args = (e.code, e.message, e.rule, e.remedy)
            raise


class _NotJson(TypeError):
    pass


def _check(name, fn, retries, backoff, timeout):
    if type(name) is not str:
        raise TypeError(f"the name of a step is a str, not {type(name).__name__}")
    if not callable(fn):
        raise TypeError(f"step '{name}': give a function that is called without arguments, for example "
                        f"lambda: work(x); not {type(fn).__name__}")
    if type(retries) is not int or not 0 <= retries <= 1000:
        raise ValueError(f"step '{name}': retries is a number of 0 to 1000")
    if type(backoff) not in (int, float) or not 0 <= backoff <= _MOST_PAUSE:
        raise ValueError(f"step '{name}': backoff is a number of seconds, 0 to {_MOST_PAUSE}")
    if timeout is not None and (type(timeout) not in (int, float) or not 0 < timeout <= 86400):
        raise ValueError(f"step '{name}': timeout is a number of seconds, more than 0, at most 86400")


def _limited(name, fn, timeout):
    """fn(), ended by StepTimeout when its time is over."""
    if timeout is None:
        return fn()

    def end(*_):
        raise StepTimeout(f"step '{name}' took longer than {timeout:g} seconds")

    try:
        before = signal.signal(signal.SIGALRM, end)
    except ValueError:
        raise ValueError(f"step '{name}': a timeout works in the main thread only") from None
    signal.setitimer(signal.ITIMER_REAL, timeout)
    try:
        return fn()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _encoded(name, value):
    why = None
    if hasattr(value, "__await__"):
        value.close() if hasattr(value, "close") else None
        why = "it must be awaited; give a function that returns when its work is done"
    else:
        try:
            text = _as_json(name, value)
        except Exception as e:  # also what a method of the agent's classes raised
            why = str(e) or type(e).__name__
    if why is None:
        size = len(text.encode("utf-8", "surrogatepass"))
        if size <= _MOST_VALUE:
            return text.encode("utf-8", "replace").decode()
        why = f"it has {size} bytes as JSON, {_MOST_VALUE} are allowed; write it to a file and return the file's name"
    raise _NotJson(f"step '{name}' has run, but its value cannot be kept: {why}") from None


def _as_json(name, value):
    """The value as an answer would have it. Tells the agent if the value comes back from the step in another form."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        if bool(json.loads(text) == value):
            return text
    except Exception:  # no JSON; or the equality of the agent's classes failed
        pass
    text = encode(plain(value, 2 * _MOST_VALUE)).decode()
    shown = text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."
    print(f"warder: step '{name}' returns its value in the form that JSON has for it: {shown}", file=sys.stderr)
    return text


def _described(failure):
    text = str(failure)
    if isinstance(failure, _NotJson):
        return text
    return f"{type(failure).__name__}: {text}" if text else type(failure).__name__

