"""Runs that end before a daemon answers: how they end, and what they leave."""
import asyncio
import json
import os
import pathlib
import resource
import tempfile
import unittest

from agent_modules import arguments, only_environment
from agent.agent_run import AgentRun, RunEnd
from agent.daemon_tools import DaemonAddress
from agent.settings import read_settings
from agent.task_server import status_of
from agent.transcript import Transcript

NOT_UTF8 = "/secret\ud800"  # no path has this character: its encoding raises


class Runs(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.state = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        only_environment(self, XDG_STATE_HOME=str(self.state))
        self.lines = []

    async def run_with(self, socket):
        return await self.new_run(socket).run()

    def new_run(self, socket):
        self.transcript = Transcript.begin("run", "", "test-model", "Add")
        return AgentRun(read_settings(arguments()), DaemonAddress(socket, "start it", "1"), self.transcript, self.lines.append)

    def expect_whole_end(self, how, error):
        """The transcript has its end, and can be opened again."""
        (file,) = (self.state / "warder/agent").glob("*.jsonl")
        end = json.loads(file.read_text().splitlines()[-1])
        self.assertEqual((end["kind"], end["how"], end["error"]), ("end", how, error))
        Transcript.resume("run").close()

    async def test_without_a_daemon_a_run_names_the_remedy(self):
        outcome = await self.run_with("/nothing")
        self.assertEqual((outcome.end, outcome.hint, status_of(outcome)), (RunEnd.UNAVAILABLE, "start it", 503))
        self.expect_whole_end("unavailable", "connect to warderd at '/nothing': No such file or directory")

    async def test_a_bug_ends_a_run_as_failed_and_is_no_refusal_of_the_daemon(self):
        outcome = await self.run_with(NOT_UTF8)
        self.assertEqual((outcome.end, outcome.error), (RunEnd.FAILED, "this program has failed: UnicodeEncodeError"))
        self.assertEqual(status_of(outcome), 500)
        self.assertNotIn("secret", outcome.error + outcome.hint + "".join(self.lines))
        self.expect_whole_end("failed", outcome.error)

    async def test_too_many_open_files_are_no_bug(self):
        run = self.new_run("/nothing")
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        os.close(free := os.dup(0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
        try:
            outcome = await run.run()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        self.assertEqual((outcome.end, outcome.hint), (RunEnd.UNAVAILABLE, ""))
        self.expect_whole_end("unavailable", "connect to warderd at '/nothing': Too many open files")

    async def test_a_run_that_is_cancelled_before_it_begins_has_its_end(self):
        run = self.new_run(NOT_UTF8)
        run.cancel("no longer needed")
        self.assertEqual((await run.run()).end, RunEnd.CANCELLED)
        self.expect_whole_end("cancelled", "no longer needed")

    async def test_a_run_whose_task_is_cancelled_unlocks_its_transcript(self):
        task = asyncio.create_task(self.run_with("/nothing"))
        await asyncio.sleep(0)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        Transcript.resume("run").close()


if __name__ == "__main__":
    unittest.main()
