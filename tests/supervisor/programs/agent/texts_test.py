"""Texts for people and terminals, and JSON of other programs."""
import unittest

import agent_modules  # noqa: F401
from agent.daemon_tools import joined_content, printed_lines, program_answer, report_text
from agent.failure import Failure
from agent.json_text import dump_json, number_member, parse_json, text_member
from agent.texts import cut, for_terminal, printable, utf8
from agent.urls import is_own_host, is_own_origin


class Texts(unittest.TestCase):
    def test_a_line_of_progress_has_visible_ascii_only(self):
        self.assertEqual(printable("a\x1b[2J\n\\\u00e9"), "a\\x1b[2J\\x0a\\x5c\\xc3\\xa9")
        self.assertEqual(printable("abcdef", 3), "abc...")

    def test_a_terminal_gets_no_character_that_controls_it_or_deceives(self):
        self.assertEqual(for_terminal("a\tb\n\x1b[2J\x7f\x9b"), "a\tb\n\\x1b[2J\\x7f\\x9b")
        self.assertEqual(for_terminal("\u202eabc\u200b\ufeff\U000e0041\u2028"), "\\u202eabc\\u200b\\ufeff\\U000e0041\\u2028")
        self.assertEqual(for_terminal("plain \u00e9 \u4e2d"), "plain \u00e9 \u4e2d")

    def test_a_text_is_cut_between_characters(self):
        self.assertEqual([cut("a\u4e2d", n) for n in range(5)], ["", "a", "a", "a", "a\u4e2d"])

    def test_a_lone_surrogate_becomes_one_that_utf8_has(self):
        self.assertEqual(utf8("a\ud800b"), "a\ufffdb".encode())
        self.assertEqual(dump_json({"a": "\udfff"}), '{"a":"\ufffd"}')


class Json(unittest.TestCase):
    def test_broken_texts_are_refused_with_a_reason(self):
        for text in ("", "{", "NaN", "[Infinity]", "1e999", '{"a":1}{', '"\t"', "1" * 5000, "[" * 10_000):
            with self.assertRaisesRegex(Failure, "^not JSON: |^nested deeper than 64$"):
                parse_json(text)

    def test_the_depth_is_bounded(self):
        self.assertEqual(parse_json("[" * 64 + "]" * 64) is None, False)
        for opening, closing in (("[", "]"), ('{"a":', "}")):
            with self.assertRaisesRegex(Failure, "nested deeper than 64"):
                parse_json(opening * 65 + "1" + closing * 65)
        self.assertEqual(len(parse_json("[" + "[]," * 1000 + "[]]")), 1001)

    def test_a_line_has_no_character_at_which_readers_split(self):
        self.assertEqual(dump_json("a\x7f\x85\u2028\u2029\n"), '"a\\u007f\\u0085\\u2028\\u2029\\n"')

    def test_members_of_another_type_read_as_empty(self):
        self.assertEqual((text_member([], "a"), text_member({"a": 1}, "a"), text_member({"a": "b"}, "a")), ("", "", "b"))
        self.assertEqual([number_member({"a": value}, "a") for value in (7, -7, 7.0, True, "7", 1 << 64, None)], [7, 0, 0, 0, 0, 0, 0])


class Answers(unittest.TestCase):
    def test_a_long_answer_has_its_beginning_and_its_end(self):
        self.assertEqual(report_text("\u00e9" * 16384), "\u00e9" * 16384)
        text = report_text("a" * 30_000 + "\u4e2d" * 10_000 + "z" * 8_000)
        self.assertLess(len(utf8(text)), (32 << 10) + 200)
        self.assertTrue(text.startswith("a" * 24576) and text.endswith("z" * 8_000))
        self.assertIn("bytes are left out here", text)

    def test_blocks_of_an_answer_become_one_text(self):
        content = [{"type": "text", "text": "a"}, {"type": "resource_link", "uri": "x"}, {"type": "image\x1b"}, {"type": "text", "text": "b"}]
        self.assertEqual(joined_content({"content": content}), "a\n[image\\x1b is not shown here]\nb")
        self.assertEqual(joined_content({"other": 1}), '{"other":1}')

    def test_what_a_program_printed_is_bounded(self):
        self.assertEqual(printed_lines({"output": ["a", 1, "b"]}), "a\nb\n")
        self.assertEqual(len(printed_lines({"output": ["x" * 1000] * 100})), 64 << 10)
        self.assertEqual(printed_lines({"output": "a"}), "")

    def test_an_answer_that_is_no_json_has_nothing_printed(self):
        self.assertEqual(program_answer({"content": [{"type": "text", "text": '{"output": []}'}]}), {"output": []})
        for result in (None, {}, {"content": []}, {"content": [{"type": "text", "text": "x"}]}):
            self.assertIsNone(program_answer(result))


class Hosts(unittest.TestCase):
    def test_a_host_field_names_this_machine(self):
        for host in ("localhost", "LOCALHOST:80", "127.0.0.1:3000", "127.1.2.3", "[::1]", "[::1]:80"):
            self.assertTrue(is_own_host(host, ""), host)
        for host in ("", "evil.example", "localhost:", "localhost:123456", "127.0.0.1.evil.example", "[::2]", "::1", "127.1", "localhost:x"):
            self.assertFalse(is_own_host(host, ""), host)

    def test_an_origin_is_the_servers_own(self):
        self.assertTrue(is_own_origin("http://localhost:80", "localhost:80", ""))
        self.assertTrue(is_own_origin("HTTPS://LOCALHOST", "localhost", ""))
        for origin in ("http://localhost:81", "null", "", "http://evil.example"):
            self.assertFalse(is_own_origin(origin, "localhost:80", ""))


if __name__ == "__main__":
    unittest.main()
