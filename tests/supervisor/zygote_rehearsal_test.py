"""A fork that is to wait prepares for its execution; a fork of node that an execution waits for has no time for that.

A fork of node rehearses an execution, which leaves nothing behind but a number that only grows. A fork of Python gets its
pages ahead (jail/zygote/pages.h): its program then takes few page faults.
"""
import pathlib
import unittest

from harness import Client, Daemon, Policies, body_of, descendants, eventually
from pool_test import receipt_of

BEGUN = "return new (require('async_hooks').AsyncResource)('test').asyncId();"
FAULTS = 'result = int(open("/proc/self/stat").read().rpartition(")")[2].split()[7])'
# Enough for the one that finds its code there before it looks whether it should rehearse.
FORKS = 12
MOST_FAULTS = 100  # of a program that finds its pages; without them there are some 300


def faults_of(pid):
    """proc(5), stat: the tenth field."""
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[7])


def is_waiting_copy(pid):
    """A copy of a zygote is process 2 of a pid namespace in that of its zygote."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    numbers = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[1:]
    return len(numbers) >= 3 and numbers[-1] == "2" and "warder-jail-init" not in status


class Rehearsal(unittest.TestCase):
    def begun(self, is_wanted):
        """What those had begun by then that waited, or that were waited for."""
        pool = {"min_idle": 0, "max_idle": 0} if is_wanted else {"min_idle": 1, "max_idle": 2}
        with (Policies(pool={**pool, "zygotes": True}, languages=["javascript"]) as policies,
              Daemon(policies=policies) as daemon, Client(daemon.socket) as client):
            def fork():
                result = client.call("execute_code", {"code": BEGUN, "language": "javascript"})
                receipt, body = receipt_of(result), body_of(result)
                self.assertEqual(body["outcome"], "ok", body)
                fits = receipt["start"] == "fork" and (receipt["waited_ms"] == 0) == is_wanted
                return body["result"] if fits else None
            return {eventually(fork, "a fork that fits") for _ in range(FORKS)}

    def test_a_fork_of_node_rehearses_unless_an_execution_waits_for_it(self):
        wanted, stock = (self.begun(is_wanted) for is_wanted in (True, False))
        self.assertLess(max(wanted), min(stock))

    def test_a_waiting_fork_of_python_has_its_pages(self):
        with (Policies(pool={"min_idle": 1, "max_idle": 1, "zygotes": True}, languages=["python"]) as policies,
              Daemon(policies=policies) as daemon, Client(daemon.socket) as client):
            def waiting_fork():
                return [pid for pid in descendants(daemon.process.pid) if is_waiting_copy(pid) and faults_of(pid) > MOST_FAULTS]

            def faults_of_program():
                before = min(map(faults_of, eventually(waiting_fork, "a fork that waits")))
                receipt = receipt_of(result := client.call("execute_code", {"code": FAULTS}))
                is_waiting_one = receipt["start"] == "fork" and receipt["waited_ms"] > 0
                return (before, body_of(result)["result"]) if is_waiting_one else None
            client.call("execute_code", {"code": "pass"})
            before, after = eventually(faults_of_program, "a program in a fork that waited")
            self.assertLess(after - before, MOST_FAULTS)


if __name__ == "__main__":
    unittest.main()
