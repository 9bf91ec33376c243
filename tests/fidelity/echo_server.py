"""An upstream server whose tools return what they are told, digit by digit: `echo` as an object, `echo_text` as a text
of JSON."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import exact  # noqa: E402

ANY = {"type": "object", "properties": {"value": {}}}
TOOLS = [{"name": name, "description": "Returns its value", "inputSchema": ANY} for name in ("echo", "echo_text")]


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "e", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    value = {"value": params["arguments"]["value"], "more": True}
    content = {"content": [{"type": "text", "text": exact.dumps(value)}]}
    return {**content, "structuredContent": value} if params["name"] == "echo" else content


def main():
    for line in sys.stdin:
        message = exact.loads(line)
        if "id" not in message:
            continue
        known = message["method"] in ("initialize", "tools/list", "tools/call")
        error = {"error": {"code": -32601, "message": "unknown"}}
        body = {"result": answer(message["method"], message["params"])} if known else error
        print(exact.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)


main()
