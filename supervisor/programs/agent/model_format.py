"""ModelFormat: one provider's form of requests. ReplyReader: reads one reply, from a stream of server-sent events or
from a plain body. Replies come from the model's server, which is not trusted. Readers raise Failure: unavailable, the
reply is broken or reports a fault, so the request may be sent again; other, the reply has too many calls."""
from collections.abc import Callable
from typing import Any

from .conversation import Message, ModelReply, ShownTool, ToolRequest
from .failure import Failure, Kind
from .json_text import member, parse_json, text_member

MAX_REQUESTS = 64  # calls in one reply


def error_text(body: Any) -> str:
    """The sentence of {"error": {"message": ...}}; empty: absent."""
    error = member(body, "error")
    return error if isinstance(error, str) else text_member(error, "message")


class ReplyReader:
    def __init__(self, on_request: Callable[[str], None] = lambda name: None):
        """`on_request`: called with the name of a tool when the model begins to write a call of it."""
        self.is_whole = False  # the reply has ended as it should; a stream that ends earlier is broken
        self._reply = ModelReply()
        self._texts: list[str] = []
        self._arguments: dict[int, list[str]] = {}  # the parts of each call's arguments, by its index in the reply
        self._on_request = on_request

    def read_event(self, data: str) -> None:
        """The data of one event of a stream."""
        raise NotImplementedError

    def read_body(self, text: str) -> None:
        """The body of a reply without a stream."""
        raise NotImplementedError

    def take(self) -> ModelReply:
        """The reply, once it was read."""
        self._reply.text = "".join(self._texts)
        for request, parts in zip(self._reply.requests, self._arguments.values()):
            request.arguments = "".join(parts)
        return self._reply

    def _begin(self, index: int, ident: str, name: str) -> None:
        """A call begins; its index is new."""
        requests = self._reply.requests
        if len(requests) >= MAX_REQUESTS:
            raise Failure(Kind.OTHER, f"the model asks for more than {MAX_REQUESTS} calls at once")
        self._on_request(name)
        requests.append(ToolRequest(ident or f"call_{len(requests)}", name))
        self._arguments[index] = []


def parse_reply(text: str, subject: str) -> Any:
    try:
        return parse_json(text)
    except Failure:
        raise Failure(Kind.UNAVAILABLE, f"{subject} is not JSON") from None


class ModelFormat:
    path: str  # below the base URL
    reader: type[ReplyReader]

    def headers(self, key: str) -> dict[str, str]:
        """With the key, unless it is empty."""
        raise NotImplementedError

    def request(self, model: str, instructions: str, tools: list[ShownTool], messages: list[Message]) -> dict[str, Any]:
        """The body of a request for a streamed reply."""
        raise NotImplementedError
