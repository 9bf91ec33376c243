#!/usr/bin/env python3
"""What the types of a program of 50 lines cost: the same program in TypeScript and in JavaScript, in jails that wait.

    python3 tests/bench/typescript.py --warderd build/release/supervisor/warderd [--rounds 60]

One daemon for jails with an interpreter of their own, one for forks of a zygote. Calls alternate; a figure is what the
client waits, in ms. Prints figures and judges none.
"""
import argparse
import os
import pathlib
import random
import tempfile
import time

import latency
from load import percentile

TYPED = """interface Order { id: number; region: string; amount: number; tags?: string[] }
type Totals = Record<string, number>;
const orders: Order[] = [];
""" + "".join(f"const o{i}: Order = {{id: {i}, region: 'r{i % 3}', amount: {i * 7} as number}};\norders.push(o{i});\n" for i in range(20)) + """
function total<T extends Order>(all: T[], of: (it: T) => number): Totals {
  const sums: Totals = {};
  for (const it of all as T[]) sums[it.region] = (sums[it.region] ?? 0) + of(it!);
  return sums;
}
total<Order>(orders, (it: Order): number => it.amount)"""
PLAIN = """

const orders = [];
""" + "".join(f"const o{i} = {{id: {i}, region: 'r{i % 3}', amount: {i * 7}}};\norders.push(o{i});\n" for i in range(20)) + """
function total(all, of) {
  const sums = {};
  for (const it of all) sums[it.region] = (sums[it.region] ?? 0) + of(it);
  return sums;
}
total(orders, (it) => it.amount)"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warderd", default=os.environ.get("WARDERD"), required="WARDERD" not in os.environ)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    latency.NOTHING["typescript"] = "0"
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; {TYPED.count(chr(10)) + 1} lines")
    with tempfile.TemporaryDirectory(prefix="warder-typescript-") as folder, \
            latency.Bench(options.warderd, pathlib.Path(folder)) as bench:
        for name in ("exec", "fork"):
            for language in ("javascript", "typescript"):
                bench.settle(name, name, language)
            times = {"javascript": [], "typescript": []}
            for _ in range(options.rounds):
                for language in random.sample(list(times), 2):
                    time.sleep(0.1)
                    code, case = TYPED if language == "typescript" else PLAIN, f"{name} {language}"
                    before = bench.starts[case][name]
                    took = bench.execute(name, code, language, case=case)
                    if bench.starts[case][name] > before:  # else none was waiting, and it is no figure of ours
                        times[language].append(1000 * took)
            for language, values in times.items():
                print(f"{name:5} {language:11} p10 {percentile(values, 0.1):7.2f} p50 {percentile(values, 0.5):7.2f} "
                      f"p90 {percentile(values, 0.9):7.2f}  {dict(bench.starts[f'{name} {language}'])}")


if __name__ == "__main__":
    main()
