"""Fills the form of a page by the tools of a browser's MCP server, as Playwright's has them, and answers with the page's text."""
import json
import re

import warder

_LINE = re.compile(r"( *)- (.*)")
_NODE = re.compile(r"([a-z]+)(?: (\"(?:\\.|[^\"\\])*\"|/.*/))?((?: \[[^\]]*\])*)(?::(?: (.*))?)?")
_REF = re.compile(r"\[ref=([^\]\s]+)\]")
_TEXTS = ("textbox", "searchbox", "spinbutton")
_CHOICES = ("combobox", "listbox")
_INPUTS = (*_TEXTS, *_CHOICES, "checkbox", "switch", "radio", "slider")
_GROUPS = ("radiogroup", "group")
_SAYS = ("heading", "paragraph", "alert", "status", "text", "listitem", "cell", "strong", "generic")
_MOST_SAID = 4000  # characters of the page's text in the answer
_ROUNDS = 3  # how often the page may change under the fields before the skill gives up


class FormError(ValueError):
    """The form was not filled as asked, and was not submitted. The text names the cause and the fields that were filled."""


def fill_form(url, fields, submit=None, server="browser"):
    """{url, title, text, filled, submitted, alerts}. `fields`: label: value. `submit`: the name of a button, or True."""
    mistakes = _mistakes(url, fields, submit, server)
    if mistakes:
        raise FormError("the page was not opened: " + "; ".join(mistakes))
    browser = _Browser(server)
    browser.call("no field was filled", "browser_navigate", url=url)
    form = _Form(browser, fields, submit)
    form.check()
    form.fill()
    if submit is not None:
        form.submit()
    page = browser.page("the form was submitted" if submit is not None else "the fields were filled")
    return {"url": page.url, "title": page.title, "text": page.said(), "filled": list(fields),
            "submitted": submit is not None, "alerts": page.alerts()}


def _mistakes(url, fields, submit, server):
    found = []
    if not isinstance(url, str) or not _is_address(url):
        found.append(f"url: {url!r} is no http or https address")
    if not isinstance(server, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,48}", server):
        found.append(f"server: {server!r} is no name of a server")
    if not isinstance(fields, dict) or not fields:
        return [*found, "fields: give an object with a value for each label"]
    for label, value in fields.items():
        if not isinstance(label, str) or not label.strip():
            found.append(f"fields: {label!r} is no label")
        elif not isinstance(value, (str, bool, int, float)) and not (
                isinstance(value, list) and value and all(isinstance(one, str) for one in value)):
            found.append(f"fields[{label!r}]: not a text, a number, true, false or a list of texts, but {_shown(value)}")
    if submit is not None and submit is not True and (not isinstance(submit, str) or not submit.strip()):
        found.append(f"submit: {submit!r} is neither true nor the name of a button")
    return found


def _is_address(url):
    from urllib.parse import urlsplit
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


class _Browser:
    def __init__(self, server):
        self.server = server
        self.module = __import__(f"servers.{server}", fromlist=["*"])
        self.reference_names = {}

    def has(self, tool):
        return hasattr(self.module, tool)

    def call(self, so_far, tool, **arguments):
        """The text of the tool's answer. `so_far`: the state before the call, for the error."""
        try:
            value = warder.call_tool(f"{self.server}__{tool}", **arguments)
        except warder.CallError as e:
            raise FormError(f"{tool} failed ({e.message.strip()[:500]}); {so_far}") from None
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def page(self, so_far):
        return _Page(self.call(so_far, "browser_snapshot"))

    def reference_name(self, tool):
        """The argument in which the tool takes an element's reference: `ref` in Playwright's older servers, `target` in
        newer ones. A schema that names neither is that of a server with the older dialect."""
        if tool not in self.reference_names:
            try:
                schema = warder.get_tool_definition(tool, server=self.server).get("inputSchema") or {}
            except warder.CallError as e:
                raise FormError(f"the definition of {tool} cannot be read ({e.message.strip()[:500]})") from None
            arguments = schema.get("properties", {})
            if tool == "browser_fill_form":
                arguments = arguments.get("fields", {}).get("items", {}).get("properties", {})
            self.reference_names[tool] = next((name for name in ("target", "ref") if name in arguments), "ref")
        return self.reference_names[tool]

    def element(self, tool, label, reference):
        """The arguments that name an element to the tool."""
        return {"element": label, self.reference_name(tool): reference}


class _Element:
    def __init__(self, depth, role, name, marks, value):
        self.depth, self.role, self.name, self.value = depth, role, name, value
        ref = _REF.search(marks)
        self.ref = ref[1] if ref else None
        self.marks = set(re.findall(r"\[([a-z]+)(?:=[^\]]*)?\]", marks))
        self.children = []


class _Page:
    """A snapshot: the page's address, title and accessible elements."""

    def __init__(self, text):
        self.url = _after(text, "Page URL")
        self.title = _after(text, "Page Title")
        block = re.search(r"```yaml\n(.*?)(?:\n```|\Z)", text, re.DOTALL)
        self.elements = []
        parents = []
        for line in (block[1] if block else text).split("\n"):
            found = _LINE.fullmatch(line)
            if not found:
                continue
            element = _element(len(found[1]), found[2])
            if element is None:
                continue
            while parents and parents[-1].depth >= element.depth:
                parents.pop()
            if parents:
                parents[-1].children.append(element)
            parents.append(element)
            self.elements.append(element)

    def of_role(self, roles):
        return [one for one in self.elements if one.role in roles]

    def said(self):
        """The text that a person would read, without the inputs."""
        lines = []
        for one in self.of_role(_SAYS):
            text = one.value or (one.name if one.role in ("heading", "alert", "status", "cell", "listitem", "strong") else "")
            if text and (not lines or lines[-1] != text):
                lines.append(text)
        whole = "\n".join(lines)
        return whole if len(whole) <= _MOST_SAID else whole[:_MOST_SAID] + " ..."

    def alerts(self):
        return [text for one in self.of_role(("alert",)) if (text := _text_within(one))]


class _Form:
    def __init__(self, browser, fields, submit):
        self.browser = browser
        self.fields = fields
        self.wanted_button = submit
        self.page = browser.page("no field was filled")
        self.done = []

    def so_far(self):
        return f"filled so far: {', '.join(self.done) or 'no field'}; the form was not submitted"

    def check(self):
        """All mistakes at once, before the first field is filled."""
        mistakes = []
        for label, value in self.fields.items():
            try:
                self.action(label, value)
            except FormError as e:
                mistakes.append(str(e))
        if self.wanted_button is not None:
            try:
                self.button()
            except FormError as e:
                mistakes.append(str(e))
        if mistakes:
            raise FormError("no field was filled: " + "; ".join(mistakes))

    def fill(self):
        """Fills the fields that have another value, and looks again: a page may change its fields, or their values."""
        failed = None
        for _ in range(_ROUNDS):
            left = {label: value for label, value in self.fields.items() if not self.has_value(label, value)}
            self.done = [label for label in self.fields if label not in left]
            if not left:
                return
            failed = self.fill_once(left)
            before, self.page = self.page, self.browser.page(self.so_far())
            for label, value in left.items():
                try:
                    self.action(label, value)
                except FormError as e:
                    raise FormError(f"the page changed while it was filled: {e}; {self.so_far()}") from None
            if failed and [one.ref for one in before.elements] == [one.ref for one in self.page.elements]:
                raise failed  # the server refuses a field that is still there
        left = [label for label, value in self.fields.items() if not self.has_value(label, value)]
        self.done = [label for label in self.fields if label not in left]
        if left:
            why = f" ({failed})" if failed else ""
            raise FormError(f"the page did not take the values of {', '.join(left)}{why}; {self.so_far()}")

    def fill_once(self, left):
        """The error of the first field that failed. The page may have changed, and other fields may be filled."""
        try:
            actions = [self.action(label, value) for label, value in left.items()]
            if self.browser.has("browser_fill_form"):
                reference = self.browser.reference_name("browser_fill_form")
                entries = [action.entry(reference) for action in actions if action.can_be_entry()]
                if entries:
                    self.browser.call(self.so_far(), "browser_fill_form", fields=entries)
                actions = [action for action in actions if not action.can_be_entry()]
            for action in actions:
                action.make(self.browser, self.so_far())
        except FormError as e:
            return e
        return None

    def submit(self):
        button = self.button()
        element = self.browser.element("browser_click", button.name or "the button", button.ref)
        self.browser.call(self.so_far(), "browser_click", **element)

    def button(self):
        buttons = [one for one in self.page.of_role(("button",)) if one.ref]
        names = ", ".join(_quoted(one.name) for one in buttons) or "none"
        usable = [one for one in buttons if "disabled" not in one.marks]
        if self.wanted_button is True:
            if len(usable) == 1:
                return usable[0]
            raise FormError(f"submit: name one of the page's buttons: {names}")
        found = _named(buttons, self.wanted_button)
        if len(found) != 1:
            raise FormError(f"submit: {_quoted(self.wanted_button)} is {'no' if not found else 'more than one'} button of the "
                            f"page; it has {names}")
        if "disabled" in found[0].marks and self.page_is_filled():
            raise FormError(f"submit: the button {_quoted(found[0].name)} is disabled, though all fields are filled")
        return found[0]

    def page_is_filled(self):
        return all(self.has_value(label, value) for label, value in self.fields.items())

    def action(self, label, value):
        """The action that fills the field. Errors name the field, its kind, and the labels of the page."""
        found = _named([one for one in self.page.of_role(_INPUTS) if one.ref], label)
        if not found:
            group = [one for one in _named(self.page.of_role(_GROUPS), label) if _radios(one)]
            if len(group) == 1:
                return _choose_radio(label, group[0], value)
            buttons = _named(self.page.of_role(("button",)), label)
            if buttons:
                raise FormError(f"fields[{label!r}]: this is a button; a file to upload cannot be given from a jail, and a "
                                "button is clicked by `submit`")
            raise FormError(f"fields[{label!r}]: the page has no such field; it has {self.labels()}")
        if len(found) > 1:
            raise FormError(f"fields[{label!r}]: the page has {len(found)} fields of this label")
        element = found[0]
        if "disabled" in element.marks or "readonly" in element.marks:
            raise FormError(f"fields[{label!r}]: the field cannot be changed")
        return _action_on(label, element, value)

    def has_value(self, label, value):
        try:
            return self.action(label, value).is_done()
        except FormError:
            return False

    def labels(self):
        names = [one.name for one in self.page.of_role(_INPUTS) if one.ref and one.name]
        names += [one.name for one in self.page.of_role(_GROUPS) if one.name and _radios(one)]
        return ", ".join(_quoted(name) for name in names) or "no field with a label"


class _Action:
    def __init__(self, label, element, kind, value):
        self.label, self.element, self.kind, self.value = label, element, kind, value

    def is_done(self):
        if self.kind in ("checkbox", "radio"):
            return ("checked" in self.element.marks) == self.value
        if self.kind == "combobox":
            return _selected(self.element) == self.value
        shown = self.element.value or ""
        if re.fullmatch("[•●*]+", shown):  # a password
            return len(shown) == len(self.value)
        return shown.split() == self.value.split() or _same_number(shown, self.value)

    def can_be_entry(self):
        return not (self.kind == "combobox" and len(self.value) > 1)

    def entry(self, reference_name):
        value = self.value[0] if self.kind == "combobox" else self.value
        if isinstance(value, bool):
            value = "true" if value else "false"
        return {"name": self.label, "type": self.kind, reference_name: self.element.ref, "value": value}

    def make(self, browser, so_far):
        tool, values = "browser_type", {"text": self.value}
        if self.kind == "combobox":
            tool, values = "browser_select_option", {"values": self.value}
        elif self.kind in ("checkbox", "radio"):
            tool, values = "browser_click", {}
        browser.call(so_far, tool, **browser.element(tool, self.label, self.element.ref), **values)


def _action_on(label, element, value):
    role = element.role
    if role in ("checkbox", "switch", "radio"):
        if not isinstance(value, bool):
            raise FormError(f"fields[{label!r}]: this is a {role}, which takes true or false, not {_shown(value)}")
        if role == "radio" and not value:
            raise FormError(f"fields[{label!r}]: a radio button is left by choosing another one")
        return _Action(label, element, "radio" if role == "radio" else "checkbox", value)
    if isinstance(value, bool):
        raise FormError(f"fields[{label!r}]: this is a {role}, which takes no true or false")
    if role in _CHOICES and _options(element):
        asked = value if isinstance(value, list) else [_text_of(value)]
        options = _options(element)
        wrong = [one for one in asked if one not in options]
        if wrong:
            raise FormError(f"fields[{label!r}]: {_quoted(wrong[0])} is not one of its options: "
                            f"{', '.join(_quoted(one) for one in options)}")
        return _Action(label, element, "combobox", asked)
    if isinstance(value, list):
        raise FormError(f"fields[{label!r}]: this is a {role}, which takes one value")
    if role in ("spinbutton", "slider") and not _is_number(_text_of(value)):
        raise FormError(f"fields[{label!r}]: this is a field for a number, not for {_shown(value)}")
    return _Action(label, element, "slider" if role == "slider" else "textbox", _text_of(value))


def _choose_radio(label, group, value):
    radios = _radios(group)
    found = [one for one in radios if one.name == value]
    if len(found) != 1:
        raise FormError(f"fields[{label!r}]: {_shown(value)} is not one of its choices: {', '.join(_quoted(one.name) for one in radios)}")
    if "disabled" in found[0].marks:
        raise FormError(f"fields[{label!r}]: the choice {_quoted(value)} is disabled")
    return _Action(label, found[0], "radio", True)


def _radios(group):
    return [one for one in _below(group) if one.role == "radio" and one.ref]


def _options(element):
    return [one.name for one in _below(element) if one.role == "option"]


def _selected(element):
    return [one.name for one in _below(element) if one.role == "option" and "selected" in one.marks]


def _below(element):
    for child in element.children:
        yield child
        yield from _below(child)


def _named(elements, name):
    """The elements of this name; else those that differ in case, spaces or a mark for required fields only."""
    return [one for one in elements if one.name == name] or [one for one in elements if _plain(one.name) == _plain(name)]


def _plain(name):
    return " ".join(name.lower().replace("*", " ").split()).rstrip(" :")


def _element(depth, text):
    """One line of a snapshot: role, name, marks and value; None for properties such as /url."""
    if text.startswith("'"):  # a key that YAML must quote
        end = re.match(r"'((?:[^']|'')*)'(.*)", text)
        if end:
            text = end[1].replace("''", "'") + end[2]
    elif text.startswith('"'):
        end = re.match(r"(\"(?:\\.|[^\"\\])*\")(.*)", text)
        if end:
            text = _unquoted(end[1]) + end[2]
    found = _NODE.fullmatch(text)
    if not found:
        return None
    value = found[4]
    if value is not None and value.startswith('"'):
        value = _unquoted(value)
    return _Element(depth, found[1], _unquoted(found[2]) if found[2] else "", found[3], value)


def _unquoted(text):
    try:
        return json.loads(text)
    except ValueError:
        return text.strip('"')


def _text_within(element):
    parts = [element.value or element.name, *(one.value or one.name for one in _below(element))]
    return " ".join(part for part in parts if part)


def _after(text, name):
    found = re.search(rf"^-? ?{name}: ?(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _text_of(value):
    return value if isinstance(value, str) else json.dumps(value)


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text and text.lower() not in ("nan", "inf", "-inf", "infinity", "-infinity")


def _same_number(a, b):
    return _is_number(a) and _is_number(b) and float(a) == float(b)


def _shown(value):
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _quoted(name):
    return json.dumps(name, ensure_ascii=False)
