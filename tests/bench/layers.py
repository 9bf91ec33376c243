#!/usr/bin/env python3
"""What package layers cost an execution, beside the same execution without layers in the same run. As root.

    python3 tests/bench/layers.py --warderd build/release/supervisor/warderd --warder build/release/supervisor/programs/cli/warder
                                  [--rounds 60]

Two daemons, one with three layers of a thousand files each, one without: `pass` in a cold jail and in a waiting jail,
that was started or copied from a zygote, in turns. Then waiting jails that have loaded a module of a layer, as large as
numpy (a hundred modules): `pass` (their larger memory must be freed, too), and the first import of the module beside
the same import in `python3 -c`. The time to read the policies, with three layers and without, is that of a reload. Prints figures and judges none. Bounded by its arguments.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "tests"), str(TOP / "tests/supervisor")]
from harness import Client, Policies, Service  # noqa: E402
from layers_harness import PLACE, make_deb, warder  # noqa: E402

FILES, MODULES = 1000, 100
NAMES = ("one", "two", "three")
POOL = {"min_idle": 2, "max_idle": 4}
IMPORT = "import time\na = time.perf_counter()\nimport warder_one\nresult = (time.perf_counter() - a) * 1e3"


def make_layers(folder, state):
    for name in NAMES:
        body = "".join(f"def f{i}(a, b={i}):\n    return [a + b + {i} for _ in range({i})]\n" for i in range(100))
        members = [(f"./{PLACE}warder_{name}/m{i}.py", body) for i in range(MODULES)]
        members += [(f"./{PLACE}warder_{name}/data/f{i}", "x") for i in range(FILES - MODULES)]
        members.append((f"./{PLACE}warder_{name}/__init__.py", "".join(f"from warder_{name} import m{i}\n" for i in range(MODULES))))
        warder("build", name, "--deb", make_deb(folder / f"{name}.deb", members), state=state)


def timed(client, code="pass"):
    begin = time.perf_counter()
    result = client.call("execute_code", {"code": code})
    spent = (time.perf_counter() - begin) * 1e3
    body = json.loads(result["content"][0]["text"])
    assert body["success"], body
    return spent, result["_meta"]["org.warder/receipt"], body["result"]


def of_start(client, start, code="pass"):
    """The next execution that got its jail in this way; waits for the pool."""
    for _ in range(200):
        spent, receipt, result = timed(client, code)
        if receipt["start"] == start:
            return spent, receipt, result
        time.sleep(0.05)
    sys.exit(f"no execution began as {start}")


def reload_ms(daemon):
    begin = time.perf_counter()
    daemon.process.send_signal(signal.SIGHUP)
    daemon.hear("RELOADING=1")
    daemon.hear("READY=1")
    return (time.perf_counter() - begin) * 1e3


def compare(rounds, pool, start, preload=()):
    spent = {"with": [], "without": []}
    mounts = {"with": [], "without": []}
    imports, own, reloads = [], [], {"with": [], "without": []}
    with tempfile.TemporaryDirectory(prefix="warder-bench-") as folder, Policies(layers=list(NAMES), pool={**pool, "preload": list(preload)}) as policies, \
            Policies(pool=pool) as bare:
        daemon = Service(policies=policies)
        make_layers(pathlib.Path(folder), daemon.state)
        tree = daemon.state / "layers" / json.loads((daemon.state / "layers/names/one.json").read_text())["hash"] / "tree"
        with daemon, Service(policies=bare) as plain, Client(daemon.socket) as layered, Client(plain.socket) as unlayered:
            for _ in range(rounds):
                for name, client in (("with", layered), ("without", unlayered)):
                    ms, receipt, _ = of_start(client, start)
                    spent[name].append(ms)
                    mounts[name].append(receipt["steps_us"]["usr_overlay"])
            if preload:
                imports = [of_start(layered, start, IMPORT)[2] for _ in range(10)]
                program = f"import sys\nsys.path.insert(0, {str(tree / PLACE[4:])!r})\n" + IMPORT.replace("result = ", "print(") + ")"
                own = [float(subprocess.run(["/usr/bin/python3", "-I", "-c", program], capture_output=True, text=True, check=True).stdout)
                       for _ in range(5)]
            for name, one in (("with", daemon), ("without", plain)):
                reloads[name] = [reload_ms(one) for _ in range(3)]
    middle = {name: statistics.median(values) for name, values in spent.items()}
    print(f"{start:5}{' loaded' if preload else ''} pass: {middle['with']:.2f} ms with three layers, {middle['without']:.2f} ms without, "
          f"x{middle['with'] / middle['without']:.3f}; mount of /usr {statistics.median(mounts['with']):.0f} us and "
          f"{statistics.median(mounts['without']):.0f} us")
    if imports:
        print(f"first import of a loaded module: {statistics.median(imports):.3f} ms, in python3 -c {statistics.median(own):.1f} ms, "
              f"1/{statistics.median(own) / statistics.median(imports):.0f}")
    print(f"reload: {min(reloads['with']):.0f} ms with three layers, {min(reloads['without']):.0f} ms without")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warderd", required=True)
    parser.add_argument("--warder", required=True)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    os.environ.update(WARDERD=os.path.abspath(options.warderd), WARDER=os.path.abspath(options.warder))
    print(f"load {os.getloadavg()[0]:.1f}")
    compare(options.rounds, {"min_idle": 0, "max_idle": 0, "zygotes": False}, "cold")
    compare(options.rounds, {**POOL, "zygotes": False}, "exec")
    compare(options.rounds, {**POOL, "zygotes": True}, "fork")
    compare(options.rounds, {**POOL, "zygotes": False}, "exec", ["warder_one"])


main()
