#!/usr/bin/env python3
"""What a hundred branches over one large array of a session cost, beside other ways in the same run.

    python3 tests/bench/fan_out.py --warderd build/release/supervisor/warderd [--branches 100] [--megabytes 500]
                                   [--rounds 5]

Each round, in an order shuffled anew: the branches over the array of a session (and what sharing it took, alone: one
branch); as many plain branches; as many plain calls sent at once; and one call that makes the array itself, of which the
cost of all is computed. Also: the private memory of a branch over the array, and of a plain one. Needs python3-numpy.
Prints figures and judges none. Unix sockets only. Bounded by its arguments.
"""
import argparse
import collections
import pathlib
import random
import statistics
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "tests"), str(TOP / "tests/supervisor")]
from harness import Client, Daemon  # noqa: E402

from bench_policies import policies_in  # noqa: E402

POOL = {"min_idle": 4, "max_idle": 8, "zygotes": True, "preload": ["numpy"]}

LOAD = "import numpy as np\narray = np.arange({count}, dtype='f8') + 1\n"
USE = "import numpy as np\nresult = float(array[item * 1000:item * 1000 + 1000].sum())"
PLAIN = "import numpy as np\nresult = float(item)"
PRIVATE = """
for line in open('/proc/self/smaps_rollup'):
    if line.startswith(('Private_Clean:', 'Private_Dirty:')): result += 1024 * int(line.split()[1])
"""


class Bench:
    def __init__(self, client, options):
        self.client = client
        self.items = list(range(options.branches))
        self.load = LOAD.format(count=options.megabytes * 125_000)
        self.limits = {"memory_mb": 2 * options.megabytes + 300, "timeout_seconds": 300}
        self.checked("pass\n" + self.load, session="s", **self.limits)

    def checked(self, code, **arguments):
        body = self.client.execute(code, **arguments)
        assert body["success"], body
        return body

    def shared(self, items=None):
        self.checked(USE, session="s", fork=items or self.items, **{"timeout_seconds": 300})

    def sharing(self):
        self.shared([0])

    def plain(self):
        self.checked(PLAIN, fork=self.items, timeout_seconds=300)

    def calls(self):
        requests = [self.client.begin_execute(PLAIN, context_vars={"item": item}) for item in self.items]
        for request in requests:
            assert self.client.executed(request)["success"]

    def loading(self):
        self.checked(self.load + "item = 0\n" + USE, **self.limits)

    def private_memory(self):
        """Bytes of a branch over the array and of a plain one."""
        both = []
        for code, more in ((USE, {"session": "s"}), (PLAIN, {})):
            body = self.checked(code + "\nresult = 0" + PRIVATE, fork=[1, 2, 3, 4, 5], **more)
            both.append(statistics.median(one["result"] for one in body["results"]))
        return both


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--warderd", type=pathlib.Path, required=True)
    parser.add_argument("--branches", type=int, default=100)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="warder-bench-") as folder, \
            Daemon(program=options.warderd, policies=policies_in(folder, admission={"fork": 1000}, pool=POOL)) as daemon, \
            Client(daemon.socket) as client:
        bench = Bench(client, options)
        took = collections.defaultdict(list)
        for _ in range(options.rounds):
            cases = [bench.shared, bench.sharing, bench.plain, bench.calls, bench.loading]
            for case in random.sample(cases, len(cases)):
                time.sleep(0.5)  # the pool is filled again
                began = time.perf_counter()
                case()
                took[case.__name__].append(time.perf_counter() - began)
        took["loading"] = [one * options.branches for one in took["loading"]]
        names = {"shared": f"{options.branches} branches over {options.megabytes} MB", "sharing": "the same, one branch",
                 "plain": f"{options.branches} plain branches", "calls": f"{options.branches} plain calls",
                 "loading": f"{options.branches} x a call that makes the array"}
        for case, name in names.items():
            ratio = statistics.median(one / other for one, other in zip(took["shared"], took[case]))
            print(f"{name:40} {1000 * statistics.median(took[case]):9.0f} ms   shared / this: {ratio:.2f}")
        shared, plain = bench.private_memory()
        print(f"private memory of a branch: {shared / 2**20:.1f} MiB over the array, {plain / 2**20:.1f} MiB plain")


if __name__ == "__main__":
    main()
