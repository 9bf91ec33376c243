"""ModelClient: asks the model's server for the next reply. It sends a request again, a bounded number of times and
after growing pauses, when the server is busy or fails (429, 5xx), cannot be reached, or breaks its reply off. No call
of a broken reply has run, so a second reply does no harm; it costs its tokens."""
import asyncio
import calendar
import contextlib
import math
import re
import time
from collections.abc import Callable

from .anthropic_format import AnthropicFormat
from .conversation import Message, ModelReply, ShownTool
from .event_stream import EventStream
from .failure import Failure, Kind
from .http_client import HttpClient, Reply
from .json_text import dump_json, parse_json
from .model_format import error_text
from .openai_format import OpenAiFormat
from .settings import Settings, without_key
from .texts import printable

MAX_REFUSAL_BYTES = 64 << 10
MAX_SHOWN_BYTES = 400
MAX_PAUSE = 60.0  # seconds
MAX_RETRY_AFTER = 600.0  # seconds; a longer Retry-After ends the run

Reporter = Callable[[str], None]  # one line of progress for people


def retry_after(value: str) -> float | None:
    """The seconds that the field Retry-After asks for: a number, or a date. None: neither."""
    try:
        if re.fullmatch("[0-9.]+", value):
            seconds = float(value)
            return math.ceil(seconds * 1000) / 1000 if seconds <= 1e6 else None
        date = calendar.timegm(time.strptime(value, "%a, %d %b %Y %H:%M:%S GMT"))
        return float(max(0, date - int(time.time())))
    except ValueError:
        return None


def is_temporary(status: int) -> bool:
    return status in (408, 409, 425, 429) or status >= 500


class Refusal(Failure):
    """A status of the server other than that of a reply. `wait`: the pause of its Retry-After, in seconds."""

    def __init__(self, failure: Failure, wait: float | None):
        super().__init__(failure.kind, failure.text, failure.hint)
        self.wait = wait


class ModelClient:
    def __init__(self, settings: Settings, report: Reporter):
        self._settings, self._report = settings, report
        self._format = AnthropicFormat() if settings.provider == "anthropic" else OpenAiFormat()
        self._http = HttpClient(settings.url)

    def close(self) -> None:
        self._http.close()

    async def ask(self, instructions: str, tools: list[ShownTool], messages: list[Message]) -> ModelReply:
        """Raises Failure: unavailable (the retries are used up), other (refused, or the reply is too large)."""
        body = dump_json(self._format.request(self._settings.model, instructions, tools, messages)).encode()
        pause, retries = self._settings.bounds.retry_pause, 0
        while True:
            try:
                return await self._try_once(body)
            except Failure as failure:
                if failure.kind != Kind.UNAVAILABLE:
                    raise
                if retries >= self._settings.bounds.retries:
                    failure.text += f" (asked {retries + 1} times)" if retries > 0 else ""
                    raise
                wait = getattr(failure, "wait", None)
                wait = pause if wait is None else wait
                if wait > MAX_RETRY_AFTER:
                    raise Failure(failure.kind, f"{failure.text}; it asks to wait for {wait:g} s",
                                  "resume the run later") from None
                self._report(f"{failure.text}; asked again in {wait:g} s")
            await asyncio.sleep(wait)
            retries += 1
            pause = min(pause * 2, MAX_PAUSE)

    async def _try_once(self, body: bytes) -> ModelReply:
        headers = {**self._format.headers(self._settings.key), "Content-Type": "application/json",
                   "Accept": "text/event-stream, application/json"}
        try:
            reply = await self._http.post(self._format.path, headers, body)
        except Failure as failure:
            raise failure.within(f"the model's server at {self._settings.base_url}") from None
        if reply.status != 200:
            raise await self._refusal(reply)
        try:
            is_stream = reply.media_type == "text/event-stream"
            return await (self._read_stream(reply) if is_stream else self._read_plain(reply))
        except Failure as failure:
            text = without_key(printable(failure.text, MAX_SHOWN_BYTES), self._settings.key)
            raise Failure(failure.kind, text, failure.hint) from None

    async def _refusal(self, reply: Reply) -> Refusal:
        body = bytearray()
        with contextlib.suppress(Failure):  # the status says enough
            while len(body) < MAX_REFUSAL_BYTES and (part := await reply.read()):
                body += part
        text = body.decode(errors="replace")
        with contextlib.suppress(Failure):
            text = error_text(parse_json(text)) or text
        text = without_key(printable(text, MAX_SHOWN_BYTES), self._settings.key)
        kind, hint = Kind.UNAVAILABLE if is_temporary(reply.status) else Kind.OTHER, ""
        if reply.status in (401, 403):
            hint = "check the key: $LLM_API_KEY, or the systemd credential llm-api-key"
        elif reply.status == 404:
            hint = "check --base-url, --provider and --model"
        failure = Failure(kind, f"the model's server answers with status {reply.status}: {text}", hint)
        return Refusal(failure, retry_after(reply.headers.get("retry-after", "")))

    async def _read_stream(self, reply: Reply) -> ModelReply:
        reader = self._format.reader(lambda name: self._report(f"the model writes a call of {printable(name, 64)}"))
        events = EventStream()
        while True:
            try:
                part = await reply.read()
            except Failure as failure:
                if failure.kind == Kind.UNAVAILABLE and reader.is_whole:
                    break
                raise failure.within("the model's reply") from None
            if not part:
                break
            for data in events.feed(part):
                reader.read_event(data)
        if not reader.is_whole:
            raise Failure(Kind.UNAVAILABLE, "the model's reply broke off")
        return reader.take()

    async def _read_plain(self, reply: Reply) -> ModelReply:
        body = bytearray()
        try:
            while part := await reply.read():
                body += part
        except Failure as failure:
            raise failure.within("the model's reply") from None
        reader = self._format.reader()
        reader.read_body(body.decode(errors="replace"))
        return reader.take()
