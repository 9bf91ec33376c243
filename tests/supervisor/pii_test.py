#!/usr/bin/env python3
"""Personal data between agents, the code they run and the vault: what leaves, who gets it back, what survives."""
import contextlib
import json
import os
import signal
import threading
import unittest

from harness import EXAMPLE_CATALOG, Client, Daemon, Policies, Service, let_go, workspace_of

EMAIL, CARD, KEY = "ada@lovelace.org", "4111 1111 1111 1111", "-----BEGIN PRIVATE KEY-----"
PEM = f"{KEY}\n{'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7' * 3}\n-----END PRIVATE KEY-----"


def pii(**changes):
    return Policies(pii=changes)


def answer(result):
    text = json.loads(result["content"][0]["text"])
    assert result["structuredContent"] == text, result
    return text


def is_anywhere(secret, message):
    return secret in json.dumps(message, ensure_ascii=False) or secret in json.dumps(message)


class Code(unittest.TestCase):
    """tokenize_pii and detokenize_pii in a jail."""

    ROUND_TRIP = f"""
text = "mail {EMAIL} or pay {CARD}"
clean, tokens = tokenize_pii(text)
result = [clean, sorted(tokens.values()), detokenize_pii(clean, tokens) == text]
"""

    def test_code_hides_and_has_its_own_map(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            clean, values, same = client.execute(self.ROUND_TRIP)["result"]
            self.assertRegex(clean, r"\Amail \[EMAIL_\w{6}\] or pay \[CREDIT_CARD_\w{6}\]\Z")
            self.assertEqual((values, same), ([CARD, EMAIL], True))
            # The same text has the same token for the tool and for code, in any language.
            self.assertIn(answer(client.call("sanitize_pii", {"text": EMAIL}))["sanitized_text"], clean)
            body = client.execute(
                f"const [clean, tokens] = await tokenize_pii('mail {EMAIL} or pay {CARD}')\n"
                "return [clean, Object.keys(tokens).length, await detokenize_pii(clean, tokens)]", language="javascript")
            self.assertEqual(body["result"], [clean, 2, f"mail {EMAIL} or pay {CARD}"])

    def test_one_pass_puts_back_what_the_map_says_and_nothing_twice(self):
        code = "result = detokenize_pii('a ab b', {'a': 'b', 'ab': 'x', 'b': 'a'}) + detokenize_pii('[', {})"
        with Daemon() as daemon, Client(daemon.socket) as client:
            self.assertEqual(client.execute(code)["result"], "b x a[")
            body = client.execute("return detokenize_pii('a ab b', {'a': 'b', 'ab': '$&', 'b': 'a'})",
                                  language="javascript")
            self.assertEqual(body["result"], "b $& a")

    def test_the_vault_is_closed_to_code_unless_the_policy_opens_it(self):
        with pii() as policies, Service(policies=policies) as daemon, Client(daemon.socket) as client:
            token = answer(client.call("sanitize_pii", {"text": EMAIL}))["sanitized_text"]
            refused = client.execute(f"result = detokenize_pii('{token}')")
            self.assertIn("CallError: denied", refused["error"])
            self.assertIn("pii.restore", refused["error"])
            policies.change(pii={"restore": "code"})
            daemon.process.send_signal(signal.SIGHUP)
            daemon.hear("READY=1")
            with Client(daemon.socket) as later:
                self.assertEqual(later.execute(f"result = detokenize_pii('to {token}')")["result"], f"to {EMAIL}")
                self.assertEqual(later.execute("result = detokenize_pii('[EMAIL_aaaaaa]')")["result"], "[EMAIL_aaaaaa]")
                self.assertTrue(later.call("restore_pii", {"text": token})["isError"])

    def test_wrong_arguments_are_told(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            self.assertIn("tokenize_pii.text", client.execute("tokenize_pii(7)")["error"])
            self.assertIn("text", client.execute("import warder\nwarder.call('tokenize_pii', words='x')")["error"])


class Vault(unittest.TestCase):
    def test_tokens_survive_the_end_of_the_daemon_even_a_sudden_one(self):
        with pii(restore="agents") as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                token = answer(client.call("sanitize_pii", {"text": EMAIL}))["sanitized_text"]
            daemon.kill()
            daemon.start()
            with Client(daemon.socket) as client:
                self.assertEqual(answer(client.call("restore_pii", {"text": token}))["restored_text"], EMAIL)
                self.assertEqual(answer(client.call("sanitize_pii", {"text": EMAIL}))["sanitized_text"], token)
            tenant = workspace_of(daemon).parent
            for file in (tenant / "vault").iterdir():
                self.assertNotIn(EMAIL.encode(), file.read_bytes())
            key = daemon.state / "master.key"
            self.assertEqual(key.stat().st_mode & 0o777, 0o600)

    def test_what_was_answered_is_kept_though_the_daemon_is_ending(self):
        texts = [f"user{i}@ending.example" for i in range(60)]
        with pii(restore="agents") as policies, Daemon(policies=policies) as daemon:
            with Client(daemon.socket) as client:
                requests = [client.begin("tools/call", name="sanitize_pii", arguments={"text": text}) for text in texts]
                client.answer(requests[0])
                daemon.process.send_signal(signal.SIGTERM)
                with contextlib.suppress(EOFError, ConnectionError):
                    while len(client.answers) < len(requests):
                        client.take()
            daemon.stop()
            tokens = {}
            for request, text in zip(requests, texts):
                result = client.answers.get(request, {}).get("result", {})
                if result and not result.get("isError"):
                    tokens[answer(result)["sanitized_text"]] = text
            self.assertTrue(tokens)
            daemon.start()
            with Client(daemon.socket) as client:
                restored = answer(client.call("restore_pii", {"text": "\n".join(tokens)}))["restored_text"]
            self.assertEqual(restored.split("\n"), list(tokens.values()))

    def test_a_vault_of_another_key_is_refused_with_the_way_out(self):
        with Daemon() as daemon:
            with Client(daemon.socket) as client:
                answer(client.call("sanitize_pii", {"text": EMAIL}))
            daemon.stop()
            (daemon.state / "master.key").unlink()
            daemon.start()
            with Client(daemon.socket) as client:
                refused = client.call("sanitize_pii", {"text": EMAIL})
                self.assertTrue(refused["isError"])
                self.assertIn("another key", answer(refused)["error"])


class Answers(unittest.TestCase):
    """A policy that wants every answer sanitised."""

    @classmethod
    def setUpClass(cls):
        cls.policies = cls.enterClassContext(pii(answers="sanitised", restore="code",
                                                 patterns={"employee_id": r"\bE-\d{6}\b"}))
        cls.daemon = cls.enterClassContext(Daemon(policies=cls.policies))
        cls.client = cls.enterClassContext(Client(cls.daemon.socket))

    def expect_hidden(self, message, *secrets):
        for secret in secrets:
            self.assertFalse(is_anywhere(secret, message), message)

    def test_what_code_returns_prints_and_raises(self):
        result = self.client.call("execute_code", {"code":
            f"import sys\nprint({EMAIL!r}); print({PEM!r})\nprint('E-123456', file=sys.stderr)\n"
            f"result = {{'mail': 'first\\n{EMAIL}', 'card': 4111111111111111, '{EMAIL}': 1, 'n': 41}}\n"})
        self.expect_hidden(result, EMAIL, "4111", "E-123456", KEY, "MIIEvQ")
        body = json.loads(result["content"][0]["text"])
        self.assertRegex(body["result"]["mail"], r"\Afirst\n\[EMAIL_\w{6}\]\Z")
        self.assertRegex(body["result"]["card"], r"\A\[CREDIT_CARD_\w{6}\]\Z")
        self.assertRegex(body["stderr"], r"\A\[EMPLOYEE_ID_\w{6}\]")
        self.assertEqual(body["result"]["n"], 41)
        self.assertEqual(len(body["output"]), 2, "the key's lines are one token")
        failed = self.client.call("execute_code", {"code": f"raise ValueError('no {EMAIL}')"})
        self.expect_hidden(failed, EMAIL)
        self.assertRegex(json.loads(failed["content"][0]["text"])["error"], r"no \[EMAIL_\w{6}\]")

    def test_files_resources_and_names(self):
        self.client.call("write_workspace_file", {"filename": f"of {EMAIL}.txt", "content": f"from {EMAIL}"})
        self.client.call("write_workspace_file", {"filename": "plain.txt", "content": f"from {EMAIL}"})
        listed = self.client.call("list_workspace_files")
        read = self.client.call("read_workspace_file", {"filename": "plain.txt"})
        missing = self.client.call("read_workspace_file", {"filename": f"none of {EMAIL}"})
        resources = self.client.request("resources/list")
        self.expect_hidden([listed, read, missing, resources], EMAIL, EMAIL.replace("@", "%40"))
        plain = next(one["uri"] for one in resources["resources"] if one["uri"].endswith("plain.txt"))
        contents = self.client.request("resources/read", uri=plain)
        self.expect_hidden(contents, EMAIL)
        self.assertRegex(contents["contents"][0]["text"], r"\Afrom \[EMAIL_\w{6}\]\Z")

    def test_output_that_is_kept_and_errors_of_the_protocol(self):
        body = json.loads(self.client.call("execute_code", {"code": f"print('{EMAIL} ' * 3000)"})["content"][0]["text"])
        kept = self.client.call("read_workspace_file", {"filename": body["truncated"]["stdout"]["resource"]})
        self.expect_hidden([body, kept], EMAIL)
        with self.assertRaises(RuntimeError) as raised:
            self.client.call(f"tool-{EMAIL}")
        self.expect_hidden(raised.exception.args[0], EMAIL)

    def test_skills_in_all_their_ways_out(self):
        saved = self.client.call("save_skill", {"name": "greet_ada", "description": f"Mails {EMAIL}",
                                                "code": f"def greet_ada(): return 'dear {EMAIL}'\n"})
        self.assertFalse(saved.get("isError", False), saved)
        said = {
            "tool": self.client.call("load_skill", {"name": "greet_ada"}),
            "list": self.client.call("list_skills"),
            "entries": self.client.request("skills/list"),
            "entry": self.client.request("skills/get", uri="skill://greet-ada/SKILL.md"),
            "resources": self.client.request("resources/list"),
            "resource": self.client.request("resources/read", uri="skill://greet-ada/SKILL.md"),
            "code": self.client.request("resources/read", uri="skill://greet-ada/scripts/greet_ada.py"),
            "prompts": self.client.request("prompts/list"),
            "prompt": self.client.request("prompts/get", name="greet_ada"),
            "call": self.client.execute("from skills import greet_ada\nresult = greet_ada()"),
        }
        for way, answered in said.items():
            with self.subTest(way=way):
                self.expect_hidden(answered, EMAIL, EMAIL.replace("@", "%40"))
                self.assertRegex(json.dumps(answered), r"\[EMAIL_\w{6}\]")
        # What is nobody's data stays as it is: a client checks files by their digests.
        for entry in said["entries"]["skills"]:
            for file in entry["resources"]:
                self.assertRegex(file["digest"], r"\Asha256:[0-9a-f]{64}\Z")

    def test_session_logs(self):
        log = workspace_of(self.daemon).parent / "sessions/s1.log"
        log.write_text('{"event":"begin","timestamp":"2026-11-21T10:00:00Z"}\n'
                       + json.dumps({"event": "task", "task_id": "e1", "code": f"mail('{EMAIL}')"}) + "\n")
        read = self.client.request("resources/read", uri="session:///s1")
        self.expect_hidden(read, EMAIL)
        (task,) = json.loads(read["contents"][0]["text"])["tasks"]
        self.assertRegex(task["code"], r"mail\('\[EMAIL_\w{6}\]'\)")

    def test_completion_and_changes_name_no_file_that_is_hidden(self):
        self.client.call("write_workspace_file", {"filename": f"note-{EMAIL}.txt", "content": "x"})
        completion = self.client.request("completion/complete", argument={"name": "path", "value": "note"},
                                         ref={"type": "ref/resource", "uri": "workspace:///{+path}"})["completion"]
        self.expect_hidden(completion, EMAIL)
        self.assertRegex(completion["values"][0], r"\[EMAIL_\w{6}\]")
        made = self.client.call("execute_code", {"code":
            f"write_file('made-{EMAIL}.txt', 'x')\nwrite_file('note-{EMAIL}.txt', 'longer than before')"})
        self.expect_hidden(made, EMAIL, EMAIL.replace("@", "%40"))
        files = json.loads(made["content"][0]["text"])["files"]
        self.assertRegex(json.dumps(files["created"]), r'\A\["\[EMAIL_\w{6}\]"\]\Z')
        self.assertRegex(json.dumps(files["modified"]), r'\A\["\[EMAIL_\w{6}\]"\]\Z')
        gone = self.client.execute(f"delete_file('made-{EMAIL}.txt')")
        self.expect_hidden(gone, EMAIL)
        self.assertEqual(len(gone["files"]["deleted"]), 1)

    def test_progress_tells_no_output(self):
        self.client.notifications.clear()
        waits = "while not os.path.exists('/workspace/go'): time.sleep(0.01)"
        request = self.client.begin_execute(f"import os, time\nprint('{EMAIL}', flush=True)\n{waits}", token="t")
        self.client.await_progress("t")
        let_go(self.daemon)
        self.client.executed(request)
        self.assertTrue(self.client.notifications)
        self.expect_hidden(self.client.notifications, EMAIL)

    def test_a_token_goes_around(self):
        clean = self.client.execute(f"result = {EMAIL!r}")["result"]
        again = self.client.execute(f"result = [{clean!r}, len(detokenize_pii({clean!r}))]")["result"]
        self.assertEqual(again, [clean, len(EMAIL)])


class Tools(unittest.TestCase):
    def test_a_lean_policy_offers_three_tools_and_calls_no_other(self):
        with Policies(tools="lean") as policies, Daemon(policies=policies) as daemon, Client(daemon.socket) as client:
            names = {tool["name"] for tool in client.request("tools/list")["tools"]}
            self.assertLessEqual({"execute_code", "search_tools"}, names)
            self.assertLessEqual(names, {"execute_code", "search_tools", "call_tool"})
            with self.assertRaisesRegex(RuntimeError, "Unknown tool: sanitize_pii"):
                client.call("sanitize_pii", {"text": "x"})
            self.assertEqual(client.execute("result = tokenize_pii('x')[0]")["result"], "x")

    def test_others_are_answered_while_a_long_text_is_looked_at(self):
        slow = "+1 1 " * 700_000  # begins a number everywhere, and is none
        with Daemon() as daemon, Client(daemon.socket) as client, Client(daemon.socket) as other:
            request = client.begin("tools/call", name="sanitize_pii", arguments={"text": slow})
            waiting = threading.Thread(target=client.answer, args=(request,))
            waiting.start()
            meanwhile = 0
            while waiting.is_alive():
                other.call("list_workspace_files")
                meanwhile += 1
            waiting.join()
            self.assertEqual(answer(client.answer(request)["result"])["pii_found"], 0)
            self.assertGreater(meanwhile, 10)

    def test_arguments_that_are_null_are_as_if_left_out(self):
        with Daemon(arguments=["--catalog", EXAMPLE_CATALOG]) as daemon, Client(daemon.socket) as client:
            found = answer(client.call("search_tools", {"query": "send mail", "category": None}))
            self.assertGreater(found["count"], 0)
            body = client.execute("result = 1", context_vars=None, timeout_seconds=None, language=None)
            self.assertEqual(body["result"], 1)
            self.assertTrue(client.call("search_tools", {"query": None}).get("isError"))


if __name__ == "__main__":
    os.umask(0o022)
    unittest.main(verbosity=2)
