"""An MCP server, for neighbour.py, with answers as long as asked for: `values`, a list of empty lists as text, short to send
and dear to read, and `text`, one long word."""
import json
import sys

COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
TOOLS = [{"name": "values", "description": "So many empty lists", "inputSchema": COUNT},
         {"name": "text", "description": "So many letters", "inputSchema": COUNT}]


def result_of(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "costly", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        count = params["arguments"]["count"]
        text = "x" * count if params["name"] == "text" else f"[{','.join(['[]'] * count)}]"
        return {"content": [{"type": "text", "text": text}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = result_of(message["method"], message.get("params", {}))
        answer = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
