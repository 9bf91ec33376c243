"""What is shipped for Prometheus and Grafana fits what the daemon really serves: each metric and each label of the
alert rules and of the dashboard is in a scrape. Program: $WARDERD."""
import json
import re
import shutil
import subprocess
import unittest

import yaml
from harness import PATIENCE, TOP, Client, Policies, eventually
from metrics_test import parse, read_unix
from upstream_harness import UpstreamTest

SHIPPED = TOP / "units/monitoring"
# Functions, operators and keywords of PromQL; whatever else looks like a name is a metric or a label.
WORDS = {"sum", "rate", "increase", "max", "topk", "by", "and", "or", "unless", "histogram_quantile"}
NAMED = re.compile(r"\b([a-z_]\w*)\b")


def rules():
    groups = yaml.safe_load((SHIPPED / "warder.rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels():
    return json.loads((SHIPPED / "warder-dashboard.json").read_text())["panels"]


def expressions():
    """(where, PromQL) of everything that is shipped."""
    yield from ((rule["alert"], rule["expr"]) for rule in rules())
    for panel in panels():
        yield from ((panel["title"], target["expr"]) for target in panel.get("targets", []))
    for variable in json.loads((SHIPPED / "warder-dashboard.json").read_text())["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()
            yield variable["name"], f"sum by ({label}) ({metric})"


def used_in(expression):
    """[(metric, {label: pattern})] and the labels after `by`."""
    metrics = re.findall(r"\b(warder_\w+|up)\b(?:\{([^}]*)\})?", expression)
    selectors = [(name, dict(re.findall(r'(\w+)(?:=~?|!=|!~)"([^"]*)"', selector))) for name, selector in metrics]
    grouped = {label for labels in re.findall(r"\bby \(([^)]*)\)", expression) for label in labels.split(", ")}
    return selectors, grouped


def answer_of(client):
    """The answer to a call of an upstream tool; None while the tool is not known yet."""
    result = client.call("call_tool", {"name": "near__echo", "arguments": {"text": "hello"}})
    return None if result.get("isError") else result


class Scraped(UpstreamTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        policies = cls.enterClassContext(Policies(languages=["python", "shell"], pool={"min_idle": 1, "max_idle": 2},
                                                  calls={"otherwise": "allow"}))
        daemon = cls.daemon(policies=policies)
        path = daemon.socket.parent / "metrics.sock"
        daemon.arguments += ["--metrics", str(path)]
        cls.enterClassContext(daemon)
        with Client(daemon.socket) as client:
            assert client.execute("result = 1")["outcome"] == "ok"
            assert client.execute("0", language="javascript")["outcome"] == "denied"
            called = eventually(lambda: answer_of(client), "the server's tools are known")
            assert called, called
            # New tools empty the pool, some time after they are known: its jails would not know them. A request fills it.
            eventually(lambda: client.execute("result = 2")["outcome"] == "ok"
                       and 'warder_pool_jails{language="python"' in read_unix(path), "the pool is filled again")
            cls.families = parse(read_unix(path))
        cls.samples = {}  # {name: {label: {values}}}
        for family, (kind, samples) in cls.families.items():
            names = {"counter": ["_total"], "info": ["_info"], "summary": ["_count", "_sum"],
                     "histogram": ["_bucket", "_count", "_sum"]}.get(kind, [""])
            for name in names:
                cls.samples[family + name] = {}
            for suffix, labels in samples:
                for label, value in labels:
                    cls.samples[family + suffix].setdefault(label, set()).add(value)

    def test_each_metric_exists_with_its_labels(self):
        used = set()
        for where, expression in expressions():
            selectors, grouped = used_in(expression)
            self.assertTrue(selectors, where)
            known = {"instance", "job"}
            for name, labels in selectors:
                if name == "up":
                    continue
                with self.subTest(where, metric=name):
                    used.add(name)
                    self.assertIn(name, self.samples)
                    has = self.samples[name]
                    known |= has.keys()
                    for label, pattern in labels.items():
                        if label not in ("instance", "job"):
                            self.assertIn(label, has)
                        for value in pattern.split("|"):
                            if label in ("state", "result", "decision", "bound"):
                                self.assertIn(value, has[label], f"{label} of {name}")
            self.assertLessEqual(grouped, known, where)
        families = {name for name in self.families if any(one.startswith(name) for one in used)}
        self.assertGreater(len(families), 20, "most of what is served is shown")

    def test_expressions_hold_nothing_unknown_and_balanced_brackets(self):
        for where, expression in expressions():
            with self.subTest(where):
                bare = re.sub(r'"[^"]*"', "", re.sub(r"\$__\w+", "5m", expression))
                for opening, closing in ("()", "[]", "{}"):
                    self.assertEqual(bare.count(opening), bare.count(closing))
                bare = re.sub(r"\{[^}]*\}|\bby \([^)]*\)|\[\d+[mh]\]", "", bare)
                for name in NAMED.findall(bare):
                    self.assertTrue(name in WORDS or name == "up" or name in self.samples, name)


class Shipped(unittest.TestCase):
    def test_each_rule_says_what_is_wrong_and_what_helps(self):
        names = [rule["alert"] for rule in rules()]
        self.assertEqual(len(names), len(set(names)))
        for rule in rules():
            self.assertEqual(set(rule) - {"for"}, {"alert", "expr", "labels", "annotations"})
            self.assertIn(rule["labels"]["severity"], ("critical", "warning", "info"))
            self.assertEqual(set(rule["annotations"]), {"summary", "description"})
            _, grouped = used_in(rule["expr"])
            for label in re.findall(r"\$labels\.(\w+)", str(rule["annotations"])):
                self.assertTrue(not grouped or label in grouped, f"{rule['alert']}: {label} is summed away")

    def test_the_dashboard_is_whole(self):
        ids = [panel["id"] for panel in panels()]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in panels():
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24)
            if panel["type"] != "row":
                self.assertTrue(panel["targets"] and panel["description"] and panel["fieldConfig"]["defaults"]["unit"])

    @unittest.skipUnless(shutil.which("promtool"), "NOT TESTED: promtool is missing (package prometheus)")
    def test_promtool_takes_the_rules_and_the_configuration(self):
        done = subprocess.run(["promtool", "check", "rules", SHIPPED / "warder.rules.yml"], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_example_scrapes_the_address_that_the_socket_unit_opens(self):
        scraped = yaml.safe_load((SHIPPED / "prometheus.yml").read_text())["scrape_configs"][0]
        self.assertEqual(scraped["job_name"], "warder")
        unit = (SHIPPED / "warder-metrics-tcp.socket").read_text()
        self.assertEqual(scraped["static_configs"][0]["targets"], re.findall(r"(?m)^ListenStream=(.*)$", unit))


if __name__ == "__main__":
    unittest.main()
