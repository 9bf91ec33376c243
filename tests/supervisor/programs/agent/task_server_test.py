"""The server of tasks on a Unix socket, with no daemon."""
import asyncio
import gc
import json
import pathlib
import tempfile
import unittest

from agent_modules import arguments, only_environment
from agent.agent_run import AgentRun
from agent.daemon_tools import DaemonAddress
from agent.settings import read_settings
from agent.task_server import TaskServer
from agent.task_socket import open_task_socket

PATIENCE = 20  # seconds; a fault would wait for ever


class Case(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        only_environment(self, XDG_STATE_HOME=str(folder))
        self.path = str(folder / "tasks")
        await self.enterAsyncContext(asyncio.timeout(PATIENCE))

    async def serve(self, daemon):
        listening, address = open_task_socket(f"unix:{self.path}")
        server = TaskServer(read_settings(arguments()), DaemonAddress(daemon, "start it", "1"), address, "", lambda line: None)
        await server.open(listening)
        return server

    async def ask(self, method, path, body=b""):
        reader, writer = await asyncio.open_unix_connection(self.path)
        writer.write(b"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" %
                     (method, path, len(body), body))
        head, _, answer = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return int(head.split(b" ")[1]), json.loads(answer)

    async def post(self, **more):
        return await self.ask(b"POST", b"/task", json.dumps({"userId": "customer", "task": "Add", **more}).encode())


class Tasks(Case):
    async def test_no_run_stays_in_memory_after_its_end(self):
        server = await self.serve("/nothing")
        _, begun = await self.post(background=True)
        while (answer := await self.ask(b"GET", b"/task/" + begun["id"].encode()))[1]["state"] == "running":
            pass
        self.assertEqual((answer[0], answer[1]["ended"]), (200, "unavailable"))
        gc.collect()
        self.assertEqual([entry for entry in gc.get_objects() if isinstance(entry, AgentRun)], [])
        await server.finish()

    async def test_a_client_that_waits_for_its_task_has_an_answer_at_the_end_of_the_server(self):
        begun = asyncio.Event()

        async def never_answer(reader, writer):
            begun.set()
            await reader.read()
            writer.close()
        daemon = await asyncio.start_unix_server(never_answer, self.path + ".daemon")
        self.addCleanup(daemon.close)
        server = await self.serve(self.path + ".daemon")
        silent, writer = await asyncio.open_unix_connection(self.path)
        client = asyncio.create_task(self.post())
        await begun.wait()
        await server.finish()
        self.assertTrue(client.done())  # main() exits now
        self.assertEqual(await silent.read(), b"")  # a client without a request is dropped at once
        writer.close()
        status, answer = await client
        self.assertEqual((status, answer["ended"], answer["error"]), (503, "cancelled", "the server of tasks has ended"))

    async def test_a_fault_of_the_server_is_no_refusal_of_the_daemon(self):
        server = await self.serve("/\ud800")
        status, answer = await self.post()
        self.assertEqual((status, answer["error"]), (500, "this program has failed: UnicodeEncodeError"))
        await server.finish()


if __name__ == "__main__":
    unittest.main()
