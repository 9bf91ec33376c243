"""One execution: its names, its code, its end, and the result message."""
import atexit
import errno
import gc
import posix  # the module below os; importing os takes 2 ms of a cold start, and much code does not need it
import sys

import _ast  # imported here, because the first compile() would otherwise take 1.3 ms for it
import _io

from warder import _helpers, _modules, _site
from warder._stage import FILE, Refused, Stage, bind
from warder._values import Plain, Unanswerable, encode

_LAST = "<last expression>"  # names that code cannot write
_RETURNED = "<returned>"
_AWAIT = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_COROUTINE = 0x80  # inspect.CO_COROUTINE
_FORGOTTEN = ("coroutine", "async_generator")  # types that an answer must be awaited for
_PLAIN = frozenset(map(type, (None, True, 0, 0.0, "", [], {}, ())))  # types that are no pictures
_reserve = [bytes(1 << 20)]  # freed when memory runs out, to report the error; its pages are never touched
_ROOTS = ("/skills",)  # roots of the agent's own files, beside the workspace


def compiled(code, file=FILE):
    """The code object. If the last statement is an expression, its value is stored as _LAST, as in a notebook.

    A `return` at the top level ends the code and stores its value as _RETURNED.
    """
    tree = compile(code, file, "exec", _ast.PyCF_ONLY_AST | _AWAIT, True)
    last = tree.body[-1] if tree.body else None
    if type(last) is _ast.Expr:
        place = {"lineno": last.lineno, "col_offset": last.col_offset,
                 "end_lineno": last.end_lineno, "end_col_offset": last.end_col_offset}
        tree.body[-1] = _ast.Assign([_ast.Name(_LAST, _ast.Store(), **place)], last.value, **place)
    try:
        return compile(tree, file, "exec", _AWAIT, True)
    except SyntaxError as error:
        if error.msg != "'return' outside function":
            raise
        from warder._tree import with_return
        return with_return(tree, file, _AWAIT, (_LAST, _RETURNED))


def run_code(code, namespace):
    """Runs a code object to its end, in an event loop if it awaits at the top level."""
    answer = eval(code, namespace)
    if code.co_flags & _COROUTINE:
        import asyncio
        asyncio.run(answer)


def replay(order, namespace):
    code = compiled(order["code"])
    bind(namespace, order, code)
    run_code(code, namespace)


class Execution:
    """Runs one order to its end and reports it. Only the process that began reports: a forked child does not."""

    def __init__(self, order, channel, open_files, stage=None):
        """`stage`: made ahead of time; it is used only if it has the order's workspace."""
        if stage is None or stage.workspace != order["workspace"]:
            stage = Stage(order["workspace"])
        self._order = order
        self._stage = stage
        self._channel = channel
        self._pid = posix.getpid()
        self._open_files = open_files
        self._limit = channel.max_message
        self._message = {"type": "result"}
        self._status = 0
        self._images = None
        self._reads = None
        self._module = stage.module
        self._file = FILE
        self._given, self._names = sys.maxsize, ()  # how many names the namespace had before the code, and the code's

    def run(self):
        """Does not return."""
        try:
            self._run_main()
            self._join_threads()
            if posix.getpid() == self._pid:
                self._take_answer()  # before atexit: matplotlib closes its figures there
            atexit._run_exitfuncs()
            if posix.getpid() == self._pid:
                self._close_files()
                self._warn_of_coroutines()
        except BaseException as error:
            # The agent's signal handlers, destructors and patched builtins also run in the steps above.
            self._failed(error)
        self._leave()

    def _run_main(self):
        try:
            code = self._prepare()
        except BaseException as error:
            self._failed(error)
            return
        try:
            _helpers.pictures = self._pictures
            self._given, self._names = len(self._module.__dict__), code.co_names
            main = eval(code, self._module.__dict__)
            if code.co_flags & _COROUTINE:
                self._run_loop(self._awaited(main))
            elif self._forgotten() is not None:
                self._run_loop(self._awaited(None))
        except BaseException as error:
            self._failed(error)

    async def _awaited(self, main):
        if main is not None:
            await main
        name = self._forgotten()
        if name is not None:
            from warder._forms import finished
            namespace = self._module.__dict__
            namespace[name] = await finished(namespace.pop(name))

    def _run_loop(self, coroutine):
        import asyncio
        asyncio.run(coroutine)

    def _forgotten(self):
        """The name of the answer, if it is a coroutine, a list of them, or an async generator, which must be awaited."""
        name = self._answer_name()
        value = self._module.__dict__.get(name)
        if value is None:
            return None
        kind = type(value[0] if type(value) is list and value else value)
        return name if kind.__name__ in _FORGOTTEN and kind.__module__ == "builtins" else None

    def _answer_name(self):
        """The name of the answer in the namespace: what the code returned, its `result`, or its last expression."""
        namespace = self._module.__dict__
        if namespace.get(_RETURNED) is not None:
            return _RETURNED
        if "result" not in namespace:
            return _LAST
        # A context variable `result` is the answer only if the code has no other answer.
        given = (self._order.get("context_vars") or {}).get("result", self)
        return "result" if namespace["result"] is not given or namespace.get(_LAST) is None else _LAST

    def _prepare(self):
        """Prepares names, folders and finders, and returns the code object."""
        workspace = self._order["workspace"]
        sys.modules["__main__"] = self._module
        code = self._compile()
        self._stage.enter(self._order, code)
        self._bind_json_names(code)
        posix.chdir(workspace)
        sys.path.append(workspace)
        self._reads = self._stage.reads
        self._reads.begin(workspace)
        _modules.Watch(self._watched(), workspace)
        if "descriptor" in self._order:
            from warder import _share
            _share.load(self._order, self._module.__dict__)
            self._open_files += 1  # the mapping's own descriptor
        return code

    def _compile(self):
        """The code object. From here on the order holds the code after repairs."""
        try:
            return compiled(self._order["code"], self._file)
        except SyntaxError as error:
            from warder._repair import compile_as_meant
            meant = compile_as_meant(self._order["code"], self._file, compiled)
            if meant is None:
                raise error from None
            self._order["code"], code = meant
            return code

    def _bind_json_names(self, code):
        """Binds true, false and null as in JSON, if the code uses these names and does not define them."""
        text = self._order["code"]
        if "true" in text or "false" in text or "null" in text:
            from warder._tree import bind_json_names
            bind_json_names(text, _modules.names_of(code), self._module.__dict__)

    def _show_source(self, linecache):
        text = self._order["code"]
        linecache.cache[self._file] = (len(text), None, [line + "\n" for line in text.splitlines()], self._file)

    def _current_order(self):
        return self._order

    def _watched(self):
        def complete_site(_):
            _site.complete()

        def let_spawn(spawn):
            _site.complete()  # spawned processes take sys.path from here
            from warder._respawn import watch_spawn
            watch_spawn(spawn, self._current_order)

        return {"linecache": self._show_source, "multiprocessing.spawn": let_spawn,
                "site": complete_site, "pkgutil": complete_site,
                "matplotlib.pyplot": lambda pyplot: self._pictures().watch_pyplot(pyplot),
                "PIL.ImageShow": lambda image_show: self._pictures().watch_pil_show(image_show)}

    def _pictures(self):
        if self._images is None:
            from warder._images import Images
            self._images = Images(self._order["workspace"])
        return self._images

    @staticmethod
    def _may_be_picture(value):
        return (type(value) is bytes or "matplotlib.figure" in sys.modules or "PIL.Image" in sys.modules
                or type(value) not in _PLAIN
                and (hasattr(type(value), "_repr_png_") or hasattr(type(value), "_repr_jpeg_")))

    def _failed(self, error):
        self._status = 1
        if isinstance(error, MemoryError):
            _reserve.clear()
        if "error" in self._message:
            return  # the first error is the cause
        if isinstance(error, SystemExit):
            self._exited(error.code)
            return
        # Undoes settings of the agent's code that would prevent a report.
        sys.settrace(None)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 2000))
        message = self._message
        if isinstance(error, Refused):
            message["error"] = str(error)
            return
        try:
            from warder._trace import describe
            roots = (self._order["workspace"], posix.getcwd(), *_ROOTS)
            message["error"], message["traceback"] = describe(error, roots)
            message["error"] += self._advice(error)
        except BaseException as e:
            message["error"] = f"{type(error).__name__} (its traceback was lost: {type(e).__name__})"
        if isinstance(error, OSError) and type(error.errno) is int:
            message["errno"] = error.errno
        elif isinstance(error, MemoryError):  # numpy has its own subclass
            message["errno"] = errno.ENOMEM
        if posix.getpid() != self._pid:
            lines = message.get("traceback", "").splitlines(keepends=True)
            if lines and message["error"].startswith(lines[-1].rstrip()):
                lines.pop()
            print(*lines, message["error"], sep="", file=sys.stderr)

    def _advice(self, error):
        """The advice for an error, to append to its text."""
        if isinstance(error, MemoryError):
            return ""
        try:
            from warder import _advice
            advice = _advice.of(error, self._order["code"], self._order["workspace"])
        except Exception:  # the code has patched a function that this needs; the error is reported without advice
            return ""
        return f" ({advice})" if advice else ""

    def _exited(self, code):
        if code is None:
            code = 0
        elif not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
        self._status = self._message["exit"] = code & 0xFF

    @staticmethod
    def _join_threads():
        """Waits for threads that are not daemons, as Python does at its end. The deadline ends endless threads."""
        threading = sys.modules.get("threading")
        if threading is not None:
            threading._shutdown()

    def _take_answer(self):
        name = self._answer_name()
        value = self._module.__dict__.get(name)
        has_result = name == "result"
        if self._may_be_picture(value):
            if self._pictures().take_value(value):
                has_result, value = False, None
            self._pictures().take_rest()
        if not has_result and value is None:
            return
        converter = Plain(max(self._limit, self._order.get("max_kept", 0)))
        try:
            self._message["value"] = converter.of(value, 0)
            if converter.notes:
                converter.tell()
            if converter.as_text is not None:
                self._message["value_type"] = converter.as_text
        except Unanswerable as e:
            self._cannot_answer(str(e))
        except Exception as e:
            self._cannot_answer(f"{type(e).__name__}: {e}")

    def _cannot_answer(self, why):
        self._message.pop("value", None)
        self._message.pop("value_type", None)
        if "error" not in self._message:
            self._status = self._message["status"] = 1
            self._message["error"] = (f"the result cannot be returned: {why}; write it to a file in the workspace, "
                                      "or return a summary of it")

    def _close_files(self):
        """Completes files that the code left open, as Python does at its end. Flushes first, to see errors."""
        if open_files() <= self._open_files:
            return
        self._flush_files()
        namespace = self._module.__dict__
        for name in [name for name in namespace if name != "__builtins__"]:
            namespace[name] = None  # not deleted: destructors may still use the names
        if open_files() > self._open_files:
            gc.collect()

    def _warn_of_coroutines(self):
        """Python itself warns of a coroutine that was never awaited when it clears its modules at the end."""
        namespace = self._module.__dict__
        news = len(namespace) - self._given
        if "error" in self._message or news <= 0 and not self._names:
            return  # a look at the names that were there before would copy their pages
        for name in dict.fromkeys((*self._names, *(name for name, _ in zip(reversed(namespace), range(news))))):
            value = namespace.get(name)
            if type(value).__name__ == "coroutine":
                from warder._forms import warn_of
                warn_of(value)

    def _flush_files(self):
        for thing in gc.get_objects():
            if isinstance(thing, _io._IOBase) and not thing.closed:
                try:
                    thing.flush()
                except OSError as error:
                    self._lost(thing, error)
                except Exception:
                    pass  # flush() may be the agent's code

    def _lost(self, file, error):
        if "error" in self._message or getattr(file, "name", None) in (1, 2):
            return
        self._status = 1
        self._message["error"] = (f"{type(error).__name__}: {error}: {getattr(file, 'name', file)!r} was left open "
                                  "and could not be completed at the end")
        if type(error.errno) is int:
            self._message["errno"] = error.errno

    @staticmethod
    def _flush():
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except BaseException:
                pass  # closed or replaced by the code, or the reader is gone

    def _leave(self):
        self._flush()
        if posix.getpid() != self._pid:
            posix._exit(self._status)
        try:
            self._report()
        finally:
            try:
                self._channel.linger()
            finally:
                posix._exit(self._status)

    def _report(self):
        try:
            self._channel.send(self._encoded())
        except BaseException as error:  # the code has broken encoding, for example by `del builtins.len`
            self._status = 1
            why = self._message.get("error") or f"{type(error).__name__}: the result could not be encoded"
            self._channel.send_last(encode({"type": "result", "error": why}))

    def _encoded(self):
        message = self._message
        message["status"] = self._status
        if self._reads is not None and self._reads.bytes:
            message["read_bytes"] = self._reads.bytes
        data = encode(message)
        if len(data) > self._limit and "value" in message:
            self._keep_value()
            data = encode(message)
        for cut in ("traceback", "error"):
            if len(data) > self._limit and cut in message:
                message[cut] = message[cut][:max(0, self._limit // 8 - 64)]
                data = encode(message)
        if self._images is not None and self._images.found:
            data = self._with_images(data)
        return data

    def _keep_value(self):
        """Sends a value that is too large for the message in parts, to be stored: a text as it is, others as JSON."""
        value, most = self._message["value"], self._order.get("max_kept", 0)
        form, text = ("text", value) if type(value) is str else ("json", encode(value).decode())
        size = len(encode(value)) if form == "text" else len(text)
        if not most:
            self._cannot_answer(f"it is {size} bytes of JSON, at most {self._limit} can be sent")
            return
        step = max((self._limit - 512) // 6, 1)  # characters; each has at most 6 bytes in JSON
        try:
            for at in range(0, len(text), step):
                self._channel.call("keep_value", {"part": text[at:at + step]})
        except Exception as e:
            self._cannot_answer(f"it is {size} bytes of JSON and could not be stored: {e}")
            return
        del self._message["value"]
        self._message["kept"] = form

    def _with_images(self, data):
        import binascii
        left = self._limit - len(data) - 64
        kept = []
        for mime, image in self._images.found:
            text = binascii.b2a_base64(image, newline=False).decode()
            if len(text) + 64 <= left:
                left -= len(text) + 64
                kept.append({"mime": mime, "data": text})
        self._message["images"] = kept
        return encode(self._message)


def open_files():
    """The number of open descriptors; sys.maxsize if it cannot be found."""
    try:
        return posix.stat("/proc/self/fd").st_size or len(posix.listdir("/proc/self/fd"))  # the size: since Linux 6.2
    except OSError:
        return sys.maxsize
