"""Anthropic's Messages API."""
from typing import Any

from .conversation import Message, ModelMessage, ShownTool, ToolsMessage
from .failure import Failure, Kind
from .json_text import dump_json, member, number_member, text_member
from .model_format import ModelFormat, ReplyReader, error_text, parse_reply

MAX_REPLY_TOKENS = 16_000  # max_tokens of one reply; the API requires a number


class AnthropicReader(ReplyReader):
    def read_event(self, data: str) -> None:
        event = parse_reply(data, "an event of the reply")
        kind, index = text_member(event, "type"), number_member(event, "index")
        self._check(event)
        if kind == "message_start":
            self._read_usage(member(member(event, "message"), "usage"))
        elif kind == "content_block_start":
            self._read_block(index, member(event, "content_block"))
        elif kind == "content_block_delta":
            delta = member(event, "delta")
            if text_member(delta, "type") == "text_delta":
                self._texts.append(text_member(delta, "text"))
            elif text_member(delta, "type") == "input_json_delta" and index in self._arguments:
                self._arguments[index].append(text_member(delta, "partial_json"))
        elif kind == "message_delta":
            self._end(member(event, "delta"), member(event, "usage"))
        elif kind == "message_stop":
            self.is_whole = True

    def read_body(self, text: str) -> None:
        body = parse_reply(text, "the reply")
        self._check(body)
        content = member(body, "content")
        if not isinstance(content, list):
            raise Failure(Kind.UNAVAILABLE, "the reply has no content")
        for index, block in enumerate(content):
            self._read_block(index, block)
        self._end(body, member(body, "usage"))
        self.is_whole = True

    @staticmethod
    def _check(body: Any) -> None:
        if text_member(body, "type") == "error":
            raise Failure(Kind.UNAVAILABLE, f"the model's server reports: {error_text(body)}")

    def _read_block(self, index: int, block: Any) -> None:
        if text_member(block, "type") == "text":
            self._texts.append(text_member(block, "text"))
        if text_member(block, "type") != "tool_use":
            return
        self._begin(index, text_member(block, "id"), text_member(block, "name"))
        # In a stream, the input of the beginning is {} and the arguments follow.
        if isinstance(content := member(block, "input"), dict) and content:
            self._arguments[index].append(dump_json(content))

    def _end(self, holder: Any, usage: Any) -> None:
        self._reply.is_cut = text_member(holder, "stop_reason") == "max_tokens"
        self._read_usage(usage)

    def _read_usage(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        read = sum(number_member(usage, name) for name in
                   ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"))
        known = self._reply.usage
        known.read = read or known.read
        known.written = max(known.written, number_member(usage, "output_tokens"))
        known.is_known = True


class AnthropicFormat(ModelFormat):
    path = "/v1/messages"
    reader = AnthropicReader

    def headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}

    def request(self, model: str, instructions: str, tools: list[ShownTool], messages: list[Message]) -> dict[str, Any]:
        history = [{"role": "assistant" if isinstance(message, ModelMessage) else "user", "content": blocks}
                   for message in messages if (blocks := _blocks_of(message))]
        return {"model": model, "max_tokens": MAX_REPLY_TOKENS, "system": instructions, "messages": history,
                "tools": [{"name": tool.name, "description": tool.description, "input_schema": tool.schema}
                          for tool in tools], "stream": True}


def _blocks_of(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, ToolsMessage):
        return [{"type": "tool_result", "tool_use_id": answer.id, "content": answer.text, "is_error": answer.is_error}
                for answer in message.answers]
    blocks = [{"type": "text", "text": message.text}] if message.text else []  # no block may be empty
    if isinstance(message, ModelMessage):
        blocks += [{"type": "tool_use", "id": request.id, "name": request.name, "input": request.arguments_object}
                   for request in message.requests]
    return blocks
