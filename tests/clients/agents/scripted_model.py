"""A model that follows a script: an HTTP server on 127.0.0.1. It is also the program's proxy, and refuses every host.

    with ScriptedModel(formats.Gemini) as model:
        ...start the program with model.url...
        model.requests      the body of each request that offered execute_code
        model.refused       the other hosts and paths that the program asked for

The number of results in a request says which step is next, so a program may send a request twice. A request that does
not offer execute_code (for example for the title of the conversation) is answered with a text.
"""
import http.server
import json
import threading

STEPS = {
    "pass": "pass",
    "failure": "def share(total, parts):\n    return total / parts\nshare(1, 0)",
    "request": "import requests\nrequests.get('https://example.com/')",
    "picture": "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()",
}
LAST_TEXT = "The script ends here."


class ScriptedModel(http.server.ThreadingHTTPServer):
    def __init__(self, form):
        super().__init__(("127.0.0.1", 0), Handler)
        self.form = form
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.requests = []
        self.refused = set()

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def reply(self, body):
        tool = self.form.tools(body).get("execute_code")
        if not tool:
            return self.form.say("A title")
        self.requests.append(body)
        done = len(self.form.results(body))
        if done >= len(STEPS):
            return self.form.say(LAST_TEXT)
        return self.form.call(tool, {"code": list(STEPS.values())[done]}, done + 1)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        path = self.path.partition("?")[0]
        if not path.startswith(self.server.form.path) or path.endswith((":countTokens", "/count_tokens")):
            return self.refuse()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in self.server.reply(body):
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())

    def refuse(self):
        self.server.refused.add(self.path)
        self.send_error(404)

    do_GET = do_HEAD = do_CONNECT = refuse

    def log_message(self, *_):
        pass
