"""Where a task is played: `warder agent --listen` gets it by POST /task, and a model of the tests' own makes the document's
steps. The model is shown the agent's three tools."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys

from document import steady_text
from scene import PATIENCE, Scene, cost
from tokens import compact

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "supervisor"))
from model_server import ModelServer, calls, text  # noqa: E402
from unix_http import UnixHttp  # noqa: E402

USER = "user123"


class TaskScene(Scene):
    def play_all(self):
        script = [calls((step.tool, step.arguments)) for step in self.document.steps]
        with ModelServer([*script, text(self.document.final)]) as model, self.agent(model) as path:
            answer = self.ask(path, {"userId": USER, "task": self.document.task})
        assert (answer["error"], answer["ended"], answer["result"].strip()) == (None, "done", self.document.final), answer
        self.bodies = model.bodies()
        self.answers = [message["content"].replace(answer["session"], "task")  # a random name
                        for message in self.bodies[-1]["messages"] if message["role"] == "tool"]
        assert len(self.answers) == len(self.document.steps), self.bodies[-1]
        return [{"content": [{"type": "text", "text": one}]} for one in self.answers]

    @contextlib.contextmanager
    def agent(self, model):
        path = self.folder / "tasks.sock"
        environment = {**os.environ, "WARDER_SOCKET": str(self.daemon.socket), "XDG_STATE_HOME": str(self.folder / "agent"),
                       "LLM_API_KEY": "no-key", "LLM_MODEL": "test-model", "LLM_BASE_URL": model.url}
        process = subprocess.Popen([os.environ["WARDER"], "agent", "--listen", f"unix:{path}"], stderr=subprocess.PIPE,
                                   text=True, env=environment)
        try:
            line = process.stderr.readline()
            assert "listens on" in line, line + process.stderr.read()
            yield path
        finally:
            process.kill()
            process.wait()
            process.stderr.close()

    @staticmethod
    def ask(path, task):
        with contextlib.closing(UnixHttp(path, PATIENCE)) as connection:
            connection.request("POST", "/task", json.dumps(task), {"Content-Type": "application/json"})
            reply = connection.getresponse()
            answer = json.loads(reply.read())
        assert reply.status == 200, answer
        return answer

    def cost_of_code(self, results):
        """The agent's tools and its own instructions; each call, its answer, and the last words."""
        tools = [{**tool["function"], "inputSchema": tool["function"]["parameters"]} for tool in self.bodies[0]["tools"]]
        instructions = [message["content"] for message in self.bodies[0]["messages"] if message["role"] == "system"]
        texts = [self.document.final]
        for step, answer in zip(self.document.steps, self.answers):
            texts += [compact({"name": step.tool, "arguments": step.arguments}), steady_text(answer)]
        return cost(tools, len(results), texts, instructions)
