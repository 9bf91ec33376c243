"""Advice: one sentence about an error that models often meet, appended to its text. Loaded only after a failure."""
import sys

_DATA = ("numpy", "pandas", "scipy", "matplotlib", "PIL", "openpyxl", "requests", "bs4", "lxml", "yaml", "sklearn",
         "polars", "pyarrow", "sympy", "networkx", "seaborn", "statsmodels", "dateutil", "tabulate", "jinja2")
_INSTEAD = {
    "pandas": "csv, sqlite3, statistics, filter_by_field and aggregate_stats",
    "polars": "csv, sqlite3 and statistics", "numpy": "math, statistics, array and random",
    "scipy": "math and statistics", "openpyxl": "csv, zipfile and xml.etree", "xlrd": "csv, zipfile and xml.etree",
    "bs4": "html.parser and xml.etree", "lxml": "xml.etree", "yaml": "json", "toml": "tomllib",
    "dateutil": "datetime", "pytz": "zoneinfo", "matplotlib": "an SVG or a table as text",
    "seaborn": "an SVG or a table as text", "plotly": "an SVG or a table as text", "tabulate": "str.ljust and print",
    "psutil": "os, resource and shutil", "simplejson": "json", "ujson": "json", "orjson": "json", "regex": "re", "pytest": "unittest", "nose": "unittest"}
_NETWORK = ("requests", "httpx", "aiohttp", "urllib3", "boto3", "openai", "anthropic", "selenium", "playwright",
            "slack_sdk", "github", "googleapiclient", "psycopg2", "pymysql", "pymongo", "redis", "websocket",
            "websockets", "paramiko")
_BY_PROXY = ("this jail reaches only the hosts that the egress rules of its policy name, through the proxy in HTTPS_PROXY: "
             "a library that does not use the proxy reaches none")
_NO_NETWORK = ("this jail has no network; upstream tools reach other machines: "
               "warder.search_tools(words) finds them")
_SHELL = ("ls", "pwd", "cd", "cat", "grep", "echo", "pip", "pip3", "npm", "npx", "git", "curl", "wget", "node",
          "python", "python3", "mkdir", "rm", "cp", "mv", "head", "tail", "find", "sed", "awk", "wc", "sort",
          "whoami", "env", "tar", "unzip", "chmod", "touch", "export", "sudo", "apt", "apt-get", "which", "du", "df",
          "jq", "sqlite3", "bash", "sh")
_SCRIPT = ("console", "document", "window", "require", "undefined", "JSON", "Object", "process", "module",
           "callMCPTool", "fs", "utils")
_SCRIPT_WORDS = ("const ", "let ", "var ", "function ", "async function ", "import {", "export ", "console.", "});",
                 "};", "await callMCPTool", "interface ", "return {")
_USE = 'call execute_code with language="{}"'


def _network():
    import os
    return _BY_PROXY if os.environ.get("HTTPS_PROXY") == "http://127.0.0.1:3128" else _NO_NETWORK


def of(error, code, workspace):
    """The sentence, or an empty text. `code` is the code of the order."""
    if isinstance(error, SyntaxError):
        return _of_syntax(error, code)
    if isinstance(error, ImportError):
        return _of_import(error)
    if isinstance(error, NameError):
        return _of_name(error, code)
    if isinstance(error, EOFError) and "reading a line" in str(error):
        return "no person can type here: give values in context_vars"
    if isinstance(error, AttributeError):
        return _of_attribute(error)
    if isinstance(error, TypeError) and "can't be used in 'await' expression" in str(error):
        return ("leave out `await`: this value is not awaitable, and functions of servers and warder.call_tool return their "
                "value themselves")
    if isinstance(error, TypeError):
        return _of_call(error)
    if isinstance(error, OSError):
        return _of_file(error, workspace)
    if isinstance(error, RuntimeError) and "asyncio.run() cannot be called" in str(error):
        return "code here may `await` at its top level: await the coroutine itself"
    return ""


def _of_syntax(error, code):
    if not (error.filename or "<execution").startswith("<execution"):
        return ""
    lines = [line.strip() for line in code.split("\n")]
    full = [line for line in lines if line and not line.startswith(("#", "//", "```", "~~~"))]
    if _is_nested_quote(error, lines):
        return (f"inside {{}} of an f-string, Python {sys.version_info[0]}.{sys.version_info[1]} does not take the quotes that "
                "are around it: use the other kind, or put the value into a variable first")
    for line in lines:
        if line.startswith(('"""', "'''")) or line.endswith(('"""', "'''")):
            break  # the next lines may be inside a text
        if line.startswith(("```", "~~~")):
            return "leave out the fences of Markdown and the text around the program"
    for line in full:
        if line.startswith("!") or line.startswith("%%") and line[2:].split()[:1] in (["bash"], ["sh"], ["script"]):
            return f"`{line[:80]}` is a command of the shell: " + _USE.format("shell") + ", or subprocess.run()"
        if line.startswith("%"):
            return f"`{line[:80]}` is for notebooks: leave out this line"
    if any(line.startswith(_SCRIPT_WORDS) or "=>" in line or line.endswith(("{", ") {")) and "function" in line
           for line in full):
        return "this looks like JavaScript: " + _USE.format("javascript")
    if full and full[0].removeprefix("$ ").split()[0] in _SHELL or lines[:1] and lines[0].startswith("#!/bin/"):
        return "this looks like a shell command: " + _USE.format("shell")
    return ""


def _is_nested_quote(error, lines):
    """True for f"{d["a"]}", which Python takes from 3.12 on."""
    if sys.version_info >= (3, 12) or not 0 < (error.lineno or 0) <= len(lines):
        return False
    line = lines[error.lineno - 1][:1000]
    for quote in "\"'":
        for part in line.split("f" + quote)[1:]:
            opened = part.find("{")
            closed = part.find("}", opened)
            if 0 <= opened < part.find(quote) < closed:
                return True
    return False


def _line_of(error, code):
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not trace.tb_frame.f_code.co_filename.startswith("<execution"):
        return ""
    lines = code.split("\n")
    return lines[trace.tb_lineno - 1].strip() if trace.tb_lineno <= len(lines) else ""


def _of_name(error, code):
    name = error.name
    if name in ("true", "false", "null"):
        return f"in Python it is {dict(true='True', false='False', null='None')[name]}"
    import warder
    if name in warder.__all__:
        return f"it is warder.{name}, after `import warder`"
    if name == "get_ipython":
        return "this is not a notebook: leave out get_ipython(); `!` commands are for the shell, " + _USE.format("shell")
    server, _, tool = name.partition("__")
    if server and tool:
        near = _nearest_tools(server, tool)["server"]
        if near and _spelt(near).lower() == server.lower():
            return f'tools are functions of their server: from servers.{server} import {tool}; or warder.call_tool("{name}", ...)'
    line = _line_of(error, code)
    if name in _SHELL and line.split(" ")[0] == name:
        return "this looks like a shell command: " + _USE.format("shell")
    if name in _SCRIPT and (line.startswith(f"{name}.") or f"{name}(" in line or name == "undefined"):
        return "this looks like JavaScript: " + _USE.format("javascript")
    return ""


def _of_import(error):
    name = error.name or ""
    if name == "servers" or name.startswith("servers."):
        return _of_server(error, name)
    if name in getattr(sys.modules.get("skills"), "missing", ()):
        return _of_skill(name)
    if not isinstance(error, ModuleNotFoundError):
        return "packages cannot be installed here: " + _network() if "pip" in str(error) else ""
    top = name.partition(".")[0]
    if name != top and top in sys.modules or not top:
        return ""
    if top == "nest_asyncio":
        return "it is not needed: leave out nest_asyncio; code here may `await` at its top level"
    layers = _layers(top)
    if layers["layer"]:
        return (f"the package layer {layers['layer']} of this machine has it, and the policy of this tenant does not name "
                "that layer: ask the administrator to add it")
    there = _installed() + [name for name in layers["offered"] if name not in _DATA]
    known = top in _NETWORK or top in _INSTEAD or top in _DATA
    near = None if known else _nearest(top, [*sys.stdlib_module_names, *there])
    if near and near[0].lower() == top[0].lower():
        return f"did you mean {near}?"
    remedy = "it is not installed, and packages cannot be installed here"
    if top in _NETWORK:
        return f"{remedy}: {_network()}"
    if top in _INSTEAD:
        remedy += f"; use {_INSTEAD[top]}"
    return f"{remedy}; besides the standard library, {', '.join(there) if there else 'no modules'} can be imported"


def _of_skill(name):
    from warder._skills import listed
    import difflib
    names = [skill["name"] for skill in listed()]
    near = difflib.get_close_matches(name[:80], names, 3, 0.5)
    return f"the nearest skills are {', '.join(near)}" if near else f"the skills are {', '.join(names[:20])}" if names else ""


def _layers(module):
    """Which package layer has the module, and what those of this tenant have; nothing if the supervisor cannot be asked."""
    import warder
    try:
        return warder.call("layer_of", module=module, kind="python")
    except warder.CallError:
        return {"layer": None, "offered": []}


def _installed():
    from importlib.machinery import PathFinder
    return [name for name in _DATA if PathFinder.find_spec(name) is not None]


def _of_server(error, name):
    """Advice for `error`, from an import of a server's stub; `name`: of the module, servers.SERVER or longer."""
    _, _, rest = name.partition(".")
    server, _, tool = rest.partition(".")
    server = server or _quoted(str(error)).replace("servers", "")
    tool = tool or (_quoted(str(error)) if name == f"servers.{server}" and "cannot import name" in str(error) else "")
    near = _nearest_tools(server, tool)
    find = "; warder.search_tools(words) finds tools"
    if not near["servers"]:
        return "no upstream tools are known here"
    meant = _spelt(near["server"] or "")
    if meant and meant.lower() != server.lower():
        tool = _spelt(near["tools"][0]["name"]) if near["tools"] else "TOOL"
        return f"the nearest server is {meant}: from servers.{meant} import {tool}" + find
    if not meant:
        servers = [_spelt(one) for one in near["servers"]]
        return f"the servers are {', '.join(servers[:12])}{', ...' if len(servers) > 12 else ''}" + find
    return _near_in(server, near["tools"]) + find


def _near_in(server, tools):
    """Names the server's tools that are nearest to the missing one."""
    names = [_spelt(one["name"]) for one in tools]
    if not names:
        return f"help('servers.{server}') lists its tools"
    return f"the nearest tools of {server} are {', '.join(names)}: from servers.{server} import {names[0]}"


def _nearest_tools(server, tool):
    """The servers and tools with similar names, from the supervisor; empty if the supervisor cannot be asked."""
    import warder
    try:
        return warder.call("nearest_tools", server=server, tool=tool)
    except warder.CallError:
        return {"server": None, "servers": [], "tools": []}


def _spelt(name):
    """The name as stubs spell it."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)


def _of_attribute(error):
    owner, name = error.obj, error.name or ""
    module = getattr(owner, "__name__", "")
    if owner is not None and owner is sys.modules.get("servers"):
        return _of_server(error, f"servers.{name}")
    if isinstance(owner, type(sys)) and module.startswith("servers."):
        server = module.split(".")[1]
        return _near_in(server, _nearest_tools(server, name)["tools"])
    if isinstance(owner, type) and (owner.__module__, module) == ("datetime", "datetime"):
        return "`datetime` is the class here: datetime.now(); for the module, `import datetime`"
    return ""


def _of_call(error):
    """The signature, if a tool of another server was called with wrong arguments."""
    text = str(error)
    name = text.partition("(")[0]
    if "argument" not in text or not name.isidentifier():
        return ""
    for module in list(sys.modules.values()):
        function = getattr(module, "__dict__", {}).get(name)
        if getattr(module, "__name__", "").startswith("servers.") and callable(function):
            import inspect
            signature = str(inspect.signature(function)).replace(" = Ellipsis", "=...")
            return f"it is {name}{signature}"
    return ""


def _of_file(error, workspace):
    import errno
    import os
    name = error.filename if isinstance(error.filename, str) else ""
    if not name:
        return ""
    path = os.path.join(workspace, name)
    inside = path.startswith(workspace.rstrip("/") + "/")
    if isinstance(error, FileNotFoundError):
        if not inside:
            return "files of the workspace are in /workspace: list_files() lists them" if name.count("/") > 1 else ""
        try:
            near = _nearest(os.path.basename(path), os.listdir(os.path.dirname(path)))
        except OSError:
            return ""
        return f"did you mean {near!r}?" if near else ""
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) and not inside and not name.startswith("/tmp/"):
        return "only /workspace and /tmp can be written"
    return ""


def _nearest(word, words):
    import difflib
    lower = {each.lower(): each for each in words}
    near = difflib.get_close_matches(word.lower(), lower, 1, 0.7)
    return lower[near[0]] if near else None


def _quoted(text):
    return text.split("'")[1] if text.count("'") > 1 else ""
