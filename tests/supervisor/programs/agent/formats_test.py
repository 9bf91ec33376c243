"""Requests in the forms of both providers, and their replies read from events and from plain bodies."""
import json
import unittest

import agent_modules  # noqa: F401
from agent.anthropic_format import AnthropicFormat
from agent.conversation import ModelMessage, ShownTool, TokenUsage, ToolAnswer, ToolRequest, ToolsMessage, UserMessage
from agent.event_stream import EventStream
from agent.failure import Failure, Kind
from agent.openai_format import OpenAiFormat

TOOLS = [ShownTool("execute_code", "Runs code", {"type": "object"})]
CALL = ToolRequest("c1", "execute_code", '{"code": "1"}')
BROKEN_CALL = ToolRequest("c2", "execute_code", '{"code": ')
MESSAGES = [UserMessage("Add"), ModelMessage("", [CALL, BROKEN_CALL]),
            ToolsMessage([ToolAnswer("c1", "execute_code", "2"), ToolAnswer("c2", "execute_code", "no JSON", True)]),
            ModelMessage("It is 2.", [])]


def read(form, *events):
    names = []
    reader = form.reader(names.append)
    for event in events:
        reader.read_event(event if isinstance(event, str) else json.dumps(event))
    return reader, names


def failure_of(case, form, *events):
    with case.assertRaises(Failure) as caught:
        read(form, *events)
    return caught.exception


class OpenAi(unittest.TestCase):
    form = OpenAiFormat()

    def chunk(self, delta, finish=None, **more):
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}

    def part(self, **call):
        return self.chunk({"tool_calls": [call]})

    def test_a_request_has_the_conversation_the_tools_and_asks_for_a_stream_with_usage(self):
        body = self.form.request("m", "Be brief.", TOOLS, MESSAGES)
        self.assertEqual([message["role"] for message in body["messages"]],
                         ["system", "user", "assistant", "tool", "tool", "assistant"])
        self.assertEqual(body["messages"][2]["tool_calls"][0]["function"], {"name": "execute_code", "arguments": '{"code":"1"}'})
        self.assertEqual([message["content"] for message in body["messages"][3:5]], ["2", "Error: no JSON"])
        self.assertNotIn("tool_calls", body["messages"][5])
        self.assertEqual(body["tools"][0], {"type": "function", "function": {
            "name": "execute_code", "description": "Runs code", "parameters": {"type": "object"}}})
        self.assertEqual((body["stream"], body["stream_options"]), (True, {"include_usage": True}))

    def test_broken_arguments_are_an_empty_object_in_the_history(self):
        body = self.form.request("m", "", TOOLS, MESSAGES)
        self.assertEqual(body["messages"][2]["tool_calls"][1]["function"]["arguments"], "{}")

    def test_arguments_are_read_once_and_belong_to_their_call(self):
        call, same = (ToolRequest("c1", "execute_code", '{"code": "1"}') for _ in range(2))
        self.assertIs(call.arguments_object, call.arguments_object)
        self.assertIsNot(call.arguments_object, same.arguments_object)
        self.assertEqual(call, ToolRequest("c1", "execute_code", '{"code": "1"}'))

    def test_the_key_is_a_bearer_token_and_no_key_is_no_header(self):
        self.assertEqual(self.form.headers("k"), {"Authorization": "Bearer k"})
        self.assertEqual(self.form.headers(""), {})

    def test_a_call_comes_in_parts_and_two_calls_may_be_mixed(self):
        reader, names = read(self.form, self.chunk({"content": "I "}), self.chunk({"content": "add."}),
                             self.part(index=0, id="a", function={"name": "execute_code", "arguments": '{"co'}),
                             self.part(index=1, id="b", function={"name": "search_tools", "arguments": ""}),
                             self.part(index=0, function={"arguments": 'de": "1"}'}),
                             self.part(index=1, function={"arguments": "{}"}), self.chunk({}, "tool_calls"),
                             {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}, "[DONE]")
        reply = reader.take()
        self.assertEqual(reply.text, "I add.")
        self.assertEqual(reply.requests, [ToolRequest("a", "execute_code", '{"code": "1"}'), ToolRequest("b", "search_tools", "{}")])
        self.assertEqual((reply.usage, names), (TokenUsage(7, 3, True), ["execute_code", "search_tools"]))
        self.assertTrue(reader.is_whole)

    def test_calls_without_an_index_or_an_id_are_calls_of_their_own(self):
        call = {"function": {"name": "execute_code", "arguments": "{}"}}
        reader, _ = read(self.form, self.part(**call), self.part(**call))
        self.assertEqual([request.id for request in reader.take().requests], ["call_0", "call_1"])

    def test_a_finish_reason_ends_a_stream_without_its_last_event(self):
        self.assertFalse(read(self.form, self.chunk({"content": "x"}))[0].is_whole)
        reader, _ = read(self.form, self.chunk({"content": "x"}, "stop"))
        self.assertEqual((reader.is_whole, reader.take().is_cut), (True, False))
        self.assertTrue(read(self.form, self.chunk({}, "length"))[0].take().is_cut)

    def test_events_of_any_form_are_read_as_nothing(self):
        reader, _ = read(self.form, "[]", "7", {"choices": {}}, {"choices": [None]}, {"choices": [{"delta": 1}]},
                         self.chunk({"tool_calls": "x", "content": 5}), {"usage": {"prompt_tokens": -1, "completion_tokens": "2"}})
        self.assertEqual((reader.take().text, reader.take().requests), ("", []))
        self.assertEqual(reader.take().usage, TokenUsage(0, 0, True))

    def test_a_fault_and_text_that_is_no_json_may_be_sent_again(self):
        for event, text in (({"error": {"message": "busy"}}, "reports: busy"), ({"error": "gone"}, "reports: gone"),
                            ("{", "an event of the reply is not JSON"), ('{"a": NaN}', "is not JSON")):
            failure = failure_of(self, self.form, event)
            self.assertEqual(failure.kind, Kind.UNAVAILABLE)
            self.assertIn(text, failure.text)

    def test_a_reply_has_at_most_64_calls(self):
        calls = [self.part(index=i, function={"name": "x"}) for i in range(65)]
        self.assertEqual(len(read(self.form, *calls[:64])[0].take().requests), 64)
        failure = failure_of(self, self.form, *calls)
        self.assertEqual((failure.kind, failure.text), (Kind.OTHER, "the model asks for more than 64 calls at once"))

    def test_a_plain_body(self):
        reader = self.form.reader()
        reader.read_body(json.dumps({"choices": [{"message": {"content": None, "tool_calls": [
            {"id": "a", "function": {"name": "execute_code", "arguments": "{}"}}]}, "finish_reason": "length"}]}))
        reply = reader.take()
        self.assertEqual((reply.text, reply.requests[0].id, reply.is_cut), ("", "a", True))
        self.assertFalse(reply.usage.is_known)
        with self.assertRaisesRegex(Failure, "the reply has no choices"):
            self.form.reader().read_body("{}")


class Anthropic(unittest.TestCase):
    form = AnthropicFormat()

    def test_a_request_has_blocks_and_no_empty_text(self):
        body = self.form.request("m", "Be brief.", TOOLS, MESSAGES)
        self.assertEqual([message["role"] for message in body["messages"]], ["user", "assistant", "user", "assistant"])
        self.assertEqual(body["messages"][1]["content"],
                         [{"type": "tool_use", "id": "c1", "name": "execute_code", "input": {"code": "1"}},
                          {"type": "tool_use", "id": "c2", "name": "execute_code", "input": {}}])
        self.assertEqual([block["is_error"] for block in body["messages"][2]["content"]], [False, True])
        self.assertEqual((body["system"], body["max_tokens"], body["stream"]), ("Be brief.", 16000, True))
        self.assertEqual(body["tools"][0]["input_schema"], {"type": "object"})

    def test_a_message_without_text_and_calls_is_left_out(self):
        self.assertEqual(self.form.request("m", "", [], [ModelMessage("", [])])["messages"], [])

    def test_the_key_has_its_header(self):
        self.assertEqual(self.form.headers("k"), {"anthropic-version": "2023-06-01", "x-api-key": "k"})
        self.assertNotIn("x-api-key", self.form.headers(""))

    def test_text_calls_and_usage_of_a_stream(self):
        reader, names = read(
            self.form, {"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "I "}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "add."}}, {"type": "ping"},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "a", "name": "execute_code", "input": {}}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"code"'}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ': "1"}'}},
            {"type": "content_block_delta", "index": 9, "delta": {"type": "input_json_delta", "partial_json": "lost"}},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 8}}, {"type": "message_stop"})
        reply = reader.take()
        self.assertEqual((reply.text, reply.requests), ("I add.", [ToolRequest("a", "execute_code", '{"code": "1"}')]))
        self.assertEqual((reply.usage, names, reader.is_whole), (TokenUsage(9, 8, True), ["execute_code"], True))

    def test_a_reply_that_reached_its_bound_is_cut(self):
        reader, _ = read(self.form, {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}})
        self.assertTrue(reader.take().is_cut)
        self.assertFalse(reader.is_whole)

    def test_a_fault_may_be_sent_again(self):
        failure = failure_of(self, self.form, {"type": "error", "error": {"message": "Overloaded"}})
        self.assertEqual((failure.kind, failure.text), (Kind.UNAVAILABLE, "the model's server reports: Overloaded"))

    def test_a_plain_body(self):
        reader = self.form.reader()
        reader.read_body(json.dumps({"content": [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "a", "name": "t", "input": {"b": 1}}],
                                     "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2}}))
        self.assertEqual(reader.take().requests, [ToolRequest("a", "t", '{"b":1}')])
        with self.assertRaisesRegex(Failure, "the reply has no content"):
            self.form.reader().read_body('{"content": "x"}')


class Events(unittest.TestCase):
    STREAM = b"\xef\xbb\xbf: noise\nevent: a\ndata: one\ndata:two\r\n\r\ndata: three\r\rid: 1\n\ndata: \xff\n\nretry: 1\n\ndata: cut"

    def test_events_are_the_same_in_whatever_parts_they_come(self):
        expected = ["one\ntwo", "three", "\ufffd"]
        self.assertEqual(EventStream().feed(self.STREAM), expected)
        for size in (1, 2, 3, 7):
            events = EventStream()
            parts = [self.STREAM[at:at + size] for at in range(0, len(self.STREAM), size)]
            self.assertEqual([event for part in parts for event in events.feed(part)], expected)

    def test_an_event_is_bounded_by_its_lines_and_by_one_line(self):
        for part in (b"data: " + b"x" * 120, b"data: 1234567\n" * 20, b"data:\n" * 101):
            with self.assertRaisesRegex(Failure, "an event of the reply is larger than 100 bytes"):
                EventStream(100).feed(part)
        self.assertEqual(len(EventStream(100).feed(b"data: 1234567\n\n" * 50)), 50)
        events = EventStream(100)
        self.assertEqual(sum(len(events.feed(b"data: 1234567\n\n")) for _ in range(50)), 50)


if __name__ == "__main__":
    unittest.main()
