// Spec: what a jail is asked to be. Start, Origin: how an execution got its jail.
// Source of a Spec: supervisor/executions/jail_spec.h, from a policy. Used by: jail/jail.h, jail/pool/pool.h, and the
// requests and receipts of executions. No errors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/language.h"
#include "policies/isolation.h"
#include "policies/limits.h"
#include "policies/package_layer.h"
#include "policies/policy_fwd.h"

namespace jail {

struct Spec {
  std::string name;  // name of the cgroup leaf: [a-z0-9-]+, unique among living jails
  Language language = Language::python;
  std::vector<std::string> command;  // empty: the language's own command
  // Python: the seed of text hashes (PYTHONHASHSEED), 1 to 2^32 - 1, so that sets have one order in each run. This
  // jail is no fork: a zygote's copies have the zygote's seed. Empty: the interpreter draws one.
  std::optional<uint32_t> hash_seed;
  // What descriptor 3 carries: packets of the guest protocol, or, for programs that do not know the protocol, a stream
  // of bytes (guest().take_socket()).
  enum class Guest { packets, stream };
  Guest guest = Guest::packets;
  policies::Limits limits;
  // The machine that files in /proc show. It belongs to the jail, and not to its program: `limits` may change later,
  // and the parts of a fan-out have other ones. 0: as in `limits`.
  struct Machine {
    uint64_t memory_bytes = 0;
    double cpus = 0;
  };
  Machine displayed;
  // Which limits are already the most that the policy gives: asking for more would be of no use.
  struct Ceilings {
    std::string policy;  // its name, for messages
    bool wall = false, memory = false;
  };
  Ceilings at_ceiling;
  policies::Isolation isolation;
  unsigned cpu_weight = 100;  // cpu.weight of the leaf, from birth: 1 to 10000
  std::map<std::string, std::string> environment;
  std::shared_ptr<const policies::SeccompFilter> filter;
  bool listens = false;            // the jail has a listener for the egress proxy (jail/jailer/listener.h)
  policies::PackageLayers layers;  // in /usr, behind the host's own files
  size_t layers_named = 0;         // by the policy; fewer in `layers`: one was not found, and no jail is built
  bool tests_host = false;         // for the self-test: build the jail even on a host that was found unfit
};

// How an execution got its jail.
enum class Start {
  cold,  // built for this execution
  exec,  // built ahead of time, with its own interpreter
  fork,  // forked from its tenant's zygote
};
constexpr std::string_view start_name(Start start) {
  return start == Start::cold ? "cold" : start == Start::exec ? "exec" : "fork";
}

// How an execution got its jail, with times, for the receipt.
struct Origin {
  Start start = Start::cold;
  double waited_ms = 0;      // from ready to dispatch
  double zygote_age_ms = 0;  // fork: since the zygote was ready
};

}  // namespace jail
