#!/usr/bin/env python3
"""Resources as clients use them: completed while one types, followed while they change, session logs among them."""
import json
import unittest

from harness import TOP, Client, Daemon, SharedDaemon, workspace_of


SKILLS = "skill://{skill}/{+path}"


def complete(client, uri, argument, value, **chosen):
    return complete_ref(client, {"type": "ref/resource", "uri": uri}, argument, value, **chosen)


def complete_ref(client, ref, argument, value, **chosen):
    return client.request("completion/complete", ref=ref, argument={"name": argument, "value": value},
                          context={"arguments": chosen})["completion"]


class Resources(unittest.TestCase):
    def test_paths_executions_and_streams_complete(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            for name in ("data/a.csv", "data/b.csv", "notes.md"):
                client.write_file(name, "x")
            self.assertEqual(complete(client, "workspace:///{+path}", "path", "data/"),
                             {"values": ["data/a.csv", "data/b.csv"], "total": 2, "hasMore": False})
            self.assertEqual(complete(client, "exec:///{execution_id}/{stream}", "stream", "st")["values"],
                             ["stdout", "stderr", "stats"])
            ids = [client.execute("print(1)")["execution_id"] for _ in range(2)]
            self.assertEqual(complete(client, "exec:///{execution_id}/{stream}", "execution_id", "e")["values"], ids[::-1])
            with self.assertRaisesRegex(RuntimeError, "-32602"):
                complete(client, "workspace:///{+path}", "colour", "")

    def test_skills_and_their_files_complete(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            client.call("save_skill", {"name": "csv_mine", "code": "def csv_mine(): pass\n", "description": "Mine"})
            offered = client.request("resources/templates/list")["resourceTemplates"]
            self.assertIn(SKILLS, [one["uriTemplate"] for one in offered])
            self.assertEqual(complete(client, SKILLS, "skill", "csv-"),
                             {"values": ["csv-mine", "csv-records"], "total": 2, "hasMore": False})
            self.assertEqual(complete(client, SKILLS, "path", "", skill="csv-records")["values"],
                             ["SKILL.md", "scripts/csv_records.py"])
            self.assertEqual(complete(client, SKILLS, "path", "scripts/csv_m")["values"], ["scripts/csv_mine.py"])
            self.assertEqual(complete(client, SKILLS, "path", "", skill="none")["values"], [])
            self.assertEqual(complete(client, SKILLS, "path", "S", skill=7)["values"], ["SKILL.md"])

    def test_what_a_prompt_is_for_is_the_user_s_to_say(self):
        prompt = {"type": "ref/prompt", "name": "csv_records"}
        with Daemon() as daemon, Client(daemon.socket) as client:
            self.assertEqual(complete_ref(client, prompt, "task", "co"), {"values": [], "total": 0, "hasMore": False})
            for ref, argument in ((prompt, "colour"), ({"type": "ref/prompt", "name": "none"}, "task"),
                                  ({"type": "ref/resource", "uri": SKILLS}, "colour"),
                                  ({"type": "ref/resource", "uri": "skill://csv-records/SKILL.md"}, "path")):
                with self.subTest(ref=ref, argument=argument), self.assertRaisesRegex(RuntimeError, "-32602"):
                    complete_ref(client, ref, argument, "")

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

    def test_a_watched_file_is_told_about_while_the_program_that_writes_it_runs(self):
        with Daemon() as daemon, Client(daemon.socket) as client, Client(daemon.socket) as other:
            other.write_file("logs/run.log", "begin")
            client.begin("subscriptions/listen", notifications={
                "resourceSubscriptions": ["workspace:///logs/run.log", "workspace:///logs/%C3%BC", "workspace:///none/x"]})
            self.assertEqual(client.take()["method"], "notifications/subscriptions/acknowledged")

            def heard():
                self.assertEqual(client.take()["method"], "notifications/resources/updated")
                return client.notifications[-1]["params"]["uri"]

            running = other.begin("tools/call", name="execute_code", arguments={"timeout_seconds": 120, "code": """
import os, time
def until(file):
    while not os.path.exists(file): time.sleep(0.01)
log = open("/workspace/logs/run.log", "a", buffering=1)
print("one", file=log)
until("/workspace/go")
open("/workspace/logs/new", "w").write("x")
os.rename("/workspace/logs/new", "/workspace/logs/\u00fc")
until("/workspace/end")
os.remove("/workspace/logs/run.log")
"""})
            self.assertEqual(heard(), "workspace:///logs/run.log")
            with Client(daemon.socket) as third:
                third.write_file("go", "")
                self.assertEqual(heard(), "workspace:///logs/%C3%BC")
                third.write_file("end", "")
                self.assertEqual(heard(), "workspace:///logs/run.log")
                self.assertFalse(other.answer(running).get("isError"))
                third.write_file("logs/run.log", "anew")
                self.assertEqual(heard(), "workspace:///logs/run.log")
                # An administrator, past the daemon.
                folder, = (daemon.state / "tenants").glob("*/workspace/logs")
                (folder / "run.log").write_text("by hand")
                self.assertEqual(heard(), "workspace:///logs/run.log")

    def test_folders_are_read_one_at_a_time(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            for name in ("data/a b.csv", "data/deep/c.csv", "notes.md"):
                client.write_file(name, "xy")

            def folder(uri, **more):
                return client.request("resources/directory/read", uri=uri, **more)

            data = {"uri": "workspace:///data", "name": "data", "mimeType": "inode/directory"}
            self.assertEqual(folder("workspace:///")["resources"],
                             [data, {"uri": "workspace:///notes.md", "name": "notes.md", "size": 2}])
            self.assertEqual(folder("workspace:///data")["resources"], folder("workspace:///data/")["resources"])
            self.assertEqual([(one["uri"], one["name"]) for one in folder("workspace:///data")["resources"]],
                             [("workspace:///data/a%20b.csv", "a b.csv"), ("workspace:///data/deep", "deep")])
            client.execute("for i in range(150): write_file(f'many/{i:03}', '')")
            first = folder("workspace:///many")
            rest = folder("workspace:///many", cursor=first["nextCursor"])
            self.assertEqual([one["name"] for one in first["resources"] + rest["resources"]],
                             [f"{i:03}" for i in range(150)])
            self.assertNotIn("nextCursor", rest)
            for wrong in ("workspace:///none", "workspace:///notes.md", "workspace:///../x", "workspace:///%00"):
                with self.assertRaises(RuntimeError, msg=wrong):
                    folder(wrong)

    def test_what_an_execution_used_and_kept_out_of_the_context_is_a_resource(self):
        with Daemon() as daemon, Client(daemon.socket) as client:
            client.write_file("data.txt", "x" * 9000)
            body = client.execute("print(len(read_file('data.txt')))")
            uri = f"exec:///{body['execution_id']}/stats"
            (contents,) = client.request("resources/read", uri=uri)["contents"]
            self.assertEqual(contents["mimeType"], "application/json")
            account = json.loads(contents["text"])
            self.assertEqual((account["execution_id"], account["language"], account["outcome"]),
                             (body["execution_id"], "python", "ok"))
            self.assertEqual(account["context"]["read_in_jail"]["bytes"], 9000)
            self.assertEqual(account["context"]["printed"]["bytes"], 5)
            self.assertEqual(account["usage"]["cpu_ms"], body["usage"]["cpu_ms"])
            for wrong in ("exec:///e0/stats", "exec:////stats", "exec:///../stats", f"{uri}/stats"):
                with self.assertRaises(RuntimeError, msg=wrong):
                    client.request("resources/read", uri=wrong)

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


class SkillPages(SharedDaemon):
    policy = {"pool": {"min_idle": 2, "max_idle": 4, "zygotes": True}}

    def test_more_than_a_page_of_skills_is_listed_page_by_page(self):
        shared = len(list((TOP / "skills/shared").iterdir()))
        for n in range(101 - shared):
            saved = self.client.call("save_skill", {"name": f"page_{n:03}", "code": "pass"})
            self.assertFalse(saved.get("isError", False), saved)
        first = self.client.request("skills/list")
        self.assertEqual(len(first["skills"]), 100)
        second = self.client.request("skills/list", cursor=first["nextCursor"])
        self.assertEqual(len(second["skills"]), 1)
        self.assertNotIn("nextCursor", second)
        listed = [skill["uri"] for skill in first["skills"] + second["skills"]]
        self.assertEqual(listed, sorted(set(listed)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
