#!/usr/bin/env python3
"""Resources as clients use them: completed while one types, followed while they change, session logs among them."""
import json
import unittest

from harness import Client, Daemon, workspace_of


def complete(client, uri, argument, value):
    return client.request("completion/complete", ref={"type": "ref/resource", "uri": uri},
                          argument={"name": argument, "value": value})["completion"]


class Resources(unittest.TestCase):
    def test_paths_executions_and_streams_complete(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            for name in ("data/a.csv", "data/b.csv", "notes.md"):
                client.write_file(name, "x")
            self.assertEqual(complete(client, "workspace:///{+path}", "path", "data/"),
                             {"values": ["data/a.csv", "data/b.csv"], "total": 2, "hasMore": False})
            self.assertEqual(complete(client, "exec:///{execution_id}/{stream}", "stream", "stdo")["values"], ["stdout"])
            ids = [client.execute("print(1)")["execution_id"] for _ in range(2)]
            self.assertEqual(complete(client, "exec:///{execution_id}/{stream}", "execution_id", "e")["values"], ids[::-1])
            with self.assertRaisesRegex(RuntimeError, "-32602"):
                complete(client, "workspace:///{+path}", "colour", "")

    def test_changes_are_told_to_those_who_asked(self):
        with Daemon() as daemon, Client(daemon.socket) as client, Client(daemon.socket) as other:
            listening = client.begin("subscriptions/listen", notifications={
                "resourcesListChanged": True, "resourceSubscriptions": ["workspace:///watched.txt"]})
            self.assertEqual(client.take()["method"], "notifications/subscriptions/acknowledged")

            def heard():
                return client.take()["method"], client.notifications[-1]["params"].get("uri")

            other.write_file("watched.txt", "1")
            self.assertEqual(heard(), ("notifications/resources/updated", "workspace:///watched.txt"))
            self.assertEqual(heard(), ("notifications/resources/list_changed", None))
            other.execute("open('/workspace/watched.txt', 'a').write('2'); open('/workspace/quiet.txt', 'w')")
            self.assertEqual(heard(), ("notifications/resources/updated", "workspace:///watched.txt"))
            self.assertEqual(heard(), ("notifications/resources/list_changed", None))
            other.execute("open('/workspace/quiet.txt', 'a').write('x')")  # nobody asked for that one
            client.cancel(listening)
            client.answer(client.begin("tools/list"))  # whatever was sent before has come by then
            self.assertEqual(len(client.notifications), 5)

    def test_session_logs_are_resources(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            client.write_file("x.txt", "x")
            log = workspace_of(daemon).parent / "sessions/s1.log"
            log.write_text('{"event":"begin","timestamp":"2026-11-21T10:00:00Z"}\n{"event":"task","task_id":"e1","code":"1"}\n')
            uris = [resource["uri"] for resource in client.request("resources/list")["resources"]]
            self.assertEqual([uri for uri in uris if not uri.startswith("skill:")], ["session:///s1", "workspace:///x.txt"])
            (contents,) = client.request("resources/read", uri="session:///s1")["contents"]
            self.assertEqual(contents["mimeType"], "application/json")
            document = json.loads(contents["text"])
            self.assertEqual(document["session_id"], "s1")
            self.assertEqual([task["task_id"] for task in document["tasks"]], ["e1"])
            for uri in ("session:///s2", "session:///../s1", "session:///"):
                with self.assertRaises(RuntimeError):
                    client.request("resources/read", uri=uri)


if __name__ == "__main__":
    unittest.main(verbosity=2)
