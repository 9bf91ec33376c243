// Applied: the isolation that was really applied to one jail while it was built, for its receipt (receipt.h). Waiting
// jails record it ahead of time.
// Source: jail-init's report (its namespace numbers are compared with the daemon's own), and the host's facts. Used by:
// jail/jail.h, jail/execution/receipt.h, jail/execution/self_test.cc, supervisor/daemon/self_examination.cc. No errors.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "jail/init_report.h"
#include "jail/plan_parts.h"

namespace jail {

struct Host;
class Jail;

struct Applied {
  std::array<bool, kNamespaceCount> own_namespaces{};  // in the order of kNamespaces; false: shared with the daemon
  Identity identity = Identity::shared;
  uint32_t init_id = 0, runner_id = 0, daemon_id = 0;  // host ids
  int landlock_abi = 0;                                // 0: no Landlock
  RootMode root = RootMode::overlay;
  ProcView proc = ProcView::machine;
  std::vector<std::pair<std::string, std::string>> layers;  // package layers in /usr: name, hash
  double build_ms = 0;
  std::array<uint32_t, kSteps> steps_us{};  // by Step, microseconds
  std::vector<std::string> weaker;          // what a stronger host would add: one sentence each
};
Applied applied_to(const Host& host, const Jail& jail);

// The name of a namespace for readers: as in kNamespaces, and "mount" for "mnt".
constexpr const char* namespace_label(int index) { return index == 2 ? "mount" : kNamespaces[index]; }

}  // namespace jail
