"""The formats in which the four programs talk to their model. Each class, which is used without instances, has:

  tools(body)                       the offered tools of Warder: {"execute_code": the form in which a call names it}
  results(body)                     the Result of each tool call, in order, as the model gets it
  call(tool, arguments, number)     a reply that calls a tool: the data of each event
  say(text)                         a reply that ends the conversation with a text
"""
import dataclasses
import json

PREFIXES = ("mcp__warder__", "mcp_warder_", "warder_")  # of the names that the programs give to Warder's tools


@dataclasses.dataclass
class Result:
    text: str = ""  # all text parts, each in lines of its own
    images: list = dataclasses.field(default_factory=list)  # the media type of each image part

    def add(self, content):
        """Adds the parts of a content in any of the formats."""
        parts = [{"text": content}] if isinstance(content, str) else content
        self.text = "\n".join([*filter(None, [self.text]), *(part["text"] for part in parts if "text" in part)])
        for part in parts:
            if "inlineData" in part:
                self.images.append(part["inlineData"]["mimeType"])
            elif "source" in part:
                self.images.append(part["source"]["media_type"])
            elif image := part.get("image_url"):
                url = image if isinstance(image, str) else image["url"]
                self.images.append(url.removeprefix("data:").partition(";")[0])
        return self


def by_bare_name(names):
    """Warder's tools among these: {"execute_code": "mcp__warder__execute_code"}."""
    return {name[len(prefix):]: name for name in names for prefix in PREFIXES if name.startswith(prefix)}


class AnthropicMessages:
    path = "/v1/messages"

    def tools(body):
        return by_bare_name(tool["name"] for tool in body.get("tools", []))

    def results(body):
        blocks = [block for message in body["messages"] if isinstance(message["content"], list)
                  for block in message["content"]]
        return [Result().add(block["content"]) for block in blocks if block["type"] == "tool_result"]

    def call(tool, arguments, number):
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        return AnthropicMessages.message(f"msg_{number}", block, delta, "tool_use")

    def say(text):
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        return AnthropicMessages.message("msg_text", block, delta, "end_turn")

    def message(message_id, block, delta, stop_reason):
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": message_id, "type": "message", "role": "assistant", "model": "scripted", "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}
        return [{"type": "message_start", "message": message},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": stop_reason, "stop_sequence": None}, "usage": usage},
                {"type": "message_stop"}]


class OpenaiResponses:
    path = "/v1/responses"

    def tools(body):
        return {tool["name"]: {"namespace": space["name"], "name": tool["name"]} for space in body.get("tools", [])
                if space["type"] == "namespace" and space["name"] == "mcp__warder" for tool in space["tools"]}

    def results(body):
        return [Result().add(item["output"]) for item in body["input"] if item["type"] == "function_call_output"]

    def call(tool, arguments, number):
        return OpenaiResponses.response({"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}",
                                         "arguments": json.dumps(arguments), **tool})

    def say(text):
        return OpenaiResponses.response({"type": "message", "id": "msg_1", "role": "assistant",
                                         "content": [{"type": "output_text", "text": text}]})

    def response(item):
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        return [{"type": "response.created", "response": {"id": "resp_1"}},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}}]


class OpenaiChat:
    path = "/v1/chat/completions"

    def tools(body):
        return by_bare_name(tool["function"]["name"] for tool in body.get("tools", []))

    def results(body):
        found = []
        for message in body["messages"]:
            if message["role"] == "tool":
                found.append(Result().add(message["content"]))
            elif found and message["role"] == "user":  # the image of a result: a tool's message has only text
                found[-1].add(message["content"])
        return found

    def call(tool, arguments, number):
        function = {"name": tool, "arguments": json.dumps(arguments)}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        return OpenaiChat.chunks({"tool_calls": [call]}, "tool_calls")

    def say(text):
        return OpenaiChat.chunks({"content": text}, "stop")

    def chunks(delta, finish_reason):
        chunk = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        first = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}
        last = {"index": 0, "delta": {}, "finish_reason": finish_reason}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return [{**chunk, "choices": [first]}, {**chunk, "choices": [last], "usage": usage}]


class Gemini:
    path = "/v1beta/models/"

    def tools(body):
        return by_bare_name(tool["name"] for group in body.get("tools", [])
                            for tool in group.get("functionDeclarations", []))

    def results(body):
        """A result's parts are in the function's response, and behind it in the same content."""
        found = []
        for content in body["contents"]:
            is_result = False
            for part in content.get("parts", []):
                if response := part.get("functionResponse"):
                    is_result = True
                    values = response["response"]
                    text = "\n".join(values.values()) if set(values) <= {"output", "error"} else json.dumps(values)
                    found.append(Result().add(text).add(response.get("parts", [])))
                elif is_result:
                    found[-1].add([part])
        return found

    def call(tool, arguments, number):
        return Gemini.candidate({"functionCall": {"id": f"call_{number}", "name": tool, "args": arguments}})

    def say(text):
        return Gemini.candidate({"text": text})

    def candidate(part):
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return [{"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}]
