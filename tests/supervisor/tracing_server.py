#!/usr/bin/env python3
"""An MCP server whose tool tells what its caller's `_meta` was: python3 tracing_server.py handshake|modern."""
import json
import sys

MODERN = "2026-07-28"
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("meta", "fail", "secret", "ask")]


def answer(method, params):
    if method == "initialize" and sys.argv[1] == "handshake":
        return {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    if method == "server/discover" and sys.argv[1] == "modern":
        return {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": json.dumps(params.get("_meta", {}))}], "isError": params["name"] == "fail"}
    return None


for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = answer(asked["method"], asked.get("params", {}))
    if result is not None and sys.argv[1] == "modern":
        result["resultType"] = "complete"
    reply = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
