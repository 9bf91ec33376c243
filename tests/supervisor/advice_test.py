"""What answers tell beside the failure itself: why nothing outside is reached or installed, which call was forbidden; and
that what is not there is said at once.
"""
import unittest
from shutil import which

from harness import Client, Daemon

_NO_NETWORK = "this jail has no network; search_tools"
_NO_INSTALL = "packages cannot be installed: this jail has no network"


class Advice(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Daemon())
        cls.client = cls.enterClassContext(Client(cls.daemon.socket))

    def fails(self, code, words, language="python", outcome=None):
        body = self.client.execute(code, language=language, timeout_seconds=60)
        self.assertFalse(body["success"], body)
        self.assertIn(words, body["error"], body)
        if outcome:
            self.assertEqual(body["outcome"], outcome)
        return body

    def test_a_program_that_looks_for_a_network_is_told_that_there_is_none(self):
        for language, code in (
                ("python", "import urllib.request\nurllib.request.urlopen('https://example.com')"),
                ("python", "import socket\nsocket.create_connection(('192.0.2.1', 80))"),
                ("python", "import socket\nsocket.getaddrinfo('example.com', 80)"),
                ("python", "import asyncio\nawait asyncio.open_connection('example.com', 80)"),
                ("python", "import urllib.request\ntry:\n    urllib.request.urlopen('http://example.com')\n"
                           "except OSError as e:\n    print('failed:', e)\n    raise SystemExit(1)"),
                ("javascript", "await fetch('https://example.com')"),
                ("javascript", "await new Promise((ok, no) => require('https').get('https://example.com').on('error', no))"),
                ("javascript", "await require('dns').promises.lookup('example.com')"),
                ("shell", "exec 3<>/dev/tcp/example.com/80")):
            with self.subTest(code=code):
                body = self.fails(code, "this jail has no network", language)
                self.assertIn("search_tools", body["error"])
        for program, code in (("curl", "curl https://example.com"), ("wget", "wget https://example.com"),
                              ("git", "git clone https://example.com/a/b")):
            with self.subTest(code=code):
                if which(program, path="/usr/bin"):
                    self.fails(code, _NO_NETWORK, "shell", "exit")

    def test_a_program_that_goes_on_without_the_network_is_told_in_a_note(self):
        body = self.client.execute("import socket, sys\ntry:\n    socket.getaddrinfo('example.com', 80)\n"
                                   "except OSError as e:\n    print(e, file=sys.stderr)\nresult = 1")
        self.assertEqual((body["success"], body["result"]), (True, 1))
        self.assertIn(_NO_NETWORK, body["notes"][0])
        self.assertNotIn("notes", self.client.execute("result = 1"))

    def test_installers_fail_at_once_and_say_why(self):
        for program, code in (("pip", "pip install six2"), ("pip", "pip install --break-system-packages six2"),
                              ("npm", "npm install left-pad"), ("npx", "npx cowsay")):
            with self.subTest(code=code):
                body = self.fails(code, "no network" if not which(program, path="/usr/bin") else _NO_INSTALL, "shell")
                self.assertEqual(body["outcome"], "exit")
                self.assertNotIn("Retrying", body.get("stderr", ""))
        self.fails("import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'six2'])",
                   _NO_INSTALL)

    def test_other_failures_are_told_as_they_are(self):
        self.assertEqual(self.client.execute("1/0")["error"], "ZeroDivisionError: division by zero")
        self.assertEqual(self.client.execute("exit 3", language="shell")["error"], "exited with status 3")

    def test_a_forbidden_call_is_guessed_from_the_code(self):
        body = self.fails("import ctypes\nctypes.CDLL(None).mount(0, 0, 0, 0, 0)", "probably mount, which changes",
                          outcome="forbidden_call")
        self.assertIn("the kernel does not name the call", body["error"])
        self.assertIn("(rule: seccomp/default, kill)", body["error"])
        self.fails("import ctypes\nctypes.CDLL(None).syscall(165, 0, 0, 0)", "one of mount", outcome="forbidden_call")

    def test_python_is_found_by_its_short_name_everywhere(self):
        for language, code in (("shell", "python -c 'print(6 * 7)'"),
                               ("python", "import subprocess\nsubprocess.run(['python', '-c', 'print(6 * 7)'])"),
                               ("javascript", "require('child_process').execFileSync('python', ['-c', 'print(6 * 7)'],"
                                              " {stdio: 'inherit'})")):
            with self.subTest(language=language):
                body = self.client.execute(code, language=language)
                self.assertEqual((body["success"], body["output"]), (True, ["42"]), body)

    def test_importing_a_file_of_the_workspace_creates_nothing_there(self):
        for _ in range(2):  # the second time in a copy of a zygote, where there are some
            body = self.client.execute("open('mine.py', 'w').write('x = 2')\nimport mine\nresult = mine.x")
            self.assertEqual((body["success"], body["result"]), (True, 2), body)
            self.assertNotIn("__pycache__", str(body["files"]))


if __name__ == "__main__":
    unittest.main()
