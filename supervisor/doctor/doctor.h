// What warderd and its jails need of this machine, looked at one by one; each finding with its remedy.
// Source: the kernel, /proc, /sys, the file system. Changes nothing. Each function takes some milliseconds at most:
// what may wait for others (a user's entry, a daemon's answer) is tried by the caller, and judged here. Told by:
// `warder doctor` (../cli/admin/doctor.cc), and by a daemon of itself over D-Bus (../daemon_doctor.cc).
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/busy_time.h"
#include "supervisor/base/result.h"

namespace doctor {

// note: it works, and something is weaker or missing. bad: it stands in the way of running anything.
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
Findings look_at_kernel();
// Which part of the cgroup tree a daemon of whoever asks may divide.
Finding look_at_delegation();
// `error`: what making a user namespace ended with; 0: it was made.
Finding judge_user_namespaces(int error);

// /usr, and the interpreters of the three languages.
Findings look_at_programs();
// Whether there is the user that a daemon started as root becomes.
enum class User { known, missing };
Finding judge_user(User user, const std::string& name);
// The names of those that could be read, or what was wrong.
Finding judge_policies(const Result<std::vector<std::string>>& names);
// Whether the file system of a daemon's state holds tenants to their quotas.
Finding look_at_quotas(std::string folder);

// A program that a daemon ran: its outcome, with the error's text and remedy where that is not "ok"; `weaker` as in its
// receipt.
Finding judge_execution(std::string_view outcome, std::string_view error, std::string remedy,
                        const std::vector<std::string>& weaker);
// How many jails wait, and zygotes; what cannot be built ahead, and why.
Finding judge_pool(uint32_t waiting, uint32_t zygotes, const std::set<std::string>& troubles);
struct Spans {            // a daemon's, and the collector they go to
  std::string collector;  // as it was named
  bool network_needed = false, only_loopback = false;
  uint64_t exported = 0, dropped = 0;
  std::string trouble;  // why the newest request was in vain; empty: it was not
};
Finding judge_spans(const Spans& spans);
// `trouble`: which of the journal's files was removed or replaced under the daemon; empty: none.
Finding judge_journal(const std::string& trouble, std::string_view durability);
// `problem`: why the disk of the daemon's state takes no writes, and what helps; empty: it takes them.
Finding judge_state_disk(const std::string& problem, std::string remedy, const std::string& folder);
// The longest time that the daemon's loop was busy without a break: a note where others felt it.
Finding judge_loop(const BusyTime::Turn& longest);
// `reload_problem`: why the daemon's last reload failed; empty: it did not.
Finding judge_bus(std::string_view version, std::string_view state, const std::string& reload_problem);

// The first line of a small file; empty when there is none.
std::string first_line(const std::string& path);

}  // namespace doctor
