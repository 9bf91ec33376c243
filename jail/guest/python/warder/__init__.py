"""Calls from jailed code to the supervisor: `import warder; warder.call("name", argument=1)`."""

__all__ = ["CallError", "call", "call_tool", "checkpoint", "get_tool_definition", "search_tools", "session_log",
           "workflow"]

_announce = None  # set while a workflow's step runs (_workflow.py)
_channel = None  # the guest socket; None in processes that the jailed code started itself


class CallError(Exception):
    """The supervisor refused a call, or the call failed: `code`, `message`, the `rule` if any, and a `remedy` if any.

    If a tool failed: the tool's own code, message and `data`.
    """

    def __init__(self, code, message, rule=None, remedy=None, data=None):
        super().__init__(code, message, rule, remedy)
        self.code = code
        self.message = message
        self.rule = rule
        self.remedy = remedy
        self.data = data

    def __str__(self):
        text = f"{self.code}: {self.message}"
        if self.rule:
            text += f" (rule: {self.rule})"
        if self.remedy:
            text += f"; {self.remedy}"
        return text


def checkpoint(step, context="", description=None):
    """Writes into the session's log how far the work is, for the agent that continues it later."""
    described = {} if description is None else {"description": description}
    return call("checkpoint", step=step, context=context, **described)


def session_log(session=None):
    """The log of a session, this one or another: a dict with its tasks, state files and last checkpoint."""
    return call("session_log") if session is None else call("session_log", session=session)


def workflow(name):
    """A list of steps whose values survive the program: workflow("nightly").step("fetch", fetch, retries=2).

    Send the same code again after a timeout, a crash or a restart: steps that have finished are not run again.
    """
    from warder._workflow import Workflow
    return Workflow(name)


def __getattr__(name):  # the exceptions of workflows, whose module is loaded when it is needed
    if name in ("StepFailed", "StepTimeout"):
        from warder import _workflow
        return getattr(_workflow, name)
    raise AttributeError(f"module 'warder' has no attribute '{name}'", name=name)


def call(name, /, **arguments):
    """Calls `name` in the supervisor and returns its answer. Blocks; several threads may call at once."""
    if _channel is None:
        raise CallError("not_available", f"'{name}' can only be called from the process that runs the execution",
                        remedy="call it in that process, and pass the answer to this process")
    return _channel.call(name, arguments)


def search_tools(query, **filters):
    """Searches other servers' tools, and skills, by words: {"tools": [...], ...}.

    `filters`: category, server, tags, limit, detail_level ("brief", "summary", "full").
    """
    return call("search_tools", query=query, **filters)


def get_tool_definition(tool_name, **filters):
    """The full definition of one tool, with its schemas. `filters`: category, server."""
    return call("get_tool_definition", tool_name=tool_name, **filters)


def call_tool(name, input=None, /, **arguments):
    """Calls a tool of another server, "server__tool", and returns the tool's answer; a failure raises CallError.

    The arguments are keywords, or one dict: call_tool("mail__send", {"to": "ada"}).
    If an argument's name is a keyword of Python, add a _ behind it, as signatures show it: from_="x".
    """
    from keyword import iskeyword
    arguments = {key[:-1] if key[-1:] == "_" and iskeyword(key[:-1]) else key: value
                 for key, value in arguments.items()}
    if input is not None:
        if not isinstance(input, dict):
            raise TypeError(f"call_tool() takes the arguments as keywords or as one dict, not as {type(input).__name__}")
        arguments = {**input, **arguments}
    return _tool({"name": name, "arguments": arguments})


def _tool(asked):
    if _announce is not None:
        _announce()
    answer = call("call_tool", **asked)
    failure = answer.get("failure")
    if failure is None:
        return answer.get("value")
    raise CallError(failure.get("code"), failure.get("message"), data=failure.get("data"))
