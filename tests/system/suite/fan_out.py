"""Branches of a fan-out where the kernel counts: the values of a session are charged once, to the session; a branch pays
for what it writes. Staged branches are proposals of their own."""
from suite.staging import act, picture, workspace_of
from suite.warder import EXECUTION, META, DaemonTest, answer, wait_until, write_file

MIB = 1 << 20
VALUES = 100 * MIB
WAIT = "import os, time\nwhile not os.path.exists('/workspace/go'): time.sleep(0.02)\n"


def memory_of(leaf):
    return int((leaf / "memory.current").read_text())


class FanOut(DaemonTest):
    policy = {"admission": {"concurrent_executions": 4}}

    def setUp(self):
        super().setUp()
        self.expect("ok", "import os, shutil\nfor name in os.listdir('/workspace'): os.remove('/workspace/' + name)")
        self.daemon.expect_no_jails()
        self.expect("ok", f"values = memoryview(bytearray(b'1') * {VALUES})", session="s", memory_mb=300)
        self.session = wait_until("one cgroup", lambda: found[0] if len(found := self.daemon.leaves()) == 1 else None)

    def tearDown(self):
        self.execute("", session="s", reset_session=True)
        super().tearDown()

    def branches(self, count):
        """The branches' cgroups, once each branch has written down that it runs."""
        wait_until("all branches run", lambda: sum(path.name.startswith("ran") for path in workspace_of(self.daemon).iterdir()) == count)
        return [leaf for leaf in (self.daemon.cgroup / "jails").glob(EXECUTION) if leaf != self.session]

    def test_shared_pages_are_charged_once_to_the_session(self):
        alone = memory_of(self.session)
        self.assertGreater(alone, VALUES)
        code = ("total = sum(values[n] for n in range(0, len(values), 4096))\n"
                "open(f'/workspace/ran-{item}', 'w').close()\n" + WAIT + "result = total")
        self.client.send({"jsonrpc": "2.0", "id": "fork", "method": "tools/call", "params": {
            "name": "execute_code", "arguments": {"code": code, "session": "s", "fork": [0, 1, 2], "timeout_seconds": 100,
                                                  "memory_mb": 64}, "_meta": META}})
        leaves = self.branches(3)
        self.assertEqual(len(leaves), 3)
        self.assertGreater(memory_of(self.session), alone + VALUES - 10 * MIB, "the copy is the session's")
        for leaf in leaves:
            self.assertLess(memory_of(leaf), 48 * MIB, "a branch reads the same pages")
            self.assertLess(int((leaf / "memory.peak").read_text()), 64 * MIB)
        with self.daemon.connect() as other:
            write_file(other, "go")
        while (message := self.client.receive()) and message.get("id") != "fork":
            pass
        found = answer(message["result"])
        self.assertIs(found["success"], True, found)
        self.assertEqual([one["result"] for one in found["results"]], [49 * (VALUES >> 12)] * 3)
        for one in found["results"]:
            self.assertLess(one["usage"]["memory_peak_bytes"], 48 * MIB, one)
        wait_until("the copy is gone", lambda: memory_of(self.session) < alone + 20 * MIB)
        self.expect("ok", "values[0]", session="s")

    def test_a_branchs_own_copy_meets_its_limit_and_harms_no_other(self):
        found = self.execute("own = bytes(values) if item else b''\nresult = values[1] + len(own)", session="s",
                             fork=[0, 1, 0], memory_mb=64, timeout_seconds=100)
        self.assertEqual([one["outcome"] for one in found["results"]], ["ok", "memory", "ok"], found)
        self.assertEqual(self.expect("ok", "len(values)", session="s")["result"], VALUES)

    def test_staged_branches_are_proposals_and_one_is_committed(self):
        self.expect("ok", "open('/workspace/shared', 'w').write('old')")
        before = picture(workspace_of(self.daemon), True)
        found = self.execute("import os\nwith open('/workspace/shared', 'a') as file: file.write(f' and {item} of {values[0]}')\n"
                             "open(f'/workspace/of-{item}', 'w').close()\nresult = sorted(os.listdir('/workspace'))",
                             session="s", fork=[1, 2, 3], workspace="staged", timeout_seconds=100)
        self.assertIs(found["success"], True, found)
        self.assertEqual([one["result"] for one in found["results"]], [[f"of-{n}", "shared"] for n in (1, 2, 3)])
        self.assertEqual(picture(workspace_of(self.daemon), True), before)
        first, second, third = [one["proposal"]["id"] for one in found["results"]]
        self.assertIs(act(self.client, second)["success"], True)
        self.assertEqual((workspace_of(self.daemon) / "shared").read_text(), "old and 2 of 49")
        self.assertEqual(sorted(path.name for path in workspace_of(self.daemon).iterdir()), ["of-2", "shared"])
        self.assertEqual([one["path"] for one in act(self.client, first)["conflicts"]], ["shared"])
        for proposal in (first, third):
            self.assertEqual(act(self.client, proposal, "discard")["proposal"]["state"], "discarded")


class Rootless(FanOut):
    user = "ordinary"
