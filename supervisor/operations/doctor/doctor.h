// Doctor: checks of this machine for warderd and its jails. Each Finding that is not good has a remedy.
// Source: the kernel, /proc, /sys, the file system. The checks change no file and no setting. Each function takes at
// most some milliseconds: the caller does the work that may wait (a user's entry, a daemon's answer), and a judge_
// function makes the finding. Used by: `warder doctor` (../../programs/cli/admin/doctor.cc), and the daemon, which
// answers over D-Bus (../../daemon/self_examination.cc).
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/busy_time.h"
#include "supervisor/base/result.h"

namespace doctor {

// note: Warder works, but a wall is weaker or a feature is missing. bad: it prevents programs from running, or tenants
// can harm each other.
enum class Health { good, note, bad };
std::string_view health_name(Health health);

struct Finding {
  std::string what;  // "cgroups"
  Health health = Health::good;
  std::string found;   // "cgroup v2 with cpu, io, memory, pids"
  std::string remedy;  // empty when good
};
using Findings = std::vector<Finding>;

// Version, cgroups, AppArmor, seccomp, Landlock, /proc.
Findings examine_kernel();
// Whether a daemon of the calling user would have a delegated part of the cgroup tree.
Finding look_at_delegation();
// `error`: the errno of making a user namespace; 0: it was made.
Finding judge_user_namespaces(int error);

// /usr, and the interpreters of the three languages.
Findings examine_programs();
// Whether the user exists that a daemon started as root becomes.
enum class User { known, missing };
Finding judge_user(User user, const std::string& name);
// `names`: the policies that could be read, or the error.
Finding judge_policies(const Result<std::vector<std::string>>& names);
struct ConfigurationFacts {  // of the configuration's files and the policies, read now
  std::vector<std::string> problems, warnings, files;
  std::vector<std::string> shortfalls;  // listeners that the daemon does without
  bool in_force = true;                 // the daemon runs with the files, and not with the last good copy
  bool executes = true;                 // the daemon has a configuration with which it runs programs
};
Finding judge_configuration(const ConfigurationFacts& facts);
// Whether the file system of a daemon's state enforces the tenants' quotas. Without, the finding is bad: programs run,
// and one tenant can take more of the disk than its quota for a moment.
Finding examine_quotas(std::string folder);

// Judges a program that a daemon ran. `error` and `remedy` are used if the outcome is not "ok"; `weaker` is from its
// receipt.
Finding judge_execution(std::string_view outcome, std::string_view error, std::string remedy,
                        const std::vector<std::string>& weaker);
// `waiting`: the number of waiting jails. `troubles`: the reasons why jails cannot be built ahead.
Finding judge_pool(uint32_t waiting, uint32_t zygotes, const std::set<std::string>& troubles);
struct Spans {            // the export of a daemon's spans to a collector
  std::string collector;  // its address, as the options name it
  bool network_needed = false, only_loopback = false;
  uint64_t exported = 0, dropped = 0;
  std::string trouble;  // why the newest request failed; empty: it succeeded
};
Finding judge_spans(const Spans& spans);
// What the self-test saw in the network namespace of a jail: `seen`, "1 link, 2 addresses, ...", or why it saw nothing.
Finding judge_jail_network(const std::string& seen, const std::string& unseen_why);
// `trouble`: the journal's file that was removed or replaced while the daemon runs; empty: no file was.
Finding judge_journal(const std::string& trouble, std::string_view durability);
// `jump_ms`: by how much the wall clock is far from the elapsed time (base/elapsed_clock.h); 0: it is near.
Finding judge_clock(int64_t jump_ms);
struct StateDiskFacts {
  std::string problem, remedy;  // why the disk of the state folder takes no writes; empty: it takes them
  std::string folder;
  uint64_t reserve_bytes = 0;   // of the journal (../../records/journal/reserve.h); 0: without one
  std::string reserve_problem;  // why the reserve is missing; empty: it is made, or spent
};
Finding judge_state_disk(const StateDiskFacts& facts);
struct WorkspaceIndexes {  // supervisor/tenants/index/workspace_index.h
  uint64_t followed = 0, without = 0;
  std::string without_why;  // of one workspace
  uint64_t watches = 0, walks = 0;
};
Finding judge_workspaces(const WorkspaceIndexes& seen);
struct HttpUse {                                        // MCP over TCP
  std::vector<std::string> addresses;                   // that the daemon listens on
  uint64_t connections = 0, sessions = 0, refused = 0;  // refused: requests with 401 since the start
  uint64_t tokens_good = 0, tokens_expire_soon = 0, tokens_expired = 0;
  bool has_jwt = false, has_jwt_keys = false;
};
Finding judge_http(const HttpUse& seen);
struct EgressReach {                  // hosts by name for jailed code
  std::vector<std::string> policies;  // in force, that have egress rules
  std::string trouble;                // why warder-egress was not reached; empty: it was
  std::string remedy;
  uint64_t allowed = 0, denied = 0, failed = 0;  // requests since the start
};
Finding judge_egress(const EgressReach& seen);
// A policy whose workspaces belong to the cluster, as one node has it.
struct ClusterPolicy {
  std::string node, name, hash;
  uint64_t user_accounts = 0;  // connected tenants "uid-N" that have it
};
struct ClusterSeen {           // by one node of a cluster
  std::string standing, self;  // "member"; its name
  std::string bus;             // the server of NATS, or the last error
  uint64_t bus_silent_s = 0;   // since it was connected to NATS
  uint64_t trust_serial = 0;
  std::string trust_trouble;                                  // why the file of the trust record is not in force
  uint64_t refused_for_time = 0;                              // messages of other nodes, since the start
  size_t nodes = 0;                                           // that the trust record names
  std::vector<std::string> silent, unanswered;                // nodes
  std::vector<std::pair<std::string, uint64_t>> left_homes;   // removed nodes, and how many homes they have
  std::vector<std::pair<std::string, std::string>> versions;  // nodes and their versions
  std::vector<ClusterPolicy> policies;                        // of all nodes that answered
};
Findings judge_cluster(const ClusterSeen& seen);
struct Staging {                      // whether a staged execution works here
  std::vector<std::string> policies;  // in force, that stage workspaces
  bool is_always_staged = false;      // by one of them, every execution is staged
  std::string bind_root_why;          // why the root of jails is no overlay; empty: it is one
  std::string folder;                 // of the tenants
  uint64_t file_system = 0;           // its magic number of statfs(2); 0: not known
};
Finding judge_staging(const Staging& seen);
// The magic number of the folder's file system; 0: it cannot be read.
uint64_t file_system_of(const std::string& folder);
// `longest`: the longest time that the daemon's loop was busy without a break; a note above 100 ms.
Finding judge_loop(const BusyTime::Turn& longest);
// `reload_problem`: why the daemon's last reload failed; empty: it succeeded.
Finding judge_bus(std::string_view version, std::string_view state, const std::string& reload_problem);

// The first line of a small file; empty if the file does not exist.
std::string first_line(const std::string& path);

}  // namespace doctor
