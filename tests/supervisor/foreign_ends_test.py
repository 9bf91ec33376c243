#!/usr/bin/env python3
"""SIGTERM while work on foreign data runs: the daemon answers the running calls, and ends well."""
import select
import unittest

from foreign_work_harness import FREE, WORDS, ForeignWorkTest, WorkTime, alternatives, many_expressions, open_requests
from harness import Client, eventually

def read_to_end(clients):
    """Reads all answers until the daemon closes the connections, at most for 30 s."""
    sockets = [client.socket for client in clients]
    while sockets and (readable := select.select(sockets, [], [], 30)[0]):
        sockets = [one for one in sockets if one not in readable or one.recv(1 << 20)]


class Ends(ForeignWorkTest):
    def expect_end(self, daemon, clients, begin):
        """`begin` sends requests of a client. SIGTERM arrives while they run, and their answers are read."""
        read = [client.last_id for client in clients]
        work = WorkTime(daemon)
        for client in clients:
            begin(client)
        eventually(lambda: work.used() > 0.05, "the work")
        daemon.process.terminate()
        left = sum(open_requests(client, client.last_id - first) for client, first in zip(clients, read))
        self.assertGreater(left, 0, "the work is too short to say anything")
        read_to_end(clients)
        self.assertEqual(daemon.process.wait(timeout=30), 0)

    def clients(self, daemon, count=2):
        return [self.enterContext(Client(daemon.socket)) for _ in range(count)]

    def test_a_schema_of_alternatives(self):
        with self.daemon({"slow": self.slow(alternatives(3000))}) as daemon:
            clients = self.clients(daemon)
            self.call(clients[0], "nested", {"value": "fits"})
            value = [{"a": "x"}] * 20_000
            self.expect_end(daemon, clients, lambda client: self.begin_call(client, "nested", {"value": value}))

    def test_a_selection_from_a_large_result(self):
        with self.daemon({"slow": self.slow(FREE, items=20_000)}) as daemon:
            clients = self.clients(daemon)
            self.call(clients[0], "free", {}, select=["absent"])
            paths = ["items.a", *(f"items.absent{number}" for number in range(63))]

            def begin(client):
                for _ in range(8):
                    self.begin_call(client, "free", {}, select=paths)
            self.expect_end(daemon, clients, begin)

    def test_a_list_of_tools_that_is_being_learned(self):
        with self.daemon({"slow": self.slow(pages=many_expressions())}) as daemon:
            work = WorkTime(daemon)
            eventually(lambda: work.used() > 0.3, "the work")
            daemon.process.terminate()
            self.assertEqual(daemon.process.wait(timeout=30), 0)
            self.assertNotIn("2000 tools", daemon.log_text(), "the work is too short to say anything")

    def test_a_search_in_a_large_catalog(self):
        with self.daemon({}, catalog=self.large_catalog()) as daemon:
            clients = self.clients(daemon)
            search = {"query": "word1"}
            eventually(lambda: clients[0].call("search_tools", search)["structuredContent"]["tools"], "the catalog")

            def begin(client):
                for first in range(60):
                    query = " ".join(WORDS[(first + word) % 400] for word in range(160))
                    client.begin("tools/call", name="search_tools", arguments={"query": query, "limit": 1})
            self.expect_end(daemon, clients, begin)

    def test_personal_data_in_a_large_text(self):
        with self.daemon({}) as daemon:
            def begin(client):
                for part in range(8):
                    text = " ".join(f"person{number}@mail{id(client)}-{part}.org" for number in range(20_000))
                    client.begin("tools/call", name="sanitize_pii", arguments={"text": text})
            self.expect_end(daemon, self.clients(daemon), begin)

    def test_a_diff_of_a_proposal_with_large_files(self):
        write = ("for number in range(%d):\n"
                 "    with open(f'/workspace/f{number}', 'w') as file: file.write('%s\\n' * 10_000)")
        with self.daemon({}) as daemon:
            clients = self.clients(daemon)
            clients[0].execute(write % (40, "old"))
            proposal = clients[0].execute(write % (40, "new"), workspace="staged")["proposal"]["id"]
            self.expect_end(daemon, clients,
                            lambda client: client.begin("resources/read", uri=f"proposal:///{proposal}/diff"))


if __name__ == "__main__":
    unittest.main()
