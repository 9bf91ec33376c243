"""The flags, the environment and the key, as settings."""
import os
import pathlib
import tempfile
import unittest

from agent_modules import arguments, only_environment
from agent.failure import Failure, Kind
from agent.settings import read_settings, without_key
from agent.task_socket import open_task_socket, read_task_token


class Settings(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        only_environment(self)

    def refused(self, **flags):
        with self.assertRaises(Failure) as caught:
            read_settings(arguments(**flags))
        self.assertEqual(caught.exception.kind, Kind.INVALID)
        return caught.exception.text

    def test_without_flags_the_bounds_are_those_of_the_page(self):
        settings = read_settings(arguments())
        bounds = settings.bounds
        self.assertEqual((bounds.turns, bounds.tokens, bounds.cost, bounds.seconds, bounds.errors), (20, 0, 0, 600, 5))
        self.assertEqual((bounds.retries, bounds.retry_pause, settings.tasks), (5, 1, 4))
        self.assertEqual((settings.provider, settings.base_url, settings.key), ("openai", "https://api.openai.com/v1", ""))
        self.assertEqual(read_settings(arguments(provider="anthropic")).base_url, "https://api.anthropic.com")

    def test_a_flag_comes_before_the_environment(self):
        os.environ.update(LLM_MODEL="other", LLM_BASE_URL="http://127.0.0.1:1/a/")
        settings = read_settings(arguments(model="", base_url=""))
        self.assertEqual((settings.model, settings.base_url), ("other", "http://127.0.0.1:1/a"))
        settings = read_settings(arguments(base_url="https://b//"))
        self.assertEqual((settings.model, settings.base_url), ("test-model", "https://b"))

    def test_numbers_have_a_range_and_a_form(self):
        bounds = read_settings(arguments(max_turns="1000", max_seconds="0.5", max_tokens="1e3", retries="0")).bounds
        self.assertEqual((bounds.turns, bounds.seconds, bounds.tokens, bounds.retries), (1000, 0.5, 1000, 0))
        for wrong in ("0", "1001", "abc", "0x10", "inf", "nan", "1_0", "-5", " 5", "1e", "."):
            self.assertEqual(self.refused(max_turns=wrong), f"--max-turns: '{wrong}' is not a number of turns from 1 to 1000")
        self.assertEqual(self.refused(max_turns="1.5"), "--max-turns: '1.5' is not a whole number")
        self.assertIn("from 1 to 1e+12", self.refused(max_tokens="1e13"))
        self.assertIn("from 0.1 to 604800", self.refused(max_seconds="0.05"))

    def test_a_bound_of_cost_needs_a_price(self):
        self.assertEqual(self.refused(max_cost="1"), "--max-cost: the prices of tokens are not known")
        self.assertEqual(read_settings(arguments(max_cost="1", price_in="2")).price_in, 2)

    def test_a_url_is_checked_and_its_source_is_named(self):
        for url, why in (("ftp://a", "begins neither"), ("http://a b", "%XX"), ("http://a:b@c", "contains a user"),
                         ("http:///v1", "has no host"), ("http://[::1", "has no host"), ("http://a:0", "no number from 1"),
                         ("http://a:", "no number from 1"), ("http://" + "a" * 9000, "longer than 8 kB"), ("a", "begins neither")):
            text = self.refused(base_url=url)
            self.assertTrue(text.startswith("--base-url: the URL ") and why in text, text)
        os.environ["LLM_BASE_URL"] = "x"
        self.assertIn("LLM_BASE_URL: the URL", self.refused())

    def test_a_url_in_its_parts(self):
        url = read_settings(arguments(base_url="https://[fe80::1]:8443/v1/?x#y")).url
        self.assertEqual((url.is_secure, url.host, url.port, url.authority, url.path), (True, "fe80::1", 8443, "[fe80::1]:8443", "/v1/?x"))
        self.assertEqual(read_settings(arguments(base_url="http://a")).url.port, 80)

    def test_the_key_crosses_no_network_in_plain_text(self):
        os.environ["LLM_API_KEY"] = "secret"
        for url in ("http://127.0.0.1:1", "http://127.9.9.9", "http://localhost/v1", "http://[::1]:1", "https://models.example"):
            self.assertEqual(read_settings(arguments(base_url=url)).key, "secret")
        for url in ("http://models.example", "http://localhost.example", "http://127.1", "http://10.0.0.1"):
            self.assertIn("would cross the network unencrypted", self.refused(base_url=url))
        os.environ["LLM_API_KEY"] = ""
        self.assertEqual(read_settings(arguments(base_url="http://models.example")).key, "")

    def test_the_credential_comes_before_the_variable_and_has_no_blanks(self):
        os.environ.update(LLM_API_KEY="variable", CREDENTIALS_DIRECTORY=str(self.folder))
        self.assertEqual(read_settings(arguments()).key, "variable")
        (self.folder / "llm-api-key").write_text("\n credential \n")
        self.assertEqual(read_settings(arguments()).key, "credential")

    def test_a_key_that_is_not_one_word_is_refused_and_not_shown(self):
        for key in ("two words", "\u00e9", "quote\n", "x" * 9000):
            os.environ["LLM_API_KEY"] = key
            text = self.refused()
            self.assertIn("is not one word", text)
            self.assertNotIn(key.strip(), text)

    def test_the_key_is_cut_out_of_a_text(self):
        self.assertEqual(without_key("a k1 b k1", "k1"), "a [key] b [key]")
        self.assertEqual(without_key("text", ""), "text")

    def test_a_token_is_long_enough_and_its_file_is_for_its_user(self):
        file = self.folder / "token"
        file.write_text("0123456789abcdef\n")
        file.chmod(0o600)
        self.assertEqual(read_task_token(str(file)), "0123456789abcdef")
        for text, mode, why in (("0123456789abcde", 0o600, "at least 16"), ("0123456789 abcdef", 0o600, "at least 16"),
                                ("0123456789abcdef", 0o640, "other users may read"), ("x" * 9000, 0o600, "more than 8192 bytes")):
            file.write_text(text)
            file.chmod(mode)
            with self.assertRaisesRegex(Failure, why):
                read_task_token(str(file))

    def test_tasks_come_from_this_machine_only(self):
        for where, why in (("0.0.0.0:80", "not a loopback"), ("localhost:80", "not a loopback"), ("10.0.0.1:80", "not a loopback"),
                           ("127.0.0.1", "no port"), ("127.0.0.1:0", "no port"), ("127.0.0.1:65536", "no port"), ("[::2]:80", "no port"),
                           ("unix:", "not 1 to 107 bytes"), ("unix:" + "a" * 108, "not 1 to 107 bytes")):
            with self.assertRaisesRegex(Failure, why):
                open_task_socket(where)


if __name__ == "__main__":
    unittest.main()
