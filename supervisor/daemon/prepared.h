// Prepared: what main.cc made for the daemon while it still had privileges: options, policies, folders, sockets, the
// jailer, the key. Used by: the daemon and its parts, for as long as the daemon exists.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jail/host.h"
#include "jail/usage/cgroup.h"
#include "policies/store.h"
#include "skills/library.h"
#include "supervisor/base/fd.h"
#include "supervisor/daemon/configuration/in_force.h"
#include "supervisor/daemon/configuration/start_view.h"
#include "supervisor/daemon/systemd/service_manager.h"
#include "supervisor/privileges.h"
#include "supervisor/protocol/credentials/token_table.h"
#include "supervisor/tenants/master_key.h"

struct Prepared {
  // All tokens in force: those of the files, then those of the credential. An entry of the credential with the name or
  // the secret of a token of the files is left out: with the name, it would give that token its tenant.
  std::vector<credentials::StoredToken> tokens() const {
    std::vector<credentials::StoredToken> all = options.tokens;
    all.insert(all.end(), credential_tokens.begin(), credential_tokens.end());
    return credentials::TokenTable(std::move(all)).all();
  }

  Options options;
  DaemonIdentity identity;
  jail::IdRange ids;
  std::optional<jail::CgroupTree> cgroups = {};  // nullopt: no usable cgroup v2 here
  std::string no_cgroups_why = {};
  configuration::ConfigurationInForce configuration;
  policies::Store policies;                   // a reload replaces it
  std::set<std::string> server_folders = {};  // folders of upstream servers that the jailer may show to jails
  Fd state = {};      // the state folder; its folders tenants/ and self-test/ belong to the daemon
  Fd self_test = {};  // the folder self-test/, which is empty
  Fd jailer = {};     // the daemon's end of the socket to the jailer
  ServiceManager::Passed passed = {};
  configuration::HeldSockets listening = {};  // what `passed` holds, by its use and name; a reload adds to it
  std::vector<credentials::StoredToken> credential_tokens = {};  // of the systemd credential warder.tokens
  std::set<uid_t> node_users = {};  // who may bring requests of other nodes: the user of warder-node, root, the daemon
  Fd state_lock = {};               // locked until the process ends
  tenants::MasterKey key = {};
  skills::Shared skills = {};  // the shipped ones; the daemon's parts take them
  Fd servers = {};             // the template's folder for stubs; it belongs to the daemon
  Fd upstream =
      {};  // the folder of upstream servers: their definitions, and the files of servers that all tenants share
};
