"""A headless Chromium that is told what to do over a pair of pipes (the DevTools protocol), and waited for."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

from harness import PATIENCE, ROOT

PROGRAM = shutil.which("chromium")


class Browser:
    """One page. Errors of its scripts and refusals of its content policy are kept in `complaints`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="warder-test-browser-")
        self.last_id, self.complaints, self.rest = 0, [], b""

    def __enter__(self):
        their_in, self.out = os.pipe()
        self.answers, their_out = os.pipe()

        def place():  # the protocol's descriptors are 3 and 4; either may be the other's number now
            copies = os.dup(their_in), os.dup(their_out)
            high = [os.dup2(copy, 100 + number) for number, copy in enumerate(copies)]
            for number, copy in zip((3, 4), high):
                os.dup2(copy, number)

        flags = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--disable-extensions",
                 "--disable-background-networking", "--disable-dev-shm-usage", f"--user-data-dir={self.folder}",
                 "--window-size=1200,900", *(["--no-sandbox"] if ROOT else [])]
        with open(f"{self.folder}/log", "wb") as log:
            self.process = subprocess.Popen([PROGRAM, *flags, "about:blank"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            close_fds=False, preexec_fn=place, env={**os.environ, "HOME": self.folder})
        os.close(their_in)
        os.close(their_out)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask_page(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.answers)
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, method, session=None, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while (got := self.receive()).get("id") != self.last_id:
            if got.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.complaints.append(got["params"])
        if "error" in got:
            raise AssertionError(f"{method}: {got['error']}")
        return got["result"]

    def ask_page(self, method, **params):
        return self.ask(method, self.session, **params)

    def receive(self):
        while b"\0" not in self.rest:
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise AssertionError(open(f"{self.folder}/log").read()[-2000:])
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, address):
        self.ask_page("Page.navigate", url=address)

    def value(self, expression):
        """Of a script in the page; None for what cannot be JSON."""
        got = self.ask_page("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in got:
            raise AssertionError(got["exceptionDetails"])
        return got["result"].get("value")

    def wait_for(self, expression, what):
        until = time.monotonic() + PATIENCE
        while not (found := self.value(expression)):
            if time.monotonic() > until:
                raise AssertionError(f"still not after {PATIENCE} s: {what}; the page: {self.value('document.body.innerText')}")
            time.sleep(0.05)
        return found

    def screenshot(self):
        """PNG."""
        return base64.b64decode(self.ask_page("Page.captureScreenshot", format="png")["data"])
