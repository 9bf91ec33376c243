"""Transcripts: the form on the disk, and runs that go on."""
import json
import os
import pathlib
import tempfile
import unittest

from agent_modules import only_environment
from agent.conversation import ModelMessage, ToolAnswer, ToolRequest, ToolsMessage, UserMessage
from agent.failure import Failure, Kind
from agent.transcript import INTERRUPTED, RESUMED, Transcript, new_session_name

CALL = ToolRequest("c1", "execute_code", '{"code":"1"}')
# As the program of version 0.1 wrote it.
EARLIER = """{"kind":"begin","session":"s","workspace":"w","model":"m","task":"Add","at":"2026-11-27T10:00:00Z"}
{"kind":"user","text":"Add","at":"2026-11-27T10:00:00Z"}
{"kind":"model","text":"","requests":[{"id":"c1","name":"execute_code","arguments":"{\\"code\\":\\"1\\"}"}],"at":"2026-11-27T10:00:01Z"}
{"kind":"tools","answers":[{"id":"c1","name":"execute_code","text":"2","is_error":false}],"at":"2026-11-27T10:00:02Z"}
{"kind":"model","text":"It is 2.","requests":[],"at":"2026-11-27T10:00:03Z"}
{"kind":"end","how":"done","error":"","at":"2026-11-27T10:00:03Z"}
"""
CONVERSATION = [UserMessage("Add"), ModelMessage("", [CALL]), ToolsMessage([ToolAnswer("c1", "execute_code", "2")]),
                ModelMessage("It is 2.", [])]


class Transcripts(unittest.TestCase):
    def setUp(self):
        self.state = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        only_environment(self, XDG_STATE_HOME=str(self.state))
        self.folder = self.state / "warder/agent"

    def write(self, text, name="s"):
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{name}.jsonl").write_text(text)

    def resume(self):
        transcript = Transcript.resume("s")
        self.addCleanup(transcript.close)
        return transcript

    def test_a_new_transcript_is_for_its_user_alone(self):
        transcript = Transcript.begin("s", "w", "m", "Add")
        transcript.close()
        self.assertEqual((self.folder / "s.jsonl").stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.folder.stat().st_mode & 0o777, 0o700)
        with self.assertRaisesRegex(Failure, "File exists"):
            Transcript.begin("s", "w", "m", "Add")

    def test_the_lines_have_the_form_of_earlier_programs(self):
        transcript = Transcript.begin("s", "w", "m", "Add")
        for message in CONVERSATION[1:]:
            transcript.add(message)
        transcript.end("done", "")
        transcript.close()

        def without_times(text):
            return [{key: value for key, value in json.loads(line).items() if key != "at"} for line in text.splitlines()]
        text = (self.folder / "s.jsonl").read_text()
        self.assertEqual(without_times(text), without_times(EARLIER))
        self.assertRegex(json.loads(text.splitlines()[0])["at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

    def test_a_transcript_of_an_earlier_program_is_read(self):
        self.write(EARLIER)
        transcript = self.resume()
        self.assertEqual((transcript.workspace, transcript.task, transcript.messages), ("w", "Add", CONVERSATION))
        transcript.continue_with("And now?")
        self.assertEqual(transcript.messages[-1], UserMessage("And now?" + RESUMED))

    def test_a_run_that_has_ended_needs_a_further_request(self):
        self.write(EARLIER)
        with self.assertRaisesRegex(Failure, "has ended with an answer"):
            self.resume().continue_with("")

    def test_calls_of_a_killed_run_get_an_answer(self):
        self.write("".join(EARLIER.splitlines(True)[:3]))
        transcript = self.resume()
        transcript.continue_with("")
        self.assertEqual(transcript.messages[-2:], [ToolsMessage([ToolAnswer("c1", "execute_code", INTERRUPTED, True)]),
                                                    UserMessage("Continue with the task." + RESUMED)])

    def test_a_last_line_that_is_not_whole_is_cut_off_and_the_run_goes_on_again(self):
        lines = EARLIER.splitlines(True)
        for cut in (1, 20, len(lines[3]) - 2):
            self.write("".join(lines[:3]) + lines[3][:cut])
            for _ in range(2):
                transcript = Transcript.resume("s")
                transcript.continue_with("")
                transcript.close()
            transcript = Transcript.resume("s")
            self.assertEqual(len(transcript.messages), 5)
            transcript.close()

    def test_a_last_line_without_its_end_counts(self):
        self.write(EARLIER.rstrip("\n"))
        self.resume()
        self.assertEqual((self.folder / "s.jsonl").read_text(), EARLIER)

    def test_a_broken_line_is_named(self):
        lines = EARLIER.splitlines(True)
        for broken, why in (("{\n", "line 2: not JSON"), ('{"kind":"other"}\n', "line 2: no kind of line is called 'other'")):
            self.write(lines[0] + broken + lines[1])
            with self.assertRaisesRegex(Failure, why):
                self.resume()
        self.write("")
        with self.assertRaisesRegex(Failure, "is empty"):
            self.resume()

    def test_one_run_at_a_time_uses_a_transcript(self):
        self.write(EARLIER)
        self.resume()
        with self.assertRaisesRegex(Failure, "another run uses the session s") as caught:
            self.resume()
        self.assertEqual(caught.exception.kind, Kind.UNAVAILABLE)

    def test_a_name_is_no_path(self):
        for name in ("", ".", "..", "../s", "a/b", "a" * 65, ".hidden", "a\n", "s\0"):
            with self.assertRaisesRegex(Failure, "is not the name of a run's session") as caught:
                Transcript.resume(name)
            self.assertEqual(caught.exception.kind, Kind.INVALID)
        with self.assertRaisesRegex(Failure, "there is no transcript"):
            Transcript.resume("s")
        self.assertRegex(new_session_name(), r"^agent-\d{8}-[0-9a-f]{12}$")

    def test_a_link_is_not_followed(self):
        self.folder.mkdir(parents=True)
        (self.folder / "s.jsonl").symlink_to(self.state / "other")
        (self.state / "other").write_text(EARLIER)
        with self.assertRaisesRegex(Failure, "symbolic links"):
            self.resume()

    def test_without_a_home_there_is_no_transcript(self):
        os.environ["XDG_STATE_HOME"] = "relative"
        with self.assertRaisesRegex(Failure, "there is no folder for transcripts"):
            Transcript.resume("s")


if __name__ == "__main__":
    unittest.main()
