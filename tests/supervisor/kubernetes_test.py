"""The files for Kubernetes: well-formed, each name that one of them uses exists, and only warderd is privileged. kubectl
builds them where it is installed. Programs: $WARDERD and $WARDER check what is for them.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import yaml
from harness import PATIENCE, TOP, Daemon

FOLDER = TOP / "units/kubernetes"
MADE_BY_HAND = {"trust.record", "nats-nodes.conf"}  # by warder cluster: README.md
SECRETS = {"nats-tls"}


def documents():
    for name in yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]:
        yield from yaml.safe_load_all((FOLDER / name).read_text())


class Kubernetes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kustomization = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
        cls.documents = list(documents())
        cls.workloads = [one for one in cls.documents if one["kind"] in ("DaemonSet", "StatefulSet")]

    def containers(self, workload):
        pod = workload["spec"]["template"]["spec"]
        return [*pod.get("initContainers", []), *pod["containers"]]

    def test_files_and_names_exist(self):
        maps = {one["name"]: one["files"] for one in self.kustomization["configMapGenerator"]}
        for file in {file for files in maps.values() for file in files} - MADE_BY_HAND:
            self.assertTrue((FOLDER / file).is_file(), file)
        text = (FOLDER / "README.md").read_text()
        for name in MADE_BY_HAND | SECRETS:
            self.assertIn(name, text)
        used = set()
        for workload in self.workloads:
            pod = workload["spec"]["template"]["spec"]
            for volume in pod["volumes"]:
                if "configMap" in volume:
                    used.add(volume["configMap"]["name"])
                if "secret" in volume:
                    self.assertIn(volume["secret"]["secretName"], SECRETS)
            volumes = {one["name"] for one in [*pod["volumes"], *(one["metadata"] for one in workload["spec"].get("volumeClaimTemplates", []))]}
            mounted = {mount["name"] for one in self.containers(workload) for mount in one["volumeMounts"]}
            self.assertEqual(mounted, volumes, workload["metadata"]["name"])
            self.assertEqual(workload["spec"]["selector"]["matchLabels"], workload["spec"]["template"]["metadata"]["labels"])
        self.assertEqual(used, set(maps))
        services = {one["metadata"]["name"] for one in self.documents if one["kind"] == "Service"}
        self.assertEqual({one["spec"]["serviceName"] for one in self.workloads if one["kind"] == "StatefulSet"}, services)

    def test_only_warderd_is_privileged(self):
        for workload in self.workloads:
            for one in self.containers(workload):
                context = one["securityContext"]
                if one["name"] == "warderd":
                    self.assertIs(context["privileged"], True)
                    continue
                with self.subTest(container=one["name"]):
                    self.assertNotIn("privileged", context)
                    self.assertIs(context["allowPrivilegeEscalation"], False)
                    self.assertIs(context["readOnlyRootFilesystem"], True)
                    self.assertEqual(context["capabilities"]["drop"], ["ALL"])

    def test_the_servers_of_nats_are_named_alike_everywhere(self):
        [stateful] = [one for one in self.workloads if one["kind"] == "StatefulSet"]
        hosts = [f"nats-{number}.nats.warder.svc" for number in range(stateful["spec"]["replicas"])]
        self.assertEqual(self.kustomization["namespace"], "warder")
        [daemons] = [one for one in self.workloads if one["kind"] == "DaemonSet"]
        [join] = [one for one in self.containers(daemons) if one["name"] == "join"]
        self.assertEqual([word for word in join["command"] if word.startswith("tls://")], [f"tls://{host}:4222" for host in hosts])
        conf = (FOLDER / "nats.conf").read_text()
        for host in hosts:
            self.assertIn(f"nats-route://{host}:6222", conf)
            self.assertIn(host if host.startswith("nats-0") or host.startswith("nats-2") else "", (FOLDER / "README.md").read_text())

    def test_the_server_takes_the_configuration(self):
        server = shutil.which("nats-server", path="/usr/sbin:/usr/bin:/usr/local/bin")
        if not server:
            self.skipTest("nats-server is missing, so its configuration was not checked")
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            subprocess.run([os.environ["WARDER"], "cluster", "init", "--name", "main", "--node", "admin", "--folder", folder / "main"],
                           check=True, capture_output=True, timeout=PATIENCE)
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", "/CN=x", "-keyout",
                            folder / "server.key", "-out", folder / "server.pem"], check=True, capture_output=True, timeout=PATIENCE)
            shutil.copy(folder / "server.pem", folder / "ca.pem")
            shutil.copy(folder / "main/nats-nodes.conf", folder)
            (folder / "nats.conf").write_text((FOLDER / "nats.conf").read_text().replace("/etc/nats-tls", str(folder)))
            checked = subprocess.run([server, "-c", folder / "nats.conf", "-t"], capture_output=True, text=True, timeout=PATIENCE,
                                     env={**os.environ, "POD_NAME": "nats-0"})
            self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_warderd_takes_its_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            folder.chmod(0o755)
            policies = folder / "policies"
            policies.mkdir(mode=0o755)
            for name in ("tenants.json", "shared.json"):
                shutil.copy(FOLDER / name, policies)
            text = (FOLDER / "warderd.json").read_text()
            for path in json.loads(text)["cluster"].values():
                text = text.replace(path, str(folder / pathlib.Path(path).name))
            (folder / "warderd.json").write_text(text)
            with Daemon(policies=policies, arguments=("--config", folder / "warderd.json")) as daemon:
                self.assertIn("no connection to warder-node", daemon.log_text())

    def test_kubectl_builds_them(self):
        kubectl = shutil.which("kubectl")
        if not kubectl:
            self.skipTest("kubectl is missing, so it did not build the files")
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copytree(FOLDER, pathlib.Path(folder) / "files")
            for name in MADE_BY_HAND:
                (copy / name).write_text("x")
            built = subprocess.run([kubectl, "kustomize", copy], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(built.returncode, 0, built.stderr)
            made = list(yaml.safe_load_all(built.stdout))
        self.assertEqual({one["metadata"]["name"] for one in made if one["kind"] == "ConfigMap"},
                         {one["name"] for one in self.kustomization["configMapGenerator"]})
        self.assertEqual({one["metadata"].get("namespace") for one in made if one["kind"] != "Namespace"}, {"warder"})


if __name__ == "__main__":
    unittest.main()
