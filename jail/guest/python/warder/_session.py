"""A session: order after order in one interpreter. Variables, threads and open files stay; each order gets its answer.

Steps that end an execution for good are left out: atexit, waiting for threads, clearing names. Open files are flushed
after each order, so that other processes see the written bytes.
"""
import posix
import sys

import _ast

from warder import _execution
from warder._channel import ProtocolError
from warder._stage import bind_context, bind_trace, tell_unreachable

_EX_PROTOCOL = 76  # sysexits.h
_NONE = object()


def run(order, channel, open_files, stage, receive_order):
    """Does not return. Ends when the supervisor closes its side, or ends the jail."""
    shared = _Shared(stage)
    while True:
        if order["type"] == "share":
            from warder import _share
            _share.answer(order, channel, shared.stage.module, shared.class_sources)
        else:
            _Call(order, channel, open_files, shared).perform()
        order = None
        while order is None:
            try:
                order = receive_order(channel, channel.next_order)
            except ProtocolError:
                posix._exit(_EX_PROTOCOL)
            except Exception:
                pass  # raised by a signal handler that the code left; the order has not arrived yet


class _Shared:
    """The state that the orders of a session share."""

    def __init__(self, stage):
        self.stage = stage
        self.orders = 0
        self.order = None  # the current one
        self.is_prepared = False
        self.class_sources = []  # codes with classes, for the branches of a fan-out
        self.sources = {}  # by file: code of orders that ran before linecache was loaded
        self.images = None
        self.reads = None
        self.loop = None  # of asyncio
        self.loop_files = 0  # descriptors of the loop
        self.changed = None  # modules of the workspace, see _changed.py

    def run_loop(self, coroutine):
        """Runs a coroutine in the session's loop, so that tasks, locks and connections live in the next order, too."""
        import asyncio
        if self.loop is None or self.loop.is_closed():
            before = _execution.open_files()
            self.loop = asyncio.new_event_loop()
            self.loop_files = _execution.open_files() - before
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(coroutine)


class _Call(_execution.Execution):
    """One order of a session."""

    def __init__(self, order, channel, open_files, shared):
        channel.max_message = order["max_message"]
        super().__init__(order, channel, open_files, shared.stage)
        shared.stage = self._stage
        shared.orders += 1
        shared.order = order
        self._shared = shared
        if shared.orders > 1:
            self._file = f"<execution {shared.orders}>"
        self._result_before = _NONE
        self._sets_result = False
        if shared.images is not None:
            shared.images.forget()
        if shared.reads is not None:
            self._reads = shared.reads
            self._reads.bytes = 0
        if not _execution._reserve:
            _execution._reserve.append(bytes(1 << 20))

    def perform(self):
        """Runs the order and reports. In a forked child of the order's process: exits instead."""
        try:
            self._run_main()
            if posix.getpid() == self._pid:
                self._take_answer()
                self._shared.changed.tell_old(self._module.__dict__)
                if _execution.open_files() > self._open_files + self._shared.loop_files:
                    self._flush_files()
        except BaseException as error:
            self._failed(error)
        self._flush()
        if posix.getpid() != self._pid:
            posix._exit(self._status)
        self._forget_mapped_pages()
        self._module.__dict__.pop(_execution._LAST, None)
        self._module.__dict__.pop(_execution._RETURNED, None)
        self._images = self._shared.images
        self._shared.reads = self._reads
        # Called before the answer: else a thread that waits for a reply could read the next order. Called again after
        # it, for calls made meanwhile.
        self._channel.abandon_calls()
        self._report()
        self._channel.abandon_calls()

    def _forget_mapped_pages(self):
        if "mmap" not in sys.modules:
            return
        try:
            from warder._mappings import forget_pages
            forget_pages(self._order["workspace"])
        except BaseException:
            pass  # the code has broken the interpreter; the next order may then miss a change

    def _prepare(self):
        shared, order, namespace = self._shared, self._order, self._module.__dict__
        shared.sources[self._file] = order["code"]
        if "class " in order["code"]:
            shared.class_sources.append(order["code"])
        if "linecache" in sys.modules:
            self._show_source(sys.modules["linecache"])
        if not shared.is_prepared:
            from warder._changed import Changed
            shared.changed = Changed(order["workspace"])
            code = super()._prepare()
            shared.is_prepared = True
            return code
        shared.changed.forget()
        code = self._compile()
        self._sets_result = _sets_result(order["code"])
        tell_unreachable(bind_context(namespace, order))
        self._result_before = namespace.get("result", _NONE)
        self._bind_json_names(code)
        bind_trace(order.get("traceparent"))
        return code

    def _answer_name(self):
        """`result` only if this order has set it; the value of an earlier order is a normal variable.

        Code that ran to its end has run every unconditional assignment. Other assignments show by a changed value.
        """
        namespace = self._module.__dict__
        if namespace.get(_execution._RETURNED) is not None:
            return _execution._RETURNED
        value = namespace.get("result", _NONE)
        ran = "error" not in self._message and "exit" not in self._message
        is_set = value is not _NONE and (value is not self._result_before or ran and self._sets_result)
        return "result" if is_set else _execution._LAST

    def _show_source(self, linecache):
        for file, text in self._shared.sources.items():
            linecache.cache[file] = (len(text), None, [line + "\n" for line in text.splitlines()], file)
        self._shared.sources.clear()

    def _current_order(self):
        return self._shared.order

    def _run_loop(self, coroutine):
        self._shared.run_loop(coroutine)

    def _pictures(self):
        if self._shared.images is None:
            self._shared.images = super()._pictures()
        return self._shared.images


def _sets_result(code):
    """True if a top-level statement of the code assigns to `result`."""
    if "result" not in code:
        return False
    tree = compile(code, _execution.FILE, "exec", _ast.PyCF_ONLY_AST | _execution._AWAIT, True)
    for statement in tree.body:
        if isinstance(statement, _ast.Assign):
            targets = list(statement.targets)
        elif isinstance(statement, _ast.AugAssign) or isinstance(statement, _ast.AnnAssign) and statement.value:
            targets = [statement.target]
        else:
            continue
        while targets:
            target = targets.pop()
            if isinstance(target, (_ast.Tuple, _ast.List)):
                targets += target.elts
            elif isinstance(target, _ast.Starred):
                targets.append(target.value)
            elif isinstance(target, _ast.Name) and target.id == "result":
                return True
    return False
