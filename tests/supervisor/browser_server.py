"""An MCP server over stdio that drives a headless Chromium, with some of the tools that Playwright's server has.

The elements of a snapshot are those of Chromium's own accessibility tree. An element's reference is the argument `target`,
as in Playwright's server of 2026. With the argument `basic` it is `ref`, as in servers before, and browser_fill_form is not
offered.
"""
import json
import sys

from browser import Browser

ROLES = {"StaticText": "text", "ListBoxOption": "option", "MenuListOption": "option", "textField": "textbox"}
LEFT_OUT = {"RootWebArea", "InlineTextBox", "MenuListPopup", "LabelText", "Legend", "none", "LineBreak", "generic", "form"}
STATES = ("checked", "disabled", "selected", "readonly", "invalid")
TYPE = """function (text) {
  const kind = this instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
  Object.getOwnPropertyDescriptor(kind.prototype, 'value').set.call(this, text);
  this.dispatchEvent(new Event('input', {bubbles: true}));
  this.dispatchEvent(new Event('change', {bubbles: true}));
}"""
SELECT = """function (...values) {
  for (const option of this.options) option.selected = values.includes(option.label);
  this.dispatchEvent(new Event('input', {bubbles: true}));
  this.dispatchEvent(new Event('change', {bubbles: true}));
}"""
CLICK = """function () {
  window.leaves = false;
  addEventListener('submit', (e) => { window.leaves = !e.defaultPrevented; }, {once: true});
  this.click();
}"""
CHECK = "function (on) { if (this.checked !== on) this.click(); }"


class ToolError(Exception):
    pass


class LoadingBrowser(Browser):
    """Counts the pages that have loaded: a document that was just begun cannot be told from one that is complete."""

    loaded = 0

    def receive(self):
        message = super().receive()
        self.loaded += message.get("method") == "Page.loadEventFired"
        return message

    def await_load(self, before):
        while self.loaded == before:
            self.receive()


def tool(name, description, required, **properties):
    return {"name": name, "description": description,
            "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": False}}


TEXT = {"type": "string"}
BASIC = sys.argv[1:] == ["basic"]
REFERENCE = "ref" if BASIC else "target"
ELEMENT = {"element": TEXT, REFERENCE: TEXT}
FIELD = {"type": "object", "properties": {**ELEMENT, "name": TEXT, "type": TEXT, "value": TEXT},
         "required": [REFERENCE, "name", "type", "value"], "additionalProperties": False}
TOOLS = [
    tool("browser_navigate", "Navigate to a URL", ["url"], url=TEXT),
    tool("browser_snapshot", "Capture accessibility snapshot of the current page", []),
    tool("browser_click", "Perform click on a web page", [REFERENCE], **ELEMENT),
    tool("browser_type", "Type text into editable element", [REFERENCE, "text"], **ELEMENT, text=TEXT),
    tool("browser_select_option", "Select an option in a dropdown", [REFERENCE, "values"], **ELEMENT,
         values={"type": "array", "items": TEXT}),
    tool("browser_fill_form", "Fill multiple form fields", ["fields"], fields={"type": "array", "items": FIELD}),
]


class Tools:
    def __init__(self, browser):
        self.browser = browser
        browser.ask_page("Accessibility.enable")

    def browser_navigate(self, url):
        before = self.browser.loaded
        try:
            answer = self.browser.ask_page("Page.navigate", url=url)
        except AssertionError as e:
            raise ToolError(f"Error: page.goto: {e}") from None
        self.browser.await_load(before)  # also of the page that says why there is none
        if "errorText" in answer:
            raise ToolError(f"Error: page.goto: {answer['errorText']} at {url}")
        return self.browser_snapshot()

    def browser_snapshot(self):
        nodes = self.browser.ask_page("Accessibility.getFullAXTree")["nodes"]
        by_id = {node["nodeId"]: node for node in nodes}
        lines = []
        self.show(by_id, nodes[0], 0, lines)
        address, title = self.browser.value("[location.href, document.title]")
        return "\n".join(["### Page state", f"- Page URL: {address}", f"- Page Title: {title}", "- Page Snapshot:", "```yaml",
                          *lines, "```"])

    def show(self, by_id, node, depth, lines):
        role = node.get("role", {}).get("value", "none")
        role = ROLES.get(role, role)
        name = node.get("name", {}).get("value", "")
        if not node.get("ignored") and role not in LEFT_OUT:
            if role == "text":
                if name.strip():
                    lines.append(f"{'  ' * depth}- text: {name}")
                return
            marks = [f"[{item['name']}]" for item in node.get("properties", [])
                     if item["name"] in STATES and item["value"].get("value") in (True, "true")]
            value = node.get("value", {}).get("value", "")
            shown = f": {json.dumps(str(value), ensure_ascii=False)}" if value != "" and role != "combobox" else ""
            head = f"{role} {json.dumps(name, ensure_ascii=False)}" if name else role
            lines.append(f"{'  ' * depth}- {' '.join([head, *marks, '[ref=e%d]' % node['backendDOMNodeId']])}{shown}")
            depth += 1
            if role in ("textbox", "spinbutton", "searchbox"):
                return
        for child in node.get("childIds", []):
            if child in by_id:
                self.show(by_id, by_id[child], depth, lines)

    def browser_click(self, element, **reference):
        before = self.browser.loaded
        self.on(reference[REFERENCE], CLICK)
        if self.browser.loaded > before or self.browser.value("window.leaves !== false"):  # not false: already the next page
            self.browser.await_load(before)
        return self.browser_snapshot()

    def browser_type(self, element, text, **reference):
        self.on(reference[REFERENCE], TYPE, text)
        return self.browser_snapshot()

    def browser_select_option(self, element, values, **reference):
        self.on(reference[REFERENCE], SELECT, *values)
        return self.browser_snapshot()

    def browser_fill_form(self, fields):
        for field in fields:
            if field["type"] in ("checkbox", "radio"):
                self.on(field[REFERENCE], CHECK, field["value"] == "true")
            elif field["type"] == "combobox":
                self.on(field[REFERENCE], SELECT, field["value"])
            else:
                self.on(field[REFERENCE], TYPE, field["value"])
        return "### Ran Playwright code"

    def on(self, ref, function, *values):
        gone = ToolError(f"Error: Ref {ref} not found in the current page snapshot. Try capturing new snapshot.")
        try:
            found = self.browser.ask_page("DOM.resolveNode", backendNodeId=int(ref.removeprefix("e")))["object"]["objectId"]
        except (AssertionError, ValueError):
            raise gone from None
        checked = f"function (...values) {{ if (!this.isConnected) return 'gone'; ({function}).apply(this, values); }}"
        answer = self.browser.ask_page("Runtime.callFunctionOn", objectId=found, functionDeclaration=checked, returnByValue=True,
                                       arguments=[{"value": value} for value in values])
        if "exceptionDetails" in answer:
            raise ToolError(f"Error: {answer['exceptionDetails'].get('exception', {}).get('description', 'the script failed')}")
        if answer["result"].get("value") == "gone":
            raise gone


def answer(tools, offered, method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "browser", "version": "1"}}
    if method == "tools/list":
        return {"tools": offered}
    if method == "tools/call" and params["name"] in [tool["name"] for tool in offered]:
        try:
            text, failed = getattr(tools(), params["name"])(**params.get("arguments", {})), False
        except ToolError as e:
            text, failed = str(e), True
        return {"content": [{"type": "text", "text": text}], **({"isError": True} if failed else {})}
    return None


def main():
    offered = [tool for tool in TOOLS if not BASIC or tool["name"] != "browser_fill_form"]
    browser, started = LoadingBrowser(), []

    def tools():  # at the first call: a list of tools needs no browser
        if not started:
            started.append(Tools(browser.__enter__()))
        return started[0]

    try:
        for line in sys.stdin:
            asked = json.loads(line)
            if "id" not in asked:
                continue
            result = answer(tools, offered, asked["method"], asked.get("params", {}))
            reply = {"result": result} if result else {"error": {"code": -32601, "message": f"no method {asked['method']}"}}
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
    finally:
        if started:
            browser.__exit__()


if __name__ == "__main__":
    main()
