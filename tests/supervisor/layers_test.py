"""Package layers: packages in /usr of jails, built from archives of the test's own, with and without waiting jails."""
import functools
import http.server
import json
import pathlib
import shutil
import signal
import stat
import tempfile
import threading
import unittest
import zipfile

from harness import HOLD, ROOT, Client, Policies, Service, eventually
from layers_harness import PLACE, make_deb, make_npm, make_wheel, tar_of, warder

POOL = {"min_idle": 1, "max_idle": 2, "zygotes": True, "preload": ["warder_probe"]}
VERSION = "import warder_probe\nresult = warder_probe.VERSION"
NAMED = "the policy of this tenant does not name that layer"


def probe_deb(file, version, *more):
    return make_deb(file, [(f"./{PLACE}warder_probe/__init__.py", f"VERSION = {version}\nfrom warder_probe.inner import TWICE\n"),
                           (f"./{PLACE}warder_probe/inner.py", "TWICE = 42\n"),
                           ("./usr/bin/warder-probe", {"mode": 0o755}), ("./etc/warder-probe.conf", "x"), *more])


class LayerTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="warder-test-layers-")))

    def hash_of(self, name):
        return json.loads((self.state / "layers/names" / f"{name}.json").read_text())["hash"]


@unittest.skipUnless(ROOT, "NOT TESTED: layers are built by root")
class Served(LayerTest):
    def setUp(self):
        super().setUp()
        self.policies = self.enterContext(Policies(layers=["data"]))
        self.daemon = Service(policies=self.policies)
        self.state = self.daemon.state
        npm = make_npm(self.folder / "pad.tgz", [("package/index.js", "module.exports = (n) => 'x'.repeat(n)")], "warder-pad")
        warder("build", "data", "--deb", probe_deb(self.folder / "probe.deb", 1), "--npm", npm, state=self.state)

    def serve(self):
        self.enterContext(self.daemon)
        return self.enterContext(Client(self.daemon.socket))

    def reload(self):
        self.daemon.process.send_signal(signal.SIGHUP)
        self.daemon.hear("RELOADING=1")
        return self.daemon.hear("READY=1")

    def receipt(self, client, code=VERSION, **arguments):
        result = client.call("execute_code", {"code": code, **arguments})
        body = json.loads(result["content"][0]["text"])
        self.assertTrue(body["success"], body)
        return body, result["_meta"]["org.warder/receipt"]

    def test_cold_jails_have_the_packages_and_say_which(self):
        client = self.serve()
        body, receipt = self.receipt(client)
        self.assertEqual((body["result"], receipt["start"]), (1, "cold"))
        self.assertEqual(receipt["layers"], {"data": self.hash_of("data")})
        self.assertEqual(body["layers"], {"data": self.hash_of("data")[:12]})
        for code in ("require('warder-pad')(3)", "import pad from 'warder-pad'\npad(3)"):
            self.assertEqual(client.execute(code, language="javascript")["result"], "xxx")
        self.assertEqual(client.execute("command -v warder-probe", language="shell")["output"], ["/usr/bin/warder-probe"])
        # Compiled ahead of time; nothing of it can be changed.
        found = client.execute("import os, warder_probe.inner as i\nresult = [i.__cached__, os.path.exists(i.__cached__)]")["result"]
        self.assertTrue(found[1], found)
        for code in ("open('/usr/lib/python3/dist-packages/warder_probe/inner.py', 'a')",
                     "import os; os.remove('/usr/bin/warder-probe')", "open('/usr/bin/new', 'w')"):
            self.assertIn("Read-only file system", client.execute(code)["error"])
        self.assertFalse(pathlib.Path("/usr/bin/warder-probe").exists())
        tools = {tool["name"]: tool for tool in client.request("tools/list")["tools"]}
        self.assertIn("Packages: warder_probe, warder-pad.", tools["execute_code"]["description"])

    def test_an_import_that_fails_names_the_layer_or_what_there_is(self):
        other = make_deb(self.folder / "other.deb", [(f"./{PLACE}warder_other.py", "")])
        pad = make_npm(self.folder / "left.tgz", [("package/index.js", "")], "warder-left")
        warder("build", "other", "--deb", other, "--npm", pad, state=self.state)
        client = self.serve()
        error = client.execute("import warder_other.deep")["error"]
        self.assertIn("the package layer other of this machine has it", error)
        self.assertIn(NAMED, error)
        self.assertIn("warder_probe", client.execute("import warder_absent_xyzzy")["error"])
        error = client.execute("require('warder-left')", language="javascript")["error"]
        self.assertIn("the package layer other of this machine has 'warder-left'", error)
        self.assertIn("warder-pad", client.execute("require('warder-absent-xyzzy')", language="javascript")["error"])

    def test_waiting_jails_have_the_packages_loaded_and_there_are_no_forks(self):
        self.policies.change(pool=POOL)
        client = self.serve()
        seen = "import sys\nloaded = 'warder_probe' in sys.modules\nimport warder_probe\nresult = [loaded, warder_probe.VERSION]"

        def waited(version):
            body, receipt = self.receipt(client, seen)
            self.assertEqual(receipt["layers"], {"data": self.hash_of("data")})
            self.assertEqual(body["result"][1], version)
            self.assertNotEqual(receipt["start"], "fork")
            return receipt["start"] == "exec" and body["result"][0]
        eventually(lambda: waited(1), "a waiting jail with the package")
        # A zygote of a tenant starts at this rate at the latest, or when the daemon rests: none does.
        for _ in range(20):
            waited(1)
        # A new version: the next jails have it, one that runs keeps the former.
        held = client.begin_running(HOLD + "\nresult = open('/usr/lib/python3/dist-packages/warder_probe/__init__.py').readline()")
        former = self.hash_of("data")
        warder("build", "data", "--deb", probe_deb(self.folder / "next.deb", 2), state=self.state)
        self.assertNotEqual(self.hash_of("data"), former)
        self.assertTrue((self.state / "layers" / former).is_dir(), "a jail uses it")
        self.reload()
        eventually(lambda: waited(2), "a waiting jail with the new package")
        client.write_file("go")
        self.assertEqual(client.executed(held)["result"], "VERSION = 1\n")

    def test_without_preload_forks_have_the_packages(self):
        self.policies.change(pool={**POOL, "preload": []})
        client = self.serve()
        seen = "import sys\nloaded = 'warder_probe' in sys.modules\nimport warder_probe\nresult = [loaded, warder_probe.VERSION]"

        def forked():
            body, receipt = self.receipt(client, seen)
            self.assertEqual(body["result"], [False, 1])
            return receipt["start"] == "fork"
        eventually(forked, "a fork")

    def test_a_layer_in_use_is_not_removed_and_a_missing_one_is_told(self):
        client = self.serve()
        self.assertIn("in use", warder("remove", "data", state=self.state, status=1).stderr)
        self.policies.change(layers=[])
        self.reload()
        self.assertIn("data: removed", warder("remove", "data", state=self.state).stdout)
        self.assertNotIn("layers", self.receipt(client, "result = 1")[1])
        self.policies.change(layers=["data"])
        self.assertIn("STATUS=serving; the last reload failed, see the log", self.reload())
        self.assertIn('layers: "data": there is no layer \'data\'; build it: warder layer build data', self.daemon.log_text())

    def test_a_changed_layer_is_noticed(self):
        client = self.serve()
        place = self.state / "layers" / self.hash_of("data") / "tree" / PLACE[4:] / "warder_probe"
        self.assertIn("data: as it was built", warder("verify", state=self.state).stdout)
        (place / "inner.py").write_text("TWICE = 43\n")
        self.assertIn("inner.py' was changed", warder("verify", "data", state=self.state, status=1).stderr)
        self.assertIn("STATUS=serving; the last reload failed, see the log", self.reload())
        self.assertIn("warder_probe/inner.py' was changed", self.daemon.log_text())
        warder("build", "data", "--deb", self.folder / "probe.deb", "--npm", self.folder / "pad.tgz", state=self.state, status=1)
        self.policies.change(layers=[])
        self.reload()
        warder("build", "data", "--deb", self.folder / "probe.deb", "--npm", self.folder / "pad.tgz", state=self.state)
        self.policies.change(layers=["data"])
        self.assertIn("STATUS=serving", self.reload().split("\n"))
        self.assertEqual(self.receipt(client)[0]["result"], 1)

    def test_two_layers_with_different_files_of_one_name_are_refused(self):
        def build(name, text, state=self.state):
            deb = make_deb(self.folder / f"{name}.deb", [(f"./{PLACE}warder_both.py", text), (f"./{PLACE}warder_{name}.py", "")])
            warder("build", name, "--deb", deb, state=state)
        build("one", "A = 1\n")
        build("two", "A = 1\n")
        build("three", "A = 3\n")
        self.policies.change(layers=["one", "two", "data"])
        client = self.serve()
        self.assertEqual(client.execute("import warder_both, warder_one, warder_two, warder_probe\nresult = warder_both.A")["result"], 1)
        self.policies.change(layers=["one", "three"])
        self.assertIn("the last reload failed", self.reload())
        self.assertIn("the layers 'one' and 'three' both have 'lib/python3/dist-packages/", self.daemon.log_text())
        shared = [make_deb(self.folder / f"form{at}.deb", [(f"./{PLACE}{name}", "")])
                  for at, name in enumerate(("warder_form.py", "warder_form/a.py"))]
        for name, deb in zip(("file", "package"), shared):
            warder("build", name, "--deb", deb, state=self.state)
        self.policies.change(layers=["file", "package"])
        self.assertIn("the last reload failed", self.reload())
        self.assertIn("the layers 'file' and 'package' both have the Python module 'warder_form', in different forms",
                      self.daemon.log_text())
        self.policies.change(layers=["one", "one"])
        self.assertIn("the last reload failed", self.reload())
        self.assertIn('layers: "one" is listed twice', self.daemon.log_text())


@unittest.skipUnless(ROOT, "NOT TESTED: layers are built by root")
class Built(LayerTest):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"

    def refused(self, why, *flags):
        text = warder("build", "hostile", *flags, state=self.state, status=2).stderr
        self.assertIn(why, text)
        self.assertEqual(list(self.state.glob("layers/names/hostile.json")), [])
        self.assertEqual(list(self.state.glob("layers/.new*")), [])
        return text

    def test_the_same_packages_have_the_same_hash(self):
        wheels = self.folder / "wheels"
        wheels.mkdir()
        members = [("warder_wheel/__init__.py", "SET = {'a', 'b', 'c', 'd'}\nF = frozenset({'x', 'y', 'z'})\n"),
                   ("warder_wheel/broken.py", "def (:\n"), ("warder_wheel-1.0.data/purelib/warder_more.py", "A = 1\n"),
                   ("warder_wheel-1.0.data/scripts/tool", "#!python\n"), ("warder_wheel/__pycache__/x.cpython-311.pyc", "planted")]
        make_wheel(wheels, "warder_wheel", members)
        flags = ["--wheels", wheels, "--deb", probe_deb(self.folder / "probe.deb", 1)]
        first = json.loads(warder("build", "a", *flags, "--json", state=self.state).stdout)
        make_wheel(wheels, "warder_wheel", list(reversed(members)))
        second = json.loads(warder("build", "b", *flags, "--json", state=self.state).stdout)
        self.assertEqual(first["hash"], second["hash"])
        self.assertEqual(first["modules"], ["warder_more", "warder_probe", "warder_wheel"])
        self.assertEqual(first["sources"], ["probe.deb", "warder_wheel-1.0-py3-none-any.whl"])
        tree = self.state / "layers" / first["hash"] / "tree"
        names = {str(path.relative_to(tree)) for path in tree.rglob("*")}
        self.assertNotIn("lib/python3/dist-packages/warder_wheel/__pycache__/x.cpython-311.pyc", names)
        self.assertFalse([name for name in names if "tool" in name or name.startswith("etc")])
        for path in (tree, *tree.rglob("*")):
            self.assertEqual((path.lstat().st_uid, path.lstat().st_mode & 0o7022), (0, 0), path)
        listed = warder("list", state=self.state).stdout
        self.assertEqual(len(listed.splitlines()), 3)
        self.assertIn(first["hash"][:12], listed)
        warder("remove", "a", "b", state=self.state)
        self.assertEqual(json.loads(warder("list", "--json", state=self.state).stdout), [])
        self.assertFalse(tree.exists())

    def test_hostile_debian_packages_are_refused_by_name(self):
        link, device = {"type": tarfile_type("SYM")}, {"devmajor": 1, "devminor": 3}
        cases = [
            ("./usr/../../../etc/evil", "x", "its path has '..'"),
            ("/usr/lib/evil", "x", "its path is absolute"),
            ("./usr/bin/warder-suid", {"mode": 0o4755}, "set-user-id"),
            ("./usr/bin/warder-sgid", {"mode": 0o2755}, "set-user-id"),
            ("./usr/lib/warder-device", {"type": tarfile_type("CHR"), **device}, "device or a FIFO"),
            ("./usr/lib/warder-disk", {"type": tarfile_type("BLK"), **device}, "device or a FIFO"),
            ("./usr/lib/warder-fifo", {"type": tarfile_type("FIFO")}, "device or a FIFO"),
            ("./usr/lib/warder-link", {**link, "linkname": "/etc/shadow"}, "leads out of /usr, to /etc/shadow"),
            ("./usr/lib/warder-link", {**link, "linkname": "../../../root"}, "leads out of /usr"),
            ("./usr/lib/warder-hard", {"type": tarfile_type("LNK"), "linkname": "etc/shadow"}, "hard link"),
            (f"./{PLACE}sitecustomize.py", "x", "every start"),
            (f"./{PLACE}usercustomize/__init__.py", "x", "every start"),
            (f"./{PLACE}warder_evil.pth", "import os", "every start"),
            ("./usr/bin/env", "x", "/usr has a file of this name"),
            ("./usr/bin/python3", {**link, "linkname": "true"}, "/usr has a file of this name"),
            (f"./{PLACE}json.py", "x", "/usr has the Python module json"),
            (f"./{PLACE}warder/__init__.py", "x", "Warder's own"),
            ("./usr/local/lib/warder-x", "x", "/usr/local"),
            ("./usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v2/libc.so.6", "x", "linker"),
            ("./usr/lib/" + "d/" * 40 + "x", "x", "too deep"),
            ("./usr/lib/warder-bomb", {"size": 200 << 20}, "unpacks to more bytes"),
        ]
        for name, content, why in cases:
            with self.subTest(name=name[:60], why=why):
                deb = make_deb(self.folder / "hostile.deb", [(f"./{PLACE}warder_good.py", "x"), (name, content)])
                self.refused(why, "--deb", deb)
        self.assertFalse(pathlib.Path("/etc/evil").exists())
        (self.folder / "hostile.deb").write_bytes(b"!<arch>\nnonsense")
        self.refused("hostile.deb", "--deb", self.folder / "hostile.deb")

    def test_hostile_wheels_and_archives_of_npm_are_refused_by_name(self):
        special = zipfile.ZipInfo("warder_link.py")
        special.external_attr = (stat.S_IFLNK | 0o777) << 16
        set_id = zipfile.ZipInfo("warder_set_id.py")
        set_id.external_attr = (stat.S_IFREG | 0o4755) << 16
        for member, content, why in (("../../evil.py", "x", "its path has '..'"), ("/etc/evil", "x", "absolute"),
                                     (special, "/etc/shadow", "a link or a special file"), (set_id, "x", "set-id"),
                                     ("warder_bomb.py", b"\0" * (100 << 20), "unpacks to more bytes"),
                                     ("evil.pth", "import os", "every start"), ("sitecustomize.py", "x", "every start"),
                                     ("a\\..\\b.py", "x", "character")):
            wheels = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
            make_wheel(wheels, "warder_hostile", [(member, content)])
            with self.subTest(why=why):
                self.refused(why, "--wheels", wheels)
        wheels = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        make_wheel(wheels, "warder_other", [("x.py", "")], tag="cp27-cp27m-win32")
        self.refused("built for cp27", "--wheels", wheels)
        for member, content, why in (("package/../../evil.js", "x", "its path has '..'"), ("/etc/evil.js", "x", "absolute"),
                                     ("package/link", {"type": tarfile_type("SYM"), "linkname": "/etc"}, "link, a device"),
                                     ("package/set-id", {"mode": 0o4755}, "set-user-id")):
            with self.subTest(why=why):
                self.refused(why, "--npm", make_npm(self.folder / "hostile.tgz", [(member, content)]))
        self.refused("no name of a package", "--npm", make_npm(self.folder / "hostile.tgz", [], "../../evil"))
        (self.folder / "plain.tgz").write_bytes(tar_of([("package/index.js", "")], "w:gz"))
        self.refused("no name of a package", "--npm", self.folder / "plain.tgz")

    @unittest.skipUnless(pathlib.Path("/usr/lib/python3/dist-packages/pip").is_dir(), "needs python3-pip")
    def test_requirements_come_from_the_index_that_is_named(self):
        for name in ("warder_first", "warder_second"):
            place = self.folder / "simple" / name.replace("_", "-")
            place.mkdir(parents=True)
            wheel = make_wheel(place, name, [(f"{name}.py", "A = 1\n")])
            (place / "index.html").write_text(f'<!doctype html><a href="{wheel.name}">{wheel.name}</a>')
        source = self.folder / "simple/warder-source"
        source.mkdir()
        (source / "warder_source-1.0.tar.gz").write_bytes(tar_of([("warder_source-1.0/setup.py", "raise SystemExit(7)")], "w:gz"))
        (source / "index.html").write_text('<!doctype html><a href="warder_source-1.0.tar.gz">x</a>')
        handler = functools.partial(QuietHandler, directory=str(self.folder))
        server = self.enterContext(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        index = f"http://127.0.0.1:{server.server_address[1]}/simple"
        requirements = self.folder / "requirements.txt"
        requirements.write_text("warder-first\nwarder-second==1.0\n")
        told = json.loads(warder("build", "pip", "--requirements", requirements, "--index", index, "--json", state=self.state).stdout)
        self.assertEqual(told["modules"], ["warder_first", "warder_second"])
        requirements.write_text("warder-source\n")
        failed = warder("build", "hostile", "--requirements", requirements, "--index", index, state=self.state, status=125).stderr
        self.assertIn("No matching distribution", failed)
        # pip would build these, or fetch them from elsewhere.
        url = index.replace("/simple", "/x.tar.gz")
        for line, why in ((f"warder-source @ {url}", "an @"), (url, "a URL, a path"), ("./x.tar.gz", "a URL, a path"),
                          ("--no-binary=:all:", "an option"), ("-e .", "an option"), ("-r more.txt", "an option"),
                          ("six --no-binary=six", "other than --hash"), ("six \\\n--no-binary=six", "other than --hash"),
                          ("six==1 \\\n  --hash=sha256:ab \\\n  more", "other than --hash"), (". ", "does not begin"),
                          ("s\u2028-e", "printable"), ("${HOME}", "a variable")):
            with self.subTest(line=line):
                requirements.write_text(f"# a comment: https://x/@\nwarder-first\n{line}\n", encoding="utf-8")
                failed = warder("build", "hostile", "--requirements", requirements, "--index", index, state=self.state, status=2).stderr
                self.assertIn("--requirements: line 3" if "\n" not in line else "--requirements: line ", failed)
                self.assertIn(why, failed)

    def test_words_of_the_command_are_checked(self):
        shutil.copy("/etc/hostname", self.folder / "x.whl")
        for words, status, why in ((["Bad/Name", "--deb", "x"], 2, "not the name of a layer"), (["a"], 2, "no packages"),
                                   (["a", "--deb", "-oAPT::x"], 2, "not the name of a package"),
                                   (["a", "--deb", "./missing.deb"], 1, "No such file"),
                                   (["a", "--deb", "python3"], 2, "jails have it already"),
                                   (["a", "--wheels", "/nonexistent"], 1, "/nonexistent"),
                                   (["a", "--index", "http://x", "--deb", "x"], 2, "only with --requirements"),
                                   (["a", "--wheels", str(self.folder)], 2, "not the name of a wheel"),
                                   (["a", "--npm", "x.zip"], 2, "neither a package.json")):
            with self.subTest(words=words):
                self.assertIn(why, warder("build", *words, state=self.state, status=status).stderr)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def tarfile_type(name):
    import tarfile
    return getattr(tarfile, f"{name}TYPE")


if __name__ == "__main__":
    unittest.main()
