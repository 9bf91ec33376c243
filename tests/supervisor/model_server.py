"""A server of models that plays scripts: each request gets the next reply. For the tests of `warder agent`.

A reply is a function of the request handler (what it sends is up to it), or what text(), calls() and status() make.
"""
import contextlib
import http.server
import itertools
import json
import threading

IDS = itertools.count(1)


def text(said, usage=(10, 5), **more):
    return {"text": said, "calls": [], "usage": usage, **more}


def calls(*asked, said="", usage=(10, 5), **more):
    """asked: (tool, arguments); arguments that are a text go out as they are."""
    return {"text": said, "calls": [(f"call-{next(IDS)}", name, given if isinstance(given, str) else json.dumps(given))
                                    for name, given in asked], "usage": usage, **more}


def run(code, **arguments):
    return calls(("execute_code", {"code": code, **arguments}))


def status(code, headers=(), body=b'{"error":{"message":"no"}}'):
    def send(handler):
        handler.send_response(code)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        with contextlib.suppress(OSError):  # the agent hangs up in the middle of a large body
            handler.wfile.write(body)
    return send


def openai_events(reply):
    def chunk(delta, finish=None):
        return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    yield chunk({"role": "assistant", "content": ""})
    for part in reply["text"].split(" "):
        yield chunk({"content": part + " "})
    for index, (ident, name, given) in enumerate(reply["calls"]):
        yield chunk({"tool_calls": [{"index": index, "id": ident, "type": "function",
                                     "function": {"name": name, "arguments": ""}}]})
        for at in range(0, len(given), 7):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": given[at:at + 7]}}]})
    yield chunk({}, reply.get("stop") or ("tool_calls" if reply["calls"] else "stop"))
    if reply["usage"]:
        yield {"choices": [], "usage": {"prompt_tokens": reply["usage"][0], "completion_tokens": reply["usage"][1]}}


def openai_body(reply):
    message = {"role": "assistant", "content": reply["text"] or None}
    if reply["calls"]:
        message["tool_calls"] = [{"id": ident, "type": "function", "function": {"name": name, "arguments": given}}
                                 for ident, name, given in reply["calls"]]
    return {"choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": reply["usage"][0], "completion_tokens": reply["usage"][1]}}


def anthropic_events(reply):
    yield {"type": "message_start", "message": {"role": "assistant", "usage": {"input_tokens": reply["usage"][0],
                                                                              "output_tokens": 1}}}
    index = 0
    if reply["text"]:
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        for part in reply["text"].split(" "):
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part + " "}}
        yield {"type": "content_block_stop", "index": 0}
        index = 1
    yield {"type": "ping"}
    for ident, name, given in reply["calls"]:
        yield {"type": "content_block_start", "index": index,
               "content_block": {"type": "tool_use", "id": ident, "name": name, "input": {}}}
        for at in range(0, len(given), 7):
            yield {"type": "content_block_delta", "index": index,
                   "delta": {"type": "input_json_delta", "partial_json": given[at:at + 7]}}
        yield {"type": "content_block_stop", "index": index}
        index += 1
    yield {"type": "message_delta", "delta": {"stop_reason": reply.get("stop") or "end_turn"},
           "usage": {"output_tokens": reply["usage"][1]}}
    yield {"type": "message_stop"}


def anthropic_body(reply):
    content = [{"type": "text", "text": reply["text"]}] if reply["text"] else []
    content += [{"type": "tool_use", "id": ident, "name": name, "input": json.loads(given)}
                for ident, name, given in reply["calls"]]
    return {"type": "message", "content": content, "stop_reason": "end_turn",
            "usage": {"input_tokens": reply["usage"][0], "output_tokens": reply["usage"][1]}}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        reply = self.server.model.next_reply(self.path, dict(self.headers), json.loads(body))
        if callable(reply):
            reply(self)
        elif reply.get("plain"):
            made = anthropic_body(reply) if self.path.endswith("/messages") else openai_body(reply)
            status(200, [("Content-Type", "application/json")], json.dumps(made).encode())(self)
        else:
            self.stream(reply)

    def stream(self, reply):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()  # HTTP/1.0: the end of the connection ends the stream
        anthropic = self.path.endswith("/messages")
        events = list(anthropic_events(reply) if anthropic else openai_events(reply))
        for event in events[:reply.get("cut_after")]:
            if anthropic:
                self.wfile.write(f"event: {event['type']}\n".encode())
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
            self.wfile.flush()
        if not anthropic and "cut_after" not in reply:
            self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


class ModelServer:
    def __init__(self, script=()):
        self.script = list(script)
        self.always = None  # the reply after the script
        self.requests = []  # (path, headers, body)
        self.lock = threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.model = self
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def next_reply(self, path, headers, body):
        with self.lock:
            self.requests.append((path, headers, body))
            if self.script:
                return self.script.pop(0)
        return self.always or status(400, body=b'{"error":{"message":"the script has ended"}}')

    def bodies(self):
        return [body for _, _, body in self.requests]
