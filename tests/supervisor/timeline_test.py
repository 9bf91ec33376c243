"""ReadTimeline: what the daemon did in the last hour and day, for administrators who come after an incident."""
import unittest

from bus_harness import Admin, Bus, BusDaemon
from harness import Client, Policies, eventually

UNKNOWN = 2**64 - 1


class Timeline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bus = cls.enterClassContext(Bus())
        cls.policies = cls.enterClassContext(Policies())
        cls.daemon = cls.enterClassContext(BusDaemon(cls.bus, policies=cls.policies))
        cls.admin = cls.enterClassContext(Admin(cls.bus))

    def read(self, start=0, end=0, step=1):
        columns, rows, answers = self.admin.call("ReadTimeline", "ttu", start, end, step)
        return [dict(zip(map(str, columns), map(int, row), strict=True)) for row in rows], {str(k): int(v) for k, v in answers.items()}

    def test_executions_are_counted_in_their_second_by_outcome(self):
        before = self.read()[1]["of"]
        with Client(self.daemon.socket) as client:
            self.assertEqual(client.execute("result = 1")["outcome"], "ok")
            self.assertEqual(client.execute("1 / 0")["outcome"], "error")
        rows, answers = eventually(lambda: (read := self.read())[1]["of"] >= before + 2 and read, "both are counted")
        self.assertGreaterEqual(sum(row["ok"] for row in rows), 1)
        self.assertGreaterEqual(sum(row["error"] for row in rows), 1)
        self.assertEqual(sum(row["Answers"] for row in rows), answers["of"])
        self.assertLessEqual(answers["p50"], answers["p99"])
        times = [row["TimeUSec"] for row in rows]
        self.assertEqual(times, sorted(set(times)))
        self.assertTrue(all(time % 1_000_000 == 0 for time in times))
        busy = next(row for row in rows if row["Answers"])
        self.assertNotEqual(busy["AnswerP50USec"], UNKNOWN)
        quiet = [row for row in rows if not row["Answers"]]
        self.assertTrue(all(row["AnswerP50USec"] == UNKNOWN for row in quiet))
        only, _ = self.read(busy["TimeUSec"], busy["TimeUSec"] + 1_000_000)
        self.assertEqual(only, [busy])
        # The minutes have them, too, before the minute is over.
        minutes, by_minute = self.read(step=60)
        self.assertGreaterEqual(by_minute["of"], before + 2)
        self.assertTrue(all(row["TimeUSec"] % 60_000_000 == 0 for row in minutes))

    def test_wrong_steps_and_ranges_are_answered(self):
        for step in (0, 61, 90_000):
            name, text = self.admin.error("ReadTimeline", "ttu", 0, 0, step)
            self.assertEqual(name, "Invalid")
            self.assertIn("step", text)
        self.assertEqual(self.read(2**64 - 1, 0)[0], [])
        self.assertEqual(self.read(0, 1)[0], [])


if __name__ == "__main__":
    unittest.main()
