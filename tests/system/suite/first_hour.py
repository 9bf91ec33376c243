"""An administrator's first hour with the package, in order: install, two tenants, three servers, an approval, a bad policy, an
upgrade, a look back, a purge. Each step uses the commands of the manual, and what the step before it left. Of the last
modules: it removes what the others use, and installs it again."""
import json
import os
import pathlib
import pwd
import subprocess
import unittest

from suite.package import dpkg
from suite.servers import PACKAGES, SCOPE, node_version
from suite.service import SOCKET, background_answer, goes_on, initialize, show, systemctl
from suite.warder import LANE, META, PATIENCE, Connection, wait_until

POLICIES = pathlib.Path("/etc/warder/policies")
PROGRAMS = pathlib.Path("/usr/local/lib/first-hour")  # where jails see it
# A server without npm, for guests whose Node.js is too old.
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
              "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
              "tools/call": {"content": [{"type": "text", "text": "Echo: " + str(asked.get("params", {}).get("arguments"))}]},
              }.get(asked["method"])
    reply = {"result": answer} if answer else {"error": {"code": -32601, "message": "no such method"}}
    if "id" in asked: print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
"""
ASKED = "import warder\nresult = str(warder.call_tool('everything__echo', message='good morning'))"


def warder(*words, user=None, status=0):
    """What the command prints; as this user."""
    become = ["runuser", "-u", user, "--"] if user else []
    done = subprocess.run([*become, "warder", *words], capture_output=True, text=True, timeout=4 * PATIENCE,
                          stdin=subprocess.DEVNULL)
    if done.returncode != status:
        raise AssertionError(f"warder {words}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


def lines_of(*words, **more):
    return [json.loads(line) for line in warder(*words, "--json", **more).splitlines()]


def connect_as(user):
    """The kernel notes who connects."""
    os.seteuid(pwd.getpwnam(user).pw_uid)
    try:
        return Connection(SOCKET, PATIENCE)
    finally:
        os.seteuid(0)


@unittest.skipIf(LANE == "uml", "Debian's guests run it")
class FirstHour(unittest.TestCase):
    def test_it(self):
        self.install()
        self.two_tenants()
        self.three_servers()
        self.an_approval()
        self.a_bad_policy()
        self.an_upgrade()
        self.a_look_back()
        self.a_purge()

    def install(self):
        dpkg("--purge", "warder")
        self.addCleanup(dpkg, "--install", "/packages/warder.deb")  # the modules after this one use it
        for user in ("ada", "ben"):
            subprocess.run(["useradd", "--create-home", user], check=True)
        self.assertFalse(pathlib.Path("/etc/warder").exists())
        dpkg("--install", "/packages/warder.deb")
        systemctl("start", "polkit.service")  # its start takes long under emulation; a client would wait for it
        self.assertEqual(show("ActiveState", "warder.socket"), "active")
        self.assertEqual(warder("run", "-c", "result = 6 * 7", user="ada"), "42\n")
        looked = subprocess.run(["warder", "doctor", "--json"], capture_output=True, text=True).stdout
        bad = [one["what"] for one in json.loads(looked)["findings"] if one["health"] == "bad"]
        self.assertEqual(bad, ["quotas"])  # the guest's root has no project quotas
        self.assertIn("/usr/bin/warder", warder("config", "claude-code", user="ada"))

    def two_tenants(self):
        (POLICIES / "long.json").write_text(json.dumps(
            {"extends": "system", "limits": {"standard": {"wall_ms": 240_000}, "maximum": {"wall_ms": 240_000}}}))
        (POLICIES / "small.json").write_text(json.dumps(
            {"extends": "system", "limits": {"standard": {"memory_bytes": 128 << 20}, "maximum": {"memory_bytes": 128 << 20}}}))
        (POLICIES / "tenants.json").write_text(json.dumps({"rules": [
            {"user": "ada", "tenant": "ada", "policy": "long"}, {"user": "ben", "tenant": "ben", "policy": "small"},
            {"default": True, "policy": "system"}]}))
        warder("config", "check")
        systemctl("reload", "warder.service")
        with connect_as("ada") as ada, connect_as("ben") as ben:
            self.assertEqual(ada.execute("open('/workspace/hers', 'w').write('x')")["outcome"], "ok")
            self.assertEqual(ben.execute("import os\nresult = os.listdir('/workspace')")["result"], [])
            self.assertEqual(ada.execute("import os\nresult = os.listdir('/workspace')")["result"], ["hers"])
        self.assertEqual({one["Tenant"] for one in lines_of("history")} & {"ada", "ben"}, {"ada", "ben"})

    def three_servers(self):
        started = show("ExecMainStartTimestampMonotonic")
        wishes = {"everything": "ask", "memory": "allow", "filesystem": "allow"}
        if (PACKAGES / "server-everything.tgz").exists() and node_version() >= 20:
            for name, verdict in wishes.items():
                more = {"filesystem": ("--folder", "workspace", "--", "/workspace"),
                        "memory": ("--env", "MEMORY_FILE_PATH=/workspace/memory.json")}.get(name, ())
                warder("servers", "install", f"{SCOPE}{name}", "--from", str(PACKAGES / f"server-{name}.tgz"), "--call",
                       verdict, *more)
            call = "filesystem__list_directory', path='/workspace"
        else:
            print("first_hour: servers of Python, because there are no packages of npm or Node.js is too old")
            PROGRAMS.mkdir(exist_ok=True)
            (PROGRAMS / "server.py").write_text(SERVER)
            for name, verdict in wishes.items():
                warder("servers", "add", name, "--call", verdict, "--", "python3", str(PROGRAMS / "server.py"))
            call = "filesystem__echo', path='hers"
        self.assertEqual({one["Name"] for one in json.loads(warder("servers", "list", "--json"))}, set(wishes))
        with connect_as("ada") as ada:
            # The tenant's own server starts with this call, and may take more than its 30 seconds where all is emulated.
            code = f"import warder\nresult = str(warder.call_tool('{call}'))"
            wait_until("the server shows her file", lambda: "hers" in str(
                ada.execute(code, timeout_seconds=PATIENCE).get("result")), 4 * PATIENCE)
        self.assertEqual(show("ExecMainStartTimestampMonotonic"), started, "no restart")

    def an_approval(self):
        with connect_as("ada") as ada:
            ada.request("server/discover")
            ada.send({"jsonrpc": "2.0", "id": "background", "method": "tools/call", "params": {
                "name": "execute_code", "arguments": {"code": ASKED, "timeout_seconds": 200}, "_meta": META}})
            (waits,) = wait_until("a call waits", lambda: json.loads(warder("approvals", "--json")))
            self.assertEqual((waits["Tenant"], waits["Tool"]), ("ada", "everything.echo"))
            self.assertEqual(json.loads(warder("approvals", "--json", user="ben")), [])
            warder("approve", waits["Id"][:8])
            body = background_answer(ada)
        self.assertIn("Echo", str(body.get("result")), body)
        self.approved = body["execution_id"]

    def a_bad_policy(self):
        good = (POLICIES / "long.json").read_text()
        (POLICIES / "long.json").write_text('{"extends": "sytem"}')
        self.assertIn("long.json: extends: ", warder("config", "check", status=1))
        self.assertNotEqual(subprocess.run(["systemctl", "reload", "warder.service"], capture_output=True).returncode, 0)
        self.assertIn("reload failed", show("StatusText"))
        with connect_as("ada") as ada:
            self.assertEqual(ada.execute("result = 1")["outcome"], "ok")
        self.good = good  # the upgrade comes first

    def an_upgrade(self):
        with connect_as("ada") as ada:
            initialize(ada)
            self.assertTrue(goes_on(ada))
            before = show("MainPID")
            dpkg("--install", "/packages/warder-later.deb")
            self.assertTrue(goes_on(ada), "with the last good copy, and the same connection")
            self.assertNotIn(show("MainPID"), ("0", before))
            self.assertIn("last good configuration", show("StatusText"))
            (POLICIES / "long.json").write_text(self.good)
            systemctl("reload", "warder.service")
            self.assertEqual(show("StatusText"), "serving")
            self.assertTrue(goes_on(ada))

    def a_look_back(self):
        self.assertIn(self.approved, [one["Id"] for one in lines_of("history", "--tenant", "ada")])
        self.assertNotIn(self.approved, [one["Id"] for one in lines_of("history", user="ben")])
        told = warder("show", self.approved[:12])
        self.assertIn("everything.echo", told)
        self.assertIn("approve", told)
        self.assertIn("approval", {one["kind"] for one in lines_of("audit", "list", "--limit", "1000")})
        self.assertIn("whole", warder("audit", "verify"))
        self.assertIn("ada", warder("tenants"))
        warder("top", "--batch", "-n", "1")

    def a_purge(self):
        for name in ("everything", "memory", "filesystem"):
            warder("servers", "remove", name)
        dpkg("--purge", "warder")
        left = [path for path in ("/var/lib/warder", "/etc/warder", "/run/warder", "/usr/lib/warder", "/usr/bin/warder")
                if pathlib.Path(path).exists()]
        self.assertEqual(left, [])
        systemctl("daemon-reload")
        wait_until("systemd knows nothing of it", lambda: show("LoadState") == "not-found")
        for user in ("ada", "ben"):
            subprocess.run(["userdel", "--remove", user], check=True, capture_output=True)


if __name__ == "__main__":
    unittest.main()
