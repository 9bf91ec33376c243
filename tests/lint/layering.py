#!/usr/bin/env python3
"""Who may include whom. The arrows go down: base, then policies, catalog and skills, then jail, then the daemon."""
import os
import pathlib
import re

import lint

BASE = "supervisor/base"
# Folder or file: what it may include of ours, with all below. A folder's row is for the files directly in it; a file's row
# comes before that of its folder.
MAY_INCLUDE = {
    BASE: [BASE],
    "policies": [BASE, "policies"],
    "policies/pii": [BASE, "policies/checked.h", "policies/pii"],
    "policies/schema": [BASE, "policies/schema"],
    "catalog": [BASE, "catalog"],
    "skills": [BASE, "skills"],
    "jail": [BASE, "policies", "jail"],
    "jail/plan.h": [],  # shared with the static child: plain data only
    "policies/forbidden_calls.h": [],  # likewise
    "jail/init": ["jail/init", "jail/plan.h", "jail/jail_namespaces.h", "jail/short_text.h", "jail/slice.h", "policies/forbidden_calls.h"],
    # The jailer, a program of its own: few files, and no library. pidfd.h and fd_message.h are used by the daemon, too.
    "jail/jailer": ["jail/jailer", "jail/init/capabilities.h", "jail/fd_message.h", "jail/held_files.h", "jail/id_range.h", "jail/jailer_message.h", "jail/orders.h",
                    "jail/pidfd.h", "jail/plan.h", "jail/short_text.h", "jail/spawn.h", "supervisor/base/fd.h", "supervisor/base/project_quota.h",
                    "supervisor/base/result.h"],
    "jail/guest/probe": [],
    "jail/guest/shell": ["supervisor/base/json.h", "supervisor/base/json_text.h", "supervisor/base/json_value.h", "jail/guest/shell"],
    "jail/zygote": ["jail/zygote", "jail/init/capabilities.h", "jail/init/steps.h", "jail/plan.h", "jail/orders.h", "jail/spawn.h"],
    "supervisor/tasks": [BASE, "supervisor/tasks", "supervisor/tenants/tenant_id.h"],
    "supervisor/workflows": [BASE, "supervisor/workflows"],
    "supervisor/mcp": [BASE, "supervisor/mcp", "supervisor/tasks"],  # the protocol knows no tool, tenant or jail
    "supervisor/oauth": [BASE, "supervisor/http", "supervisor/oauth"],
    "supervisor/upstream": [BASE, "policies", "catalog", "jail", "supervisor/http", "supervisor/mcp", "supervisor/oauth", "supervisor/tenants/tenant_id.h", "supervisor/upstream"],
    "supervisor/journal": [BASE, "supervisor/journal", "supervisor/tasks", "supervisor/tenants/tenant_id.h", "supervisor/workflows"],
    "supervisor/tenants": [BASE, "policies", "supervisor/mcp", "supervisor/tenants"],
    "supervisor/tenants/index": [BASE, "supervisor/tenants/index"],
    "supervisor/proposals": [BASE, "policies", "supervisor/proposals", "supervisor/tenants"],
    "supervisor/http": [BASE, "supervisor/http"],
    "supervisor/streamable_http": [BASE, "supervisor/credentials", "supervisor/http", "supervisor/mcp", "supervisor/streamable_http"],
    "supervisor/credentials": [BASE, "policies", "supervisor/credentials"],
    "supervisor/traces": [BASE, "supervisor/http", "supervisor/traces"],
    "supervisor/doctor": [BASE, "supervisor/doctor"],
    "supervisor/discovery": [BASE, "policies", "catalog", "skills", "supervisor/discovery"],
    "supervisor/privacy": [BASE, "policies", "supervisor/mcp", "supervisor/privacy", "supervisor/tenants"],
    "supervisor/calls": [BASE, "policies", "catalog", "jail", "supervisor/calls", "supervisor/discovery", "supervisor/journal", "supervisor/mcp",
                         "supervisor/privacy", "supervisor/tenants", "supervisor/traces", "supervisor/upstream", "supervisor/workflows"],
    "supervisor/executions": [BASE, "policies", "catalog", "jail", "supervisor/calls", "supervisor/executions", "supervisor/journal",
                              "supervisor/mcp", "supervisor/proposals", "supervisor/tenants", "supervisor/traces"],
    "supervisor/skill_stores": [BASE, "skills", "jail", "supervisor/executions", "supervisor/skill_stores", "supervisor/tenants"],
    "supervisor/runs": [BASE, "policies", "jail", "supervisor/calls", "supervisor/discovery", "supervisor/egress", "supervisor/executions", "supervisor/journal",
                        "supervisor/mcp", "supervisor/proposals", "supervisor/runs", "supervisor/tasks", "supervisor/tenants", "supervisor/traces",
                        "supervisor/workflows"],  # one call of execute_code; it knows no tool
    "supervisor/tools": [BASE, "supervisor/calls", "supervisor/journal", "supervisor/mcp", "supervisor/tenants", "supervisor/tools"],
    "supervisor/tools/catalog": [BASE, "catalog", "skills", "jail/language.h", "supervisor/calls", "supervisor/discovery", "supervisor/mcp",
                                 "supervisor/tools", "supervisor/upstream"],
    "supervisor/tools/execution": [BASE, "policies", "supervisor/calls", "supervisor/executions", "supervisor/journal", "supervisor/mcp",
                                   "supervisor/runs", "supervisor/tenants", "supervisor/tools"],
    "supervisor/tools/pii": [BASE, "policies/pii", "supervisor/mcp", "supervisor/privacy", "supervisor/tools"],
    "supervisor/tools/proposals": [BASE, "supervisor/calls", "supervisor/mcp", "supervisor/proposals", "supervisor/tenants", "supervisor/tools"],
    "supervisor/tools/skills": [BASE, "skills", "supervisor/calls", "supervisor/executions", "supervisor/journal", "supervisor/skill_stores", "supervisor/tenants",
                                "supervisor/tools"],
    "supervisor/tools/workflows": [BASE, "supervisor/calls", "supervisor/mcp", "supervisor/tenants", "supervisor/tools/workflows",
                                   "supervisor/workflows"],
    "supervisor/tools/workspace": [BASE, "policies/schema/expressions.h", "supervisor/executions", "supervisor/journal", "supervisor/mcp", "supervisor/runs", "supervisor/tenants",
                                   "supervisor/tools", "supervisor/workflows"],
    "supervisor/bus": [BASE, "policies", "jail", "supervisor/bus", "supervisor/calls", "supervisor/cluster/link/query_messages.h", "supervisor/cluster/link/view_messages.h", "supervisor/doctor", "supervisor/executions",
                       "supervisor/journal", "supervisor/proposals", "supervisor/tenants", "supervisor/upstream/server_status.h"],  # services, and no tool
    "supervisor/configuration": [BASE, "policies", "jail/id_range.h", "supervisor/configuration", "supervisor/credentials", "supervisor/daemon_identity.h", "supervisor/flags.h", "supervisor/journal", "supervisor/layers",
                                 "supervisor/traces", "supervisor/upstream/server_config.h"],  # read without a daemon, too
    "supervisor/metrics": [BASE, "jail", "supervisor/executions", "supervisor/metrics", "supervisor/traces"],
    "supervisor/agent": [BASE, "supervisor/agent", "supervisor/cli", "supervisor/http"],  # a client, like supervisor/cli
    "supervisor/cluster/placement": [BASE, "supervisor/cluster/placement", "supervisor/tenants/tenant_id.h"],
    "supervisor/cluster/trust": [BASE, "policies", "supervisor/cluster/trust", "supervisor/tenants/tenant_id.h"],
    "supervisor/cluster/bus": [BASE, "supervisor/cluster/bus", "supervisor/cluster/trust/nkey.h"],
    "supervisor/cluster/snapshot": [BASE, "supervisor/cluster/snapshot"],
    "supervisor/cluster/link": [BASE, "catalog", "policies", "skills", "supervisor/cluster/link", "supervisor/cluster/placement", "supervisor/cluster/trust", "supervisor/mcp", "supervisor/tenants", "supervisor/upstream"],
    "supervisor/cluster/node": [BASE, "supervisor/cluster", "supervisor/mcp/listener.h"],
    "supervisor/moves": [BASE, "policies", "supervisor/cluster/link", "supervisor/cluster/snapshot", "supervisor/executions", "supervisor/journal", "supervisor/moves",
                         "supervisor/proposals", "supervisor/tasks", "supervisor/tenants", "supervisor/workflows"],
    "supervisor/egress": [BASE, "policies", "supervisor/egress", "supervisor/http"],
    "supervisor/docgen": [BASE, "supervisor/cli", "supervisor/docgen", "supervisor/flags.h",
                          "supervisor/cluster/node/node_flags.h", "supervisor/egress/egress_flags.h"],
    "supervisor/cli": [BASE, "supervisor/cli"],  # a client: it speaks to the daemon over its socket
    "supervisor/cli/dashboard": [BASE, "supervisor/cli", "supervisor/http", "supervisor/bus/connection.h"],
    "supervisor/cli/servers": [BASE, "policies", "supervisor/cli", "supervisor/configuration", "supervisor/packages",
                               "supervisor/upstream/server_config.h"],
    "supervisor/cli/cluster": [BASE, "policies", "skills/bundle.h", "skills/name.h", "supervisor/cli", "supervisor/cluster"],
    "supervisor/cli/skills": [BASE, "skills/name.h", "supervisor/cli"],
    "supervisor/cli/workflows": [BASE, "supervisor/cli"],
    "supervisor/cli/tokens": [BASE, "policies", "supervisor/cli", "supervisor/configuration", "supervisor/credentials"],
    "supervisor/layers": [BASE, "policies", "supervisor/layers"],  # the store; what builds a layer is a client
    "supervisor/cli/layers": [BASE, "supervisor/cli", "supervisor/layers", "supervisor/packages"],
    "supervisor/packages": [BASE, "supervisor/packages"],
    "supervisor/cli/admin": [BASE, "policies", "supervisor/cli", "supervisor/configuration", "supervisor/doctor", "supervisor/journal"],  # verifies the audit chain by itself
    "supervisor/cli/admin/policies": [BASE, "policies", "supervisor/cli", "supervisor/configuration"],
    "supervisor/cli/admin/top": [BASE, "supervisor/cli"],
    "supervisor/systemd": [BASE, "supervisor/systemd"],
    "supervisor/daemon": [BASE, "policies", "skills", "jail", "supervisor/bus", "supervisor/calls", "supervisor/credentials", "supervisor/daemon",
                          "supervisor/cluster/link", "supervisor/discovery", "supervisor/doctor", "supervisor/egress", "supervisor/executions", "supervisor/http", "supervisor/journal",
                          "supervisor/mcp", "supervisor/metrics", "supervisor/moves", "supervisor/configuration", "supervisor/privacy", "supervisor/privileges.h", "supervisor/proposals",
                          "supervisor/runs", "supervisor/skill_stores", "supervisor/streamable_http", "supervisor/systemd", "supervisor/tasks", "supervisor/tenants", "supervisor/tools",
                          "supervisor/traces", "supervisor/upstream", "supervisor/workflows"],  # every part, and no program
    "supervisor": ["supervisor", "jail"],  # the program itself: its start with privileges; no row of a folder below
}
# Inner folders, and the only ones that may reach into them.
PRIVATE = {"jail/init": ("jail/init", "jail/jailer", "jail/zygote"), "jail/jailer": ("jail/jailer", "tests"), "jail/guest": ("jail/guest",), "jail/zygote": ("jail/zygote",)}
WHOLE = "tests/lint/layering.py"  # in a tree with this file, each allowance must be used
OURS = ("supervisor/", "policies/", "catalog/", "skills/", "jail/", "tests/", "units/")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]')


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def row_of(source):
    """The name of the row for a file; None: neither the file nor its folder has one."""
    return next((name for name in (source, os.path.dirname(source)) if name in MAY_INCLUDE), None)


def allowed(source, target):
    for private, insiders in PRIVATE.items():
        if within(target, private) and not any(within(source, name) for name in insiders):
            return False
    return any(within(target, name) for name in MAY_INCLUDE[row_of(source)])


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
            if not any(within(target, name) for target in targets):
                findings.append(f"{row}: no file includes {name}, which its row in MAY_INCLUDE allows")
    for row in MAY_INCLUDE:
        if row not in used and not (root / row).exists():
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
    lint.Plant("an allowance that no file uses", planted_tree(unused=("supervisor/tasks", BASE)),
               ["supervisor/tasks: no file includes supervisor/base, which its row"]),
    lint.Plant("a row of no folder", planted_tree(missing="supervisor/tasks"),
               ["supervisor/tasks: has a row in MAY_INCLUDE and does not exist"]),
    lint.Plant("a tree that uses each allowance", planted_tree(), []),
    lint.Plant("a jail that knows the daemon", {"jail/pool.cc": '#include "supervisor/mcp/server.h"\n'},
               ["jail/pool.cc:1: may not include supervisor/mcp/server.h"]),
    lint.Plant("a child that reaches past the plan", {"jail/init/main.cc": '#include "jail/cgroup.h"\n'},
               ["jail/init/main.cc:1: may not include jail/cgroup.h"]),
    lint.Plant("a plan that is not plain", {"jail/plan.h": "#include <supervisor/base/fd.h>\n"},
               ["jail/plan.h:1: may not include supervisor/base/fd.h"]),
    lint.Plant("a parent that reaches into the child", {"jail/jail.cc": '#include "jail/init/steps.h"\n'},
               ["jail/jail.cc:1: may not include jail/init/steps.h"]),
    lint.Plant("a protocol that knows a tool", {"supervisor/mcp/server.cc": '#include "supervisor/tools/call_audit.h"\n'},
               ["supervisor/mcp/server.cc:1"]),
    lint.Plant("a path that hides the folder",
               {"policies/policy.cc": '#include "../jail/jail.h"\n', "jail/jail.h": ""},
               ["policies/policy.cc:1: may not include jail/jail.h"]),
    lint.Plant("product code that uses a test's header", {"jail/jail.cc": '#include "tests/catch.h"\n'},
               ["jail/jail.cc:1: may not include tests/catch.h"]),
    lint.Plant("arrows that go down", {
        "jail/jail.cc": '#include <sched.h>\n#include "supervisor/base/fd.h"\n#include "policies/policy.h"\n',
        "jail/init/main.cc": '#include "jail/plan.h"\n#include "jail/init/steps.h"\n',
        "supervisor/main.cc": '#include "jail/jail.h"\n#include "supervisor/mcp/server.h"\n',
    }, []),
]

if __name__ == "__main__":
    lint.main(check, PLANTS)
