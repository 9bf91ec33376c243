#!/usr/bin/env python3
"""Who may include whom. The arrows go down: base, then policies, catalog and skills, then jail, then the daemon."""
import os
import pathlib
import re

import lint

BASE = "supervisor/base"
# Folder or file: what it may include of ours. The longest name that fits decides.
MAY_INCLUDE = {
    BASE: [BASE],
    "policies": [BASE, "policies"],
    "catalog": [BASE, "catalog"],
    "skills": [BASE, "skills"],
    "jail": [BASE, "policies", "jail"],
    "jail/plan.h": [],  # shared with the static child: plain data only
    "jail/init": ["jail/init", "jail/plan.h"],
    "jail/guest": ["jail/guest"],
    "jail/zygote": ["jail/zygote", "jail/init/capabilities.h", "jail/init/confine.h", "jail/init/steps.h", "jail/plan.h", "jail/orders.h", "jail/spawn.h"],
    "supervisor/tasks": [BASE, "supervisor/tasks", "supervisor/tenants/tenant_id.h"],
    "supervisor/workflows": [BASE, "supervisor/workflows"],
    "supervisor/mcp": [BASE, "supervisor/mcp", "supervisor/tasks"],  # the protocol knows no tool, tenant or jail
    "supervisor/oauth": [BASE, "supervisor/http", "supervisor/oauth"],
    "supervisor/upstream": [BASE, "policies", "catalog", "jail", "supervisor/http", "supervisor/mcp", "supervisor/oauth", "supervisor/tenants/tenant_id.h", "supervisor/upstream"],
    "supervisor/journal": [BASE, "supervisor/journal", "supervisor/tasks", "supervisor/tenants/tenant_id.h", "supervisor/workflows"],
    "supervisor/tenants": [BASE, "policies", "supervisor/mcp", "supervisor/tenants"],
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
    "supervisor/skill_stores": [BASE, "policies", "skills", "jail", "supervisor/executions", "supervisor/skill_stores", "supervisor/tenants"],
    "supervisor/tools": [BASE, "policies", "catalog", "skills", "jail", "supervisor/calls", "supervisor/discovery", "supervisor/egress", "supervisor/executions",
                         "supervisor/journal", "supervisor/mcp", "supervisor/privacy", "supervisor/proposals", "supervisor/skill_stores",
                         "supervisor/tasks", "supervisor/tenants", "supervisor/tools", "supervisor/traces", "supervisor/upstream", "supervisor/workflows"],
    "supervisor/bus": [BASE, "policies", "jail", "supervisor/bus", "supervisor/calls", "supervisor/cluster/link/query_messages.h", "supervisor/cluster/link/view_messages.h", "supervisor/doctor", "supervisor/executions",
                       "supervisor/journal", "supervisor/proposals", "supervisor/tenants", "supervisor/upstream/server_status.h"],  # services, and no tool
    "supervisor/configuration": [BASE, "policies", "jail/id_range.h", "supervisor/configuration", "supervisor/credentials", "supervisor/flags.h", "supervisor/journal", "supervisor/layers",
                                 "supervisor/traces", "supervisor/upstream/server_config.h"],  # read without a daemon, too
    "supervisor/metrics": [BASE, "jail", "supervisor/executions", "supervisor/metrics", "supervisor/traces", "supervisor/proposals"],
    "supervisor/agent": [BASE, "supervisor/agent", "supervisor/cli", "supervisor/http"],  # a client, like supervisor/cli
    "supervisor/cluster/placement": [BASE, "supervisor/cluster/placement", "supervisor/tenants/tenant_id.h"],
    "supervisor/cluster/trust": [BASE, "policies", "supervisor/cluster/trust", "supervisor/tenants/tenant_id.h"],
    "supervisor/cluster/bus": [BASE, "supervisor/cluster/bus", "supervisor/cluster/trust/nkey.h"],
    "supervisor/cluster/snapshot": [BASE, "supervisor/cluster/snapshot"],
    "supervisor/cluster/link": [BASE, "catalog", "policies", "skills", "supervisor/cluster/link", "supervisor/cluster/placement", "supervisor/cluster/trust", "supervisor/mcp", "supervisor/tenants", "supervisor/upstream"],
    "supervisor/cluster/node": [BASE, "supervisor/cluster", "supervisor/mcp/framing.h", "supervisor/mcp/listener.h", "supervisor/tenants/tenant_id.h"],
    "supervisor/moves": [BASE, "policies", "supervisor/cluster/link", "supervisor/cluster/snapshot", "supervisor/executions", "supervisor/journal", "supervisor/moves",
                         "supervisor/proposals", "supervisor/tasks", "supervisor/tenants", "supervisor/workflows"],
    "supervisor/egress": [BASE, "policies", "supervisor/egress", "supervisor/http"],
    "supervisor/docgen": [BASE, "supervisor/cli", "supervisor/docgen", "supervisor/flags.h",
                          "supervisor/cluster/node/node_flags.h", "supervisor/egress/egress_flags.h"],
    "supervisor/cli": [BASE, "policies", "supervisor/cli", "supervisor/http"],  # a client: it speaks to the daemon over its socket
    "supervisor/cli/dashboard": [BASE, "supervisor/cli", "supervisor/http", "supervisor/bus/connection.h", "supervisor/bus/message.h"],
    "supervisor/cli/servers": [BASE, "policies", "jail/id_range.h", "supervisor/cli", "supervisor/configuration", "supervisor/packages",
                               "supervisor/upstream/server_config.h"],
    "supervisor/cli/cluster": [BASE, "policies", "skills/bundle.h", "skills/name.h", "supervisor/cli", "supervisor/cluster"],
    "supervisor/cli/skills": [BASE, "skills/name.h", "supervisor/cli"],
    "supervisor/cli/workflows": [BASE, "supervisor/cli"],
    "supervisor/cli/tokens": [BASE, "policies", "supervisor/cli", "supervisor/configuration", "supervisor/credentials"],
    "supervisor/layers": [BASE, "policies", "supervisor/layers"],  # the store; what builds a layer is a client
    "supervisor/cli/layers": [BASE, "policies", "supervisor/cli", "supervisor/layers", "supervisor/packages"],
    "supervisor/packages": [BASE, "supervisor/packages"],
    "supervisor/cli/admin": [BASE, "policies", "supervisor/cli", "supervisor/configuration", "supervisor/doctor", "supervisor/journal"],  # verifies the audit chain by itself
    "supervisor/systemd": [BASE, "supervisor/systemd"],
    "supervisor/daemon": [BASE, "policies", "catalog", "skills", "jail", "supervisor/bus", "supervisor/calls", "supervisor/credentials", "supervisor/daemon",
                          "supervisor/cluster/link", "supervisor/discovery", "supervisor/doctor", "supervisor/egress", "supervisor/executions", "supervisor/http", "supervisor/journal",
                          "supervisor/mcp", "supervisor/metrics", "supervisor/moves", "supervisor/configuration", "supervisor/privacy", "supervisor/privileges.h", "supervisor/proposals",
                          "supervisor/skill_stores", "supervisor/streamable_http", "supervisor/systemd", "supervisor/tasks", "supervisor/tenants", "supervisor/tools",
                          "supervisor/traces", "supervisor/upstream", "supervisor/workflows"],  # every part, and no program
    "supervisor": ["supervisor", "policies", "catalog", "skills", "jail"],  # the program itself: its start with privileges
}
# Inner folders, and the only ones that may reach into them.
PRIVATE = {"jail/init": ("jail/init", "jail/zygote"), "jail/guest": ("jail/guest",), "jail/zygote": ("jail/zygote",)}
OURS = ("supervisor/", "policies/", "catalog/", "skills/", "jail/", "tests/", "units/")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]')


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def allowed(source, target):
    rule = max((name for name in MAY_INCLUDE if within(source, name)), key=len)
    for private, insiders in PRIVATE.items():
        if within(target, private) and not any(within(source, name) for name in insiders):
            return False
    return any(within(target, name) for name in MAY_INCLUDE[rule])


def check(root):
    findings = []
    for folder in sorted((root / "supervisor").glob("*/")):  # with a row for itself, not the daemon's, which may include all
        name = folder.relative_to(root).as_posix()
        if name not in MAY_INCLUDE and any(folder.glob("*.cc")):
            findings.append(f"{name}: has no row in MAY_INCLUDE")
    for path in lint.files(root, ".h", ".cc", below=("supervisor", "policies", "catalog", "skills", "jail")):
        source = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text().split("\n"), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match.group(1)
            beside = os.path.normpath(pathlib.PurePosixPath(source).parent / target)
            if (root / beside).is_file():
                target = beside
            if target.startswith(OURS) and not allowed(source, target):
                findings.append(f"{source}:{number}: may not include {target}")
    return findings


PLANTS = [
    lint.Plant("a service that knows a tool", {"supervisor/executions/sessions.cc": '#include "supervisor/tools/call_audit.h"\n'},
               ["supervisor/executions/sessions.cc:1: may not include supervisor/tools/call_audit.h"]),
    lint.Plant("a folder of the daemon without a row", {"supervisor/new/a.cc": ""}, ["supervisor/new: has no row"]),
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
