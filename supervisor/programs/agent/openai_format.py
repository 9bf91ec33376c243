"""Chat Completions, as OpenAI and most other servers of models have it (vLLM, llama.cpp, Ollama, gateways)."""
from typing import Any

from .conversation import Message, ModelMessage, ShownTool, TokenUsage, UserMessage
from .failure import Failure, Kind
from .json_text import dump_json, list_member, member, number_member, text_member
from .model_format import ModelFormat, ReplyReader, error_text, parse_reply


class OpenAiReader(ReplyReader):
    def read_event(self, data: str) -> None:
        if data == "[DONE]":
            self.is_whole = True
            return
        event = parse_reply(data, "an event of the reply")
        choices = self._choices(event)
        if choices:
            self._read_message(member(choices[0], "delta"), choices[0])

    def read_body(self, text: str) -> None:
        choices = self._choices(parse_reply(text, "the reply"))
        if not choices:
            raise Failure(Kind.UNAVAILABLE, "the reply has no choices")
        self._read_message(member(choices[0], "message"), choices[0])
        self.is_whole = True

    def _choices(self, body: Any) -> list[Any]:
        if fault := error_text(body):
            raise Failure(Kind.UNAVAILABLE, f"the model's server reports: {fault}")
        usage = member(body, "usage")
        if isinstance(usage, dict):
            self._reply.usage = TokenUsage(number_member(usage, "prompt_tokens"),
                                          number_member(usage, "completion_tokens"), True)
        return list_member(body, "choices")

    def _read_message(self, message: Any, choice: Any) -> None:
        self._texts.append(text_member(message, "content"))
        for part in list_member(message, "tool_calls"):
            self._read_part(part)
        if reason := text_member(choice, "finish_reason"):  # a server may end its stream without [DONE]
            self.is_whole = True
            self._reply.is_cut = reason == "length"

    def _read_part(self, part: Any) -> None:
        """A call comes in parts: `index` says of which call. Some servers leave it out and send each call whole."""
        function, index = member(part, "function"), member(part, "index")
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            index = len(self._reply.requests)
        if index not in self._arguments:
            self._begin(index, text_member(part, "id"), text_member(function, "name"))
        self._arguments[index].append(text_member(function, "arguments"))


class OpenAiFormat(ModelFormat):
    path = "/chat/completions"
    reader = OpenAiReader

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def request(self, model: str, instructions: str, tools: list[ShownTool], messages: list[Message]) -> dict[str, Any]:
        history = [{"role": "system", "content": instructions}]
        for message in messages:
            history += _messages_of(message)
        functions = [{"type": "function", "function": {"name": tool.name, "description": tool.description,
                                                       "parameters": tool.schema}} for tool in tools]
        return {"model": model, "messages": history, "tools": functions, "stream": True,
                "stream_options": {"include_usage": True}}


def _messages_of(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, UserMessage):
        return [{"role": "user", "content": message.text}]
    if isinstance(message, ModelMessage):
        calls = [{"id": request.id, "type": "function",
                  "function": {"name": request.name, "arguments": dump_json(request.arguments_object)}}
                 for request in message.requests]
        return [{"role": "assistant", "content": message.text, **({"tool_calls": calls} if calls else {})}]
    return [{"role": "tool", "tool_call_id": answer.id,
             "content": f"Error: {answer.text}" if answer.is_error else answer.text} for answer in message.answers]
