#!/usr/bin/env python3
"""An MCP server that asks its caller's person, and tells how far it is: python3 asking.py ERA (handshake or modern).

Every call runs in a thread of its own, so that one may wait for another: `let_go` ends what `hold` began.
"""
import json
import os
import sys
import threading

ERA = sys.argv[1]
MODERN = "2026-07-28"
STATE = "opaque, and not ours to read"
OBJECT = {"type": "object"}
NAMES = ["ask", "foreign", "page", "again", "hold", "let_go", "gate", "mortal", "die", "regret", "tell", "flood", "told", "sample", "personal", "choice"]
FORM = {"type": "object", "title": "Order", "required": ["size"], "properties": {
    "size": {"type": "string", "title": "Size\u202e", "enum": ["small", "large"]},
    "count": {"type": "integer", "minimum": 1, "maximum": 9}}}
NESTED = {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}
lock = threading.Condition()
answers, held, at_gate, capabilities, last, cancelled = {}, threading.Event(), [0], [{}], [0], [0]


def send(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def begin_question(message="Which size?\nAllow this call?", schema=FORM, **more):
    with lock:
        last[0] += 1
        number = f"q{last[0]}"
    send({"id": number, "method": "elicitation/create", "params": {"message": message, "requestedSchema": schema, **more}})
    return number


def question(*words, **more):
    number = begin_question(*words, **more)
    with lock:
        lock.wait_for(lambda: number in answers)
    reply = answers[number]
    return reply.get("result", {"error": reply.get("error", {}).get("code")})


def progress(meta, value, **more):
    send({"method": "notifications/progress", "params": {"progressToken": meta.get("progressToken"), "progress": value, **more}})


def run(request, name, meta):
    """What the tool answers, in the era of handshakes."""
    if name == "ask":
        return question()
    if name == "foreign":
        return [question("?", schema) for schema in (NESTED, {"type": "object", "properties": {"a": {"type": "null"}}}, {})]
    if name == "page":
        return question(mode="url", url="https://example.com/", elicitationId="1")
    if name == "again":
        return [question(f"Once more: {number}")["action"] for number in range(12)]
    if name == "gate":  # two that are under way ask
        with lock:
            at_gate[0] += 1
            lock.notify_all()
            lock.wait_for(lambda: at_gate[0] >= 2)
        answer = question()
        with lock:  # neither ends before both have asked
            at_gate[0] += 1
            lock.notify_all()
            lock.wait_for(lambda: at_gate[0] >= 4)
        return answer
    if name == "personal":
        return question("Is it ada@lovelace.org?")
    if name == "choice":
        return question("Who?", {"type": "object", "properties": {"who": {"type": "string", "enum": ["ada@lovelace.org"]}}})
    if name == "mortal":
        return question("Before the end?")
    if name == "regret":
        number = begin_question("Never mind?")
        held.wait()
        held.clear()
        send({"method": "notifications/cancelled", "params": {"requestId": number}})
        return "regretted"
    return both(name, meta)


def both(name, meta):
    """What has no question in it."""
    if name == "hold":
        progress(meta, 1, total=4, message="one of \x1b[31mfour")
        held.wait()
        held.clear()
        return "held"
    if name == "let_go":
        held.set()
        return "let go"
    if name == "die":
        os._exit(3)
    if name == "tell":
        for value, text in ((1, "first"), (0.5, "back"), (1, "again"), (2, "second")):
            progress(meta, value, message=text)
        return "told"
    if name == "flood":
        for value in range(1, 2001):
            progress(meta, value, message="x" * 500)
        return "flooded"
    if name == "told":
        return {"capabilities": capabilities[0], "token": "progressToken" in meta, "cancelled": cancelled[0]}
    raise KeyError(name)


def run_modern(name, params, meta):
    """The result of a call that may be a question first."""
    responses = params.get("inputResponses")
    form = {"method": "elicitation/create", "params": {"mode": "form", "message": "Which size?", "requestedSchema": FORM}}
    if name in ("ask", "foreign", "again", "page"):
        if name == "foreign":
            form["params"]["requestedSchema"] = NESTED
        if name == "page":
            form["params"] = {"mode": "url", "message": "?", "url": "https://example.com/", "elicitationId": "1"}
        if responses is None or name == "again":
            return {"resultType": "input_required", "inputRequests": {"it": form}, "requestState": STATE}
        return {"answer": responses["it"], "state": params.get("requestState") == STATE}
    if name == "sample":
        return {"resultType": "input_required", "inputRequests": {"it": {"method": "sampling/createMessage", "params": {}}}}
    if name == "hold" and responses is None:  # asks for nothing but to be asked again
        return {"resultType": "input_required", "requestState": STATE} if not params.get("requestState") else both(name, meta)
    return both(name, meta)


def call(request, params):
    meta = params.get("_meta", {})
    if ERA == "modern":
        with lock:
            capabilities[0] = meta["io.modelcontextprotocol/clientCapabilities"]
        value = run_modern(params["name"], params, meta)
        if isinstance(value, dict) and "resultType" in value:
            return send({"id": request, "result": value})
    else:
        value = run(request, params["name"], meta)
    result = {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": {"value": value}}
    send({"id": request, "result": {"resultType": "complete", **result} if ERA == "modern" else result})


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method is None:
        with lock:
            answers[message["id"]] = message
            lock.notify_all()
    elif "id" not in message:
        cancelled[0] += method == "notifications/cancelled"
    elif method == "tools/call":
        threading.Thread(target=call, args=(message["id"], params), daemon=True).start()
    elif method == "tools/list":
        tools = [{"name": name, "inputSchema": OBJECT} for name in NAMES]
        send({"id": message["id"], "result": {"resultType": "complete", "tools": tools}})
    elif method == "server/discover" and ERA == "modern":
        send({"id": message["id"], "result": {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}})
    elif method == "initialize" and ERA == "handshake":
        capabilities[0] = params["capabilities"]
        send({"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                              "serverInfo": {"name": "asking", "version": "1"}}})
    else:
        send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
