"""Agents that work at the nodes of a cluster while something happens to it, and the judge of what they were told: the
file at the home into which each program writes its number.
"""
import collections
import threading
import time

from harness import Client, eventually

# Writes the call's number, and when: CLOCK_BOOTTIME, in seconds.
CODE = "import time; open('runs', 'a').write(f'{number} {{time.clock_gettime(time.CLOCK_BOOTTIME):.3f}}\\n')"
DONE, NOT_RUN, MAY_HAVE_RUN = "done", "not run", "may have run"


class Agent(threading.Thread):
    """Calls a node's daemon without a pause; connects again when the daemon has gone."""

    def __init__(self, daemon, node, first):
        super().__init__(daemon=True)
        self.daemon_of_node, self.node, self.next = daemon, node, first
        self.told = {}      # number -> DONE, NOT_RUN or MAY_HAVE_RUN
        self.failures = []  # seconds until a failure was told
        self.extra = 0      # answers to calls that had one
        self.is_over = False

    def run(self):
        client = None
        while not self.is_over:
            number, self.next = self.next, self.next + 1
            begun = time.monotonic()
            try:
                client = client or Client(self.daemon_of_node.socket, timeout=60)
                body = client.executed(client.begin_execute(CODE.format(number=number)))
            except (OSError, EOFError, KeyError, ValueError):  # the agent's own daemon has gone
                self.told[number] = MAY_HAVE_RUN
                self.leave(client)
                client = None
                time.sleep(0.1)
                continue
            if body["success"]:
                self.told[number] = DONE
            else:
                self.told[number] = MAY_HAVE_RUN if body.get("may_have_run", True) else NOT_RUN
                self.failures.append(time.monotonic() - begun)
                time.sleep(0.05)
        self.leave(client)

    def done(self):
        return list(self.told.values()).count(DONE)

    def leave(self, client):
        if client:
            self.extra += len(client.order) - len(set(client.order))
            client.close()


class Work:
    """Two agents at each node, from begin() to end()."""

    def __init__(self, rig, home):
        self.rig, self.home, self.agents = rig, home, []

    def file(self, account):
        state = self.rig.disks(self.home)[0] if self.rig.has_small_disks else self.rig.daemons[self.home].state
        return state / "tenants" / account / "workspace/runs"

    def begin(self):
        with Client(self.rig.daemons[self.home].socket) as client:
            cleared = client.execute("import os\nif os.path.exists('runs'): os.remove('runs')")
        if not cleared["success"]:
            raise AssertionError(f"the home does not work before the fault: {cleared}")
        self.agents = [Agent(self.rig.daemons[node], node, 1_000_000 * number)
                       for number, node in enumerate(self.rig.names * 2)]
        for agent in self.agents:
            agent.start()

    def await_answers(self, count, nodes=None):
        """Waits until each agent of these nodes (of all) has done `count` more calls."""
        agents = [agent for agent in self.agents if nodes is None or agent.node in nodes]
        before = {agent: agent.done() for agent in agents}
        eventually(lambda: all(agent.done() >= before[agent] + count for agent in agents), f"{count} more calls are done")

    def end(self):
        for agent in self.agents:
            agent.is_over = True
        for agent in self.agents:
            agent.join(90)
        # Proof of absence: no program that was told to have ended begins later. A program begins within 0.1 s of its order.
        time.sleep(0.5)

    def told(self):
        return {number: what for agent in self.agents for number, what in agent.told.items()}

    def lines(self, account):
        """What the programs wrote: (number, time) of each."""
        file = self.file(account)
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def faults(self, account):
        """What the judge finds: a list of texts, empty if all is well."""
        return [text for texts in self.judge(account).values() for text in texts]

    def judge(self, account):
        """The same, by the kind of fault."""
        runs = collections.Counter(number for number, _ in self.lines(account))
        told = self.told()
        return {
            "started twice": [f"{number} was started {times} times" for number, times in runs.items() if times > 1],
            "answers other than one": [f"a call at {agent.node} has no answer" for agent in self.agents if agent.is_alive()]
            + [f"{agent.extra} calls at {agent.node} were answered twice" for agent in self.agents if agent.extra],
            "done, not kept": [f"{number} was told done, and its line is not there" for number, what in told.items()
                               if what == DONE and str(number) not in runs],
            "not run, but ran": [f"{number} was told not to have run, and ran" for number, what in told.items()
                                 if what == NOT_RUN and str(number) in runs],
        }

    def works(self):
        """The nodes at which the last calls were done."""
        return {agent.node for agent in self.agents if DONE in list(agent.told.values())[-3:]}
