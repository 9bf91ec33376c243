#!/usr/bin/env python3
"""An MCP server to call from jails, which can also lie, hang, flood and die: python3 upstream_server.py [ERA] [FOLDER].

ERA: handshake, modern or both (default). In FOLDER it notes what happens to it, one file an event.
"""
import json
import os
import pathlib
import sys
import threading
import time

ERA = sys.argv[1] if len(sys.argv) > 1 else "both"
NOTES = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
MODERN = "2026-07-28"
OBJECT = {"type": "object"}
TOOLS = [
    {"name": "add", "description": "Adds two numbers",
     "inputSchema": {"type": "object", "required": ["a", "b"], "additionalProperties": False,
                     "properties": {"a": {"type": "number"}, "b": {"type": "number", "maximum": 1000}}},
     "outputSchema": {"type": "object", "required": ["sum"], "properties": {"sum": {"type": "number"}}}},
    {"name": "echo", "description": "Says what it is told", "inputSchema": {
        "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
    {"name": "rows", "description": "Many rows", "inputSchema": {
        "type": "object", "properties": {"count": {"type": "integer"}, "width": {"type": "integer"}}}},
    {"name": "picture", "description": "A picture", "inputSchema": OBJECT},
    {"name": "fail", "description": "Fails as a tool", "inputSchema": OBJECT},
    {"name": "refuse", "description": "Fails as a request", "inputSchema": OBJECT},
    {"name": "environment", "description": "One variable", "inputSchema": {
        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    {"name": "note", "description": "Writes down what it is told", "inputSchema": {
        "type": "object", "properties": {"text": {"type": "string"}, "where": {"type": "string"}}}},
    {"name": "hang", "description": "Never answers", "inputSchema": OBJECT},
    {"name": "die", "description": "Ends in the middle of a call", "inputSchema": OBJECT},
    {"name": "flood", "description": "Sends what nobody asked for", "inputSchema": OBJECT},
    {"name": "lie", "description": "Answers with what is no answer", "inputSchema": OBJECT},
    {"name": "gate", "description": "Answers when so many have asked", "inputSchema": {
        "type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}},
    {"name": "progress", "description": "Tells how far it is", "inputSchema": OBJECT},
    {"name": "grow", "description": "Has one more tool from now on", "inputSchema": OBJECT},
    {"name": "odd", "description": "Answers in an odd form", "inputSchema": {
        "type": "object", "properties": {"form": {"type": "string", **({"default": float("inf")} if "ODD" in os.environ else {})}}}},
    {"name": "where", "description": "The process, and what it sees", "inputSchema": OBJECT},
]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
lock = threading.Lock()
at_gate = []


def send(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def note(event):
    if NOTES:
        (NOTES / f"{event}-{os.getpid()}-{time.monotonic_ns()}").touch()


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def run(request, name, arguments, meta):
    if name == "add":
        answer = {"sum": arguments["a"] + arguments["b"]}
        return text(json.dumps(answer), structuredContent=answer)
    if name == "echo":
        return text(arguments["text"])
    if name == "rows":
        row = "x" * arguments.get("width", 10)
        return text(json.dumps([{"id": i, "row": row} for i in range(arguments.get("count", 3))]))
    if name == "picture":
        return {"content": [{"type": "text", "text": "one pixel"},
                            {"type": "image", "mimeType": "image/png", "data": PIXEL},
                            {"type": "resource", "resource": {"uri": "note:///1", "text": "beside it"}}]}
    if name == "fail":
        return text("the printer is out of paper", isError=True, structuredContent={"paper": 0})
    if name == "environment":
        return text(os.environ.get(arguments["name"], ""))
    if name == "note":
        with open(NOTES / "told", "a") as file:
            print(json.dumps([arguments["text"], arguments["where"]]), file=file)
        return text(f"noted {arguments['text']}")
    if name == "hang":
        note("hang")
        return None
    if name == "die":
        print("a last word", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "flood":
        note("flood")
        junk = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 4000}}) + "\n"
        while True:
            sys.stdout.write(junk)
    if name == "lie":
        for other in range(request + 1, request + 50):
            send({"id": other, "result": text("not yours")})
        send({"id": "text", "result": 1})
        print("this is no message", flush=True)
        print('[{"id": 1}, 7, null]', flush=True)
        send({"id": request, "result": "a text where an object belongs"})
        return None
    if name == "odd":
        answer = {"jsonrpc": "2.0", "id": request, "result": complete(text("odd", structuredContent={"x": 1}))}
        forms = {"nan": json.dumps(answer).replace('{"x": 1}', '{"x": [NaN, -Infinity]}'),
                 "huge": json.dumps(answer).replace('{"x": 1}', '{"x": [1e400, 12345678901234567890123, -0]}'),
                 "long": json.dumps(answer).replace('{"x": 1}', f'{{"x": {"7" * 5000}}}'),
                 "lines": "{ a line of a log\n" + json.dumps(answer, indent=2),
                 "text id": json.dumps({**answer, "id": str(request)}),
                 "broken": json.dumps(answer)[:-2] + ",}}"}
        print(forms[arguments["form"]], flush=True)
        return None
    if name == "gate":
        with lock:
            at_gate.append(request)
            ready = list(at_gate) if len(at_gate) >= arguments["count"] else []
            at_gate[:] = [] if ready else at_gate
        for one in ready:
            send({"id": one, "result": complete(text(str(one)))})
        return None
    if name == "progress":
        for step in (1, 2):
            send({"method": "notifications/progress",
                  "params": {"progressToken": meta.get("progressToken"), "progress": step, "total": 2}})
        return text("done")
    if name == "grow":
        TOOLS.append({"name": "grown", "description": "Was not there before", "inputSchema": OBJECT})
        send({"method": "notifications/tools/list_changed"})
        return text("grown")
    if name == "where":
        answer = {"pid": os.getpid(), "folder": os.getcwd(), "root": sorted(os.listdir("/"))}
        try:
            pathlib.Path("mine").write_text("kept")
            answer["files"] = sorted(os.listdir("."))
        except OSError as e:
            answer["files"] = str(e)
        return text(json.dumps(answer), structuredContent=answer)
    raise KeyError(name)


def complete(result):
    return {"resultType": "complete", **result} if ERA != "handshake" else result


def answer(message):
    request, method, params = message["id"], message["method"], message.get("params", {})
    meta = params.get("_meta", {})
    if method == "server/discover" and ERA != "handshake":
        return {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
    if method == "initialize" and ERA != "modern":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "d", "version": "1"}}
    if method == "tools/list":
        first = not params.get("cursor")
        return {"tools": TOOLS[:5] if first else TOOLS[5:], **({"nextCursor": "more"} if first else {})}
    if method == "tools/call":
        if params["name"] == "refuse":
            send({"id": request, "error": {"code": -32001, "message": "not today", "data": {"again": "tomorrow"}}})
            return None
        return run(request, params["name"], params["arguments"], meta)
    send({"id": request, "error": {"code": -32601, "message": f"no method {method}"}})
    return None


note("start")
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "notifications/cancelled":
        note("cancelled")
    if "id" not in message:
        continue
    result = answer(message)
    if result is not None:
        send({"id": message["id"], "result": complete(result)})
note("end")
