"""What warderd is told, and how it answers what it cannot use: flags, files, folders, users, privileges."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import (
    HOLD,
    ORDINARY_USER,
    PATIENCE,
    ROOT,
    TOP,
    Client,
    Daemon,
    Policies,
    body_of,
    installed_copy,
    jailer_of,
    let_go,
)

WARDERD = os.environ["WARDERD"]
USAGE = 64


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="warder-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_daemon(self, *arguments, environment=None, program=WARDERD, launcher=()):
        """One that must end by itself. Everything it needs is given, unless `arguments` give it again."""
        given = [str(a) for a in arguments]
        for flag, value in (
            ("--socket", self.folder / "mcp.sock"),
            ("--state", self.folder / "state"),
            ("--policies", TOP / "policies"),
        ):
            if flag not in given:
                given += [flag, str(value)]
        return self.run_bare(*given, environment=environment, program=program, launcher=launcher)

    def run_bare(self, *arguments, environment=None, program=WARDERD, launcher=()):
        return subprocess.run(
            [*launcher, program, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=os.environ if environment is None else environment,
        )

    def expect_refusal(self, ended, *words, status=USAGE):
        self.assertEqual(ended.returncode, status, ended.stderr)
        self.assertEqual(ended.stdout, "")
        self.assertIn("warderd: ", ended.stderr)
        for word in words:
            self.assertIn(word, ended.stderr)
        self.assertLessEqual(len(ended.stderr), 2000)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def expect_mistake(self, arguments, *words):  # a start serves nevertheless: configuration_test.py
        ended = self.run_daemon("--check", *arguments)
        self.assertEqual((ended.returncode, ended.stdout), (1, ""), ended.stderr)
        for word in words:
            self.assertIn(word, ended.stderr)
        self.assertFalse((self.folder / "state").exists())


class Flags(Folder):
    def test_help_names_every_flag_and_signal(self):
        ended = self.run_bare("--help")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        for word in (
            "--config",
            "--socket",
            "--state",
            "--policies",
            "--catalog",
            "--bus",
            "--traces",
            "--log-level",
            "--version",
            "--help",
            "SIGHUP",
            "SIGTERM",
        ):
            self.assertIn(word, ended.stdout)

    def test_version_is_one_line(self):
        ended = self.run_bare("--version")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, r"\Awarderd \d+\.\d+\.\d+\n\Z")

    def test_help_comes_before_everything_else_and_touches_nothing(self):
        self.assertEqual(self.run_daemon("--bus", "nowhere", "--help").returncode, 0)
        self.assertEqual(os.listdir(self.folder), [])

    def test_flags_that_do_not_exist(self):
        for flag in ("--nonsense", "--sock", "-x", "extra", "--socket.path=a"):
            with self.subTest(flag):
                self.expect_refusal(self.run_daemon(flag), flag, "--help")

    def test_flags_without_their_value(self):
        for flag in ("--config", "--socket", "--state", "--policies", "--catalog", "--bus", "--journal", "--log-level"):
            with self.subTest(flag):
                self.expect_refusal(self.run_bare(flag), flag)

    def test_several_folders_of_policies(self):
        with Policies() as own:
            own.write("own.json", '{"extends": "nobody"}')
            own.write("tenants.json", '{"rules": [{"default": true, "policy": "own"}]}')
            ended = self.run_daemon("--check", "--policies", f"{TOP / 'policies'}:{own.folder}")
            self.assertIn(f"{own.folder}/own.json", ended.stderr)
            self.expect_refusal(self.run_daemon("--policies", f"{own.folder}:/nowhere"), "--policies", "/nowhere")

    def test_a_flag_twice(self):
        self.expect_refusal(self.run_daemon("--bus", "off", "--bus", "off"), "--bus")

    def test_a_catalogue_that_is_no_folder(self):
        (self.folder / "file").touch()
        for name in ("missing", "file"):
            with self.subTest(name):
                self.expect_refusal(self.run_daemon("--catalog", self.folder / name), "--catalog", "not a folder")

    def test_values_that_mean_nothing(self):
        for flag, value in (("--log-level", "loud"), ("--log-level", "7"), ("--bus", "nowhere"), ("--bus", "System"),
                            ("--journal", "fast"), ("--traces", "localhost:4318"), ("--traces", "unix://sock"),
                            ("--traces", "http://u:p@host")):
            with self.subTest(f"{flag} {value}"):
                self.expect_refusal(self.run_daemon(flag, value), flag, value)

    def test_a_socket_path_that_is_too_long(self):
        self.expect_refusal(self.run_daemon("--socket", "/tmp/" + "s" * 103), "--socket", "107")

    def test_policies_that_are_no_folder(self):
        for path in (self.folder / "absent", self.file("policies", "{}")):
            self.expect_refusal(self.run_daemon("--policies", path), "--policies", str(path), "not a folder")

    def test_a_folder_without_policies(self):
        (self.folder / "empty").mkdir()
        self.expect_mistake(["--policies", self.folder / "empty"], '"default"')

    def test_a_state_folder_that_cannot_be_made(self):
        state = self.file("file", "") / "state"
        self.expect_refusal(self.run_daemon("--state", state), str(state), "Not a directory")

    def test_a_user_who_says_nothing_is_told_what_to_say(self):
        if os.path.isdir("/usr/lib/warder/policies") or os.path.isdir("/etc/warder/policies"):
            self.skipTest("policies are installed on this machine")
        ended = self.run_bare("--socket", self.folder / "s", "--state", self.folder / "state", environment={})
        self.expect_refusal(ended, "no policies", "--policies DIR")

    def test_what_it_was_built_with_is_missing(self):
        for program in ("warder-jail-init", "warder-jailer"):
            with self.subTest(program), installed_copy() as top:
                (top / "lib/warder" / program).unlink()
                ended = self.run_daemon(program=top / "sbin/warderd")
                self.expect_refusal(ended, f"lib/warder/{program}", "No such file", status=1)

    def test_a_jailer_that_cannot_be_executed(self):
        with installed_copy() as top:
            (top / "lib/warder/warder-jailer").write_text("no program")
            ended = self.run_daemon(program=top / "sbin/warderd")
            self.expect_refusal(ended, "execute the jailer", "Exec format error", "install the package", status=1)


class ConfigurationFile(Folder):
    def test_files_that_cannot_be_read(self):
        for path in (self.folder / "absent.json", self.folder, "/dev/zero"):
            with self.subTest(str(path)):
                self.expect_mistake(["--config", path], str(path), "cannot be read")

    def test_files_that_are_not_what_they_should_be(self):
        wrong = {
            "empty": ("", ""),
            "no JSON": ("socket = /run/x", ""),
            "a list": ("[]", ""),
            "a number": ("3", ""),
            "cut off": ('{"socket": "/run', ""),
            "twice": ('{"bus": "off"} {}', ""),
            "an unknown key": ('{"sokcet": "/run/x"}', "sokcet"),
            "a wrong type": ('{"socket": 3}', "socket"),
            "a wrong level": ('{"log_level": "loud"}', "log_level"),
            "a wrong bus": ('{"bus": "nowhere"}', "nowhere"),
            "policies as text": ('{"policies": "/etc"}', "policies"),
            "ids of the host": ('{"id_range": {"first": 0, "count": 65536}}', "id_range.first"),
            "too few ids": ('{"id_range": {"first": 100000, "count": 3}}', "id_range.count"),
            "an unknown id key": ('{"id_range": {"first": 100000, "count": 99, "step": 2}}', "step"),
            "a journal of a wrong kind": ('{"journal": {"durability": "fast"}}', "journal.durability"),
            "a journal that keeps nothing": ('{"journal": {"executions_kept": 0}}', "journal.executions_kept"),
            "an audit of too few bytes": ('{"journal": {"audit_kept_bytes": 1000}}', "journal.audit_kept_bytes"),
            "an audit of bytes in words": ('{"journal": {"audit_kept_bytes": "1G"}}', "journal.audit_kept_bytes"),
            "an unknown journal key": ('{"journal": {"sync": true}}', "sync"),
            "a collector that is none": ('{"traces": "localhost:4318"}', "traces: localhost:4318"),
            "a collector without a place": ('{"traces": {"headers": "/x"}}', "traces.url"),
            "a collector of a wrong type": ('{"traces": 4318}', "traces"),
            "very deep": ("[" * 100_000, ""),
        }
        for name, (text, word) in wrong.items():
            with self.subTest(name):
                path = self.file("warder.json", text)
                self.expect_mistake(["--config", path], word, str(path))

    @unittest.skipUnless(ROOT, "only root becomes somebody else")
    def test_the_daemon_does_not_run_as_root(self):
        self.expect_mistake(["--config", self.file("w.json", '{"user": "root"}')], "user: ", "root")

    def test_flags_win_over_the_file(self):
        other = self.folder / "from-the-file.sock"
        config = self.file(
            "w.json", json.dumps({"socket": str(other), "state": str(self.folder / "s"), "log_level": "error"})
        )
        with Daemon(arguments=("--config", config, "--log-level", "debug")) as daemon:  # gives --socket and --state
            self.assertTrue(daemon.socket.is_socket())
            self.assertFalse(other.exists())
            self.assertFalse((self.folder / "s").exists())
            self.assertIn("is ready", daemon.log_text())

    def test_the_file_is_heeded(self):
        config = self.file("w.json", '{"log_level": "error"}')
        with Daemon(arguments=("--config", config)) as daemon:
            self.assertEqual(daemon.log_text(), "")


class BrokenPolicies(Folder):
    def expect_problem(self, file, text, *words):
        with Policies() as policies:
            policies.write(file, text)
            policies.write("tenants.json", '{"rules": [{"default": true, "policy": "own"}]}')
            self.expect_mistake(["--policies", policies.folder], str(policies.folder / file), *words)

    def test_file_key_value_and_range_are_named(self):
        self.expect_problem("own.json", '{"extends": "default", "limits": {"standard": {"tasks": 0}}}',
                            "limits.standard.tasks", ": 0 ", "4..65536")

    def test_unknown_keys_and_unknown_bases(self):
        self.expect_problem("own.json", '{"extends": "default", "limts": {}}', "limts")
        self.expect_problem("own.json", '{"extends": "nobody"}', "nobody")

    def test_text_that_is_no_json(self):
        self.expect_problem("own.json", "{", "own.json")

    def test_a_protection_that_this_machine_lacks_is_refused_not_weakened(self):
        if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            self.skipTest("this machine has cgroup v2")
        with Policies(isolation={"cgroups": "required"}) as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                body = client.execute("result = 1")
                self.assertEqual((body["outcome"], body["rule"]), ("denied", "isolation.cgroups"), body)
                self.assertIn("cgroup", body["error"])
                self.assertTrue(body["remedy"])
            before_ready = daemon.log_text().split("is ready")[0]
            self.assertIn("every execution will be refused: policy 'default': ", before_ready)


class Places(Folder):
    def test_a_socket_that_is_served_is_left_alone(self):
        with Daemon() as daemon:
            ended = self.run_daemon("--socket", daemon.socket)
            self.expect_refusal(ended, "another server listens", str(daemon.socket), status=1)
            with Client(daemon.socket) as client:
                self.assertEqual(client.execute("result = 1")["result"], 1)

    def test_a_state_folder_that_is_in_use_is_left_alone(self):
        with Daemon() as daemon:
            ended = self.run_daemon("--state", daemon.state)
            self.expect_refusal(ended, "another warderd uses", str(daemon.state), "--state", status=1)
            with Client(daemon.socket) as client:
                self.assertEqual(client.execute("result = 1")["result"], 1)

    def test_a_file_that_is_no_socket_is_left_alone(self):
        path = self.file("data", "precious")
        self.expect_refusal(self.run_daemon("--socket", path), "is not a socket", status=1)
        self.assertEqual(path.read_text(), "precious")

    def test_a_socket_that_nobody_serves_is_replaced(self):
        with Daemon() as daemon:
            daemon.kill()
            self.assertTrue(daemon.socket.is_socket())
            daemon.start()
            with Client(daemon.socket) as client:
                self.assertEqual(client.execute("result = 2")["result"], 2)

    def test_folders_on_the_way_are_made(self):
        with Daemon() as daemon:
            daemon.socket = daemon.directory / "run" / "warder" / "mcp.sock"
            daemon.stop()
            daemon.start()
            self.assertTrue(daemon.socket.is_socket())

    def test_the_upstream_folder_of_earlier_versions_keeps_what_it_holds(self):
        with Daemon() as daemon:
            daemon.stop()
            (daemon.state / "upstream").rename(daemon.state / "bridge")
            (daemon.state / "bridge/kept").write_text("as it was")
            daemon.start()
            self.assertEqual((daemon.state / "upstream/kept").read_text(), "as it was")
            self.assertFalse((daemon.state / "bridge").exists())

    def test_relative_paths_count_from_where_it_was_started(self):
        # Its own folder is / or the state: a path that was not made absolute would point elsewhere.
        os.chdir(self.folder)
        self.addCleanup(os.chdir, "/")
        self.folder.chmod(0o711)
        with Daemon(launcher=("env", f"--chdir={self.folder}")) as daemon:
            daemon.stop()
            daemon.socket, daemon.state = pathlib.Path("relative.sock"), pathlib.Path("relative-state")
            daemon.start()
            with Client(daemon.socket) as client:
                self.assertEqual(client.execute("result = 3")["result"], 3)


def status_of(pid, thread=None):
    lines = pathlib.Path(f"/proc/{pid}/task/{thread or pid}/status").read_text().splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


class Privileges(Folder):
    KEPT = sum(1 << bit for bit in (5, 6, 7, 18, 21, 24))  # KILL SETGID SETUID SYS_CHROOT SYS_ADMIN SYS_RESOURCE

    def test_the_daemon_has_none(self):
        with Daemon() as daemon:
            threads = os.listdir(f"/proc/{daemon.process.pid}/task")
            # The loop's, the journal's writer, one each for the stubs of /servers, for what changes in the catalogue,
            # for what was learned from searches, for vaults, for skills, for policies and for the
            # indexes of workspaces; and one while WordNet is read, which has time until a search.
            self.assertIn(len(threads), (9, 10))
            for status in (status_of(daemon.process.pid, thread) for thread in threads):
                for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", *(["CapBnd"] if ROOT else [])):
                    self.assertEqual(int(status[name], 16), 0, name)
                self.assertEqual(status["NoNewPrivs"], "1")
                self.assertEqual(status["Groups"] if ROOT else "", "")
                for ids in ("Uid", "Gid"):
                    self.assertNotIn("0", status[ids].split()) if ROOT else None
                    self.assertEqual(len(set(status[ids].split())), 1, "real, effective, saved, file system id are one")

    @unittest.skipUnless(ROOT, "an ordinary user's jailer has only what its user namespace gives")
    def test_the_jailer_keeps_only_what_its_work_needs(self):
        with Daemon() as daemon:
            status = status_of(jailer_of(daemon))
            for name in ("CapPrm", "CapEff", "CapBnd"):
                self.assertEqual(int(status[name], 16) & ~self.KEPT, 0, name)
            self.assertNotEqual(int(status["CapEff"], 16), 0)
            self.assertEqual(int(status["CapInh"], 16) | int(status["CapAmb"], 16), 0)
            self.assertEqual(status["Groups"], "")

    @unittest.skipUnless(ROOT, "only root can look")
    def test_the_jailer_holds_nothing_of_the_daemon(self):
        with Daemon() as daemon:
            held, usable = set(), set()
            for descriptor in pathlib.Path(f"/proc/{jailer_of(daemon)}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError):  # closed meanwhile: it builds jails
                    name = os.readlink(descriptor)
                    held.add(name)
                    info = descriptor.parent.parent / "fdinfo" / descriptor.name
                    if not int(info.read_text().split("flags:")[1].split()[0], 8) & os.O_PATH:
                        usable.add(name)
            self.assertEqual(len([name for name in held if name.startswith("socket:")]), 1, f"one, for orders: {held}")
            for place in (daemon.state, daemon.state / "journal", daemon.state / "self-test"):
                self.assertNotIn(str(place), held)
            for place in (daemon.state / "tenants", daemon.state / "upstream"):  # to know what lies below
                self.assertIn(str(place), held)
                self.assertNotIn(str(place), usable)

    @unittest.skipUnless(ROOT, "only root can look")
    def test_the_jailer_has_neither_the_daemons_code_nor_its_memory(self):
        with Daemon() as daemon:
            jailer = pathlib.Path("/proc", str(jailer_of(daemon)))
            self.assertEqual([(jailer / file).read_bytes() for file in ("cmdline", "environ")], [b"warder-jailer\0", b""])
            mapped = {line.split()[5] for line in (jailer / "maps").read_text().splitlines() if len(line.split()) > 5}
            self.assertEqual({pathlib.Path(name).name for name in mapped if name.startswith("/")}, {"warder-jailer"})
            self.assertLess(int(status_of(jailer.name)["VmRSS"].split()[0]), 4096, "KiB")

    @unittest.skipUnless(ROOT, "only root's daemon has a range of ids")
    def test_no_jail_has_the_daemons_id(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        config = pathlib.Path(folder, "config.json")
        config.write_text('{"id_range": {"first": 100000, "count": 4}}')  # init, two runners, the daemon
        with Daemon(arguments=["--config", config], policies=self.enterContext(Policies())) as daemon:
            self.assertEqual(os.stat(f"/proc/{daemon.process.pid}").st_uid, 100003)
            with Client(daemon.socket) as client:
                running = [client.begin_running(HOLD, timeout_seconds=PATIENCE) for _ in range(2)]
                more = body_of(client.call("execute_code", {"code": "result = 1"}))
                self.assertFalse(more["success"], more)
                self.assertIn("every host id of the jails' range is in use", json.dumps(more))
                let_go(daemon)
                for one in running:
                    self.assertTrue(body_of(client.answer(one)["result"])["success"])

    def test_state_is_closed_to_others(self):
        with Daemon() as daemon:
            with Client(daemon.socket) as client:
                client.write_file("mine", "x")
            self.assertEqual((daemon.state / "tenants").stat().st_mode & 0o777, 0o700)
            tenant = next((daemon.state / "tenants").iterdir())
            self.assertEqual(tenant.stat().st_mode & 0o077, 0)


class OrdinaryUser(Folder):
    """Without root: the same two processes in a user namespace of their own; what is weaker is said."""

    def start_as_somebody(self, top, group=ORDINARY_USER):
        launcher = ("setpriv", f"--reuid={ORDINARY_USER}", f"--regid={group}", "--clear-groups") if ROOT else ()
        if ROOT and not shutil.which("setpriv"):
            self.skipTest("NOT TESTED: no setpriv here to become an ordinary user")
        probe = subprocess.run(
            [*launcher, "unshare", "--user", "--map-current-user", "--mount", "true"],
            cwd="/",
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        if probe.returncode != 0:
            print(
                f"\n*** NOT TESTED: this machine gives ordinary users no user namespaces: {probe.stderr} ***\n",
                file=sys.stderr,
            )
            self.skipTest("no unprivileged user namespaces")
        daemon = Daemon(program=top / "sbin/warderd", policies=top / "policies", launcher=launcher)
        if ROOT:
            os.chown(daemon.directory, ORDINARY_USER, ORDINARY_USER)
        return daemon

    @unittest.skipUnless(ROOT, "only root can choose the group")
    def test_the_users_group_may_have_another_number(self):
        with installed_copy() as top, self.start_as_somebody(top, group=12321) as daemon, Client(daemon.socket) as client:
            self.assertEqual(client.execute("import os\nresult = [os.getuid(), os.getgid()]")["result"], [1000, 1000])

    def test_serves_and_says_what_is_weaker(self):
        with installed_copy() as top, self.start_as_somebody(top) as daemon:
            uid = ORDINARY_USER if ROOT else os.geteuid()
            status = status_of(daemon.process.pid)
            self.assertEqual(set(status["Uid"].split()), {str(uid)})
            self.assertEqual((int(status["CapEff"], 16), status["NoNewPrivs"]), (0, "1"))
            with Client(daemon.socket) as client:
                client.write_file("data.txt", "from outside")
                result = client.call(
                    "execute_code", {"code": "write_file('made', 'x'); result = read_file('data.txt')"}
                )
                receipt = result["_meta"]["org.warder/receipt"]
                body = json.loads(result["content"][0]["text"])
                self.assertEqual((body["outcome"], body["result"]), ("ok", "from outside"), body)
                self.assertEqual(body["files"], {"created": ["made"]})
                self.assertEqual(
                    sorted(receipt["namespaces"]), sorted(["user", "pid", "mount", "net", "ipc", "uts", "cgroup"])
                )
                self.assertEqual(receipt["identity"], {"shared": uid})
                self.assertTrue(any("one host id" in line for line in receipt["weaker"]), receipt["weaker"])
                self.assertEqual(client.execute("while True: pass", timeout_seconds=0.3)["outcome"], "timeout")
                self.assertNotIn("will be refused", daemon.log_text())

    def test_a_policy_that_wants_more_is_refused_not_weakened(self):
        with installed_copy() as top:
            policy = json.loads((top / "policies/default.json").read_text())
            policy["isolation"]["identity"] = "required"
            (top / "policies/default.json").write_text(json.dumps(policy))
            with self.start_as_somebody(top) as daemon, Client(daemon.socket) as client:
                body = client.execute("result = 1")
                self.assertEqual((body["outcome"], body["rule"]), ("denied", "isolation.identity"), body)
                before_ready = daemon.log_text().split("is ready")[0]
                self.assertIn("every execution will be refused: policy 'default': ", before_ready)
                self.assertIn("systemctl --user enable --now warder.socket", before_ready)

    def test_a_state_folder_of_somebody_else_is_refused(self):
        with installed_copy() as top, self.start_as_somebody(top) as daemon:
            for state in ("/", "/proc/1"):
                ended = self.run_daemon("--state", state, program=top / "sbin/warderd", launcher=daemon.launcher)
                self.assertIn(ended.returncode, (1, USAGE))
                self.assertRegex(ended.stderr, "warderd: .*(Permission denied|Operation not permitted|No such file)")

    def test_only_this_user_may_connect(self):
        with installed_copy() as top, self.start_as_somebody(top) as daemon:
            self.assertEqual(daemon.socket.stat().st_mode & 0o777, 0o600)


@unittest.skipUnless(ROOT, "a user's own daemon serves this user only")
class Socket(Folder):
    def test_everybody_may_connect_to_the_systems_daemon(self):
        for mask in (0o022, 0o077):
            before = os.umask(mask)
            self.addCleanup(os.umask, before)
            with Daemon() as daemon:
                self.assertEqual(daemon.socket.stat().st_mode & 0o777, 0o666)


if __name__ == "__main__":
    unittest.main(verbosity=2)
