#!/usr/bin/env python3
"""Who may include whom. The arrows go down: base, then policies, catalog and skills, then jail, then the daemon."""
import os
import pathlib
import re

import lint

BASE = "supervisor/base"
# Folder or file: what it may include of ours, with all below, but for the rooms of a wing that has files of its own. A
# folder's row is for the files directly in it; a file's row comes before that of its folder.
MAY_INCLUDE = {
    BASE: [BASE],
    "supervisor/base/json": [BASE],
    "policies": [BASE, "policies"],
    "policies/pii": [BASE, "policies/checked.h", "policies/pii"],
    "policies/schema": [BASE, "policies/schema"],
    "catalog": [BASE, "catalog"],
    "skills": [BASE, "skills"],
    "jail": [BASE, "jail", "policies"],
    "jail/execution": [BASE, "jail", "policies"],
    "jail/jailer_client": [BASE, "jail"],
    "jail/pool": [BASE, "jail", "policies/pool_rules.h"],
    "jail/talk": [BASE, "jail"],
    "jail/usage": [BASE, "jail"],
    "jail/init_report.h": [],  # shared with the static child: plain data only
    "jail/plan_parts.h": [],  # likewise
    "jail/plan.h": ["jail/plan_parts.h"],  # likewise
    "policies/forbidden_calls.h": [],  # likewise
    "jail/init": ["jail/init", "jail/init_report.h", "jail/jail_namespaces.h", "jail/plan.h", "jail/short_text.h",
                  "jail/slice.h", "policies/forbidden_calls.h"],
    # The jailer, a program of its own: few files, and no library. pidfd.h and fd_message.h are used by the daemon, too.
    "jail/jailer": ["jail/fd_message.h", "jail/held_files.h", "jail/id_range.h", "jail/init/capabilities.h",
                    "jail/jailer", "jail/jailer_message.h", "jail/orders.h", "jail/pidfd.h", "jail/plan.h",
                    "jail/plan_parts.h", "jail/short_text.h", "jail/spawn.h", "supervisor/base/fd.h",
                    "supervisor/base/project_quota.h", "supervisor/base/result.h"],
    "jail/guest/probe": [],
    "jail/guest/shell": ["jail/guest/shell", "supervisor/base/json/json.h", "supervisor/base/json/json_text.h",
                         "supervisor/base/json/json_value.h"],
    "jail/zygote": ["jail/init/capabilities.h", "jail/init/steps.h", "jail/orders.h", "jail/plan.h", "jail/spawn.h",
                    "jail/zygote"],
    # What wires a room into the daemon: it knows the services of other rooms, and no file of the daemon itself.
    "part.cc": [BASE, "jail", "policies", "supervisor/daemon/configuration/options.h",
                "supervisor/daemon_controls.h", "supervisor/executions", "supervisor/executions/runs",
                "supervisor/executions/skill_stores", "supervisor/given_services.h",
                "supervisor/message_ids.h", "supervisor/operations", "supervisor/parts.h", "supervisor/protocol",
                "supervisor/records", "supervisor/tenants", "supervisor/tenants/index", "supervisor/tenants/privacy",
                "supervisor/tenants/proposals", "supervisor/tools", "supervisor/upstream",
                "supervisor/upstream/calls", "supervisor/upstream/discovery"],
    # Annexes: what makes one a part of the daemon knows the daemon; no other room knows an annex.
    "supervisor/cluster": [BASE, "policies", "supervisor/cluster", "supervisor/daemon", "supervisor/daemon_controls.h",
                           "supervisor/executions", "supervisor/executions/runs", "supervisor/executions/skill_stores",
                           "supervisor/operations/bus", "supervisor/operations/doctor",
                           "supervisor/operations/metrics/text.h", "supervisor/parts.h", "supervisor/records/journal",
                           "supervisor/records/workflows", "supervisor/tenant_turns.h",
                           "supervisor/upstream/discovery", "supervisor/workspace_homes.h"],
    "supervisor/tools/workflows/part.cc": ["supervisor/parts.h", "supervisor/records/disk", "supervisor/tools",
                                           "supervisor/tools/workflows", "supervisor/tools/workspace/resource_deleter.h"],
    "supervisor/upstream/part.cc": [BASE, "policies", "supervisor/daemon/configuration/options.h",
                                    "supervisor/given_services.h", "supervisor/operations/metrics/text.h",
                                    "supervisor/parts.h", "supervisor/upstream",
                                    "supervisor/upstream/authorization", "supervisor/upstream/discovery"],
    "supervisor/upstream/oauth/part.cc": ["supervisor/given_services.h", "supervisor/parts.h",
                                          "supervisor/tenants/master_key.h", "supervisor/upstream/oauth"],
    "supervisor/egress/part.cc": ["policies", "supervisor/daemon/configuration/options.h", "supervisor/egress",
                                  "supervisor/given_services.h", "supervisor/operations/metrics/text.h",
                                  "supervisor/parts.h"],
    "supervisor/egress/network_of_execution.h": ["supervisor/egress", "supervisor/executions/runs", "supervisor/upstream/calls"],
    "supervisor/egress/network_of_execution.cc": [BASE, "policies", "supervisor/egress", "supervisor/upstream/calls"],
    "supervisor/egress/network_of_server.h": ["supervisor/egress", "supervisor/records/journal", "supervisor/upstream/process.h"],
    "supervisor/egress/network_of_server.cc": [BASE, "supervisor/egress"],
    "supervisor/tenants/kernel_quota.h": ["jail/jailer_client", "supervisor/tenants"],
    "supervisor/tenants/kernel_quota.cc": [BASE, "supervisor/tenants"],
    "supervisor/upstream/bus_methods.h": ["supervisor/operations/bus/offered_members.h", "supervisor/upstream"],
    "supervisor/upstream/server_methods.cc": [BASE, "policies", "supervisor/upstream"],
    "supervisor/upstream/login_methods.cc": [BASE, "policies", "supervisor/upstream"],
    "supervisor/records/disk": [BASE, "jail/usage/disk_users.h", "supervisor/message_ids.h",
                                "supervisor/records/disk", "supervisor/records/journal"],
    "supervisor/protocol/tasks": [BASE, "policies/tenant_id.h", "supervisor/protocol/tasks"],
    "supervisor/records/workflows": [BASE, "supervisor/records/workflows"],
    # The protocol knows no tool, tenant or jail.
    "supervisor/protocol/mcp": [BASE, "supervisor/protocol/mcp", "supervisor/protocol/tasks"],
    "supervisor/upstream/authorization": [BASE, "supervisor/protocol/http", "supervisor/upstream/authorization"],
    "supervisor/upstream/oauth": [BASE, "supervisor/protocol/http", "supervisor/upstream/authorization",
                                  "supervisor/upstream/oauth"],
    "supervisor/upstream": [BASE, "catalog", "jail", "policies", "supervisor/protocol/http",
                            "supervisor/protocol/mcp", "supervisor/upstream", "supervisor/upstream/authorization"],
    "supervisor/records/journal": [BASE, "policies/tenant_id.h", "supervisor/message_ids.h",
                                   "supervisor/protocol/tasks", "supervisor/records/journal",
                                   "supervisor/records/workflows"],
    "supervisor/tenants": [BASE, "policies", "supervisor/protocol/mcp", "supervisor/tenants",
                           "supervisor/tenants/index"],
    "supervisor/tenants/index": [BASE, "supervisor/tenants/index"],
    "supervisor/tenants/proposals": [BASE, "policies", "supervisor/tenants", "supervisor/tenants/index",
                                     "supervisor/tenants/proposals"],
    "supervisor/protocol/http": [BASE, "supervisor/protocol/http"],
    "supervisor/protocol/streamable_http": [BASE, "supervisor/protocol/credentials", "supervisor/protocol/http",
                                            "supervisor/protocol/mcp", "supervisor/protocol/streamable_http"],
    "supervisor/protocol/credentials": [BASE, "policies", "supervisor/protocol/credentials"],
    "supervisor/records/spans": [BASE, "supervisor/protocol/http", "supervisor/records/spans"],
    "supervisor/records/traces": [BASE, "supervisor/protocol/http", "supervisor/records/spans",
                                  "supervisor/records/traces"],
    "supervisor/operations/doctor": [BASE, "supervisor/operations/doctor"],
    "supervisor/upstream/discovery": [BASE, "catalog", "policies", "skills", "supervisor/upstream/discovery"],
    "supervisor/tenants/privacy": [BASE, "policies", "supervisor/protocol/mcp", "supervisor/tenants",
                                   "supervisor/tenants/privacy"],
    "supervisor/upstream/calls": [BASE, "catalog", "jail", "policies", "supervisor/protocol/mcp",
                                  "supervisor/records/journal", "supervisor/records/spans",
                                  "supervisor/records/workflows", "supervisor/tenants", "supervisor/tenants/privacy",
                                  "supervisor/upstream", "supervisor/upstream/calls", "supervisor/upstream/discovery"],
    "supervisor/executions": [BASE, "catalog", "jail", "policies", "supervisor/executions",
                              "supervisor/operations/metrics/text.h", "supervisor/protocol/mcp",
                              "supervisor/records/journal", "supervisor/records/spans", "supervisor/tenants",
                              "supervisor/tenants/index", "supervisor/tenants/proposals", "supervisor/upstream/calls"],
    "supervisor/executions/skill_stores": [BASE, "jail", "policies", "skills", "supervisor/executions",
                                           "supervisor/executions/skill_stores", "supervisor/tenants"],
    # One call of execute_code; it knows no tool
    "supervisor/executions/runs": [BASE, "jail", "policies", "supervisor/executions",
                                   "supervisor/executions/runs", "supervisor/protocol/mcp",
                                   "supervisor/protocol/tasks", "supervisor/records/journal",
                                   "supervisor/records/spans", "supervisor/records/workflows", "supervisor/tenants",
                                   "supervisor/tenants/index", "supervisor/tenants/proposals",
                                   "supervisor/upstream/calls", "supervisor/upstream/discovery"],
    "supervisor/tools": [BASE, "supervisor/protocol/mcp", "supervisor/records/journal", "supervisor/tenants",
                         "supervisor/tools", "supervisor/upstream/calls"],
    "supervisor/tools/catalog": [BASE, "catalog", "jail/language.h", "policies", "skills", "supervisor/protocol/mcp",
                                 "supervisor/tenants", "supervisor/tools", "supervisor/upstream",
                                 "supervisor/upstream/calls", "supervisor/upstream/discovery"],
    "supervisor/tools/execution": [BASE, "policies", "supervisor/executions", "supervisor/executions/runs",
                                   "supervisor/protocol/mcp", "supervisor/records/journal", "supervisor/tenants",
                                   "supervisor/tools", "supervisor/upstream/calls"],
    "supervisor/tools/pii": [BASE, "policies", "supervisor/protocol/mcp", "supervisor/tenants",
                             "supervisor/tenants/privacy", "supervisor/tools"],
    "supervisor/tools/proposals": [BASE, "policies", "supervisor/protocol/mcp", "supervisor/tenants",
                                   "supervisor/tenants/proposals", "supervisor/tools", "supervisor/upstream/calls"],
    "supervisor/tools/skills": [BASE, "skills", "supervisor/executions", "supervisor/executions/skill_stores",
                                "supervisor/records/journal", "supervisor/tenants", "supervisor/tools",
                                "supervisor/upstream/calls"],
    "supervisor/tools/workflows": [BASE, "policies", "supervisor/protocol/mcp", "supervisor/records/workflows",
                                   "supervisor/tenants", "supervisor/tools/workflows", "supervisor/upstream/calls"],
    "supervisor/tools/workspace": [BASE, "policies", "supervisor/executions", "supervisor/executions/runs",
                                   "supervisor/protocol/mcp", "supervisor/records/journal", "supervisor/tenants",
                                   "supervisor/tenants/index", "supervisor/tools"],
    # Services, and no tool.
    "supervisor/operations/bus": [BASE, "jail", "policies", "supervisor/executions",
                                  "supervisor/operations/bus", "supervisor/operations/doctor",
                                  "supervisor/records/journal", "supervisor/tenants", "supervisor/tenants/proposals",
                                  "supervisor/upstream/calls"],
    "supervisor/daemon/configuration": [BASE, "jail/id_range.h", "policies", "supervisor/daemon/configuration",
                                        "supervisor/daemon_identity.h", "supervisor/flags.h",
                                        "supervisor/protocol/credentials", "supervisor/records/journal",
                                        "supervisor/records/spans", "supervisor/tenants/layers",
                                        "supervisor/upstream/server_config.h"],  # read without a daemon, too
    "supervisor/operations/metrics": [BASE, "jail/execution/outcome.h", "supervisor/executions",
                                      "supervisor/operations/metrics"],
    "supervisor/cluster/placement": [BASE, "policies/tenant_id.h", "supervisor/cluster/placement"],
    "supervisor/cluster/trust": [BASE, "policies", "supervisor/cluster/trust"],
    "supervisor/cluster/bus": [BASE, "supervisor/cluster/bus", "supervisor/cluster/trust/nkey.h"],
    "supervisor/cluster/snapshot": [BASE, "supervisor/cluster/snapshot"],
    "supervisor/cluster/link": [BASE, "catalog", "policies", "skills", "supervisor/cluster/link",
                                "supervisor/cluster/placement", "supervisor/cluster/trust",
                                "supervisor/protocol/mcp", "supervisor/tenants", "supervisor/upstream"],
    "supervisor/cluster/node": [BASE, "supervisor/cluster", "supervisor/protocol/mcp/listener.h"],
    "supervisor/cluster/moves": [BASE, "policies", "supervisor/cluster/link", "supervisor/cluster/moves",
                                 "supervisor/cluster/snapshot", "supervisor/executions", "supervisor/protocol/tasks",
                                 "supervisor/records/journal", "supervisor/records/workflows", "supervisor/tenants",
                                 "supervisor/tenants/proposals"],
    "supervisor/egress": [BASE, "policies", "supervisor/egress", "supervisor/protocol/http"],
    "supervisor/programs/docgen": [BASE, "supervisor/cluster/node/node_flags.h", "supervisor/egress/egress_flags.h",
                                   "supervisor/flags.h", "supervisor/programs/cli", "supervisor/programs/docgen"],
    "supervisor/programs/cli": [BASE, "supervisor/programs/cli"],  # a client: it speaks to the daemon over its socket
    "supervisor/programs/cli/dashboard": [BASE, "supervisor/operations/bus/connection.h", "supervisor/programs/cli",
                                          "supervisor/protocol/http"],
    "supervisor/programs/cli/servers": [BASE, "policies", "supervisor/daemon/configuration",
                                        "supervisor/programs/cli", "supervisor/programs/packages",
                                        "supervisor/upstream/server_config.h"],
    "supervisor/programs/cli/cluster": [BASE, "policies", "skills/bundle.h", "skills/name.h", "supervisor/cluster",
                                        "supervisor/programs/cli"],
    "supervisor/programs/cli/skills": [BASE, "skills/name.h", "supervisor/programs/cli"],
    "supervisor/programs/cli/workflows": [BASE, "supervisor/programs/cli"],
    "supervisor/programs/cli/tokens": [BASE, "policies", "supervisor/daemon/configuration",
                                       "supervisor/programs/cli", "supervisor/protocol/credentials"],
    # The store; what builds a layer is a client.
    "supervisor/tenants/layers": [BASE, "policies", "supervisor/tenants/layers"],
    "supervisor/programs/cli/layers": [BASE, "supervisor/programs/cli", "supervisor/programs/packages",
                                       "supervisor/tenants/layers"],
    "supervisor/programs/packages": [BASE, "supervisor/programs/packages"],
    "supervisor/programs/cli/admin": [BASE, "policies", "supervisor/daemon/configuration",
                                      "supervisor/operations/doctor", "supervisor/programs/cli",
                                      "supervisor/records/journal"],  # verifies the audit chain by itself
    "supervisor/programs/cli/admin/policies": [BASE, "policies", "supervisor/daemon/configuration",
        "supervisor/programs/cli"],
    "supervisor/programs/cli/admin/top": [BASE, "supervisor/programs/cli"],
    "supervisor/daemon/systemd": [BASE, "supervisor/daemon/systemd"],
    "supervisor/daemon": [BASE, "jail", "policies", "skills", "supervisor/annexes.h", "supervisor/daemon", "supervisor/daemon/configuration", "supervisor/daemon/systemd",
                          "supervisor/daemon_controls.h", "supervisor/executions", "supervisor/executions/runs",
                          "supervisor/executions/skill_stores", "supervisor/given_services.h",
                          "supervisor/message_ids.h", "supervisor/operations/bus", "supervisor/operations/doctor",
                          "supervisor/operations/metrics", "supervisor/parts.h", "supervisor/privileges.h",
                          "supervisor/protocol/credentials", "supervisor/protocol/http", "supervisor/protocol/mcp",
                          "supervisor/protocol/streamable_http", "supervisor/records/journal",
                          "supervisor/tenant_turns.h", "supervisor/tenants", "supervisor/tools", "supervisor/upstream", "supervisor/upstream/calls",
                          "supervisor/upstream/discovery", "supervisor/workspace_homes.h"],  # every part, no annex, no program
    # The program itself: its start with privileges; no row of a folder below
    "supervisor": ["jail", "policies/policy_fwd.h", "policies/tenant_id.h", "supervisor"],
}
# Wings with files of their own. The rooms in them have other users than these files.
OPEN_WINGS = ("supervisor/daemon", "supervisor/executions", "supervisor/tenants", "supervisor/upstream")
# Inner folders, and the only ones that may reach into them.
PRIVATE = {"jail/init": ("jail/init", "jail/jailer", "jail/zygote"), "jail/jailer": ("jail/jailer", "tests"),
           "jail/guest": ("jail/guest",), "jail/zygote": ("jail/zygote",)}
WHOLE = "tests/lint/layering.py"  # in a tree with this file, each allowance must be used
OURS = ("supervisor/", "policies/", "catalog/", "skills/", "jail/", "tests/", "units/")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]')


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def reaches(name, target):
    """Whether the allowance `name` holds for the file `target`. Rooms of an open wing need allowances of their own."""
    room = "/".join(target.split("/")[:3])
    return within(target, name) and not (name in OPEN_WINGS and room in MAY_INCLUDE and "." not in room)


def row_of(source):
    """The name of the row for a file; None: neither the file nor its folder has one."""
    folder = os.path.dirname(source)
    if source in MAY_INCLUDE:
        return source
    if folder not in ("supervisor/daemon", "supervisor/cluster") and re.fullmatch(r"(\w+_)?part\.cc", os.path.basename(source)):
        return "part.cc"
    return folder if folder in MAY_INCLUDE else None


def allowed(source, target):
    for private, insiders in PRIVATE.items():
        if within(target, private) and not any(within(source, name) for name in insiders):
            return False
    return any(reaches(name, target) for name in MAY_INCLUDE[row_of(source)])


def includes(root, path):
    """(line, file) of each include of ours."""
    source = path.relative_to(root).as_posix()
    for number, line in enumerate(path.read_text().split("\n"), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1)
        beside = os.path.normpath(pathlib.PurePosixPath(source).parent / target)
        if (root / beside).is_file():
            target = beside
        if target.startswith(OURS):
            yield number, target


def check(root):
    findings, used, without = [], {}, set()  # used: by row, the files that its sources include
    for path in lint.files(root, ".h", ".cc", below=("supervisor", "policies", "catalog", "skills", "jail")):
        source = path.relative_to(root).as_posix()
        row = row_of(source)
        if row is None:
            folder = os.path.dirname(source)
            if folder not in without:
                without.add(folder)
                findings.append(f"{folder}: has no row in MAY_INCLUDE")
            continue
        targets = used.setdefault(row, set())
        for number, target in includes(root, path):
            targets.add(target)
            if not allowed(source, target):
                findings.append(f"{source}:{number}: may not include {target}")
    if not (root / WHOLE).is_file():
        return findings  # a planted tree has few files: it shows no row as unused
    for row, targets in sorted(used.items()):
        for name in MAY_INCLUDE[row]:
            if not any(reaches(name, target) for target in targets):
                findings.append(f"{row}: no file includes {name}, which its row in MAY_INCLUDE allows")
    for row in MAY_INCLUDE:
        if row not in used and row != "part.cc" and not (root / row).exists():
            findings.append(f"{row}: has a row in MAY_INCLUDE and does not exist")
    return findings


def planted_tree(unused=None, missing=None):
    """A tree in which each allowance of each row is used, but for (row, name), and without the folder of one row."""
    files = {WHOLE: ""}
    for row, names in MAY_INCLUDE.items():
        if row == missing:
            continue
        targets = [name if name.endswith(".h") else name + "/a.h" for name in names if (row, name) != unused]
        files[row if row.endswith(".h") else row + "/a.cc"] = "".join(f'#include "{target}"\n' for target in targets)
    return files


PLANTS = [
    lint.Plant("a service that knows a tool", {"supervisor/executions/sessions.cc": '#include "supervisor/tools/call_audit.h"\n'},
               ["supervisor/executions/sessions.cc:1: may not include supervisor/tools/call_audit.h"]),
    lint.Plant("a folder of the daemon without a row", {"supervisor/new/a.cc": "", "supervisor/new/b.cc": ""},
               ["supervisor/new: has no row"]),
    lint.Plant("a folder without a row, in a folder that has none", {"supervisor/cluster/new/a.h": '#include "jail/jail.h"\n'},
               ["supervisor/cluster/new: has no row"]),
    lint.Plant("a folder without a row, in a folder that has one", {"supervisor/tools/new/a.cc": "", "jail/new/a.h": ""},
               ["jail/new: has no row", "supervisor/tools/new: has no row"]),
    lint.Plant("an allowance that no file uses", planted_tree(unused=("supervisor/protocol/tasks", BASE)),
               ["supervisor/protocol/tasks: no file includes supervisor/base, which its row"]),
    lint.Plant("a row of no folder", planted_tree(missing="supervisor/protocol/tasks"),
               ["supervisor/protocol/tasks: has a row in MAY_INCLUDE and does not exist"]),
    lint.Plant("a tree that uses each allowance", planted_tree(), []),
    lint.Plant("a part that knows the daemon", {"supervisor/tenants/part.cc": '#include "supervisor/daemon/daemon.h"\n'},
               ["supervisor/tenants/part.cc:1: may not include supervisor/daemon/daemon.h"]),
    lint.Plant("a room that knows an annex", {"supervisor/daemon/daemon.cc": '#include "supervisor/cluster/cluster_bus.h"\n'},
               ["supervisor/daemon/daemon.cc:1: may not include supervisor/cluster/cluster_bus.h"]),
    lint.Plant("a wing that knows its room", {"supervisor/upstream/a.cc": '#include "supervisor/upstream/calls/a.h"\n'},
               ["supervisor/upstream/a.cc:1: may not include supervisor/upstream/calls/a.h"]),
    lint.Plant("a jail that knows the daemon", {"jail/pool/pool.cc": '#include "supervisor/protocol/mcp/server.h"\n'},
               ["jail/pool/pool.cc:1: may not include supervisor/protocol/mcp/server.h"]),
    lint.Plant("a child that reaches past the plan", {"jail/init/main.cc": '#include "jail/usage/cgroup.h"\n'},
               ["jail/init/main.cc:1: may not include jail/usage/cgroup.h"]),
    lint.Plant("a plan that is not plain", {"jail/plan.h": "#include <supervisor/base/fd.h>\n"},
               ["jail/plan.h:1: may not include supervisor/base/fd.h"]),
    lint.Plant("a parent that reaches into the child", {"jail/jail.cc": '#include "jail/init/steps.h"\n'},
               ["jail/jail.cc:1: may not include jail/init/steps.h"]),
    lint.Plant("a protocol that knows a tool", {"supervisor/protocol/mcp/server.cc": '#include "supervisor/tools/call_audit.h"\n'},
               ["supervisor/protocol/mcp/server.cc:1"]),
    lint.Plant("a path that hides the folder",
               {"policies/policy.cc": '#include "../jail/jail.h"\n', "jail/jail.h": ""},
               ["policies/policy.cc:1: may not include jail/jail.h"]),
    lint.Plant("product code that uses a test's header", {"jail/jail.cc": '#include "tests/catch.h"\n'},
               ["jail/jail.cc:1: may not include tests/catch.h"]),
    lint.Plant("arrows that go down", {
        "jail/jail.cc": '#include <sched.h>\n#include "supervisor/base/fd.h"\n#include "policies/policy.h"\n',
        "jail/init/main.cc": '#include "jail/plan.h"\n#include "jail/init/steps.h"\n',
        "supervisor/main.cc": '#include "jail/jail.h"\n#include "supervisor/protocol/mcp/server.h"\n',
    }, []),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
