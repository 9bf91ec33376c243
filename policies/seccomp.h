// SeccompProfile: the system calls that the code of a jail may make. All other calls are refused, with an errno that
// programs take as "this machine cannot do that": EPERM, unless a rule names another one.
// Source: policies/seccomp/*.json. Compiled by call_tree.h; loaded by jail-init in the runner, before the runner execs
// the interpreter, so a profile must allow execve. Errors: all problems of a profile, naming rule, call and value.
#pragma once
#include <linux/filter.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/call_tree.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace policies {

struct SeccompRule {
  std::string comment;  // names the programs that need the calls
  std::vector<std::string> calls;
  std::vector<ArgumentTest> when;  // all must be true; empty: the rule always applies
  // The errno of the rule's refusals: in `deny`, of its calls; in `allow`, of its calls if no rule about them fits. 0:
  // the rule names none, and EPERM is answered.
  int error = 0;
};

struct SeccompProfile {
  std::string name;
  std::vector<SeccompRule> allow;
  std::vector<SeccompRule> missing;  // ENOSYS, like a kernel without them: programs then fall back to older calls
  std::vector<SeccompRule> kill;     // end the process with SIGSYS: outcome forbidden_call
  std::vector<SeccompRule> deny;     // refused like all others; says why, and takes back what `extends` allows
  std::string newest;                // the newest call that the profile considers; newer calls answer ENOSYS
  bool log = false;                  // refused calls are written to the audit log (SECCOMP_FILTER_FLAG_LOG)
};

struct SeccompFilter {
  std::string profile;
  std::vector<sock_filter> program;
  uint32_t flags = 0;  // for seccomp(2)
};

// The kernel and Plan take at most this many instructions (BPF_MAXINSNS).
constexpr size_t kMaxFilterInstructions = 4096;

// `base` is the profile that the document's "extends" names, already read; nullptr without one.
tl::expected<SeccompProfile, std::vector<Error>> parse_seccomp(std::string name, const Json& document,
                                                               const SeccompProfile* base);
// The filter is a binary tree over the call numbers of this machine's architecture. Calls of other architectures,
// including x32, end the process. Errors: invalid when the profile makes more instructions than the kernel takes.
Result<std::vector<sock_filter>> compile_seccomp(const SeccompProfile& profile);
// The SECCOMP_FILTER_FLAG_* of the profile, for seccomp(2).
uint32_t seccomp_flags(const SeccompProfile& profile);

// The errno of a refused call that rules may name: "EOPNOTSUPP".
std::optional<int> seccomp_errno(std::string_view name);
// The names that seccomp_errno() knows.
std::vector<std::string> seccomp_errno_names();
// The name of such an errno; "EPERM" for 0.
std::string_view seccomp_errno_name(int error);

// The value of a constant that profiles may name: "AF_UNIX", "CLONE_NEWUSER", "TIOCGWINSZ".
std::optional<uint32_t> seccomp_constant(std::string_view name);

}  // namespace policies
