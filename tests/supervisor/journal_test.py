#!/usr/bin/env python3
"""What the daemon remembers: every answer it gave, also when it is killed; and what it tells of it."""
import json
import os
import pathlib
import random
import sqlite3
import threading
import time
import unittest

from harness import BUSY, EXAMPLE_CATALOG, Client, Daemon, Policies, eventually
from upstream_harness import UpstreamTest

KILLS = int(os.environ.get("WARDER_KILLS", "20"))


def ask(daemon, question, *values):
    database = sqlite3.connect(f"file:{daemon.state}/journal/journal.db?mode=ro", uri=True)
    try:
        return database.execute(question, values).fetchall()
    finally:
        database.close()


def outcomes(daemon):
    return dict(ask(daemon, "SELECT id, coalesce(outcome, 'running') FROM executions"))


def stats(client):
    result = client.call("get_execution_stats")
    text = json.loads(result["content"][0]["text"])
    assert result["structuredContent"] == text
    return text


class Rows(unittest.TestCase):
    def test_an_answer_is_in_the_journal_before_it_is_sent(self):
        for how in ("durable", "buffered"):
            with self.subTest(how), Daemon(arguments=["--journal", how]) as daemon, Client(daemon.socket) as client:
                for code, outcome in (("result = 1", "ok"), ("1/0", "error"), ("import os; os._exit(3)", "exit")):
                    answer = client.execute(code)
                    self.assertEqual(answer["outcome"], outcome)
                    if how == "buffered":
                        spool = (daemon.state / "journal/spool").read_text()  # looked at first: emptied when committed
                        if outcomes(daemon).get(answer["execution_id"]) != outcome:
                            self.assertRegex(spool, f'"ended":\\["{answer["execution_id"]}","{outcome}"')
                        stats(client)  # commits what it counts
                    self.assertEqual(ask(daemon, "SELECT outcome, tenant, language, code_bytes FROM executions WHERE id=?",
                                         answer["execution_id"]),
                                     [(outcome, f"uid-{os.geteuid()}", "python", len(code))])

    def test_cancelled_and_refused_requests_leave_no_row_that_runs(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            request = client.begin_running(BUSY)
            self.assertIn("running", outcomes(daemon).values())
            client.cancel(request)
            self.assertTrue(client.call("execute_code", {"code": "1", "language": "cobol"})["isError"])
            client.execute("1")
            stats(client)  # commits what it counts
            self.assertEqual(sorted(outcomes(daemon).values()), ["cancelled", "ok"])

    def test_a_damaged_journal_is_set_aside(self):
        with Daemon() as daemon:
            with Client(daemon.socket) as client:
                client.execute("1")
            daemon.stop()
            (daemon.state / "journal/journal.db").write_bytes(b"x" * 10_000)
            daemon.start()
            self.assertIn("was renamed to", daemon.log_text())
            self.assertTrue(list((daemon.state / "journal").glob("journal.db.set-aside-*")))
            with Client(daemon.socket) as client:
                self.assertEqual(client.execute("result = 2")["result"], 2)

    def test_the_audit_chain_has_every_call_and_no_value(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            client.execute("result = 'a secret word'", context_vars={"password": "hunter2"})
            client.write_file("private.txt", "nobody's business")
            stats(client)
            entries = ask(daemon, "SELECT subject, uid, pid, shape FROM audit ORDER BY number")
            self.assertEqual([entry[:3] for entry in entries],
                             [(tool, os.geteuid(), os.getpid())
                              for tool in ("execute_code", "write_workspace_file", "get_execution_stats")])
            self.assertEqual(json.loads(entries[0][3]), {"code": "string(24)", "context_vars": "object(1)"})
            daemon.stop()
            kept = b"".join(file.read_bytes() for file in (daemon.state / "journal").iterdir())
            for secret in (b"secret word", b"hunter2", b"password", b"private.txt", b"business"):
                self.assertNotIn(secret, kept)


class Stats(unittest.TestCase):
    def test_the_keys_of_the_seed_and_what_really_happened(self):
        with Daemon(arguments=["--catalog", EXAMPLE_CATALOG]) as daemon, Client(daemon.socket) as client:
            before = stats(client)
            self.assertEqual(before["workspace"], {"path": "/workspace", "file_count": 0, "bytes": 0})
            self.assertEqual(before["skills"]["path"], "/skills")
            self.assertGreater(before["tool_registry"]["total_tools"], 0)
            self.assertIn("communication", before["tool_registry"]["categories"])
            self.assertLessEqual({"sandboxed_execution", "progressive_tool_discovery", "pii_tokenization",
                                  "skills_persistence", "workspace_files"}, set(before["capabilities"]))
            self.assertEqual(before["limits"], {"default_timeout_seconds": 30, "default_memory_mb": 500})
            self.assertEqual(before["executions"]["total"], 0)
            self.assertNotIn(str(daemon.state), json.dumps(before))

            client.write_file("data.txt", "x" * 1000)
            self.assertEqual(client.execute("result = len(read_file('data.txt'))")["result"], 1000)
            client.execute("1/0")
            client.execute("echo hello", language="shell")
            after = stats(client)
            client.call("save_skill", {"name": "mine", "code": "x = 1"})
            self.assertEqual(stats(client)["skills"]["count"], before["skills"]["count"] + 1)
            self.assertEqual(after["workspace"]["file_count"], 1)
            self.assertEqual(after["workspace"]["bytes"], 1000)
            self.assertEqual(after["executions"]["outcomes"], {"error": 1, "ok": 2})
            self.assertEqual(after["executions"]["languages"], {"python": 2, "shell": 1})
            self.assertEqual(after["executions"]["since_start"]["total"], 3)
            times = after["times_ms"]
            self.assertEqual(times["answer"]["of"], 3)
            self.assertLessEqual(times["answer"]["p50"], times["answer"]["p99"])
            self.assertLess(times["program"]["max"], times["answer"]["max"])
            self.assertGreater(times["program"]["p50"], 0)

            daemon.stop()
            daemon.start()
            with Client(daemon.socket) as again:
                restarted = stats(again)
            self.assertEqual(restarted["executions"]["total"], 3)
            self.assertEqual(restarted["executions"]["since_start"]["total"], 0)

class Ledger(UpstreamTest):
    def test_the_ledger_counts_what_did_not_reach_the_client(self):
        with self.daemon() as daemon, Client(daemon.socket) as client:
            with Client(daemon.socket) as other:  # what a client was told of tools is not avoided, so another one asks
                eventually(lambda: other.call("list_tool_categories")["structuredContent"]["total_tools"], "the server's tools")
            client.call("search_tools", {"query": "adds two numbers"})
            client.execute("result = 1")
            quiet = stats(client)["context"]
            self.assertEqual(quiet["kept_out"]["bytes"], 0)
            self.assertGreater(quiet["definitions_avoided"]["bytes"], 1000)
            answer = client.call("execute_code", {"code": "print('line of text\\n' * 100_000)"})
            told = len(answer["content"][0]["text"])
            loud = stats(client)["context"]
            self.assertEqual(loud["returned"]["bytes"] - quiet["returned"]["bytes"], told)
            self.assertEqual(loud["kept_out"]["bytes"], 1_300_001 - told)
            # "line", " of", " text" and the end of the line, 100,000 times; a tenth is not claimed.
            self.assertGreater(loud["kept_out"]["tokens_estimated"], 320_000)
            self.assertLessEqual(loud["kept_out"]["tokens_estimated"], 400_000)
            # Definitions are avoided once for each client, however much it runs.
            self.assertEqual(loud["definitions_avoided"], quiet["definitions_avoided"])
            with Client(daemon.socket) as second:
                second.execute("result = 1")
                both = stats(second)["context"]["definitions_avoided"]["bytes"]
            # This one had not searched: it was told nothing of the definitions.
            self.assertGreater(both, 2 * quiet["definitions_avoided"]["bytes"])

    def test_tools_that_cannot_be_called_are_not_counted_as_avoided(self):
        with Daemon(arguments=["--catalog", EXAMPLE_CATALOG]) as daemon, Client(daemon.socket) as client:
            client.execute("result = 1")
            self.assertEqual(stats(client)["context"]["definitions_avoided"]["bytes"], 0)

    def test_what_calls_of_the_code_brought_in_was_kept_out_unless_it_was_printed(self):
        with Daemon(arguments=["--catalog", EXAMPLE_CATALOG]) as daemon, Client(daemon.socket) as client:
            for code in ("warder.call('search_tools', query='mail', detail_level='full')",
                         "warder.search_tools('mail', detail_level='full')"):
                for ending in ("", "\nprint(text)"):
                    with self.subTest(code + ending):
                        before = stats(client)["context"]["kept_out"]["bytes"]
                        answer = client.call("execute_code", {"code":
                            f"import json, warder\nfound = {code}\ntext = json.dumps(found, ensure_ascii=False, "
                            "separators=(',', ':'))\nresult = len(text.encode())" + ending})
                        returned = len(answer["content"][0]["text"])
                        fetched = json.loads(answer["content"][0]["text"])["result"]
                        self.assertGreater(fetched, 300)
                        printed = fetched + 1 if ending else 0
                        self.assertEqual(stats(client)["context"]["kept_out"]["bytes"] - before,
                                         fetched + printed - returned)

    def test_what_the_code_read_of_its_workspace_was_kept_out_and_cannot_be_made_up(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            client.execute("write_file('data', 'x' * 4_000_000)")
            before = stats(client)["context"]

            def grown_by(code, **more):
                nonlocal before
                answer = client.call("execute_code", {"code": code, **more})
                returned = len(answer["content"][0]["text"])
                now = stats(client)["context"]
                read = now["read_in_jail"]["bytes"] - before["read_in_jail"]["bytes"]
                kept_out = now["kept_out"]["bytes"] - before["kept_out"]["bytes"]
                before = now
                self.assertEqual(kept_out, max(0, read - returned))
                return read

            for code, language in (("len(read_file('data'))", "python"), ("sum(map(len, open('data', 'rb')))", "python"),
                                   ("return (await fs.readFile('data')).length", "javascript"),
                                   ("return require('fs').readFileSync('/workspace/data').length", "javascript")):
                with self.subTest(code):
                    self.assertEqual(grown_by(code, language=language), 4_000_000)
            self.assertEqual(grown_by("1"), 0)
            # A guest that lies: it can claim no more than there was.
            for claim in ("10 ** 18", "2 ** 64 - 1"):
                self.assertEqual(grown_by("import gc\nfrom warder._reads import Reads\n"
                                          f"for o in gc.get_objects():\n    if type(o) is Reads: o.bytes = {claim}"),
                                 4_000_000)
            for claim in ("-1", "1.5", "2 ** 64", "'many'"):
                self.assertEqual(grown_by("import gc\nfrom warder._execution import Execution\n"
                                          "for o in gc.get_objects():\n"
                                          f"    if isinstance(o, Execution): o._message['read_bytes'] = {claim}"), 0)


class Asker(threading.Thread):
    """Asks until the daemon is gone; remembers what it was answered."""

    def __init__(self, daemon):
        super().__init__()
        self.client, self.answers, self.problem = Client(daemon.socket), {}, None

    def run(self):
        try:
            for number in range(100_000):
                self.ask(number)
        except (EOFError, ConnectionError, BrokenPipeError):
            pass
        except Exception as error:  # judged by the test
            self.problem = error


class Agent(Asker):
    """Runs code: the outcome of each execution."""

    CODES = ("result = 1", "1/0", "open('/workspace/file', 'a').write('x')", "print('x' * 1000)")

    def ask(self, number):
        answer = self.client.execute(self.CODES[number % len(self.CODES)])
        self.answers[answer["execution_id"]] = answer["outcome"]


class Keeper(Asker):
    """Keeps skills, files, a session, and personal data behind tokens: the last version of each skill, the last text of
    each file, what the session did, the text of each token."""

    def __init__(self, daemon, life):
        super().__init__(daemon)
        self.life, self.tokens, self.sent, self.files, self.session = life, {}, {}, {}, []

    def ask(self, number):
        text = f"ada.{self.life}.{number}@lovelace.org"
        self.tokens[self.tool("sanitize_pii", text=text)["sanitized_text"]] = text
        name = f"skill_{number % 3}"
        saved = self.tool("save_skill", name=name, code=f"VALUE = '{self.life}.{number}'\n")
        self.answers[name] = int(saved["version"])
        turn = self.life // 2 + number  # a slow machine has but one or two of a life
        file = f"kept/{turn % 2}"
        self.sent[file] = text * (1 + turn % 1000)
        self.tool("write_workspace_file", filename=file, content=self.sent[file])
        self.files[file] = self.sent[file]
        if turn % 4 == 1:
            answer = self.client.execute("n = globals().get('n', 0) + 1", session="kept")
            if answer["outcome"] == "ok":  # the first of a life is told that the session before it has ended
                self.session.append(answer["execution_id"])

    def tool(self, tool, **arguments):
        result = self.client.call(tool, arguments)
        if result.get("isError"):
            raise RuntimeError(result)
        return result["structuredContent"]


class Killed(unittest.TestCase):
    def test_nothing_acknowledged_is_lost_and_nothing_is_left(self):
        chance = random.Random(4)
        answered, versions, tokens, files = {}, {}, {}, {}
        with Policies(pool={"min_idle": 1, "max_idle": 2, "zygotes": True}, pii={"restore": "agents"}) as policies, \
                Daemon(policies=policies) as daemon:
            for kill in range(KILLS):
                agents, keeper = [Agent(daemon) for _ in range(2)], Keeper(daemon, kill)
                for asker in (*agents, keeper):
                    asker.start()
                until = time.monotonic() + 30
                begun = (lambda: keeper.files) if kill % 2 else (lambda: any(agent.answers for agent in agents))
                while not begun() and time.monotonic() < until:
                    time.sleep(0.005)  # until it is under load; the kill comes at some moment after that
                time.sleep(chance.uniform(0, 0.15))
                daemon.kill()  # fails when a process of it lives on
                for asker in (*agents, keeper):
                    asker.join(30)
                    self.assertFalse(asker.is_alive())
                    self.assertIsNone(asker.problem)
                    asker.client.close()
                for agent in agents:
                    answered.update(agent.answers)
                answered.update(dict.fromkeys(keeper.session, "ok"))
                versions.update(keeper.answers)
                tokens.update(keeper.tokens)
                files.update(keeper.files)
                if kill % 5 == 4:  # one that is killed before it serves, whatever it was mending then
                    daemon.launch()
                    time.sleep(chance.uniform(0, 0.05))
                    daemon.kill()
                daemon.start()
                written = outcomes(daemon)
                self.assertEqual({name: written.get(name) for name in answered}, answered, f"kill {kill}")
                self.assertNotIn("running", written.values())
                self.expect_kept(daemon, versions, keeper.tokens, f"kill {kill}")
                self.expect_files(daemon, files, keeper, f"kill {kill}")
            self.assertGreater(len(answered), KILLS)
            self.assertGreater(sum(versions.values()), KILLS / 4)
            self.assertEqual(set(files), {"kept/0", "kept/1"})
            self.expect_kept(daemon, versions, tokens, "at last")
            with Client(daemon.socket) as client:
                self.assertEqual(client.execute("result = 3")["result"], 3)
                self.assertEqual(stats(client)["executions"]["outcomes"].get("interrupted", 0),
                                 sum(outcome == "interrupted" for outcome in written.values()))
            # The reserve is not on each file system.
            self.assertEqual({file.name for file in (daemon.state / "journal").iterdir()} - {"reserve"},
                             {"journal.db", "journal.db-wal", "journal.db-shm", "spool", "in-use"})
            self.assertEqual([file.name for file in pathlib.Path(daemon.state, "self-test").iterdir()], [])
            tenants = pathlib.Path(daemon.state, "tenants")
            self.assertEqual([file for file in tenants.rglob(".*") if file.name.startswith((".warder-", ".removed-"))], [])
            (skills,) = tenants.glob("*/skills")
            self.assertEqual([file for file in skills.rglob("*") if file.name.startswith(".") or file.suffix == ".new"], [])

    def expect_files(self, daemon, files, keeper, when):
        """Each file is as it was acknowledged, or as the write that was under way would have it; never half of that."""
        with Client(daemon.socket) as client:
            for file, text in files.items():
                read = client.call("read_workspace_file", {"filename": file, "limit": 100_000})
                read = json.loads(read["content"][0]["text"])
                self.assertIn(read.get("content"), (text, keeper.sent.get(file)), f"{when}: {file}")
                files[file] = read["content"]
            if keeper.session:
                log = client.request("resources/read", uri="session:///kept")["contents"][0]["text"]
                self.assertLessEqual(set(keeper.session), {task["task_id"] for task in json.loads(log)["tasks"]}, when)

    def expect_kept(self, daemon, versions, tokens, when):
        with Client(daemon.socket) as client:
            listed = client.call("list_skills")["structuredContent"]["skills"]
            there = {skill["name"]: int(skill.get("version", 0)) for skill in listed}
            for name, version in versions.items():  # one that was not acknowledged may be newer
                self.assertGreaterEqual(there.get(name, 0), version, when)
                versions[name] = there[name]
            for begin in range(0, len(tokens), 500):
                part = list(tokens)[begin:begin + 500]
                restored = client.call("restore_pii", {"text": " ".join(part)})["structuredContent"]["restored_text"]
                self.assertEqual(restored.split(), [tokens[token] for token in part], when)


if __name__ == "__main__":
    unittest.main(verbosity=2)
